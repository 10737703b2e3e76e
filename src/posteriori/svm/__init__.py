"""Support vector machines: wide margins for classes, tubes around curves and single classes, with certificates."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
