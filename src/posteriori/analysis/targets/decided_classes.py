r"""What is said of unseen rows where classes are not alike, and what comes of it.

Said is what costs least on average, :math:`\arg\min_j \sum_k L_{kj}\,p(C_k\mid x)`. Where no costs are told, a miss
of the class that is to be found costs as much as balances found against false alarms best (largest F₁).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score

from posteriori.analysis.targets.class_costs import Stakes, say_classes
from posteriori.distributions.numbers.beta import Beta
from posteriori.numerics.types import Array

__all__ = ["Decided", "against_next", "best_threshold", "decide_unseen"]

#: An area under the curve is no chance that is so many standard errors above ½.
_SURE = 2.0

#: Nearest that a threshold comes to 0 and 1.
_EDGE = 1e-9


class Decided(NamedTuple):
    """What is said of unseen rows.

    Attributes
    ----------
    positive : int
        Code of the class that is to be found.
    rule : (K, K) or None
        Costs by which new rows are decided; None where the most probable class is said.
    told : bool
        Whether these are costs that were told.
    said, codes : (N,) of int
        What is said, by a rule that has not seen the row, and what is true.
    """

    positive: int
    rule: Array | None
    told: bool
    said: Any
    codes: Any

    @property
    def rows(self) -> int:
        """Rows of the class."""
        return int(np.sum(self.codes == self.positive))

    @property
    def found(self) -> int:
        """Rows of the class that are said to be of it."""
        return int(np.sum((self.codes == self.positive) & (self.said == self.positive)))

    @property
    def alarms(self) -> int:
        """Rows of other classes that are said to be of it."""
        return int(np.sum((self.codes != self.positive) & (self.said == self.positive)))

    @property
    def recall(self) -> float:
        """Share of the class that is found."""
        return self.found / max(self.rows, 1)

    @property
    def precision(self) -> float:
        """Share of those said to be of the class that are; 0 where none are."""
        return self.found / max(self.found + self.alarms, 1)

    @property
    def recall_belief(self) -> Beta:
        """What these rows tell of the share that is found of new ones."""
        return Beta(1.0 + self.found, 1.0 + self.rows - self.found)

    @property
    def precision_belief(self) -> Beta:
        """What these rows tell of the share of new alarms that are true."""
        return Beta(1.0 + self.found, 1.0 + self.alarms)

    @property
    def spent(self) -> Array:
        """What each row costs, (N,); by the rule."""
        assert self.rule is not None
        return np.asarray(self.rule[self.codes, self.said])

    @property
    def spent_alike(self) -> Array:
        """What each row costs where one class is said of all, for each class, (N, K)."""
        assert self.rule is not None
        return np.asarray(self.rule[self.codes])


def decide_unseen(
    p: Array, codes: Any, splits: Sequence[tuple[Any, Any]], stakes: Stakes
) -> Decided:
    """Return what is said of rows that a model has not seen.

    A threshold that no costs tell is chosen without the fold that it is judged on; the one for new rows, by
    all. Where the model orders the rows no better than chance there is none.

    Parameters
    ----------
    p : (N, K)
        Probabilities, each by a model that has not seen the row.
    codes : (N,)
    splits : sequence of pairs of rows
        All but a fold, and the fold.
    stakes : Stakes
    """
    positive = stakes.positive
    assert positive is not None
    if stakes.costs is not None:
        return Decided(positive, stakes.costs, True, say_classes(p, stakes.costs), codes)
    came, score = codes == positive, against_next(p, positive)
    if not _beyond_chance(came, p[:, positive]):
        return Decided(positive, None, False, say_classes(p, None), codes)
    said = np.empty(len(p), dtype=int)
    for others, fold in splits:
        rule = _weighing(best_threshold(score[others], came[others]), positive, p.shape[1])
        said[fold] = say_classes(p[fold], rule)
    rule = _weighing(best_threshold(score, came), positive, p.shape[1])
    return Decided(positive, rule, False, said, codes)


def against_next(p: Array, positive: int) -> Array:
    """Return the probability of a class beside the most probable other one, (N,); of two classes, its own.

    Examples
    --------
    >>> against_next(np.array([[0.2, 0.6, 0.2]]), 0).round(2).tolist()
    [0.25]
    """
    own, others = p[:, positive], np.delete(p, positive, axis=1).max(axis=1)
    return np.asarray(own / (own + others))


def best_threshold(score: Array, came: Any) -> float:
    """Return the threshold of largest F₁ = 2·found/(rows of the class + those said to be), amid its gap.

    Parameters
    ----------
    score : (N,)
    came : (N,) of bool

    Examples
    --------
    >>> best_threshold(np.array([0.1, 0.3, 0.5, 0.9]), np.array([False, True, False, True]))
    0.2
    """
    order = np.argsort(-score, kind="stable")
    ordered = score[order]
    last = np.flatnonzero(np.append(ordered[:-1] != ordered[1:], True))  # of equal scores
    found = np.cumsum(came[order])[last]
    best = int(np.argmax(2.0 * found / (found[-1] + last + 1.0)))
    below = ordered[last[best] + 1] if best + 1 < len(last) else 0.0
    return float(np.clip(0.5 * (ordered[last[best]] + below), _EDGE, 1.0 - _EDGE))


def _weighing(threshold: float, positive: int, classes: int) -> Array:
    """Return costs by which a class is said from a threshold of ``against_next`` on."""
    rule = 1.0 - np.eye(classes)
    rule[positive] *= (1.0 - threshold) / threshold
    return rule


def _beyond_chance(came: Any, score: Array) -> bool:
    """Tell whether rows of a class stand higher than others, beyond the error that chance alone has."""
    rows, others = int(came.sum()), int((~came).sum())
    if not rows * others:
        return False
    error = np.sqrt((rows + others + 1.0) / (12.0 * rows * others))
    return bool(roc_auc_score(came, score) - 0.5 > _SURE * error)
