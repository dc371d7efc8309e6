"""Measurements, apart from the package."""
