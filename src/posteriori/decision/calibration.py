"""Do the probabilities keep their word? Reliability curves, proper scores, confusion matrices.

Among rows whose class is given probability 0.7, seven in ten should have it. Scores and curves are
scikit-learn's; here they take all classes at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss
from sklearn.utils.validation import check_consistent_length

from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.beta import Beta
from posteriori.numerics.types import Array
from posteriori.numerics.validation import probability_vector

__all__ = ["Confusion", "ReliabilityCurve", "confusion", "proper_scores", "reliability"]


class Confusion(NamedTuple):
    """Which class was taken for which.

    Attributes
    ----------
    table : array (K, K)
        Number of rows of true class (row) that were given a class (column).
    labels : array (K,)
    accuracy : float
        Share on the diagonal.
    """

    table: Array
    labels: Any
    accuracy: float


class ReliabilityCurve(NamedTuple):
    """A reliability curve.

    Attributes
    ----------
    predicted, observed : arrays (B,)
        Average probability in each occupied bin, and the share of rows that have the class.
    counts : array (B,)
        Rows in each occupied bin.
    expected_error : float
        Average of |observed − predicted| over rows.
    """

    predicted: Array
    observed: Array
    counts: Any
    expected_error: float

    @property
    def belief(self) -> Beta:
        """What the rows of a bin tell of the true share, Beta(1 + hits, 1 + misses), a batch."""
        hits = self.counts * self.observed
        return Beta(1.0 + hits, 1.0 + self.counts - hits)


def confusion(y: Any, chosen: Any, labels: Sequence[Any] | None = None) -> Confusion:
    """Count true classes (rows) against chosen ones (columns).

    Parameters
    ----------
    y, chosen : array_like (N,)
    labels : sequence, optional
        The classes in the order of rows; all that occur, sorted, if None.

    Examples
    --------
    >>> confusion(["a", "a", "b"], ["a", "b", "b"]).table
    array([[1, 1],
           [0, 1]])
    """
    check_consistent_length(y, chosen)
    names = np.unique(np.concatenate([np.asarray(y), np.asarray(chosen)]))
    names = names if labels is None else np.asarray(labels)
    table = confusion_matrix(y, chosen, labels=names)
    return Confusion(table, names, float(np.trace(table) / max(table.sum(), 1)))


def proper_scores(
    y: Any, probabilities: Any, labels: Sequence[Any] | None = None
) -> dict[str, float]:
    """Return the average log loss and Brier score, which the true probabilities minimise.

    Parameters
    ----------
    y : array_like (N,)
        True classes.
    probabilities : array (N, K) or Categorical
    labels : sequence of K, optional
        The class of each column; taken from a ``Categorical``, or 0, …, K − 1.

    Returns
    -------
    dict
        ``"log_loss"`` = −average ln p(y), ``"brier"`` = average of Σ_k (p_k − [y = k])².

    Examples
    --------
    >>> scores = proper_scores([0, 1], [[0.9, 0.1], [0.2, 0.8]])
    >>> {name: round(value, 6) for name, value in scores.items()}
    {'log_loss': 0.164252, 'brier': 0.05}
    """
    p, names, truth = _check(y, probabilities, labels)
    return {
        "log_loss": float(log_loss(truth, p, labels=np.arange(len(names)))),
        "brier": float(
            brier_score_loss(truth, p, labels=np.arange(len(names)), scale_by_half=False)
        ),
    }


def reliability(
    y: Any,
    probabilities: Any,
    label: Any,
    labels: Sequence[Any] | None = None,
    *,
    n_bins: int = 10,
) -> ReliabilityCurve:
    """Return how often a class occurs where it is given a probability.

    Parameters
    ----------
    y : array_like (N,)
        True classes.
    probabilities : array (N, K) or Categorical
    label : object
        The class that is asked about.
    labels : sequence of K, optional
        The class of each column; taken from a ``Categorical``, or 0, …, K − 1.
    n_bins : int
        Bins of equal width between 0 and 1.

    Examples
    --------
    >>> curve = reliability([0, 1, 1, 1], [[0.25, 0.75]] * 4, label=1)
    >>> curve.predicted, curve.observed, curve.expected_error
    (array([0.75]), array([0.75]), 0.0)
    >>> curve.belief  # four rows say little
    Beta([4.], [2.])
    """
    p, names, truth = _check(y, probabilities, labels)
    if label not in names:
        raise ValueError(f"label must be one of {names}, got {label!r}")
    k = names.index(label)
    observed, predicted = calibration_curve(truth == k, p[:, k], n_bins=n_bins, pos_label=True)
    bins = np.searchsorted(np.linspace(0.0, 1.0, n_bins + 1)[1:-1], p[:, k])
    counts = np.bincount(bins, minlength=n_bins)
    counts = counts[counts > 0]
    error = float(counts @ np.abs(observed - predicted)) / len(bins)
    return ReliabilityCurve(predicted, observed, counts, error)


def _check(y: Any, probabilities: Any, labels: Any) -> tuple[Array, list[Any], Any]:
    """Return probabilities (N, K), the classes of the columns, and codes of the true classes."""
    if isinstance(probabilities, Categorical):
        labels = probabilities.labels if labels is None else labels
        p = np.asarray(probabilities.probabilities)
    else:
        p = np.asarray(probability_vector("probabilities", probabilities))
    if p.ndim != 2:
        raise ValueError(f"probabilities must have shape (N, K), got {p.shape}")
    check_consistent_length(y, p)
    names = list(range(p.shape[1])) if labels is None else list(labels)
    if len(names) != p.shape[1]:
        raise ValueError(f"labels must name the {p.shape[1]} columns, got {len(names)} names")
    code = {name: k for k, name in enumerate(names)}
    unknown = [name for name in np.asarray(y).tolist() if name not in code]
    if unknown:
        raise ValueError(f"y holds {unknown[0]!r}, which is none of the labels {names}")
    return p, names, np.array([code[name] for name in np.asarray(y).tolist()])
