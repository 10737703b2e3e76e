"""Families of vectors and matrices."""
