"""Counts out of a known number of trials: what binomial and multinomial share.

The number of trials n is known, not learnt, so each n is a family of its own. Class methods take
it as ``trials=``; called on a member they take the member's.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.known import knows
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, whole

__all__ = ["KnownTrials", "drawn_trials", "require_trials", "shown"]


class KnownTrials(ExponentialFamily):
    """Base of the families of counts out of n trials."""

    constant_carrier = False
    _known: ClassVar[str] = "trials"

    trials: Array

    @classmethod
    def _make(cls, natural: Array, trials: Array) -> Self:
        """Return the member with checked natural parameters and trials."""
        raise TypeError(f"{cls.__name__} states no way back from natural parameters")

    @classmethod
    def _make_from_mean(cls, mean: Array, trials: Array | None) -> Self:
        """Return the member with the given expected counts."""
        raise TypeError(f"{cls.__name__} states no way back from mean parameters")

    @knows
    def from_natural(cls, *natural: Any, trials: Any = None) -> Self:  # type: ignore[override]  # noqa: N805
        """Return the member with natural parameters ``natural`` and ``trials`` trials."""
        if len(natural) != 1:
            raise TypeError(f"{cls.__name__}.from_natural takes 1 component, got {len(natural)}")
        eta = as_observation(natural[0], "natural parameters")
        if np.any(np.isnan(eta)):
            raise ValueError("natural parameters must not hold NaN")
        made: Self = cls._from_natural(eta, trials=trials)
        return made

    @knows
    def _from_natural(cls, *natural: Array, trials: Any = None) -> Self:  # type: ignore[override]  # noqa: N805
        return cls._make(natural[0], require_trials(cls.__name__, "from_natural", trials))

    @knows
    def from_mean_params(cls, *mean_params: Any, trials: Any = None) -> Self:  # type: ignore[override]  # noqa: N805
        """Return the member with expected counts ``mean_params`` out of ``trials`` trials."""
        mean = as_observation(mean_params[0], "mean_params")
        return cls._make_from_mean(mean, None if trials is None else whole("trials", trials))

    @knows
    def from_statistics(cls, statistics: Sums | Moments, trials: Any = None) -> Self:  # type: ignore[override]  # noqa: N805
        """Return the maximum-likelihood member: its expected counts are those of the data."""
        assert isinstance(statistics, Sums)
        made: Self = cls.from_mean_params(*statistics.averages, trials=trials)
        return made

    def _kl(self, other: Self) -> Array:
        if not np.all(self.trials == other.trials):
            raise ValueError(
                f"KL divergence needs equal trials, got {shown(self.trials)} and "
                f"{shown(other.trials)}: "
                "with unequal ones the two have different supports"
            )
        return self._kl_at_equal_trials(other)

    def _kl_at_equal_trials(self, other: Self) -> Array:
        raise TypeError(f"{type(self).__name__} states no KL divergence")


def drawn_trials(trials: Array) -> Any:
    """Return numbers of trials as integers that draws can be made of."""
    if np.any(trials >= 2.0**63):
        raise ValueError(f"draws need trials below 2**63, got {np.max(trials):.6g}")
    return trials.astype(np.int64)


def require_trials(family: str, method: str, trials: Any) -> Array:
    """Check trials that have to be given."""
    if trials is None:
        raise TypeError(
            f"{family}.{method} needs the known number of trials: {family}.{method}(..., trials=n)"
        )
    return whole("trials", trials)


def shown(numbers: Array) -> str:
    """Name the distinct numbers, for messages."""
    return ", ".join(f"{float(v):.10g}" for v in np.unique(numbers))
