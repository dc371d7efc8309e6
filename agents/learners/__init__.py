"""What learns: one algorithm, one file, read from top to bottom."""
