"""Output: one module per format, from the result types only."""
