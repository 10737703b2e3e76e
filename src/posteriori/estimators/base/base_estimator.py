"""The base of all estimators: scikit-learn's, whose subclasses name the parameter that a strange word means."""

from __future__ import annotations

from typing import Any

from sklearn import base

from posteriori.estimators.base.parameter_words import OTHER_WORDS
from posteriori.numerics.telling.parameter_words import naming_parameters

__all__ = ["BaseEstimator"]


class BaseEstimator(base.BaseEstimator):
    """scikit-learn's base of estimators, with words for parameters."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let constructors say which parameter a word of another library means."""
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", naming_parameters(vars(cls)["__init__"], OTHER_WORDS))  # noqa: B010
