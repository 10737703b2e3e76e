r"""Evidence of any learner: how probable the targets were, each block told by the rows before it.

.. math:: \ln p(y\mid X) = \sum_b\ln p(y_b\mid X_b, \text{a fit to blocks } 1, \dots, b - 1)

Trees, forests and boosted trees choose their form by the targets and so have no prior that could be
integrated over. What they predict from earlier rows is a probability of the targets all the same
(A. P. Dawid, "Statistical theory: the prequential approach", 1984).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_consistent_length, column_or_1d

from posteriori.distributions.base import has_atoms
from posteriori.distributions.conjugate.bayes_rule import bayes
from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.class_probabilities import spread_over_classes
from posteriori.estimators.contract import predictive_of
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.lazy import special
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import require_moderate
from posteriori.selection.cross_validation import fit_in_parts
from posteriori.selection.same_data import as_numbers

__all__ = ["prequential_evidence"]

#: The first block has at most so many rows, and more than half as many.
_FIRST = 4

#: Rows that are predicted at a time: a distribution can take 100 numbers a row.
_PART = 1024

#: What an estimator that is given too few rows, or rows too much alike, may raise.
_REFUSALS = (ValueError, ArithmeticError, np.linalg.LinAlgError)


def prequential_evidence(
    estimator: Any, X: Any, y: Any, classes: Any = None, rng: Seed = 0
) -> LogEvidence:
    r"""Return the log probability of targets that an estimator predicts block by block.

    Rows come in random order. The blocks are N/2, N/4, … rows, the last one first; each is predicted by
    a fit to all rows before it, so all fits together see about as many rows as one fit to all. The
    constant model predicts the first block, and those before which one class was seen or the estimator
    refused to be fitted. It is :math:`\mathrm{Dirichlet}(1, \dots, 1)` of classes,
    :math:`\mathrm{NormalGamma}(\bar y, ½, 2, s^2)` of numbers and :math:`\mathrm{Gamma}(1, 1/\bar y)` of
    counts, with mean and mean square :math:`s^2` of deviations in the first block, which ends with the
    first number that differs at the earliest.

    Parameters
    ----------
    estimator : estimator
        Left as it is. A classifier with ``predict_proba``, or a regression with a predictive
        distribution.
    X : (N, D)
    y : (N,)
    classes : (K,), optional
        All labels that were possible; those of y by default. One that is not among the rows before a
        block has the probability 1/(n + K) there.
    rng : Generator, int or None
        For the order of the rows.

    Returns
    -------
    LogEvidence
        Of kind "prequential": the sum over all labellings, or all counts beyond the first block, is 1,
        as is the integral over all numbers beyond the first block. It compares with its like only.

    Raises
    ------
    TypeError
        When the estimator does not say how probable targets are.
    ValueError
        When targets are missing, infinite, all the same number, or none of ``classes``.

    Notes
    -----
    It depends on the order of the rows; the spread over several ``rng`` says how much. −∞ says
    that the estimator held something impossible that came.

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.classification import ClassFrequencies, KNeighborsClassifier
    >>> x = np.linspace(-1, 1, 60)[:, None]
    >>> near = prequential_evidence(KNeighborsClassifier(5), x, x[:, 0] > 0)
    >>> flat = prequential_evidence(ClassFrequencies(), x, x[:, 0] > 0)
    >>> bool(near > flat), near.kind
    (True, 'prequential')
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    targets = column_or_1d(np.asarray(y), warn=True)
    check_consistent_length(X, targets)
    labels = _check_labels(targets, classes) if is_classifier(estimator) else None
    targets = targets if labels is not None else _check_numbers(targets)
    order = as_generator(rng).permutation(len(targets))
    value = _add_blocks(estimator, _safe_indexing(X, order), targets[order], labels)
    if np.isnan(value):
        raise ValueError("what the estimator predicts for some rows is no number")
    print_of = Fingerprint().update(as_numbers(targets))
    return LogEvidence(value, kind="prequential", of="y|X", fingerprint=print_of)


