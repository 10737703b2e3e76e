r"""Components of any exponential family: the most likely members, or conjugate beliefs about them.

.. math:: \ln p(x\mid\theta) = \langle \eta, T(x)\rangle - A(\eta) + \ln h(x)
   \qquad\text{or}\qquad E[\ln p(x\mid\theta)] = \langle t(x), E[T(\theta)]\rangle + c(x),

with t the amounts that data add to the natural parameters of the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.conjugate.count_statistics import CountStatistics
from posteriori.distributions.conjugate.pair import NaturalPair, Pair
from posteriori.distributions.coordinates import inner
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.latent.namings import log_affinities
from posteriori.inference.latent.units import table_spread
from posteriori.inference.mixtures.columns.family_columns import ColumnLayout, lay_out
from posteriori.inference.mixtures.columns.latent_ascent import (
    IMAGINED,
    LearnedFeatures,
    sum_of_features,
)
from posteriori.inference.mixtures.columns.sound_components import Shrinkable
from posteriori.inference.mixtures.feature_pass import read_blocks_of_rows
from posteriori.numerics.types import Array

__all__ = [
    "ConjugateModel",
    "ExponentialModel",
    "belief_affinities",
    "conjugate_model",
    "exponential_model",
    "may_shrink",
    "moved",
]

#: Families whose members can be moved, so that columns far from 0 keep their digits.
_MOVABLE = (Normal, MvNormal)


class ExponentialModel(NamedTuple):
    """The most likely members of a family.

    Attributes
    ----------
    layout : ColumnLayout
    family : type
    imagined : (F,)
        Features of the rows that every component has seen beside its own.
    """

    layout: ColumnLayout
    family: type[ExponentialFamily]
    imagined: Array

    @property
    def size(self) -> int:
        """Number of features."""
        return self.layout.size

    @property
    def shrinkable(self) -> Shrinkable:
        """All columns, if members have densities of more than one parameter."""
        columns = len(self.layout.standing) if may_shrink(self.family) else 0
        return Shrinkable(list(range(columns)), self.family is MvNormal)

    def of(self, x: Array) -> Array:
        """Return t(x) of rows, (F, B)."""
        return self.layout.of(x)

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return members (K, D) whose E[T(x)] are the averages of their rows."""
        whole = sums + self.imagined
        counts = self.layout.counts(whole)
        if not (counts > 0).all():
            raise ValueError("a component has seen less than nothing")
        averages = [_over(part, counts) for part in self.layout.split(whole)]
        member = self.family.from_mean_params(*averages)
        theta = self.layout.join(member.natural, -member.log_normalizer())
        return LearnedFeatures(theta, float((theta @ self.imagined).sum()), member)

    def log_carrier(self, x: Array, frequency: Array | None, member: Any) -> float:
        """Return Σ_n w_n ln h(x_n)."""

        def carrier(known: Array) -> Any:
            return member._log_carrier(known)

        return _sum_of_entries(self.layout, x, frequency, carrier)


class ConjugateModel(NamedTuple):
    """Beliefs about the members of a family.

    Attributes
    ----------
    layout : ColumnLayout
    pair : Pair
        With the prior, moved as the data are.
    """

    layout: ColumnLayout
    pair: Pair

    @property
    def size(self) -> int:
        """Number of features."""
        return self.layout.size

    @property
    def shrinkable(self) -> Shrinkable:
        """No column: the prior keeps components wide."""
        return Shrinkable([])

    def of(self, x: Array) -> Array:
        """Return t(x) of rows, (F, B)."""
        return self.layout.of(x)

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return beliefs (K, D): the prior's natural parameters and what the rows add."""
        belief = self.believe(sums)
        theta = self.layout.join(belief.mean_params, np.zeros((len(sums), self.layout.columns)))
        return LearnedFeatures(theta, -float(np.sum(belief.kl(self.pair.prior))), belief)

    def believe(self, sums: Array) -> Any:
        """Return the beliefs (K, D) alone."""
        prior, added = self.pair.prior, self.layout.split(sums)
        belief = prior._from_natural(*(p + t for p, t in zip(prior.natural, added, strict=True)))
        if not belief._all_proper:
            raise ValueError("a belief is improper")
        return belief

    def log_carrier(self, x: Array, frequency: Array | None, member: Any) -> float:
        """Return Σ_n w_n c(x_n)."""

        def carrier(known: Array) -> Any:
            return _statistics_and_carrier(self.pair, known)[1]

        return _sum_of_entries(self.layout, x, frequency, carrier)


