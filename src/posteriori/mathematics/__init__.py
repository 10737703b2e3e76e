"""Tools of the mathematics that models rest on: norms, matrices, one-of-K codes, constrained optima."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
