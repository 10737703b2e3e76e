"""Clusters and mixtures: rows without labels, how many groups they form, and how sure that is."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
