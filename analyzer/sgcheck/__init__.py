"""sgcheck: predicts what an SGLang launch resolves to, from SGLang's own source."""

__version__ = "0.1.0"
