"""What each command does after its options are parsed; imported when the command runs, so that help stays fast."""
