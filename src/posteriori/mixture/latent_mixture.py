r"""What mixtures whose columns are independent given the component have in common.

.. math:: p(x) = \sum_k \pi_k\,p(x\mid\theta_k), \qquad
   p(k\mid x) = \frac{\pi_k\,p(x\mid\theta_k)}{p(x)}.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.approximate_posterior import DrawsItsPosterior
from posteriori.estimators.estimator_rows import column_names
from posteriori.estimators.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    WHOLE,
    check_parameters,
    or_none,
)
from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.inference.clusters.distinct_rows import distinct_rows
from posteriori.inference.latent.namings import symmetry_gain
from posteriori.inference.mixtures.columns.class_draws import ClassDraws, MemberDraws
from posteriori.inference.mixtures.columns.latent_ascent import WeightLaw
from posteriori.inference.mixtures.columns.latent_starts import LatentSearch
from posteriori.inference.mixtures.columns.mixture_densities import MixtureDensities
from posteriori.inference.mixtures.columns.mixture_learning import LearnedMixture
from posteriori.inference.mixtures.component_draws import (
    BelievedMixture,
    WeightDraws,
    linear_log_likelihood,
    with_turns,
)
from posteriori.inference.weighing.approximate_beliefs import ApproximateBelief
from posteriori.mixture.mixture_estimator import MixtureEstimator, counted_rows
from posteriori.mixture.normal.bayesian_gaussian_mixture import MixturePosterior
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.logspace import softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import as_numbers, unmasked

__all__ = ["COMMON", "LatentMixture", "TableRows"]


#: What the parameters that all have may be.
COMMON = {
    "n_components": WHOLE,
    "n_init": WHOLE,
    "max_iter": WHOLE,
    "tol": NOT_NEGATIVE,
    "weight_concentration_prior": or_none(POSITIVE),
}


class TableRows(NamedTuple):
    """Rows that say something, and how often each counts."""

    x: Array
    frequency: Array | None
    shares: Array | None


class LatentMixture(DrawsItsPosterior, MixtureEstimator):
    """A mixture, given how its components are learned and what their densities are."""

    n_components: int
    split_merge: bool
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
    def _learn(self, rows: TableRows, search: LatentSearch) -> LearnedMixture:
        """Learn the mixture."""

    @abstractmethod
    def _draws(self, rows: TableRows) -> ClassDraws | MemberDraws:
        """Return what draws parameters of components, with beliefs about them."""

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
        rows = self._rows_with_entries(X, sample_weight)
        found = self._learn(rows, self._search(rows.shares))
        for name in ("posterior_", "log_evidence_", "symmetry_gain_", "log_likelihood_"):
            self.__dict__.pop(name, None)
        law = self._weight_law
        self.weights_ = law.mean(found.counts)
        self.trace_, self.n_iter_, self.converged_ = found.trace, found.n_iter, found.converged
        self._densities = found.densities
        self._learned_from = rows, found.sums, law.concentration
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

    def _approximate_belief(self) -> ApproximateBelief:
        rows, sums, concentration = self._learned_from
        draws = self._draws(rows)
        features = draws.model.of(rows.x)
        shares = softmax(self._log_joint(rows.x), axis=1)
        likelihood = linear_log_likelihood(features, rows.frequency)
        belief = BelievedMixture(draws, WeightDraws(concentration), sums, shares, likelihood)
        return with_turns(belief, features, rows.frequency, alike=True)

    @property
    def _weight_law(self) -> WeightLaw:
        if not self._integrates():
            return WeightLaw(None)
        given = self.weight_concentration_prior
        return WeightLaw(1.0 / self.n_components if given is None else float(given))

    def _search(self, shares: Array | None) -> LatentSearch:
        return LatentSearch(
            int(self.n_components),
            int(self.n_init),
            bool(self.split_merge),
            self._weight_law,
            shares,
            as_generator(self.random_state),
            int(self.max_iter),
            {"tol": self.tol, "accelerated": self.accelerated},
        )

    def _rows_with_entries(self, X: Any, sample_weight: Any) -> TableRows:
        """Leave out rows of weight 0, and rows without entries, which have probability 1."""
        x, frequency = counted_rows(self, X, sample_weight)
        shares = self._check_shares(len(x), sample_weight)
        kept, missing = np.ones(len(x), dtype=bool), np.ones(x.shape[1], dtype=bool)
        for here in blocks_of_rows(x):
            seen = x[here] == x[here]
            kept[here] = seen.any(axis=1)
            missing &= ~seen.any(axis=0)
        if missing.any():
            name = column_names(self)[int(np.argmax(missing))]
            raise ValueError(f"{name} of X is missing in all rows; leave it out")
        if kept.all():
            return TableRows(x, frequency, shares)
        return TableRows(
            x[kept],
            None if frequency is None else frequency[kept],
            None if shares is None else shares[:, kept],
        )

    def _check_shares(self, rows: int, sample_weight: Any) -> Array | None:
        """Return the shares (K, N) of rows that count, where they are given for all."""
        if self.responsibilities_init is None:
            return None
        counted = np.ones(rows, dtype=bool)
        if np.ndim(sample_weight):
            counted = np.asarray(sample_weight, dtype=np.float64) > 0
        shares = as_numbers(
            "responsibilities_init",
            unmasked("responsibilities_init", self.responsibilities_init),
        )
        shape = (len(counted), self.n_components)
        if shares.shape != shape:
            raise ValueError(
                f"responsibilities_init must have shape {shape}, a row for each row of X and a column "
                f"for each component; got {shares.shape}"
            )
        if not (np.isfinite(shares).all() and (shares >= 0).all()):
            raise ValueError("responsibilities_init must hold finite numbers >= 0")
        total = shares.sum(axis=1, keepdims=True)
        if not (total > 0).all():
            raise ValueError("responsibilities_init must not be 0 in a whole row")
        return (shares / total)[counted].T

    def _require_distinct(self, rows: TableRows) -> None:
        """Refuse fewer distinct rows than components that are to be the most likely."""
        some = distinct_rows(rows.x, None, self.n_components, np.random.default_rng(0))
        distinct = len(some.rows)
        if distinct < self.n_components:
            raise ValueError(
                f"the n_samples={len(rows.x)} rows of X hold {distinct} distinct ones, fewer than the "
                f"{self.n_components} components; lower n_components, or give a prior"
            )

    # -- asking ------------------------------------------------------------------------------

    def sample(self, size: int = 1, rng: Seed = None) -> tuple[Array, Any]:
        """Draw rows (S, D) and the components that they come from (S,)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        codes = generator.choice(self.n_components, size=size, p=self.weights_)
        return self._densities.sample(codes, generator), codes

    def _log_joint(self, x: Array) -> Array:
        self._check_values(x)
        parts = [self._densities.log_prob(x[here]) for here in blocks_of_rows(x)]
        joint = np.concatenate(parts) + np.log(self.weights_)
        impossible = np.isneginf(joint.max(axis=1))
        if impossible.any():
            raise ValueError(
                f"row {int(np.argmax(impossible))} of X has probability 0 in every component"
            )
        return joint
