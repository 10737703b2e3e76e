"""A mixture whose members are of different families, as predictions of different models are."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.numerics.calculus.roots import invert_increasing, invert_smooth, least_whole
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.numerics.validation import probability_vector

__all__ = ["PredictiveMixture"]

#: Below it all whole numbers are numbers.
_LARGEST_WHOLE = 2.0**53


class PredictiveMixture(Univariate):
    """Mixture of univariate distributions of any families, all with one batch shape.

    Parameters
    ----------
    probabilities : (K,)
    members : sequence of K distributions

    Examples
    --------
    >>> from posteriori import Normal, StudentT
    >>> d = PredictiveMixture([0.5, 0.5], [Normal(0, variance=1), StudentT(3, 2, scale=1)])
    >>> d.mean, d.variance
    (np.float64(1.0), np.float64(3.0))
    """

    _parameters = {"probabilities": 1}
    _shown = ("probabilities", "members")

    probabilities: Array
    members: tuple[Any, ...]

    def __new__(cls, probabilities: Any, members: Sequence[Any]) -> Self:
        p = probability_vector("probabilities", probabilities)
        if p.shape != (len(members),):
            raise ValueError(f"probabilities has shape {p.shape} for {len(members)} members")
        shapes = {member.batch_shape for member in members}
        if len(shapes) > 1:
            raise ValueError(f"members must have one batch shape, got {sorted(shapes)}")
        self = object.__new__(cls)
        self.__dict__.update(probabilities=p, members=tuple(members))
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Batch shape of every member."""
        return self.members[0].batch_shape

    @property
    def _has_atoms(self) -> bool:  # type: ignore[override]
        return any(has_atoms(member) for member in self.members)

    def __reduce__(self) -> tuple[Any, ...]:
        return PredictiveMixture, (self.probabilities, self.members)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PredictiveMixture):
            return NotImplemented
        same = np.array_equal(self.probabilities, other.probabilities)
        return same and self.members == other.members

    def __hash__(self) -> int:
        return hash((self.probabilities.tobytes(), self.members))

    def __repr__(self) -> str:
        shares = zip(self.probabilities, self.members, strict=True)
        parts = ", ".join(f"{p:.4g} {type(m).__name__}" for p, m in shares)
        return f"PredictiveMixture({parts}; batch {self.batch_shape})"

    def _average(self, values: Sequence[Any]) -> Array:
        """Return Σ p_k v_k; members of probability 0 do not count, even where infinite."""
        pairs = zip(self.probabilities, values, strict=True)
        return np.sum([p * np.asarray(v) for p, v in pairs if p > 0], axis=0)

    @cached_property
    def mean(self) -> Array:
        """Σ p_k m_k."""
        return self._average([m.mean for m in self.members])[()]

    @cached_property
    def variance(self) -> Array:
        """Σ p_k {v_k + (m_k − m)²}."""
        return self._average([m.variance + (m.mean - self.mean) ** 2 for m in self.members])[()]

    def _log_density(self, x: Array) -> Array:
        with np.errstate(divide="ignore"):
            shares = np.log(self.probabilities)
        logs = [share + m.log_prob(x) for share, m in zip(shares, self.members, strict=True)]
        return np.asarray(log_sum_exp(np.stack(np.broadcast_arrays(*logs)), axis=0))[()]

    def _cdf(self, x: Array) -> Array:
        return np.minimum(self._average([m.cdf(x) for m in self.members]), 1.0)[()]

    def _quantile(self, q: Array) -> Array:
        ends = np.stack([m.quantile(q) for m, p in self._likely])
        low, high = ends.min(axis=0), ends.max(axis=0)
        if self._has_atoms and (np.abs(ends) < _LARGEST_WHOLE).all():
            return self._quantile_of_counts(q, low, high)
        if self._has_atoms or not np.isfinite(ends).all():
            return invert_increasing(self._cdf, q, low, high, jumps=self._has_atoms)
        shares = np.array([p for _, p in self._likely])
        start = np.clip(np.tensordot(shares, ends, 1), low, high)
        return invert_smooth(self._cdf, lambda x: np.exp(self._log_density(x)), q, low, high, start)

    def _quantile_of_counts(self, q: Array, low: Array, high: Array) -> Array:
        """Return quantiles where some members count: between whole numbers only the others rise.

        The cdf at the least whole number that is large enough, and at the one before, encloses the quantile.
        Where those that count have atoms in between as well, all members are searched.
        """
        last = least_whole(self._cdf, q, np.floor(low), np.ceil(high))
        counts = [(m, p) for m, p in self._likely if has_atoms(m)]
        numbers = [(m, p) for m, p in self._likely if not has_atoms(m)]
        below = _weighted_cdf(counts, np.nextafter(last, -np.inf))
        if np.any(below != _weighted_cdf(counts, last - 1.0)):
            return invert_increasing(self._cdf, q, low, high)
        first = np.maximum(low, last - 1.0)
        return invert_increasing(
            lambda x: below + _weighted_cdf(numbers, x), q, first, last, jumps=False
        )

    @property
    def _likely(self) -> list[tuple[Any, float]]:
        return [(m, p) for m, p in zip(self.members, self.probabilities, strict=True) if p > 0]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        lead = shape[: len(shape) - len(self.batch_shape)]
        which = rng.choice(len(self.members), size=shape, p=self.probabilities)
        draws = np.stack([np.asarray(m.sample(lead, rng=rng)) for m in self.members])
        return np.take_along_axis(draws, which[None], axis=0)[0][()]


def _weighted_cdf(members: Sequence[tuple[Any, float]], x: Array) -> Array:
    return np.sum([p * np.asarray(m.cdf(x)) for m, p in members], axis=0)
