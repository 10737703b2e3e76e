"""Probabilistic machine learning: posterior, evidence and predictions from one call."""

__version__ = "0.1.0"
