"""Bayesian linear regression in closed form."""
