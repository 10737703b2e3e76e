r"""What mixtures whose columns are independent given the component have in common.

.. math:: p(x) = \sum_k \pi_k\,p(x\mid\theta_k), \qquad
   p(k\mid x) = \frac{\pi_k\,p(x\mid\theta_k)}{p(x)}.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    Constraint,
    check_parameters,
    or_none,
)
from posteriori.inference.classes.class_moments import row_blocks
from posteriori.inference.mixtures.columns.latent_ascent import WeightLaw
from posteriori.inference.mixtures.columns.latent_starts import Search, distinct_rows
from posteriori.inference.mixtures.columns.mixture_densities import MixtureDensities
from posteriori.inference.mixtures.columns.mixture_learning import LearnedMixture
from posteriori.inference.mixtures.label_symmetry import symmetry_gain
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import unmasked

__all__ = ["COMMON", "LatentMixture", "MixturePosterior", "TableRows"]

_WHOLE = Constraint("be a whole number of at least 1", 1.0, np.inf, whole=True)

#: What the parameters that all have may be.
COMMON = {
    "n_components": _WHOLE,
    "n_init": _WHOLE,
    "max_iter": _WHOLE,
    "tol": NOT_NEGATIVE,
    "weight_concentration_prior": or_none(POSITIVE),
}


class MixturePosterior(NamedTuple):
    """Beliefs about a mixture: its weights, and the parameters of its components."""

    weights: Dirichlet
    components: Any


class TableRows(NamedTuple):
    """Rows that say something, and how often each counts."""

    x: Array
    frequency: Array | None
    shares: Array | None


class LatentMixture(DensityMixin, BaseEstimator):
    """A mixture, given how its components are learned and what their densities are."""

    n_components: int
    n_init: int
    max_iter: int
    tol: float
    accelerated: bool
    weight_concentration_prior: float | None
    responsibilities_init: Any
    random_state: Any
    _densities: MixtureDensities

    _constraints = COMMON

    @abstractmethod
    def _integrates(self) -> bool:
        """Tell whether components have beliefs, or are the most likely."""

    @abstractmethod
    def _learn(self, rows: TableRows, search: Search) -> LearnedMixture:
        """Learn the mixture."""

    @abstractmethod
    def _check_values(self, x: Array) -> None:
        """Refuse entries that no component could produce."""

    # -- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows.

        Parameters
        ----------
        X : (N, D)
            NaN is a missing entry; it is left out.
        y : ignored
        sample_weight : (N,), optional
            Frequencies >= 0: equal to repeated rows.
        """
        check_parameters(self)
        x = check_gappy_inputs(self, X, reset=True)
        rows = self._rows_that_count(x, sample_weight)
        found = self._learn(rows, self._search(rows.shares))
        for name in ("posterior_", "log_evidence_", "symmetry_gain_", "log_likelihood_"):
            self.__dict__.pop(name, None)
        law = self._weight_law
        self.weights_ = law.mean(found.counts)
        self.trace_, self.n_iter_, self.converged_ = found.trace, found.n_iter, found.converged
        self._densities = found.densities
        if found.log_affinity is None:
            self.log_likelihood_ = found.value
            return self
        self.posterior_ = MixturePosterior(
            Dirichlet(law.concentration + found.counts), found.beliefs
        )
        self.symmetry_gain_ = symmetry_gain(found.log_affinity)
        self.log_evidence_ = LogEvidence(
            found.value + self.symmetry_gain_,
            kind="exact" if self.n_components == 1 else "bound",
            of="X",
            fingerprint=Fingerprint().update(rows.x, rows.frequency),
        )
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows and return the most probable component of each, (N,)."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    @property
    def _weight_law(self) -> WeightLaw:
        if not self._integrates():
            return WeightLaw(None)
        given = self.weight_concentration_prior
        return WeightLaw(1.0 / self.n_components if given is None else float(given))

    def _search(self, shares: Array | None) -> Search:
        return Search(
            int(self.n_components),
            int(self.n_init),
            self._weight_law,
            shares,
            as_generator(self.random_state),
            int(self.max_iter),
            {"tol": self.tol, "accelerated": self.accelerated},
        )

    def _rows_that_count(self, x: Array, sample_weight: Any) -> TableRows:
        """Leave out rows of weight 0 and rows without entries, which have probability 1."""
        frequency = None
        if sample_weight is not None:
            frequency = _check_sample_weight(
                unmasked("sample_weight", sample_weight),
                x,
                dtype=np.float64,
                ensure_non_negative=True,
            )
        shares = self._check_shares(len(x))
        kept = np.ones(len(x), dtype=bool) if frequency is None else frequency > 0
        if not kept.any():
            raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from")
        missing = np.ones(x.shape[1], dtype=bool)
        for here in row_blocks(x):
            seen = x[here] == x[here]
            kept[here] &= seen.any(axis=1)
            missing &= ~seen[kept[here]].any(axis=0)
        if missing.any():
            name = column_names(self)[int(np.argmax(missing))]
            raise ValueError(f"{name} of X is missing in all rows; leave it out")
        if not kept.all():
            x = x[kept]
            frequency = None if frequency is None else frequency[kept]
            shares = None if shares is None else shares[:, kept]
        return TableRows(x, frequency, shares)

    def _check_shares(self, rows: int) -> Array | None:
        if self.responsibilities_init is None:
            return None
        shares = np.asarray(unmasked("responsibilities_init", self.responsibilities_init), float)
        if shares.shape != (rows, self.n_components):
            raise ValueError(
                f"responsibilities_init must have shape {(rows, self.n_components)}, a row for each "
                f"row of X and a column for each component; got {shares.shape}"
            )
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise ValueError("responsibilities_init must hold finite numbers >= 0")
        total = shares.sum(axis=1, keepdims=True)
        if not (total > 0).all():
            raise ValueError("responsibilities_init must not be 0 in a whole row")
        return (shares / total).T

    def _require_distinct(self, rows: TableRows) -> None:
        """Refuse fewer distinct rows than components that are to be the most likely."""
        at, _ = distinct_rows(rows.x, rows.frequency, np.random.default_rng(0))
        if len(at) < self.n_components:
            raise ValueError(
                f"the n_samples={len(rows.x)} rows of X hold {len(at)} distinct ones, fewer than the "
                f"{self.n_components} components; lower n_components, or give a prior"
            )

    # -- asking ------------------------------------------------------------------------------

    def score_samples(self, X: Any) -> Array:
        """Return ln p(x) of the seen entries of rows, (N,)."""
        return log_sum_exp(self._joint(X), axis=1)

    def log_likelihood(self, X: Any) -> float:
        """Return ln p(X), the sum over rows."""
        return float(self.score_samples(X).sum())

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of ln p(x) over rows."""
        return float(self.score_samples(X).mean())

    def predict_proba(self, X: Any) -> Array:
        """Return p(component | x) of rows, (N, K); the weights where nothing is seen."""
        joint = self._joint(X)
        impossible = np.isneginf(joint.max(axis=1))
        if impossible.any():
            raise ValueError(
                f"row {int(np.argmax(impossible))} of X has probability 0 in every component"
            )
        return softmax(joint, axis=1)

    def predict(self, X: Any) -> Any:
        """Return the most probable component of each row, (N,)."""
        return self.predict_proba(X).argmax(axis=1)

    def sample(self, size: int = 1, rng: Seed = None) -> tuple[Array, Any]:
        """Draw rows (S, D) and the components that they come from (S,)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        codes = generator.choice(self.n_components, size=size, p=self.weights_)
        return self._densities.sample(codes, generator), codes

    def _joint(self, X: Any) -> Array:
        """Return ln p(x, component) of rows, (N, K)."""
        check_is_fitted(self)
        x = check_gappy_inputs(self, X)
        self._check_values(x)
        joint = np.concatenate([self._densities.log_prob(part) for part in _blocks(x)])
        return joint + np.log(self.weights_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _blocks(x: Array) -> Iterator[Array]:
    return (x[here] for here in row_blocks(x))
