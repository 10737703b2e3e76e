"""Families of one number."""
