"""Components: the few directions that carry a table, what they leave over, and independent sources."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
