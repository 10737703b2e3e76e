r"""Margins of votes: how clearly each row is on its side.

.. math:: \rho_n = y_n \sum_t \frac{\alpha_t}{\|\alpha\|_1} h_t(x_n) \in [-1, 1].

Reference: R. Schapire, Y. Freund, P. Bartlett & W. S. Lee, "Boosting the margin: a new explanation for
the effectiveness of voting methods", 1998.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.ensemble.votes.weighted_majority import WeightedMajority
from posteriori.estimators.labelled_rows import check_known_labels
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["Margins", "least_lead", "margins"]


class Margins(NamedTuple):
    """Margins of rows.

    Attributes
    ----------
    values : (N,)
        From −1, all votes against the row's class, to 1, all for it.
    """

    values: Array

    @property
    def minimum(self) -> float:
        """The least margin."""
        return float(self.values.min())

    def cdf(self, theta: Any) -> Array:
        """Return the share of rows whose margin is at most θ.

        Parameters
        ----------
        theta : array_like
        """
        ordered = np.sort(self.values)
        return np.searchsorted(ordered, real("theta", theta), side="right") / len(ordered)


def margins(model: Any, X: Any, y: Any, *, rounds: int | None = None) -> Margins:
    """Return the margins of rows: the share of votes for their class, less the largest of another's.

    Parameters
    ----------
    model : AdaBoostClassifier or LPBoostClassifier
        Fitted.
    X : array_like (N, D)
    y : array_like (N,)
        Labels.
    rounds : int, optional
        Of how many members, from the first; None is all.

    Examples
    --------
    >>> from posteriori.ensemble import AdaBoostClassifier
    >>> x = np.arange(10.0)[:, None]
    >>> y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    >>> found = margins(AdaBoostClassifier(3).fit(x, y), x, y)
    >>> round(found.minimum, 4), found.cdf(0.5)
    (0.176, np.float64(0.7))
    """
    if not isinstance(model, WeightedMajority):
        raise TypeError(
            f"model must be an AdaBoostClassifier or LPBoostClassifier, got {type(model).__name__}"
        )
    check_is_fitted(model)
    weights = model.estimator_weights_.copy()
    if rounds is not None:
        if not 1 <= rounds <= len(weights):
            raise ValueError(f"rounds must be from 1 to {len(weights)}, got {rounds!r}")
        weights[int(rounds) :] = 0.0
    votes = model.sum_votes(X, weights)
    lead = least_lead(votes, check_known_labels(model, votes, y))
    norm = float(weights.sum())
    return Margins(lead / norm if norm > 0.0 else np.zeros(len(lead)))


def least_lead(votes: Array, codes: Any) -> Array:
    """Return by how much the votes for each row's class exceed those for any other, (N,)."""
    others = votes.copy()
    rows = np.arange(len(codes))
    others[rows, codes] = -np.inf
    return votes[rows, codes] - others.max(axis=1)
