r"""Rows of probabilities that are learned from counts: initial states, transitions, symbols, run lengths.

.. math:: \hat p_{jk} = \frac{n_{jk}}{\sum_l n_{jl}}, \qquad
   \hat p_{jk} = \frac{n_{jk} + α_{jk} - 1}{\sum_l (n_{jl} + α_{jl} - 1)}, \qquad
   E[\ln p_{jk}] = ψ(α_{jk} + n_{jk}) - ψ\Bigl(\sum_l (α_{jl} + n_{jl})\Bigr)

are the most likely rows, those of highest posterior density, and what beliefs expect. What has
concentration 0 is impossible, and stays so.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln

from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["DirichletRows", "Estimate", "draw_rows"]

#: Most likely parameters, those of highest posterior density, or beliefs.
Estimate = Literal["likelihood", "mode", "belief"]


class DirichletRows(NamedTuple):
    """Rows of probabilities with independent Dirichlet priors.

    Attributes
    ----------
    concentration : (..., L)
        α; 0 where there is no probability.
    estimate : {"likelihood", "mode", "belief"}
    """

    concentration: Array
    estimate: Estimate

    @property
    def possible(self) -> Array:
        """Which entries may have probability, (..., L)."""
        return self.concentration > 0.0

    @property
    def n_parameters(self) -> int:
        """Free probabilities of all rows."""
        return int((self.possible.sum(axis=-1) - 1).sum())

    def learn(self, counts: Array) -> tuple[Array, float]:
        """Return ln p or E[ln p] (..., L), and what the rows add to the objective.

        That is ln p(θ) of estimates of highest density, and −KL of beliefs.
        """
        if not counts.min() >= 0.0:  # a jump went too far
            raise ValueError("a row of probabilities has less than no counts")
        if self.estimate == "belief":
            return self._expected_logs(counts)
        with np.errstate(divide="ignore"):
            logs = np.log(self.mean(counts))
        if self.estimate == "likelihood":
            return logs, 0.0
        alpha, possible = self.concentration, self.possible
        bent = possible & (alpha != 1.0)
        height = (np.where(bent, alpha, 1.0) - 1.0) * np.where(bent, logs, 0.0)
        return logs, float(height.sum() + self._log_normalizers(alpha).sum())

    def mean(self, counts: Array) -> Array:
        """Return the estimates, or E[p]; a row without counts is even over what is possible."""
        added = {"likelihood": 0.0, "mode": self.concentration - 1.0, "belief": self.concentration}
        whole = np.where(self.possible, counts + added[self.estimate], 0.0)
        total = whole.sum(axis=-1, keepdims=True)
        even = self.possible / self.possible.sum(axis=-1, keepdims=True)
        return np.where(total > 0.0, whole / np.where(total > 0.0, total, 1.0), even)

    def belief(self, counts: Array) -> Any:
        """Return the Dirichlet of all rows; of rows with impossible entries a tuple of one for each."""
        after = self.concentration + counts
        if self.possible.all():
            return Dirichlet(after)
        return tuple(Dirichlet(row[row > 0.0]) for row in after)

    def _expected_logs(self, counts: Array) -> tuple[Array, float]:
        after = np.where(self.possible, self.concentration + counts, 1.0)
        total = np.where(self.possible, after, 0.0).sum(axis=-1, keepdims=True)
        logs = np.where(self.possible, digamma(after) - digamma(total), -np.inf)
        change = np.where(self.possible, counts * np.where(self.possible, logs, 0.0), 0.0)
        before = self._log_normalizers(self.concentration)
        now = self._log_normalizers(np.where(self.possible, after, 0.0))
        return logs, -float((now - before).sum() + change.sum())

    def log_density(self, logs: Array, concentration: Array) -> Array:
        """Return Σ ln Dir(p | α) over all rows of some draws ln p (S, ..., L), (S,)."""
        powers, constant = self.density_terms(concentration)
        seen = np.where(self.possible, logs, 0.0).reshape(len(logs), -1)
        return seen @ powers.ravel() + constant

    def density_terms(self, concentration: Array) -> tuple[Array, float]:
        """Return what Σ ln Dir(p | α) multiplies ln p (..., L) by, 0 where nothing is possible, and adds."""
        inside = np.where(self.possible, concentration, 0.0)
        powers = np.where(self.possible, concentration - 1.0, 0.0)
        return powers, float(self._log_normalizers(inside).sum())

    @staticmethod
    def _log_normalizers(alpha: Array) -> Array:
        """Return ln Γ(Σα) − Σ ln Γ(α) of each row, over what is possible."""
        inside = alpha > 0.0
        each = np.where(inside, gammaln(np.where(inside, alpha, 1.0)), 0.0)
        return gammaln(alpha.sum(axis=-1)) - each.sum(axis=-1)


def draw_rows(law: DirichletRows, counts: Array, size: int, rng: np.random.Generator) -> Array:
    """Return ln p (S, ..., L) drawn from the beliefs about rows; −inf where nothing is possible."""
    after = law.concentration + counts
    shapes = np.broadcast_to(np.where(law.possible, after, 1.0), (size, *after.shape))
    # ln Gamma(a) = ln Gamma(a + 1) + ln(U)/a does not underflow for small a
    logs = np.log(rng.standard_gamma(shapes + 1.0)) + np.log1p(-rng.random(shapes.shape)) / shapes
    logs = np.where(law.possible, logs, -np.inf)
    return logs - log_sum_exp(logs, axis=-1)[..., None]
