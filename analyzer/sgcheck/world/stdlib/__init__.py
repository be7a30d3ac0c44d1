"""The standard library, as the tree sees it: pure parts as they are, the rest modelled."""
