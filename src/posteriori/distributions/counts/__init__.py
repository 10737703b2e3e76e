"""Families of counts and categories."""
