"""argv -> parser -> ServerArgs -> resolution -> a `Resolution`."""
