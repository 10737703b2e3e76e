"""Coordinate ascent of the bound."""
