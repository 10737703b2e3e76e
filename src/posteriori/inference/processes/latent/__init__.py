"""Processes behind targets that are not normal."""
