"""Scripts that run in somebody else's interpreter. Nothing here is imported by sgcheck.

They use the standard library only, and any Python from 3.9 on runs them.
"""
