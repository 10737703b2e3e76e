r"""A mixture of any family: members that are the most likely, or conjugate beliefs about them.

.. math:: p(x) = \sum_k \pi_k \prod_d p(x_d\mid\theta_{kd}).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.conjugate.pair import Pair, find_pair
from posteriori.distributions.coordinates import flatten_natural
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.unknown import trace_likelihood
from posteriori.estimators.estimator_rows import column_names
from posteriori.inference.mixtures.family_models import (
    ConjugateModel,
    ExponentialModel,
    belief_affinities,
    conjugate_model,
    exponential_model,
    moved,
)
from posteriori.inference.mixtures.latent_ascent import ascend, sums_of_shares
from posteriori.inference.mixtures.latent_starts import (
    best_ascent_from_seeds,
    distinct_rows,
    seeded_shares,
)
from posteriori.inference.mixtures.member_fits import climb_by_fits, log_density_of
from posteriori.mixture.latent_mixture import Found, LatentMixture, TableRows
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = ["MixtureOf"]


class MixtureOf(LatentMixture):
    """A mixture whose components are members of one family.

    Parameters
    ----------
    family : family or function
        A family such as ``Poisson``, or any class with ``fit(x, weights)`` whose answer has
        ``log_prob``; with a prior also a function of the unknown, as in :func:`posteriori.bayes`.
        Columns are independent given the component where the family is of numbers, and make one vector
        where it is of vectors.
    n_components : int
        Number of components K.
    prior : distribution, optional
        Belief about a column's parameters in a component, conjugate to the family; one for all
        columns, or a batch of D. Components then have beliefs, and there is a bound of the
        evidence (variational Bayes). None takes the most likely members (EM). There each component
        has also seen all rows, together as one millionth of a row: none shrinks to a point.
    weight_concentration_prior : float, optional
        With a prior: concentration of the symmetric Dirichlet prior of the weights; 1/K by default,
        which leaves components empty that are not needed.
    n_init : int
        Starts that are tried.
    max_iter : int
        Steps of an ascent.
    tol : float
        Gain of the last step, in nats.
    accelerated : bool
        Whether slow steps may be followed by a jump to where they lead.
    responsibilities_init : (N, K), optional
        Where to begin, instead of at clusters.
    random_state : int, Generator or None

    Attributes
    ----------
    weights_ : (K,)
        Mixing weights, the largest first; with a prior their expectations.
    model_ : Mixture
        Of one column or of vectors p(x); of several columns a batch (D,) of what each has by
        itself. With a prior parameters are integrated out. Not there for a class that is no distribution.
    posterior_ : MixturePosterior
        ``weights``, a Dirichlet, and ``components``, a batch (K, D), of vectors (K,) (with a prior).
    log_evidence_ : LogEvidence
        ln p(X), a bound of it that counts all namings of the components; exact for one (with a prior).
    symmetry_gain_ : float
        What counting all namings added (with a prior).
    log_likelihood_ : float
        ln p(X) at the estimates (without).
    n_parameters_ : int
        Free parameters, the weights among them (without a prior).
    trace_ : (T,)
        The bound, or the log likelihood, after every step.
    n_iter_, converged_
        How the ascent ended.

    Notes
    -----
    Exponential families are learned from sums: O(N D K) each step, and nothing of size N × K is kept. Others
    are fitted to all rows, weighted, K times each step. Neither the order of rows nor copies in the place of
    weights matter.

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori import Gamma, Poisson
    >>> rng = np.random.default_rng(0)
    >>> counts = np.concatenate([rng.poisson(2.0, 150), rng.poisson(11.0, 50)])[:, None]
    >>> quick = MixtureOf(Poisson, 2, random_state=0).fit(counts)
    >>> quick.weights_.round(2), quick.model_.components.rate.round(1)
    (array([0.75, 0.25]), array([ 2. , 10.7]))
    >>> model = MixtureOf(Poisson, 2, prior=Gamma(1.0, 0.2), random_state=0).fit(counts)
    >>> single = MixtureOf(Poisson, 1, prior=Gamma(1.0, 0.2)).fit(counts)
    >>> bool(model.log_evidence_.value > single.log_evidence_.value + 100)
    True
    """

    def __init__(
        self,
        family: Any,
        n_components: int = 1,
        *,
        prior: Any = None,
        weight_concentration_prior: float | None = None,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-6,
        accelerated: bool = True,
        responsibilities_init: Any = None,
        random_state: Any = None,
    ) -> None:
        self.family = family
        self.n_components = n_components
        self.prior = prior
        self.weight_concentration_prior = weight_concentration_prior
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerated = accelerated
        self.responsibilities_init = responsibilities_init
        self.random_state = random_state

    def _integrates(self) -> bool:
        return self.prior is not None

    # -- learning ----------------------------------------------------------------------------

    def _learn(self, rows: TableRows, rng: np.random.Generator) -> Found:
        require_squares("X", rows.x)
        for name in ("model_", "n_parameters_", "_components"):
            self.__dict__.pop(name, None)
        if self._integrates():
            return self._learn_beliefs(rows, rng)
        if not hasattr(self.family, "fit"):
            raise TypeError(
                f"family must have fit(x, weights), as Poisson has, got {self.family!r}; a function "
                "of the unknown needs a prior"
            )
        self._refuse_unfit(rows)
        if _is_exponential(self.family):
            return self._learn_members(rows, rng)
        return self._learn_by_fits(rows, rng)

    def _learn_beliefs(self, rows: TableRows, rng: np.random.Generator) -> Found:
        pair = self._find_pair(self.prior)
        vectors = pair.event_ndim > 0
        if not hasattr(pair.prior_family, "kl") or not hasattr(self.prior, "natural"):
            raise TypeError(
                f"a {type(self.prior).__name__} prior of {pair.likelihood_family.__name__} has no "
                "natural parameters; choose another prior, or none"
            )
        self._require_whole_vectors(rows.x, vectors)
        self._check_support(rows.x, pair.off_support, pair.likelihood_family, vectors)
        model = conjugate_model(self._find_pair, self.prior, rows.x, rows.frequency)
        sums, ascent = self._climb(model, rows, rng)
        learned = model.learn(sums)
        carrier = model.log_carrier(rows.x, rows.frequency, None)
        belief = moved(learned.components, model.layout.shift)
        self._beliefs = take_members(belief, (slice(None), 0)) if vectors else belief
        self.model_ = Mixture(
            self._weight_law.mean(sums[:, 0]), pair.predictive(_columns_first(belief, vectors))
        )
        trace = np.array(ascent.trace) + carrier
        affinity = belief_affinities(learned.components)
        return Found(
            sums[:, 0], trace, float(trace[-1]), ascent.n_iter, ascent.converged, affinity
        )

    def _learn_members(self, rows: TableRows, rng: np.random.Generator) -> Found:
        vectors = self.family._event_ndim > 0
        self._check_support(rows.x, self.family._off_support, self.family, vectors)
        model = exponential_model(self.family, rows.x, rows.frequency)
        sums, ascent = self._climb(model, rows, rng)
        learned = model.learn(sums)
        member = moved(learned.components, model.layout.shift)
        weights = self._weight_law
        self.model_ = Mixture(weights.mean(sums[:, 0]), _columns_first(member, vectors))
        flat = flatten_natural(member.natural, member._natural_ndims)
        self._count_parameters(flat.shape[1] * flat.shape[2])
        carrier = model.log_carrier(rows.x, rows.frequency, learned.components)
        trace = np.array(ascent.trace) + carrier
        value = trace[-1] - learned.bonus - weights.learn(sums[:, 0])[1]
        return Found(sums[:, 0], trace, float(value), ascent.n_iter, ascent.converged)

    def _climb(
        self, model: ExponentialModel | ConjugateModel, rows: TableRows, rng: np.random.Generator
    ) -> tuple[Array, Any]:
        """Return the sums of the components, the largest first, and the ascent."""
        x, frequency, law = rows.x, rows.frequency, self._weight_law
        if rows.shares is not None:
            start = sums_of_shares(model, x, frequency, rows.shares)
            ascent = ascend(model, law, x, frequency, start, **self._options)
        else:
            tries = int(self.n_init)
            ascent = best_ascent_from_seeds(
                model, law, x, frequency, self.n_components, tries, rng, **self._options
            )
        return ascent.parameters[np.argsort(-ascent.parameters[:, 0], kind="stable")], ascent

    def _learn_by_fits(self, rows: TableRows, rng: np.random.Generator) -> Found:
        x, frequency, law = rows.x, rows.frequency, self._weight_law
        starts = [rows.shares] if rows.shares is not None else _starts(self, rows, rng)
        ascents = [climb_by_fits(self.family, x, frequency, s, **self._options) for s in starts]
        ascent = max(ascents, key=lambda one: one.trace[-1])
        order = np.argsort(-ascent.parameters.counts, kind="stable")
        counts = ascent.parameters.counts[order]
        self._components = [ascent.parameters.components[k] for k in order]
        self._keep_members(law.mean(counts))
        joint = [log_density_of(c, x) + w for c, w in zip(self._components, law.learn(counts)[0], strict=True)]
        per_row = np.logaddexp.reduce(joint, axis=0)
        value = per_row.sum() if frequency is None else per_row @ frequency
        trace = np.array(ascent.trace)
        return Found(counts, trace, float(value), ascent.n_iter, ascent.converged)

    def _keep_members(self, weights: Array) -> None:
        """Join the members that were fitted one by one, where they are distributions of numbers."""
        members = [member for component in self._components for member in component]
        if not all(isinstance(member, Distribution) for member in members):
            return
        self._count_parameters(sum(len(m._shown) for m in self._components[0]))
        parts = [list(component) for component in self._components]
        joined = _stack([[part[d] for part in parts] for d in range(len(parts[0]))])
        if joined is not None:
            self.model_ = Mixture(weights, joined)

    def _count_parameters(self, per_component: int) -> None:
        self.n_parameters_ = self.n_components * (per_component + 1) - 1

    # -- checks ------------------------------------------------------------------------------

    def _find_pair(self, prior: Any) -> Pair:
        family = self.family
        if isinstance(family, type):
            return find_pair(prior, family)
        return find_pair(prior, trace_likelihood(family))
