"""Stored results as tables, plots, pages and model cards. Nothing here plays or trains."""
