r"""Certainty: all probability at one point, :math:`p(x) = [x = c]`.

Multiplying a density by it clamps the quantity to c and leaves the density's value there as the
scale: how observations enter a product of messages.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution, any_of
from posteriori.distributions.exponential import Product
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, real

__all__ = ["PointMass"]


class PointMass(Distribution):
    """The distribution of a quantity whose value is known.

    Parameters
    ----------
    location : float or array
        The value c.
    event_ndim : int, optional
        Number of trailing axes that make one event: 0 for numbers (the default), 1 for vectors,
        2 for matrices. Leading axes make a batch.

    Examples
    --------
    >>> from posteriori import Normal
    >>> PointMass(1.5).log_prob([1.5, 2.0])
    array([  0., -inf])
    >>> clamped, log_scale = PointMass(1.5).product(Normal(1.5, variance=1.0))
    >>> clamped, log_scale.round(6)
    (PointMass(1.5), np.float64(-0.918939))
    """

    _parameters = {"location": 0}
    _shown = ("location", "event_ndim=")
    _has_atoms = True

    location: Array

    def __new__(cls, location: Any, event_ndim: int | None = None) -> Self:
        value = real("location", location)
        if isinstance(value, Symbol):
            return cls._from(location=value)
        axes = event_ndim or 0
        if axes not in range(value.ndim + 1):
            raise ValueError(
                f"event_ndim must lie between 0 and {value.ndim}, the number of axes of location, "
                f"got {event_ndim!r}"
            )
        return cls._at(value, axes)

    @classmethod
    def _at(cls, location: Array, event_ndim: int) -> Self:
        self = cls._from(location=location)
        if event_ndim:
            self.__dict__["_event_ndim"] = event_ndim
        return self

    @property
    def event_ndim(self) -> int | None:
        """Number of axes of one event; None, and not printed, for a number."""
        return self._event_ndim or None

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the batch: () for a single distribution."""
        return self.location.shape[: self.location.ndim - self._event_ndim]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one event."""
        return self.location.shape[self.location.ndim - self._event_ndim :]

    @property
    def mean(self) -> Array:
        """The location."""
        return self.location

    @property
    def mode(self) -> Array:
        """The location."""
        return self.location

    @property
    def median(self) -> Array:
        """The location."""
        return self.location

    @cached_property
    def variance(self) -> Array:
        """0 in every coordinate."""
        return np.zeros(self.location.shape)[()]

    @property
    def std(self) -> Array:
        """0 in every coordinate."""
        return self.variance

    def entropy(self) -> Array:
        """Return 0: nothing is left to learn."""
        return np.zeros(self.batch_shape)[()]

    # -- density ---------------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        if any_of(x != x):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        same = x == self.location
        if self._event_ndim:
            same = same.all(axis=tuple(range(-self._event_ndim, 0)))
        return np.where(same, 0.0, -np.inf)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        draws = np.broadcast_to(self.location, shape + self.event_shape)
        return draws.copy() if draws.ndim else self.location

    # -- algebra of beliefs ----------------------------------------------------------------

    def product(self, other: Distribution) -> Product:
        """Return the point mass and the value there: c clamps ``other``, whatever its family.

        Raises
        ------
        ValueError
            When ``other`` has no density at the location: the product is 0 everywhere.
        """
        if not isinstance(other, Distribution):
            raise TypeError(f"a product needs another distribution, got {type(other).__name__}")
        log_scale = other.log_prob(self.location)
        if any_of(log_scale == -np.inf):
            raise ValueError(
                f"the product is 0 everywhere: {other!r} excludes the location {self.location}"
            )
        location = np.broadcast_to(self.location, np.shape(log_scale) + self.event_shape)
        return Product(type(self)._at(location[()], self._event_ndim), log_scale)

    def __mul__(self, other: Any) -> Self:
        """Multiply by any density and normalise: the location stays certain."""
        if not isinstance(other, Distribution):
            return NotImplemented
        made: Self = self.product(other).distribution
        return made

    __rmul__ = __mul__

    # -- being a value ---------------------------------------------------------------------

    def iid(self, n: int | str) -> Any:
        """Return ``n`` independent copies: the same value with a leading batch axis."""
        if isinstance(n, str):
            return super().iid(n)
        flat = PointMass._from(location=self.location)
        return self._at(Distribution.iid(flat, n).location, self._event_ndim)

    def _key(self) -> tuple[Array, ...]:
        return np.asarray(self.location), np.asarray(self._event_ndim)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self.location, self._event_ndim)


def _restore(family: type[PointMass], location: Array, event_ndim: int) -> PointMass:
    return family._at(as_observation(location), event_ndim)
