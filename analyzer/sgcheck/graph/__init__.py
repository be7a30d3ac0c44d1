"""The rule graph: what can set each field of `ServerArgs`, under which conditions, in which order."""
