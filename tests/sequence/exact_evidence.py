"""The evidence of a hidden Markov model with exchangeable states, summed over all partitions of its rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import gammaln

__all__ = ["exact_normal_evidence", "log_normal_block", "partitions"]


def partitions(size: int) -> Iterator[list[int]]:
    """Yield all partitions of 0, …, size − 1 as labels, new ones in the order in which they come."""

    def extend(labels: list[int]) -> Iterator[list[int]]:
        if len(labels) == size:
            yield labels
            return
        for label in range(max(labels) + 2):
            yield from extend([*labels, label])

    yield from extend([0])


def log_normal_block(rows, prior):
    """Return ln p of rows of one state, mean and variance integrated out."""
    location, strength, shape, scale = prior
    if not (n := len(rows)):
        return 0.0
    mean = rows.mean()
    after = scale + 0.5 * ((rows - mean) ** 2).sum()
    after += 0.5 * strength * n / (strength + n) * (mean - location) ** 2
    value = gammaln(shape + 0.5 * n) - gammaln(shape) + shape * np.log(scale)
    value += 0.5 * np.log(strength / (strength + n)) - 0.5 * n * np.log(2.0 * np.pi)
    return value - (shape + 0.5 * n) * np.log(after)


def exact_normal_evidence(x, numbers, prior):
    """Return ln p(x) for each number of states, all concentrations 1.

    A partition into V blocks stands for K!/(K − V)! paths; counts of moves have Dirichlet–multinomial
    probabilities, and blocks of rows Student's t.
    """
    blocks: dict[int, float] = {}

    def log_block(mask: int) -> float:
        if mask not in blocks:
            rows = x[[bool(mask >> t & 1) for t in range(len(x))]]
            blocks[mask] = log_normal_block(rows, prior)
        return blocks[mask]

    totals = dict.fromkeys(numbers, -np.inf)
    for labels in partitions(len(x)):
        v = max(labels) + 1
        moves = np.zeros((v, v))
        np.add.at(moves, (labels[:-1], labels[1:]), 1.0)
        masks = [sum(1 << t for t, label in enumerate(labels) if label == b) for b in range(v)]
        common = sum(map(log_block, masks)) + gammaln(1.0 + moves).sum()
        for k in (k for k in numbers if k >= v):
            rows = (gammaln(k) - gammaln(k + moves.sum(axis=1))).sum() - np.log(k)
            value = common + rows + gammaln(k + 1.0) - gammaln(k - v + 1.0)
            totals[k] = np.logaddexp(totals[k], value)
    return totals
