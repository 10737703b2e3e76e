"""Discrete variables."""
