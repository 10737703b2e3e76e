"""A model with its data."""
