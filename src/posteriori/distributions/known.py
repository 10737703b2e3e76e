"""Families that are exponential once one of their parameters is known.

The minimum of a Pareto and the first value of a geometric distribution are known, not learnt by
natural parameters. Class methods take the known one by name; called on a member they take the
member's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = ["KnownParameter", "knows"]


class knows:  # noqa: N801  # a decorator, like classmethod
    """A class method that gets the known parameter from the member it is called on, if any."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, member: Any, family: Any) -> Callable[..., Any]:
        """Bind the family, and the known parameter of the member."""
        if member is None:
            return partial(self.function, family)
        return partial(self.function, family, **{family._known: member.__dict__[family._known]})


class KnownParameter(ExponentialFamily):
    """Base of families with one natural parameter and one known parameter."""

    #: Name of the known parameter.
    _known: ClassVar[str]

    @classmethod
    def _check_known(cls, method: str, given: Any) -> Array:
        """Check the known parameter, or fill in its default."""
        raise TypeError(
            f"{cls.__name__}.{method} needs the known {cls._known}: "
            f"{cls.__name__}.{method}(..., {cls._known}=...)"
        )

    @classmethod
    def _make(cls, natural: Array, known: Array) -> Self:
        """Return the member with checked natural and known parameters."""
        raise TypeError(f"{cls.__name__} states no way back from natural parameters")

    @classmethod
    def _make_from_mean(cls, mean: Array, known: Array) -> Self:
        """Return the member with the given mean of the statistic."""
        raise TypeError(f"{cls.__name__} states no way back from mean parameters")

    @knows
    def from_natural(cls, *natural: Any, **known: Any) -> Self:  # type: ignore[override]  # noqa: N805
        """Return the member with natural parameter ``natural`` and the known one by name."""
        if len(natural) != 1:
            raise TypeError(f"{cls.__name__}.from_natural takes 1 component, got {len(natural)}")
        eta = as_observation(natural[0], "natural parameters")
        if np.any(np.isnan(eta)):
            raise ValueError("natural parameters must not hold NaN")
        made: Self = cls._from_natural(eta, **known)
        return made

    @knows
    def _from_natural(cls, *natural: Array, **known: Any) -> Self:  # type: ignore[override]  # noqa: N805
        return cls._make(natural[0], cls._check_known("from_natural", known.get(cls._known)))

    @knows
    def from_mean_params(cls, *mean_params: Any, **known: Any) -> Self:  # type: ignore[override]  # noqa: N805
        """Return the member whose statistic has mean ``mean_params``."""
        mean = as_observation(mean_params[0], "mean_params")
        value = cls._check_known("from_mean_params", known.get(cls._known))
        return cls._make_from_mean(mean, value)

    @knows
    def from_statistics(cls, statistics: Sums | Moments, **known: Any) -> Self:  # type: ignore[override]  # noqa: N805
        """Return the maximum-likelihood member: the mean of its statistic is that of the data."""
        assert isinstance(statistics, Sums)
        made: Self = cls.from_mean_params(*statistics.averages, **known)
        return made

    def _times(self, other: Self) -> Self:
        self._require_equal_known(other, "a product")
        return super()._times(other)

    def _over(self, other: Self) -> Self:
        self._require_equal_known(other, "a quotient")
        return super()._over(other)

    def _require_equal_known(self, other: Self, what: str) -> None:
        name = self._known
        if not np.all(self.__dict__[name] == other.__dict__[name]):
            raise ValueError(f"{what} of {type(self).__name__} densities needs an equal {name}")
