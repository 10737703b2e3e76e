r"""Mixtures of any family that can be fitted to weighted rows, by expectation–maximisation.

.. math:: r_{nk} \propto \pi_k p(x_n\mid\theta_k), \qquad \theta_k = \arg\max \sum_n w_n (r_{nk} + \epsilon)
   \ln p(x_n\mid\theta_k), \qquad N\epsilon = 10^{-6}.

Columns are fitted one by one to their seen entries. Of the rows only numbers (N,) are kept; log densities
are evaluated where they are asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.mixtures.columns.latent_ascent import IMAGINED, WeightLaw
from posteriori.numerics.types import Array

__all__ = [
    "Columns",
    "MemberMixture",
    "climb_by_fits",
    "fit_columns",
    "improved_columns",
    "log_density_of",
]

#: A component as its columns: a member of the family for each.
Columns = tuple[Any, ...]


class MemberMixture(NamedTuple):
    """Components and how many rows each has, (K,)."""

    components: tuple[Columns, ...]
    counts: Array


def climb_by_fits(
    family: Any,
    x: Array,
    frequency: Array | None,
    start: Array | MemberMixture,
    **options: Any,
) -> EMResult:
    """Climb from shares of rows (K, N) or from members; the parameters that are found are a :class:`MemberMixture`.

    Parameters
    ----------
    family : object with ``fit(x, weights)``
        Whose answer has ``log_prob``.
    x : (N, D)
    frequency : (N,) or None
    start : (K, N), or MemberMixture
    **options
        Of :func:`maximize_by_em`.
    """
    w = np.ones(len(x)) if frequency is None else frequency
    imagined = IMAGINED / w.sum()
    law = WeightLaw(None)

    def expect(mixture: MemberMixture) -> tuple[Any, float]:
        log_weights, bonus = law.learn(mixture.counts)
        total = np.full(len(x), -np.inf)
        for component, log_weight in zip(mixture.components, log_weights, strict=True):
            each = log_density_of(component, x)
            total = np.logaddexp(total, log_weight + each)
            bonus += imagined * float(w @ each)
        return (mixture, log_weights, total), float(w @ total) + bonus

    def maximize(expected: Any) -> MemberMixture:
        mixture, log_weights, total = expected
        components, counts = [], []
        for component, log_weight in zip(mixture.components, log_weights, strict=True):
            share = w * np.exp(log_weight + log_density_of(component, x) - total)
            components.append(improved_columns(family, component, x, share + imagined * w))
            counts.append(share.sum())
        return MemberMixture(tuple(components), np.array(counts))

    if not isinstance(start, MemberMixture):
        shares, whole = start * w, fit_columns(family, x, w)
        first = tuple(fit_columns(family, x, share + imagined * w, whole) for share in shares)
        start = MemberMixture(first, shares.sum(axis=1))
    return maximize_by_em(
        expect,
        maximize,
        start,
        **options | {"accelerated": False},  # members are no numbers that could be moved
    )


def log_density_of(component: Columns, x: Array) -> Array:
    """Return Σ_d ln p(x_d) of the seen entries of rows, (N,); of a vector that of whole rows."""
    if getattr(component[0], "_event_ndim", 0):
        return np.asarray(component[0].log_prob(x), dtype=np.float64)
    total = np.zeros(len(x))
    for member, column in zip(component, x.T, strict=True):
        seen = column == column
        total[seen] += member.log_prob(column[seen])
    return total


def fit_columns(family: Any, x: Array, weights: Array, instead: Columns | None = None) -> Columns:
    """Return the most likely member for each column, or what is there already where none is.

    Negative binomials of some rows that vary no more than Poisson counts are an example.
    """
    if getattr(family, "_event_ndim", 0):
        rows: list[tuple[Array, Array]] = [(x, weights)]
    else:
        rows = [(column[column == column], weights[column == column]) for column in x.T]
    fitted = []
    for d, (values, times) in enumerate(rows):
        try:
            fitted.append(family.fit(values, times))
        except ValueError as error:
            if instead is None:
                where = "X" if getattr(family, "_event_ndim", 0) else f"column {d} of X"
                raise ValueError(f"{where} has no most likely {family.__name__}: {error}") from None
            fitted.append(instead[d])
    return tuple(fitted)


def improved_columns(family: Any, component: Columns, x: Array, weights: Array) -> Columns:
    """Return the fitted columns, or those that there are where they do no worse.

    A fit that is found step by step ends near the best one, and may end below one that is as near.
    """
    fitted = fit_columns(family, x, weights, component)
    gain = weights @ (log_density_of(fitted, x) - log_density_of(component, x))
    return fitted if gain > 0 else component
