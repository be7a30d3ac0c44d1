"""The subcommands, one module each; loaded when they are called."""
