"""What inference returns, and what it can be asked; each question is loaded when it is asked."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
