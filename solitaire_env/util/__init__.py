"""Help for files, error messages and progress lines. Nothing here knows of games."""
