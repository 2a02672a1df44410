"""The operator's commands; each module adds its own to the command line with `add_commands`."""
