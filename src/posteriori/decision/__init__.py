"""Decisions: from class probabilities to the action of least expected loss, and its error."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
