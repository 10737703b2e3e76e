"""From a table to a verdict: which model the data support, how surely, and what it predicts."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
