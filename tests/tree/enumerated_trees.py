"""All trees of a few rows, one after another: the oracle of sums over trees."""

from functools import cache
from typing import NamedTuple

import numpy as np

from posteriori import Categorical, Dirichlet, Normal, Poisson, bayes


class Tree(NamedTuple):
    """A tree with its prior probability, the rows of its leaves, and the columns that it asks for."""

    prior: float
    leaves: frozenset
    columns: frozenset


def rank_bins(values, size):
    """Return the bins of numbers, as the definition says: min(⌊G(l + u)/2N⌋, G − 1)."""
    found = []
    for x in values:
        below, not_above = int(np.sum(values < x)), int(np.sum(values <= x))
        found.append(min(size * (below + not_above) // (2 * len(values)), size - 1))
    return np.array(found)


def all_trees(codes, max_depth, p, group=None):
    """Return all trees of rows with bins (N, E)."""
    group = range(codes.shape[1]) if group is None else group

    @cache
    def begin(rows, depth):
        cuts = {}
        for c in range(codes.shape[1]):
            occupied = sorted({int(codes[n, c]) for n in rows})
            if len(occupied) > 1:
                cuts[c] = occupied[:-1]
        if depth == max_depth or not cuts:
            return [Tree(1.0, frozenset([rows]), frozenset())]
        found = [Tree(1.0 - p, frozenset([rows]), frozenset())]
        for c, places in cuts.items():
            for place in places:
                left = tuple(n for n in rows if codes[n, c] <= place)
                right = tuple(n for n in rows if codes[n, c] > place)
                share = p / (len(cuts) * len(places))
                for a in begin(left, depth + 1):
                    for b in begin(right, depth + 1):
                        columns = a.columns | b.columns | {group[c]}
                        found.append(Tree(share * a.prior * b.prior, a.leaves | b.leaves, columns))
        return found

    return begin(tuple(range(len(codes))), 0)


class Leaf:
    """What conjugate leaves say of rows, by the library's rule of Bayes."""

    def __init__(self, kind, y, prior):
        self.kind, self.y, self.prior = kind, np.asarray(y), prior
        self.learned = cache(self._learn)

    def _learn(self, rows):
        y = self.y[list(rows)]
        if self.kind == "classes":
            return bayes(Dirichlet(self.prior), Categorical, y)
        return bayes(self.prior, Normal if self.kind == "normal" else Poisson, y)

    def log_evidence(self, rows):
        return float(self.learned(rows).log_evidence)


def posterior_of(trees, leaf):
    """Return the log evidence of all trees, and the posterior probability of each."""
    logs = np.array(
        [np.log(t.prior) + sum(leaf.log_evidence(rows) for rows in t.leaves) for t in trees]
    )
    log_evidence = np.logaddexp.reduce(logs)
    return log_evidence, np.exp(logs - log_evidence)
