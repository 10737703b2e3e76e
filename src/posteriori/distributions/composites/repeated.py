"""Equal copies of one distribution, of which each question is answered once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.numerics.types import Array

__all__ = ["Repeated"]

#: Points that are asked about at a time, as a mixture has a number for each of its components.
_BLOCK = 1024


class Repeated(Univariate):
    """A batch of so many copies of one distribution of a number.

    Parameters
    ----------
    base : univariate distribution
        Without a batch.
    count : int

    Examples
    --------
    >>> from posteriori import Normal
    >>> d = Repeated(Normal(1.0, variance=4.0), 3)
    >>> d.mean, d.quantile(0.5), d.log_prob([1.0, 1.0, 3.0]).round(3)
    (array([1., 1., 1.]), array([1., 1., 1.]), array([-1.612, -1.612, -2.112]))
    """

    _parameters = {}
    _shown = ("base", "count")

    base: Any
    count: int

    def __new__(cls, base: Any, count: int) -> Self:
        if not isinstance(base, Univariate) or base.batch_shape:
            raise TypeError(f"base must be one distribution of a number, got {base!r}")
        self = object.__new__(cls)
        self.__dict__.update(base=base, count=int(count))
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """One axis, of the copies."""
        return (self.count,)

    @property
    def _has_atoms(self) -> bool:  # type: ignore[override]
        return has_atoms(self.base)

    @cached_property
    def mean(self) -> Array:
        """That of the base, (count,)."""
        return np.full(self.count, self.base.mean)

    @cached_property
    def variance(self) -> Array:
        """That of the base, (count,)."""
        return np.full(self.count, self.base.variance)

    def _log_density(self, x: Array) -> Array:
        return self._each(self.base.log_prob, x)

    def _cdf(self, x: Array) -> Array:
        return self._each(self.base.cdf, x)

    def _quantile(self, q: Array) -> Array:
        return self._each(self.base.quantile, q)

    def _each(self, answer: Callable[[Array], Array], x: Array) -> Array:
        """Return the answers at points that broadcast against the batch; once where all ask the same."""
        shape = np.broadcast_shapes(np.shape(x), self.batch_shape)
        if np.ndim(x) == 0:
            return np.full(shape, answer(x))
        points = np.broadcast_to(x, shape).ravel()
        parts = [answer(points[i : i + _BLOCK]) for i in range(0, len(points), _BLOCK)]
        return np.concatenate(parts).reshape(shape) if parts else np.empty(shape)

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.base.sample(shape, rng=rng)

    def _key(self) -> tuple[Array, ...]:
        return np.asarray(self.count), *self.base._key()

    def __reduce__(self) -> tuple[Any, ...]:
        return Repeated, (self.base, self.count)
