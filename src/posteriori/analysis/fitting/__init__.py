"""Fitting candidates to a table."""
