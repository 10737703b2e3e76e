"""Mixtures: rows that come from one of several models, and it is not said from which."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
