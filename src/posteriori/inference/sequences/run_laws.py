r"""Laws of the lengths of runs that are learned from expected counts: Poisson and negative binomial.

.. math:: p(d) \propto \mathrm{Poisson}(d - 1\mid λ) \quad\text{or}\quad
   \mathrm{NegBin}(d - 1\mid r, q), \qquad d = 1, …, L.

Tables of their own are :class:`DirichletRows`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import gammaln

from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array

__all__ = ["ParametricRuns"]

#: Logarithms of means and of the count of failures are looked for here.
_RANGE = (-12.0, 12.0)


class ParametricRuns(NamedTuple):
    """The most likely lengths of runs of each state.

    Attributes
    ----------
    family : {"poisson", "negative-binomial"}
    n_states, longest : int
    """

    family: str
    n_states: int
    longest: int

    @property
    def n_parameters(self) -> int:
        """One or two of each state."""
        return self.n_states * (1 if self.family == "poisson" else 2)

    def learn(self, counts: Array) -> tuple[Array, float]:
        """Return ln p (K, L) of the most likely members; no prior adds to the objective."""
        if not counts.min() >= 0.0:  # a jump went too far
            raise ValueError("runs have less than no counts")
        return np.stack([self._log_pmf(self._best(n)) for n in counts]), 0.0

    def mean(self, counts: Array) -> Array:
        """Return the probabilities (K, L)."""
        return np.exp(self.learn(counts)[0])

    def _best(self, counts: Array) -> Array:
        """Return the most likely parameters, logarithms of mean and count."""
        beyond = np.arange(self.longest)
        total = max(counts.sum(), np.finfo(np.float64).tiny)
        mean = counts @ beyond / total
        start = np.log(np.maximum(mean, 1e-3))
        if self.family == "poisson":
            first = np.array([start])
        else:
            spare = max(counts @ (beyond - mean) ** 2 / total - mean, 1e-2)  # μ²/r
            first = np.array([start, np.clip(np.log(mean**2 / spare + 1e-3), -4.0, 8.0)])
        share = counts / total

        def loss(logs: Array) -> float:
            return -float(share @ self._log_pmf(logs))

        found = minimize(
            loss,
            first,
            method="Nelder-Mead",
            bounds=[_RANGE] * len(first),
            options={"xatol": 1e-9, "fatol": 1e-14},
        )
        return np.asarray(found.x)

    def _log_pmf(self, logs: Array) -> Array:
        """Return ln p(d), d = 1, …, L."""
        x, mean = np.arange(self.longest), np.exp(logs[0])
        if self.family == "poisson":
            return log_softmax(x * logs[0] - gammaln(x + 1.0), axis=0)
        r = np.exp(logs[1])
        terms = gammaln(x + r) - gammaln(x + 1.0) + x * (logs[0] - np.log(mean + r))
        return log_softmax(terms, axis=0)
