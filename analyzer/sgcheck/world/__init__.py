"""Everything outside the tree as a model: probes, packages, environment, model facts."""
