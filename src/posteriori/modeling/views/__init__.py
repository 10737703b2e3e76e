"""Views of a model and of its posterior: drawings, factor graphs, free energy, left-out data."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
