"""Findings about launches in files: the model, its builder, suppression, and the run of the rules."""
