"""What the commands do once their words are parsed; imported only when a command runs."""
