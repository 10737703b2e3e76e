"""Gaussian processes by the structure of their kernel and of their points."""
