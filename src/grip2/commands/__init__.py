"""The commands of the command line, after their options are parsed; imported when a command runs, so that help is fast."""
