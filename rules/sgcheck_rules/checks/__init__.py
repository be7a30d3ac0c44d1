"""The rules, one module each: metadata, examples and code. `sgcheck_rules.registry` lists them."""
