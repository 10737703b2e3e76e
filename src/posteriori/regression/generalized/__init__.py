"""Regression for other than normal targets."""