def _check_labels(y: Any, classes: Any) -> Any:
    """Return all labels, sorted."""
    labels = np.unique(y if classes is None else np.asarray(classes))
    if not len(y) or len(labels) < 2:
        raise ValueError(f"there must be rows, and at least two classes, got {labels.tolist()}")
    unknown = np.setdiff1d(y, labels)
    if len(unknown):
        raise ValueError(f"y holds {unknown.tolist()[0]!r}, which is none of classes")
    return labels


def _check_numbers(y: Any) -> Array:
    numbers = y.astype(np.float64)
    if not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise ValueError(f"y is {numbers[row]} in row {row}; leave rows without a target out")
    if not len(y) or (numbers == numbers[0]).all():
        raise ValueError("y must hold numbers that differ: those of the first block set the scale")
    require_moderate("y", numbers)
    return numbers


def _add_blocks(estimator: Any, X: Any, y: Any, labels: Any) -> float:
    """Return Σ_b ln p(y_b | X_b, earlier rows) of rows in their order."""
    ends = _block_ends(y, labels)
    constant, total, counts = [(0, ends[0])], 0.0, False
    for start, stop in pairwise(ends):
        model = _learn(estimator, X, y, start, labels, last=stop == len(y))
        if model is None:
            constant.append((start, stop))
            continue
        for first in range(start, stop, _PART):
            rows = slice(first, min(first + _PART, stop))
            inputs = _safe_indexing(X, rows)
            if labels is None:
                predictive = predictive_of(model, inputs)
                counts = has_atoms(predictive)
                total += float(np.sum(predictive.log_prob(y[rows])))
            else:
                total += _log_probability(model, inputs, y[rows], labels, start)
    whole = _constant_model(y, ends[0], labels, counts)
    return total + sum(whole(stop) - whole(start) for start, stop in constant)


def _block_ends(y: Any, labels: Any) -> list[int]:
    """Return where blocks end, N last: each has as many rows as there are before it, or one less."""
    ends = [len(y)]
    while ends[0] > _FIRST:
        ends.insert(0, (ends[0] + 1) // 2)
    if labels is not None:
        return ends
    differs = int(np.argmax(y != y[0])) + 1
    return [max(ends[0], differs), *(end for end in ends[1:] if end > differs)]


def _learn(estimator: Any, X: Any, y: Any, start: int, labels: Any, *, last: bool) -> Any:
    """Return a fit to the rows before a block; None where the constant model has to do.

    What fits to a few rows warn of is no news: their predictions are weighed in any case.
    """
    seen = y[:start]
    if labels is not None and len(np.unique(seen)) < 2:
        return None
    inputs = _safe_indexing(X, slice(0, start))
    if last:
        return fit_in_parts(clone(estimator), inputs, seen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return fit_in_parts(clone(estimator), inputs, seen)
        except _REFUSALS:
            return None


def _log_probability(model: Any, X: Any, y: Any, labels: Any, seen: int) -> float:
    p = spread_over_classes(model, X, labels, seen)
    with np.errstate(divide="ignore"):  # ln 0 = −∞ is the answer
        return float(np.log(p[np.arange(len(y)), np.searchsorted(labels, y)]).sum())


def _constant_model(y: Any, first: int, labels: Any, counts: bool) -> Callable[[int], float]:
    """Return the log evidence of the first n rows, as a function of n, under the model without inputs."""
    if labels is not None:
        codes = np.searchsorted(labels, y)

        def evidence(n: int) -> float:  # ln B(1 + N_1, …, 1 + N_K) − ln B(1, …, 1)
            terms = special.gammaln(1.0 + np.bincount(codes[:n], minlength=len(labels)))
            return float(
                terms.sum() - special.gammaln(n + len(labels)) + special.gammaln(len(labels))
            )

        return evidence
    mean = y[:first].mean()
    if counts:
        return lambda n: (
            float(bayes(Gamma(1.0, 1.0 / mean), Poisson, y[:n]).log_evidence) if n else 0.0
        )
    prior = NormalGamma(mean, 0.5, 2.0, np.mean((y[:first] - mean) ** 2))
    return lambda n: float(bayes(prior, Normal, y[:n]).log_evidence) if n else 0.0
