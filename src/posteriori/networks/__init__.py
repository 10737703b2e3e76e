"""Bayesian networks and factor graphs of discrete variables: exact answers, with their reasons."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
