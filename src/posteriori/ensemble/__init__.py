"""Many models that predict as one: forests, boosting, bagging, committees, and what that gains."""

from posteriori.numerics.lazy import load_on_use

__all__, __getattr__, __dir__ = load_on_use(__name__, __file__)
