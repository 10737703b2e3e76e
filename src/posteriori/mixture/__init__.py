"""Groups of rows without labels: clusters around centres, mixtures, and how sure they are."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
