"""fc-solve as a reference for our rules."""
