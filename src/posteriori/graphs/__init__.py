"""Graphs as values: nodes, edges, and what they say about dependence."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
