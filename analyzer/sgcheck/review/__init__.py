"""Review: what changes between two SGLang trees, for launches and in the rules themselves."""
