"""The marker of quantities that are not numbers yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["Symbol"]


class Symbol:
    """An unknown quantity that may stand where a parameter of a distribution could.

    A distribution's constructor that meets a symbol among its parameters does not make a
    distribution: it hands the family and the parameters to :meth:`condition` and returns the
    answer. Which conditional that is, the kind of symbol decides.
    """

    #: Lets ``array @ symbol`` and ``array + symbol`` reach the symbol's own operators.
    __array_ufunc__: Any = None

    def condition(self, family: type, parameters: Mapping[str, Any]) -> Any:
        """Return the conditional distribution of ``family`` given this symbol."""
        raise TypeError(f"{type(self).__name__} cannot be a parameter of {family.__name__}")