def may_shrink(family: Any) -> bool:
    """Tell whether members of a family have densities that could be shrunk to a point.

    Those of one parameter, such as exponentials, cannot: their place and their spread are one.
    """
    if getattr(family, "_has_atoms", True):
        return False
    exponential = isinstance(family, type) and issubclass(family, ExponentialFamily)
    return not exponential or len(family._natural_ndims) > 1 or family._event_ndim > 0


def exponential_model(
    family: type[ExponentialFamily], x: Array, frequency: Array | None
) -> ExponentialModel:
    """Return the model of a table whose components are the most likely members of a family."""
    vectors = family._event_ndim > 0
    shift = table_spread(x, frequency)[1] if family in _MOVABLE else np.zeros(x.shape[1])
    layout = lay_out(x, vectors, shift, family.sufficient)
    total = sum_of_features(layout, x, frequency)
    return ExponentialModel(layout, family, IMAGINED * total / total[0])


def conjugate_model(
    find: Callable[[Any], Pair], prior: Any, x: Array, frequency: Array | None
) -> ConjugateModel:
    """Return the model of a table whose components have conjugate beliefs.

    Parameters
    ----------
    find : callable
        From a prior, its pair with the likelihood.
    prior : distribution
        Its batch is () or (D,); of vectors ().
    x : (N, D)
    frequency : (N,) or None
    """
    pair, shift = find(prior), np.zeros(x.shape[1])
    vectors = pair.event_ndim > 0
    if pair.likelihood_family in _MOVABLE and hasattr(prior, "location"):
        shift = table_spread(x, frequency)[1]
        pair = find(moved(prior, -shift))
    layout = lay_out(x, vectors, shift, lambda known: _statistics_and_carrier(pair, known)[0])
    return ConjugateModel(layout, pair)


def moved(d: Any, by: Array) -> Any:
    """Return the same normal, or belief about its mean, elsewhere."""
    if not by.any():
        return d
    place = "location" if hasattr(d, "location") else "mean"
    kept = {name.rstrip("="): getattr(d, name.rstrip("=")) for name in d._shown}
    return d._from(**{**kept, place: kept[place] + by})


def belief_affinities(belief: Any) -> Array:
    """Return ln B (K, K) of beliefs (K,), or (K, D) about the columns of components."""
    half = (0.5 * (part[:, None] + part) for part in belief.natural)
    halfway, own = belief._from_natural(*half).log_normalizer(), belief.log_normalizer()
    k = len(own)
    return log_affinities(own.reshape(k, -1).sum(axis=1), halfway.reshape(k, k, -1).sum(axis=2))


def _statistics_and_carrier(pair: Pair, known: Array) -> tuple[Sequence[Array], Any]:
    """Return t(x) and c(x) of each entry, as if it were all data."""
    found = pair.summarize(known[None])
    if isinstance(pair, NaturalPair):
        added = found.sums
        if not isinstance(found, CountStatistics):
            return added, found.log_carrier
    else:
        after = pair.update(pair.prior, found)
        added = tuple(b - a for a, b in zip(pair.prior.natural, after.natural, strict=True))
    theta = pair.prior._interior()
    family = pair.prior_family
    exponent = inner(added, family.sufficient(theta), family._natural_ndims)
    return added, pair.log_likelihood(theta, found) - exponent


def _sum_of_entries(
    layout: ColumnLayout, x: Array, frequency: Array | None, values: Callable[[Array], Any]
) -> float:
    """Return the sum of values of seen entries, by how often their rows count."""
    total = 0.0
    for rows in read_blocks_of_rows(len(x), layout.size):
        each = np.broadcast_to(values(layout.known(x[rows])), (len(x[rows]), layout.columns))
        seen = np.where(np.isnan(x[rows]), 0.0, each) if layout.gaps else each
        per_row = seen.sum(axis=1)
        total += float(per_row.sum() if frequency is None else per_row @ frequency[rows])
    return total


def _over(part: Array, counts: Array) -> Array:
    return part / counts.reshape(counts.shape + (1,) * (part.ndim - 2))
