r"""Mixtures of normals by variational Bayes, with evidence that counts all namings of the components.

.. math:: \ln p(X) \ge L(q) + \ln K! - \ln\mathrm{perm}\,B.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 10.2.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.approximate_posterior import DrawsItsPosterior
from posteriori.estimators.parameters import POSITIVE, check_parameters, one_of, or_none
from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.latent.namings import symmetry_gain
from posteriori.inference.latent.units import table_spread
from posteriori.inference.mixtures.mixture_rows import CompleteRows, MixtureRows
from posteriori.inference.mixtures.normal_beliefs import normal_affinities
from posteriori.inference.mixtures.normal_draws import normal_mixture_belief
from posteriori.inference.mixtures.normal_learning import (
    VariationalLearner,
    ascend_normals,
    sort_by_size,
)
from posteriori.inference.mixtures.normal_scores import NormalStatistics
from posteriori.inference.mixtures.normal_starts import NormalSearch, best_ascent
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.inference.mixtures.partitions.partition_prior import default_concentration
from posteriori.inference.mixtures.wishart_priors import (
    belief_in_rows,
    default_prior,
    has_names,
    prior_in_units,
)
from posteriori.inference.weighing.approximate_beliefs import ApproximateBelief
from posteriori.mathematics.least_widths import check_least_widths, widen_covariances
from posteriori.mixture.mixture_estimator import counted_rows
from posteriori.mixture.normal.normal_mixture import (
    NormalDensities,
    NormalMixture,
    read_rows,
    require_several,
    require_spread,
)
from posteriori.mixture.partition_questions import AsksForPartitions
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.logspace import softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_numbers

__all__ = ["BayesianGaussianMixture", "MixturePosterior"]


class MixturePosterior(NamedTuple):
    """Beliefs about a mixture.

    Attributes
    ----------
    weights : Dirichlet, or Beta of each stick but the last
    components : NormalWishart
        A batch of K.
    """

    weights: Any
    components: Any


class BayesianGaussianMixture(DrawsItsPosterior, NormalMixture, AsksForPartitions):
    """Mixture of normals whose weights, means and precisions are uncertain.

    Parameters
    ----------
    n_components : int
        At most so many; what the data do not need stays without rows.
    prior : NormalWishart, optional
        Of mean and precision of each component: one for all, or a batch of K. By default that of
        :class:`posteriori.classification.GaussianDiscriminant`, on the scale of the columns.
    weight_concentration_prior : float, optional
        Of the Dirichlet of the weights, by default 1/K; of the sticks' Beta(1, γ), by default 1.
    weight_concentration_prior_type : {"dirichlet_distribution", "dirichlet_process"}
        Sticks are broken in the order of the components' sizes.
    responsibilities_init : (N, K), optional
        Where to begin.
    split_merge : bool
        Whether components are merged, split and exchanged where an ascent has ended, and kept where
        that leads higher.
    n_init : int
        Starts, of which the best is kept.
    tol : float
        Nats.
    max_iter : int
    accelerated : bool
        Whether slow steps may be followed by jumps.
    min_width : float or (D,)
        Components are no narrower, in any direction, when all is learned: say, δ/√12 of numbers that are
        rounded to steps δ. Beliefs and evidence are those of the rows.
    random_state : int, Generator or None

    Attributes
    ----------
    posterior_ : MixturePosterior
        ``weights`` and ``components``.
    log_evidence_ : LogEvidence
        A bound of ln p(X) that counts all namings where one prior serves all components; exact for
        one component without gaps.
    symmetry_gain_ : float
        What counting the namings added.
    weights_, means_ : (K,), (K, D)
        Expectations; the largest first where one prior serves all.
    covariances_ : (K, D, D)
        Inverses of the expected precisions, no narrower than ``min_width``.
    model_ : Mixture
        Of Student's t: the predictive distribution of a row.
    trace_ : array
        The bound, without the gain, at the start and after each step.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    NaN is a missing entry, an unknown beside its component; ``sample_weight`` counts how often a row is
    there. O(N K D²) a step, in blocks of rows.

    Examples
    --------
    >>> from posteriori.datasets import load_old_faithful
    >>> b = BayesianGaussianMixture(6, random_state=0).fit(load_old_faithful().data)
    >>> b.weights_.round(2)  # two are enough
    array([0.64, 0.36, 0.  , 0.  , 0.  , 0.  ])
    >>> b.log_evidence_.kind, round(b.symmetry_gain_, 3)  # ln 6!/4!
    ('bound', 3.401)
    """

    _constraints = {
        **NormalMixture._constraints,
        "weight_concentration_prior": or_none(POSITIVE),
        "weight_concentration_prior_type": one_of("dirichlet_distribution", "dirichlet_process"),
    }

    def __init__(
        self,
        n_components: int = 1,
        *,
        prior: NormalWishart | None = None,
        weight_concentration_prior: float | None = None,
        weight_concentration_prior_type: str = "dirichlet_distribution",
        responsibilities_init: Any = None,
        split_merge: bool = True,
        n_init: int = 1,
        tol: float = 1e-6,
        max_iter: int = 1000,
        accelerated: bool = True,
        min_width: Any = 0.0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.prior = prior
        self.weight_concentration_prior = weight_concentration_prior
        self.weight_concentration_prior_type = weight_concentration_prior_type
        self.responsibilities_init = responsibilities_init
        self.split_merge = split_merge
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.accelerated = accelerated
        self.min_width = min_width
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows (N, D); NaN is a missing entry, weights are frequencies."""
        check_parameters(self)
        x, frequency = counted_rows(self, X, sample_weight)
        widths = check_least_widths("min_width", self.min_width, x.shape[1])
        prior = self._prior_of(x, frequency)
        rows = self._read_table(x, frequency, prior)
        learner = self._learner(rows, prior)
        start = self._starting_point(rows, len(x))
        named = has_names(prior)
        ascend = partial(
            ascend_normals, tol=self.tol, max_iter=self.max_iter, accelerated=self.accelerated
        )
        search = NormalSearch(
            self.n_components,
            self.n_init,
            split_merge=self.split_merge,
            may_empty=True,
            named=named,
            hard=False,
            start=start,
            ascend=ascend,
        )
        rng = as_generator(self.random_state)
        found = best_ascent(learner, rows, search, rng, lambda statistics: True)
        if self._sticks:
            found = _in_order(found, learner, rows, search)
        elif not named:
            found = found._replace(parameters=sort_by_size(found.parameters, "full"))
        self._keep(rows, learner, found.parameters, widths)
        self._learned_from = x, rows, learner, found.parameters, not named
        self.trace_ = np.array(found.trace)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.symmetry_gain_ = 0.0
        if not (named or self._sticks):
            belief = learner.belief(found.parameters)
            self.symmetry_gain_ = symmetry_gain(normal_affinities(belief))
        exact = self.n_components == 1 and isinstance(rows, CompleteRows)
        self.log_evidence_ = LogEvidence(
            found.trace[-1] + self.symmetry_gain_,
            kind="exact" if exact else "bound",
            of="X",
            fingerprint=Fingerprint().update(x, frequency),
        )
        return self

    def update(self, X: Any) -> Self:
        """Go on with further rows (M, D): what was believed before is the prior of what they say.

        Earlier rows keep their shares in the components, which stay in their order. Where components lie apart,
        and with one component, this is what one fit to all rows gives. There is no evidence then.

        Raises
        ------
        ValueError
            When weights are broken from a stick.
        """
        check_is_fitted(self)
        if self._sticks:
            raise ValueError("a Dirichlet process cannot go on: fit all rows at once")
        x, _ = counted_rows(self, X, None, reset=False)
        before = self.posterior_
        rows = self._read_table(x, None, before.components)
        prior = prior_in_units(before.components, rows.units, self.n_components)
        learner = VariationalLearner(prior, before.weights.concentration, sticks=False)
        start = rows.expected_sums(self.predict_proba(x).T)
        found = ascend_normals(
            learner, rows, start, tol=self.tol, max_iter=self.max_iter, accelerated=self.accelerated
        )
        widths = check_least_widths("min_width", self.min_width, x.shape[1])
        self._keep(rows, learner, found.parameters, widths)
        for name in ("log_evidence_", "symmetry_gain_", "_learned_from"):
            self.__dict__.pop(name, None)
        self.trace_ = np.array(found.trace)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        return self

    def _approximate_belief(self) -> ApproximateBelief:
        x, rows, learner, statistics, alike = self._learned_from
        shares = softmax(self._log_joint(x), axis=1)
        return normal_mixture_belief(rows, x, learner, statistics, shares, alike)

    @property
    def _sticks(self) -> bool:
        return self.weight_concentration_prior_type == "dirichlet_process"

    @property
    def _concentration(self) -> float:
        given = self.weight_concentration_prior
        if given is not None:
            return float(given)
        return default_concentration(self.n_components, self.weight_concentration_prior_type)

    def _prior_of(self, x: Array, frequency: Array | None) -> NormalWishart:
        if self.prior is not None:
            if not isinstance(self.prior, NormalWishart):
                raise TypeError(f"prior must be a NormalWishart, got {self.prior!r}")
            return self.prior
        require_several(x)
        seen, mean, variance = table_spread(x, frequency)
        require_spread(self, seen, mean, variance)
        return default_prior(mean, variance)

    def _cluster_model(self, x: Array) -> ClusterModel:
        """Return the model of clusters with parameters integrated out, for partitions of rows."""
        return join_parts(cluster_parts(self._prior_of(x, None), MvNormal, x))

    def _read_table(self, x: Array, frequency: Array | None, prior: NormalWishart) -> MixtureRows:
        """Return rows in units in which what the prior expects of the covariance counts too."""
        if prior.location.shape[-1] != x.shape[1]:
            raise ValueError(
                f"prior is of {prior.location.shape[-1]} columns, but X has {x.shape[1]}"
            )
        each = prior.inverse_scale / np.asarray(prior.dof)[..., None, None]
        extra = each.reshape(-1, *each.shape[-2:]).mean(axis=0)
        return read_rows(self, x, frequency, "full", extra)

    def _learner(self, rows: MixtureRows, prior: NormalWishart) -> VariationalLearner:
        told = prior_in_units(prior, rows.units, self.n_components)
        return VariationalLearner(told, self._concentration, self._sticks)

    def _starting_point(self, rows: MixtureRows, n: int) -> NormalStatistics | None:
        given = self.responsibilities_init
        if given is None:
            return None
        shares = as_numbers("responsibilities_init", given)
        if shares.shape != (n, self.n_components):
            raise ValueError(
                f"responsibilities_init must have shape {(n, self.n_components)}, got {shares.shape}"
            )
        if not (shares.min() >= 0.0 and np.allclose(shares.sum(axis=1), 1.0)):
            raise ValueError(
                "responsibilities_init must hold shares >= 0 that sum to 1 in each row"
            )
        return rows.expected_sums(shares.T)

    def _keep(
        self,
        rows: MixtureRows,
        learner: VariationalLearner,
        statistics: NormalStatistics,
        widths: Array,
    ) -> None:
        """Set what is believed, in the units of the data."""
        belief, units = learner.belief(statistics), rows.units
        d = belief.means.shape[1]
        components = belief_in_rows(belief, units)
        means = np.asarray(components.location)
        counts = statistics.counts
        if self._sticks:
            later = counts[::-1].cumsum()[::-1][1:]
            weights: Any = Beta(1.0 + counts[:-1], self._concentration + later)
            share = np.append(weights.mean, 1.0) * np.append(1.0, np.cumprod(1.0 - weights.mean))
        else:
            weights = Dirichlet(learner.concentration + counts)
            share = weights.mean
        self.posterior_ = MixturePosterior(weights, components)
        self.weights_, self.means_ = np.asarray(share), means
        expected = components.inverse_scale / belief.dof[:, None, None]
        self.covariances_ = widen_covariances(expected, widths)
        dof = belief.dof - d + 1.0  # t_c(x | m, V⁻¹(κ+1)/(κc)), with V⁻¹ = νE[Λ]⁻¹
        stretch = belief.dof * (belief.strength + 1.0) / (belief.strength * dof)
        scales = self.covariances_ * stretch[:, None, None]
        with np.errstate(divide="ignore"):
            self._densities = NormalDensities(np.log(self.weights_), means, scales, dof)
        self.model_ = MixtureFamily(self.weights_, MvStudentT(dof, means, scale=scales))

    def _drawn(self, rng: np.random.Generator) -> NormalDensities:
        """Draw weights and components from the beliefs."""
        weights = self.posterior_.weights.sample(rng=rng)
        if self._sticks:
            weights = np.append(weights, 1.0) * np.append(1.0, np.cumprod(1.0 - weights))
        drawn = self.posterior_.components.sample(rng=rng)
        roots = np.linalg.cholesky(drawn.precision)
        white = triangular_inverse(roots)
        covs = np.swapaxes(white, 1, 2) @ white
        with np.errstate(divide="ignore"):
            return NormalDensities(np.log(weights), drawn.mean, covs)


def _in_order(
    found: EMResult, learner: VariationalLearner, rows: MixtureRows, search: NormalSearch
) -> EMResult:
    """Break sticks in the order of sizes, and climb on for as long as that leads higher."""
    for _ in range(search.n_components):
        order = sort_by_size(found.parameters, "full")
        if np.array_equal(order.counts, found.parameters.counts):
            break
        further = best_ascent(
            learner,
            rows,
            search._replace(start=order, split_merge=False),
            np.random.default_rng(0),  # nothing is drawn from a given start
            lambda statistics: True,
        )
        if further.trace[-1] < found.trace[-1]:
            break
        trace = (*found.trace, further.trace[-1])
        found = further._replace(trace=trace, n_iter=found.n_iter + further.n_iter)
    return found
