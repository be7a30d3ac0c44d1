"""One launch over several machines, models, releases, environments and flag values, as a table."""
