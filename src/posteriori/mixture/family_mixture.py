r"""A mixture of any family: members that are the most likely, or conjugate beliefs about them.

.. math:: p(x) = \sum_k \pi_k \prod_d p(x_d\mid\theta_{kd}).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.conjugate.pair import Pair, find_pair
from posteriori.distributions.conjugate.pareto_pairs import ParetoUniform
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.unknown import trace_likelihood
from posteriori.estimators.estimator_rows import as_column, column_names
from posteriori.inference.mixtures.columns.class_draws import MemberDraws
from posteriori.inference.mixtures.columns.family_models import conjugate_model
from posteriori.inference.mixtures.columns.latent_starts import LatentSearch
from posteriori.inference.mixtures.columns.mixture_learning import (
    LearnedMixture,
    learn_beliefs,
    learn_fits,
    learn_members,
)
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.conjugate_clusters import cluster_parts, join_parts
from posteriori.mixture.latent_mixture import LatentMixture, TableRows
from posteriori.mixture.partition_questions import AsksForPartitions
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares, unmasked

__all__ = ["FamilyMixture"]


class FamilyMixture(LatentMixture, AsksForPartitions):
    """A mixture whose components are members of one family.

    Parameters
    ----------
    family : family or function
        A family such as ``Poisson``, or any class with ``fit(x, weights)`` whose answer has
        ``log_prob``; with a prior also a function of the unknown, as in :func:`posteriori.bayes`.
        Columns are independent given the component where the family is of numbers, and make one vector
        where it is of vectors. Of a family of numbers rows may be (N,): one column.
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
    split_merge : bool
        Whether components are merged and split where the ascent from the best start has ended, and kept where that
        leads higher. Most likely ones are not led to where one has shrunk to a few equal rows; families
        that are fitted to rows, as Student's t, are not moved: raise ``n_init``.
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
    >>> counts = np.concatenate([rng.poisson(2.0, 150), rng.poisson(11.0, 50)])
    >>> quick = FamilyMixture(Poisson, 2, random_state=0).fit(counts)
    >>> quick.weights_.round(2), quick.model_.components.rate.round(1)
    (array([0.71, 0.29]), array([ 2. , 10.3]))
    >>> model = FamilyMixture(Poisson, 2, prior=Gamma(1.0, 0.2), random_state=0).fit(counts)
    >>> single = FamilyMixture(Poisson, 1, prior=Gamma(1.0, 0.2)).fit(counts)
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
        split_merge: bool = True,
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
        self.split_merge = split_merge
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerated = accelerated
        self.responsibilities_init = responsibilities_init
        self.random_state = random_state

    def _read(self, X: Any, *, reset: bool = False) -> Array:
        """Return checked rows; numbers (N,) are one column, where one is learned or known."""
        one = not self._of_vectors() and (reset or self.n_features_in_ == 1)
        x = super()._read(as_column(unmasked("X", X)) if one else X, reset=reset)
        if not reset:
            self._refuse_gaps(x, self._of_vectors())
        return x

    def _of_vectors(self) -> bool:
        if self.prior is None:
            return getattr(self.family, "_event_ndim", 0) > 0
        return self._find_pair(self.prior).event_ndim > 0

    def _integrates(self) -> bool:
        return self.prior is not None

    def _learn(self, rows: TableRows, search: LatentSearch) -> LearnedMixture:
        require_squares("X", rows.x)
        found = self._learn_rows(rows, search)
        for name in ("model_", "n_parameters_"):
            self.__dict__.pop(name, None)
        if found.members is not None:
            self.model_ = Mixture(self._weight_law.mean(found.counts), found.members)
        if found.n_parameters:
            self.n_parameters_ = self.n_components * (found.n_parameters + 1) - 1
        return found

    def _learn_rows(self, rows: TableRows, search: LatentSearch) -> LearnedMixture:
        x, frequency = rows.x, rows.frequency
        if self._integrates():
            self._check_prior(self._find_pair(self.prior), x)
            return learn_beliefs(self._find_pair, self.prior, x, frequency, search)
        if not hasattr(self.family, "fit"):
            raise TypeError(
                f"family must have fit(x, weights), as Poisson has, got {self.family!r}; a function "
                "of the unknown needs a prior"
            )
        self._require_distinct(rows)
        self._refuse_gaps(x, self._of_vectors())
        self._refuse_constant(x)
        if _is_learned_from_sums(self.family):
            self._check_support(x, self.family._off_support(x), self.family)
            with self._naming_components():
                return learn_members(self.family, x, frequency, search)
        return learn_fits(self.family, x, frequency, search)

    @contextmanager
    def _naming_components(self) -> Iterator[None]:
        """Say what to do where the rows of a component have no density, since they hardly differ."""
        try:
            yield
        except ValueError as error:
            raise ValueError(
                f"rows of X that make a component have no most likely {self.family.__name__}: {error}; give "
                "fewer n_components, or a prior"
            ) from None

    def _draws(self, rows: TableRows) -> MemberDraws:
        return MemberDraws(conjugate_model(self._find_pair, self.prior, rows.x, rows.frequency))

    def _cluster_model(self, x: Array) -> ClusterModel:
        if not self._integrates():
            raise ValueError("partitions have probabilities only with a prior of the components")
        return join_parts(cluster_parts(self.prior, self.family, x))

    # -- checks ------------------------------------------------------------------------------

    def _find_pair(self, prior: Any) -> Pair:
        if not isinstance(prior, Distribution):
            raise TypeError(f"prior must be a distribution or None, got {prior!r}")
        named = isinstance(self.family, type)
        return find_pair(prior, self.family if named else trace_likelihood(self.family))

    def _check_prior(self, pair: Pair, x: Array) -> None:
        if not isinstance(self.prior, ExponentialFamily) or isinstance(pair, ParetoUniform):
            raise TypeError(
                f"a {type(self.prior).__name__} prior of {pair.likelihood_family.__name__} is not "
                "changed by sums of the data alone; choose another prior, or none"
            )
        if not self.prior._all_proper:
            raise ValueError(f"prior must be a proper distribution, got {self.prior!r}")
        vectors, width = pair.event_ndim > 0, x.shape[1]
        if self.prior.batch_shape not in ((), () if vectors else (width,)):
            raise ValueError(
                f"prior must be one distribution{'' if vectors else f', or a batch of {width}'}, "
                f"got batch shape {self.prior.batch_shape}"
            )
        self._refuse_gaps(x, vectors)
        self._check_support(x, pair.off_support(x), pair.likelihood_family)
        seen = x == x
        pair.check(np.where(seen, x, x[np.argmax(seen, axis=0), np.arange(width)]), 0)

    def _check_support(self, x: Array, outside: Any, family: type) -> None:
        wrong = outside & (x == x) if np.ndim(outside) == 2 else np.asarray(outside)
        if wrong.any():
            place = np.argwhere(wrong)[0]
            raise ValueError(
                f"X holds {x[tuple(place)]} in row {place[0]}: it is not in the support of "
                f"{family.__name__}"
            )

    def _refuse_gaps(self, x: Array, vectors: bool) -> None:
        if vectors and np.isnan(x).any():
            row, column = np.argwhere(np.isnan(x))[0]
            raise ValueError(
                f"row {row} misses {column_names(self)[column]} (NaN), but a family of vectors needs "
                "whole rows; leave the row out, or take GaussianMixture"
            )

    def _refuse_constant(self, x: Array) -> None:
        """Refuse columns that a density of several parameters would shrink to a point."""
        family = self.family
        one = _is_learned_from_sums(family) and len(family._natural_ndims) == 1
        if one or getattr(family, "_has_atoms", True):
            return
        flat = np.nanmin(x, axis=0) == np.nanmax(x, axis=0)
        if flat.any():
            raise ValueError(
                f"{column_names(self)[int(np.argmax(flat))]} of X is constant (n_samples={len(x)}): no "
                f"{family.__name__} is the most likely; leave it out or give a prior"
            )

    def _check_values(self, x: Array) -> None:
        require_squares("X", x)


def _is_learned_from_sums(family: Any) -> bool:
    """Tell whether the most likely member is the one whose E[T(x)] are the averages of the data."""
    if not (isinstance(family, type) and issubclass(family, ExponentialFamily)):
        return False
    return next(base for base in family.__mro__ if "fit" in vars(base)) is ExponentialFamily
