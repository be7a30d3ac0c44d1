"""Runs the guarded code: loader, guards, branching on unknowns, limits."""
