"""HTML pages: each one file, without network, made with jinja2."""
