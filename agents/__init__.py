"""Training and evaluation of policies; not part of the installed package."""
