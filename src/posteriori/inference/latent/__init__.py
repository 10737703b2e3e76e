"""Rows that belong to something: components, assignments, one ascent."""
