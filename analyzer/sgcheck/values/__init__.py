"""The domain: unknowns with a reason, conditions, decisions."""
