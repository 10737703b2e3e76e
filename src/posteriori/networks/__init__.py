"""Bayesian networks and factor graphs of discrete variables."""
