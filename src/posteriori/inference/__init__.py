"""Engines as pure functions: exact inference in chains and normal models, node messages."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
