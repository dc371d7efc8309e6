"""The commands behind ``python -m agents COMMAND``, one module each, and how they read options."""
