"""Files, error messages and progress lines. Nothing here depends on games."""
