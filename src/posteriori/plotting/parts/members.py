"""One member of a batch, asked through the batch, and where its probability lies."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["Member", "Range"]

Range = tuple[float, float]

#: Draws that stand for a distribution where a plot needs them.
_DRAWS = 20_000
#: Where the range of a heavy tail ends: so many times the middle half beyond it.
_TAIL = 6.0


@dataclass(frozen=True, eq=False)
class Member:
    """One distribution of a batch; of a single distribution, that one."""

    batch: Any
    index: tuple[int, ...] = ()

    def log_prob(self, x: Any) -> Array:
        """Return ln p at points (n, *event), or at a tuple of arrays (n,) for a joint event."""
        spread: Any = tuple(map(self._spread, x)) if isinstance(x, tuple) else self._spread(x)
        with np.errstate(all="ignore"):
            return self.pick(self.batch.log_prob(spread))

    def cdf(self, x: Any) -> Array:
        """Return the cumulative probability at points (n,)."""
        return self.pick(self.batch.cdf(self._spread(x)))

    def pick(self, values: Any) -> Array:
        """Return the part of an answer (n, *batch) that belongs to this member."""
        answer: Any = np.asarray(values)
        return answer[(..., *self.index)]

    def density(self, x: Any) -> Array:
        """Return p at points."""
        return np.exp(self.log_prob(x))

    def value(self, name: str) -> Any:
        """Return a finite moment such as ``mean``; None where there is none."""
        try:
            with np.errstate(all="ignore"):
                found = np.asarray(getattr(self.batch, name))[self.index]
        except (AttributeError, TypeError, ValueError):
            return None
        return found if np.all(np.isfinite(found)) else None

    @cached_property
    def draws(self) -> Any:
        """Draws (n, *event) with a fixed seed: where a plot needs them they do not change."""
        drawn = self.batch.sample(_DRAWS, rng=0)
        if isinstance(drawn, tuple):
            parts = [part[(slice(None), *self.index)] for part in drawn]
            return type(drawn)(*parts)
        return drawn[(slice(None), *self.index)]

    # -- numbers ---------------------------------------------------------------------------

    def quantile(self, q: Any) -> Array:
        """Return quantiles at levels (n,), tabulated where the family states none."""
        levels = np.asarray(q, dtype=np.float64)
        if self._states_quantiles:
            return self._stated_quantile(levels)
        x, cumulative = self._table
        if self.is_discrete:
            return x[np.minimum(cumulative.searchsorted(levels), len(x) - 1)]
        inner = np.interp(levels, cumulative, x)
        start, end = self._ends
        return np.where(levels <= 0, start, np.where(levels >= 1, end, inner))

    def interval(self, mass: float) -> tuple[float, float]:
        """Return the central interval that holds ``mass``."""
        tail = 0.5 * (1.0 - mass)
        low, high = self.quantile([tail, 1.0 - tail])
        return float(low), float(high)

    @cached_property
    def is_discrete(self) -> bool:
        """Whether probability sits on single points: none is left a little beside them."""
        levels = [0.2, 0.35, 0.5, 0.65, 0.8]
        x = self._stated_quantile(levels) if self._states_quantiles else self.draws[:200]
        spread = float(x.max() - x.min())
        aside = x + (7.3e-4 * spread if spread > 0 else 0.37)
        return bool(np.all(self.log_prob(aside) == -np.inf))

    def atoms(self, mass: float) -> Array:
        """Return the points that hold the probability of a discrete distribution."""
        tail = min(0.5 * (1.0 - mass), 5e-4)
        levels = np.linspace(tail, 1.0 - tail, 2001)
        atoms = np.unique(self.quantile(levels))
        if np.any(atoms != np.floor(atoms)):
            return atoms
        start, end = self.quantile([0.0, 1.0])  # whole numbers: those between count as well
        low, high = max(atoms[0] - 1.0, start), min(atoms[-1] + 1.0, end)
        step = max(1.0, np.ceil((high - low) / 1000.0))
        return np.arange(low, high + 1.0, step)

    def reach(self, mass: float) -> Range:
        """Return a finite range that shows the body of a continuous distribution."""
        tail = min(0.5 * (1.0 - mass), 0.025)
        low, q1, q3, high = map(float, self.quantile([tail, 0.25, 0.75, 1.0 - tail]))
        width, body = high - low, q3 - q1
        low = max(low - 0.35 * width, q1 - _TAIL * body)
        high = min(high + 0.35 * width, q3 + _TAIL * body)
        start, end = self.support
        if start >= low - 0.25 * width:
            low = start - 0.04 * (min(high, end) - start)
        if end <= high + 0.25 * width:
            high = end + 0.04 * (end - max(low, start))
        return low, high

    @cached_property
    def support(self) -> Range:
        """Where the support of a number starts and ends."""
        start, end = map(float, self.quantile([0.0, 1.0]))
        return (start if start < np.inf else -np.inf), end

    def _spread(self, x: Any) -> Array:
        """Insert the axes of the batch between points and events."""
        x = np.asarray(x, dtype=np.float64)
        return x.reshape(x.shape[:1] + (1,) * len(self.index) + x.shape[1:])

    @cached_property
    def _states_quantiles(self) -> bool:
        try:
            return bool(np.isfinite(self._stated_quantile([0.5])[0]))
        except (AttributeError, TypeError):
            return False

    def _stated_quantile(self, q: Any) -> Array:
        with np.errstate(all="ignore"):
            return self.pick(self.batch.quantile(self._spread(q)))

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Points and cumulative probabilities, summed or integrated over where draws fell."""
        if self.is_discrete:
            x = np.arange(self.draws.min() - 2.0, self.draws.max() + 3.0)
            mass = self.density(x)
            x, mass = x[mass > 0], mass[mass > 0]
            return x, np.cumsum(mass) / mass.sum()
        knots = self._knots
        nodes, weights = np.polynomial.legendre.leggauss(5)
        half, middle = 0.5 * np.diff(knots), 0.5 * (knots[1:] + knots[:-1])
        p = self.density((middle[:, None] + half[:, None] * nodes).ravel()).reshape(-1, 5)
        held = half * (np.where(np.isfinite(p), p, 0.0) @ weights)
        cumulative = np.append(0.0, np.cumsum(held))
        return knots, cumulative / cumulative[-1]

    @cached_property
    def _knots(self) -> Array:
        """Points from one end of the support, or far in the tail, to the other."""
        x = np.quantile(self.draws, np.linspace(0.0, 1.0, 2001))
        start, end = self._ends
        steps = np.geomspace(1e-3, 30.0, 200) * (x[-1] - x[0])
        below = x[0] - steps if start == -np.inf else np.linspace(start, x[0], 9)
        beyond = x[-1] + steps if end == np.inf else np.linspace(x[-1], end, 9)
        return np.unique(np.concatenate([below, x, beyond]))

    @cached_property
    def _ends(self) -> tuple[float, float]:
        """Where the support starts and ends, by bisection from inside to outside."""
        least, most = float(self.draws.min()), float(self.draws.max())
        found = []
        for inside, outside in ((least, 2 * least - most), (most, 2 * most - least)):
            if self.log_prob([outside])[0] > -np.inf:
                found.append(np.copysign(np.inf, outside - inside))
                continue
            for _ in range(60):
                middle = 0.5 * (inside + outside)
                if self.log_prob([middle])[0] > -np.inf:
                    inside = middle
                else:
                    outside = middle
            found.append(inside)
        return found[0], found[1]
