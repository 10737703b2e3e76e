"""Trees: decisions by one column at a time, with leaves that are conjugate beliefs."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
