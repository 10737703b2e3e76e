r"""Latent classes: columns of any kind that are independent given a class that nobody has seen.

.. math:: p(x) = \sum_k \pi_k \prod_d p_d(x_d\mid\theta_{kd}).

Reference: P. Lazarsfeld & N. Henry, "Latent structure analysis", 1968.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.estimators.estimator_rows import column_names
from posteriori.estimators.parameters import one_of
from posteriori.inference.classes.column_checks import (
    check_kinds,
    check_priors,
    check_values,
    places_of,
)
from posteriori.inference.classes.column_models import KINDS
from posteriori.inference.gaps.gap_beliefs import GapBelief
from posteriori.inference.mixtures.columns.class_draws import ClassDraws
from posteriori.inference.mixtures.columns.class_gaps import class_gaps
from posteriori.inference.mixtures.columns.class_model import class_model
from posteriori.inference.mixtures.columns.class_partitions import class_clusters
from posteriori.inference.mixtures.columns.latent_starts import LatentSearch
from posteriori.inference.mixtures.columns.mixture_densities import ColumnDensities
from posteriori.inference.mixtures.columns.mixture_learning import LearnedMixture, learn_classes
from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.mathematics.least_widths import check_least_widths
from posteriori.mixture.latent_mixture import COMMON, LatentMixture, TableRows
from posteriori.mixture.partition_questions import AsksForPartitions
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_moderate

__all__ = ["LatentClasses"]

_COUNTED = {kind for kind, how in KINDS.items() if how.whole and how.largest > 1}


class LatentClasses(LatentMixture, AsksForPartitions):
    """Classes of rows whose columns are of the kinds of :class:`NaiveBayes`, without labels.

    Parameters
    ----------
    n_components : int
        Number of classes K.
    columns : str, or sequence of D str
        Kind of all columns, or of each: "normal", "bernoulli" (0 or 1), "poisson" (counts),
        "categorical" (codes 0, 1, …), or "table" (codes whose combinations have probabilities of
        their own). NaN is a missing entry, but not in a table.
    method : {"bayes", "ml"}
        "bayes" has beliefs about the parameters and a bound of the evidence (variational Bayes); "ml"
        the estimates of highest likelihood (EM). There each class has also seen all rows, together as one
        millionth of a row: no class shrinks to a point, and no probability becomes 0.
    priors : mapping from kind to distribution, optional
        Belief about a column's parameters in a class, as of :class:`NaiveBayes`.
    weight_concentration_prior : float, optional
        Of the symmetric Dirichlet prior of the shares of classes; 1/K by default, which leaves classes
        empty that are not needed.
    split_merge : bool
        Whether classes are merged and split where the ascent from the best start has ended, and kept where that
        leads higher. Most likely ones are not led to where one has shrunk to a few equal rows.
    n_init : int
        Starts that are tried.
    max_iter : int
        Steps of an ascent.
    tol : float
        Gain of the last step, in nats.
    accelerated : bool
        Whether slow steps may be followed by a jump to where they lead.
    min_width : float or (D,)
        Columns of numbers are no narrower in any class, when all is learned: say, δ/√12 of numbers that are
        rounded to steps δ. Beliefs and evidence are those of the rows.
    responsibilities_init : (N, K), optional
        Where to begin, instead of at clusters.
    random_state : int, Generator or None

    Attributes
    ----------
    weights_ : (K,)
        Shares of the classes, the largest first; with "bayes" their expectations.
    columns_ : tuple of D str
    posterior_ : MixturePosterior
        ``weights``, a Dirichlet, and ``components``, by kind as of :class:`NaiveBayes` ("bayes").
    log_evidence_ : LogEvidence
        ln p(X), a bound of it that counts all namings of the classes; exact for one class ("bayes").
    symmetry_gain_ : float
        What counting all namings added ("bayes").
    log_likelihood_ : float
        ln p(X) at the estimates ("ml").
    n_parameters_ : int
        Free parameters of all classes, their shares among them.
    trace_ : (T,)
        The bound, or the log likelihood, after every step.
    n_iter_, converged_
        How the ascent ended.

    Notes
    -----
    O(N D K) each step; nothing of size N × K is kept. Neither the order of rows nor copies in the place of
    weights matter.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> ill = rng.random(200) < 0.3
    >>> X = np.column_stack([rng.normal(37 + 2 * ill, 0.4), rng.random(200) < 0.2 + 0.6 * ill])
    >>> X[::9, 0] = np.nan  # not measured
    >>> model = LatentClasses(2, columns=["normal", "bernoulli"], random_state=0).fit(X)
    >>> model.weights_.round(1)
    array([0.7, 0.3])
    >>> model.predict([[37.1, 0], [np.nan, 1], [39.0, np.nan]])
    array([0, 1, 1])
    """

    _densities: ColumnDensities
    _constraints = COMMON | {"method": one_of("bayes", "ml", mark='"')}

    def __init__(
        self,
        n_components: int = 1,
        columns: Any = "normal",
        *,
        method: str = "bayes",
        priors: Mapping[str, Any] | None = None,
        weight_concentration_prior: float | None = None,
        split_merge: bool = True,
        n_init: int = 10,
        max_iter: int = 1000,
        tol: float = 1e-6,
        accelerated: bool = True,
        min_width: Any = 0.0,
        responsibilities_init: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.columns = columns
        self.method = method
        self.priors = priors
        self.weight_concentration_prior = weight_concentration_prior
        self.split_merge = split_merge
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.accelerated = accelerated
        self.min_width = min_width
        self.responsibilities_init = responsibilities_init
        self.random_state = random_state

    def gap_beliefs(self, X: Any) -> tuple[GapBelief, ...]:
        """Return what is believed of the gaps (NaN) of rows, given what is seen of them.

        Returns
        -------
        tuple of NumberGaps and CodeGaps
            For each column with gaps ``column`` and ``rows``, with ``mean`` and ``variance`` of numbers and
            counts, and ``probabilities`` of codes (of 0 and 1 for "bernoulli").
        """
        shares = self.predict_proba(X)
        return class_gaps(self._densities, self._read(X), shares)

    def _integrates(self) -> bool:
        return self.method == "bayes"

    def _learn(self, rows: TableRows, search: LatentSearch) -> LearnedMixture:
        self.columns_ = check_kinds(self.columns, rows.x.shape[1])
        self._places = places_of(self.columns_)
        self._check_values(rows.x)
        widths = check_least_widths("min_width", self.min_width, rows.x.shape[1])
        priors = check_priors(self.priors, self._integrates())
        for place in self._places.get("normal", ()):
            require_moderate(f"column {place} of X", rows.x[:, place])
        if not self._integrates():
            self._require_distinct(rows)
            self._refuse_constant(rows.x)
        found = learn_classes(self._places, rows.x, rows.frequency, priors, search, widths)
        self.n_parameters_ = self.n_components * (found.n_parameters + 1) - 1
        return found

    def _draws(self, rows: TableRows) -> ClassDraws:
        priors = check_priors(self.priors, True)
        return ClassDraws(class_model(self._places, rows.x, rows.frequency, priors, True))

    def _cluster_model(self, x: Array) -> ClusterModel:
        if not self._integrates():
            raise ValueError('partitions have probabilities only with method="bayes"')
        places = places_of(check_kinds(self.columns, x.shape[1]))
        check_values(places, x)
        return class_clusters(places, x, check_priors(self.priors, True))

    def _refuse_constant(self, x: Array) -> None:
        for place in self._places.get("normal", ()):
            if np.nanmin(x[:, place]) == np.nanmax(x[:, place]):
                raise ValueError(
                    f"{column_names(self)[place]} of X is constant (n_samples={len(x)}): it has no "
                    'density; leave it out or choose method="bayes"'
                )

    def _check_values(self, x: Array) -> None:
        check_values(self._places, x)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kinds = {self.columns} if isinstance(self.columns, str) else set(self.columns)
        tags.input_tags.allow_nan = kinds != {"table"}
        tags.input_tags.categorical = tags.input_tags.positive_only = kinds <= _COUNTED
        return tags
