"""Findings and effective values in an editor, over the Language Server Protocol (extra `lsp`)."""
