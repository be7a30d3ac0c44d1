"""The configuration file: `sgcheck.toml`, or `[tool.sgcheck]` in `pyproject.toml`."""
