r"""A generative classifier for any family: one member for each class, plugged in or integrated out.

.. math:: p(x\mid C_k, D_k) = p(x\mid\hat\theta_k)
   \quad\text{or}\quad \int p(x\mid\theta)\,p(\theta\mid D_k)\,d\theta.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from posteriori.classification.generative.joint_classifier import (
    JointClassifier,
    joint_fingerprint,
    learn_priors,
)
from posteriori.classification.generative.prior_width import has_width, widened
from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.bayes_rule import bayes
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array

__all__ = ["GenerativeClassifier"]


def _prior_has_width(self: GenerativeClassifier) -> bool:
    return has_width(self.prior)


#: Rows of a class, with those that weights repeat.
_MOST_ROWS = 10_000_000


class GenerativeClassifier(JointClassifier):
    """Classes that are members of a family of distributions.

    Parameters
    ----------
    family : family or function
        A family such as ``Geometric`` or ``MvNormal``; with a prior also a function of the unknown,
        as in :func:`posteriori.bayes`. Columns are independent given the class where the family
        is of numbers, and make one vector where it is of vectors.
    prior : distribution, optional
        Belief about a class's parameters, conjugate to the family: they are integrated out. None
        plugs in the member of highest likelihood.
    class_prior : array (K,), optional
        Known probabilities of the sorted classes; learned by default. There is no ``class_weight``:
        it would change nothing else.

    Attributes
    ----------
    classes_ : (K,)
    class_prior_ : (K,)
    densities_ : list of K distributions
        p(x | class), of whole rows or column by column.
    posterior_ : list of K distributions
        Beliefs about the parameters (with a prior).
    log_evidence_ : LogEvidence
        ln p(X, y), exact (with a prior).

    Examples
    --------
    Few rows: the plugged-in estimates and the full posterior disagree about x = 1.

    >>> from posteriori import Beta
    >>> from posteriori.distributions import Geometric
    >>> X, y = [[0], [2], [0], [2], [0], [1]], [1, 1, 2, 2, 2, 2]
    >>> GenerativeClassifier(Geometric, class_prior=[0.5, 0.5]).fit(X, y).predict([[1]])
    array([1])
    >>> model = GenerativeClassifier(Geometric, Beta(1, 1), class_prior=[0.5, 0.5]).fit(X, y)
    >>> model.predict([[1]]), model.predict_proba([[1]]).round(5)
    (array([2]), array([[0.49091, 0.50909]]))
    """

    def __init__(self, family: Any, prior: Any = None, *, class_prior: Any = None) -> None:
        self.family = family
        self.prior = prior
        self.class_prior = class_prior

    def _learn(self, rows: LabelledRows) -> None:
        if self.prior is None and not _is_family(self.family):
            raise TypeError(
                f"family must be a family of distributions such as Poisson, got {self.family!r}; a "
                "function of the unknown needs a prior"
            )
        labels = learn_priors(
            self.class_prior, rows.counts, "ml" if self.prior is None else "bayes"
        )
        self._forget()
        if self.prior is None:
            self.densities_ = [self._most_likely(rows, k) for k in range(len(rows.classes))]
        else:
            results = [self._learn_class(rows, k) for k in range(len(rows.classes))]
            self.densities_ = [result.predictive for result in results]
            self.posterior_ = [result.posterior for result in results]
            self._results = results
            total = sum(float(np.sum(result.log_evidence.value)) for result in results)
            self.log_evidence_ = LogEvidence(
                total + labels.log_probability,
                kind="exact",
                of="X,y",
                fingerprint=joint_fingerprint(rows),
            )
        self.classes_ = rows.classes
        self.class_prior_ = labels.probabilities
        self._labels = labels

    def _most_likely(self, rows: LabelledRows, k: int) -> Any:
        mine = rows.codes == k
        weights = None if rows.frequency is None else rows.frequency[mine]
        return self.family.fit(rows.x[mine], weights=weights)

    def _learn_class(self, rows: LabelledRows, k: int) -> Any:
        x = rows.x[rows.codes == k]
        if rows.frequency is not None:
            times = rows.frequency[rows.codes == k]
            if np.any(times != np.floor(times)):
                raise ValueError(
                    "sample_weight must hold whole numbers where there is a prior, got "
                    f"{times[times != np.floor(times)][0]:.6g}"
                )
            if times.sum() > _MOST_ROWS:
                raise ValueError(
                    f"sample_weight adds up to {times.sum():.6g}, and rows are repeated where there is a prior; "
                    "divide the weights by a common number"
                )
            x = np.repeat(x, times.astype(np.intp), axis=0)
        try:
            result = bayes(self.prior, self.family, x)
            _ = result.predictive  # rounding may leave none
            return result
        except ValueError as error:
            raise ValueError(f"rows of X of class {rows.classes.tolist()[k]!r}: {error}") from None

    def _integrates(self) -> bool:
        return self.prior is not None and all(
            hasattr(result.statistics, "without") for result in getattr(self, "_results", ())
        )

    def _left_out(self, x: Array, codes: Any) -> Array:
        found = self._log_densities(x)
        for k, result in enumerate(self._results):
            mine, pair = codes == k, result.pair
            single = pair.summarize(pair.encode(x[mine])[None])  # a batch of one row each
            belief = pair.update(self.prior, result.statistics.without(single))
            found[mine, k] = _whole_rows(pair.predictive(belief).log_prob(x[mine]))
        return found

    @available_if(_prior_has_width)
    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior is ``factor`` times as wide.

        Standard deviations of means are that many times as large, given the spread of the rows, whose
        own prior stays; pseudo-counts of a Beta, Dirichlet, Gamma or InverseGamma are divided by the
        square. The prior of class probabilities stays. Not offered for other families.
        """
        return clone(self).set_params(prior=widened(self.prior, factor))

    def _log_densities(self, x: Array) -> Array:
        return np.stack([_whole_rows(member.log_prob(x)) for member in self.densities_], axis=1)

    def _draw(self, codes: Any, rng: np.random.Generator) -> Array:
        drawn = np.empty((len(codes), self.n_features_in_))
        for k, member in enumerate(self.densities_):
            mine = codes == k
            drawn[mine] = np.asarray(member.sample(int(mine.sum()), rng=rng))
        return drawn


def _whole_rows(log_prob: Any) -> Array:
    """Return log densities of rows (N,), from those of rows or of their columns (N, D)."""
    each = np.asarray(log_prob)
    return each if each.ndim == 1 else each.sum(axis=1)


def _is_family(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Distribution)
