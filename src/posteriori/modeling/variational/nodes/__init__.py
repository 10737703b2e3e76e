"""Beliefs about groups of variables."""
