"""The truth about a launch (a simulation, a log, a server, a live start) and how a prediction fits."""
