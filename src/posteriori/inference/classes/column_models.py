r"""Columns that are independent given the class: one conjugate model for each kind.

=============  ==============================  =======================
kind           p(x | class)                    belief
=============  ==============================  =======================
normal         N(μ, σ²)                        normal-inverse-gamma
bernoulli      θ for 1, 1 − θ for 0            Beta
poisson        counts of rate λ                Gamma
categorical    θ_c for c = 0, …, C − 1         Dirichlet
table          θ of each combination           Dirichlet
=============  ==============================  =======================

Each kind learns all of its columns at once; those of the kind "table" make one joint table. Rows are
first counted: statistics add up over the rows of a class, whether a row belongs to it or does so with
some probability. Missing entries (NaN) are left out of every sum: that is what integrating over them
gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, xlogy

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.inference.classes.class_moments import (
    ClassRows,
    ColumnMoments,
    blocks_of_rows,
    moments_by_class,
    overall,
)
from posteriori.inference.classes.column_densities import (
    BinaryClasses,
    CategoryClasses,
    CountClasses,
)
from posteriori.inference.classes.gaussian_learning import (
    LearnedClasses,
    bayesian_columns,
    default_columns_prior,
    most_likely_columns,
)
from posteriori.inference.classes.joint_tables import count_cells, learn_table, log_beta
from posteriori.inference.classes.row_terms import (
    binary_fit,
    binary_left_out,
    categories_fit,
    categories_left_out,
    counts_fit,
    counts_left_out,
    normal_fit,
    normal_left_out,
)
from posteriori.numerics.types import Array

__all__ = ["KINDS", "Kind", "category_sizes", "learn_columns", "log_carrier"]


class Kind(NamedTuple):
    """How columns of one kind are learned.

    Attributes
    ----------
    prior_family : type
    whole : bool
        Whether entries must be whole numbers >= 0.
    largest : float
        Largest entry that is allowed.
    count : callable
        From labelled rows and a prior (None: the default), the statistics of the classes.
    learn : callable
        From statistics, a prior (None: the default), whether to integrate, and the labels of the
        classes, ``LearnedClasses``.
    left_out, fit : callable
        From the belief, x and class codes, what it says of each row in its class (N,): left out, and
        as it is fitted.
    """

    prior_family: type
    whole: bool
    largest: float
    count: Any
    learn: Any
    left_out: Any
    fit: Any


def learn_columns(kind: str, rows: ClassRows, prior: Any, integrate: bool) -> LearnedClasses:
    """Learn columns of one kind.

    Parameters
    ----------
    kind : {"normal", "bernoulli", "poisson", "categorical", "table"}
    rows : ClassRows
        With these columns only.
    prior : distribution or None
        Of each column's parameters in each class.
    integrate : bool
        Whether parameters are integrated out, or estimated by maximum likelihood.
    """
    how = KINDS[kind]
    statistics = how.count(rows, prior)
    learned: LearnedClasses = how.learn(statistics, prior, integrate, rows.classes.tolist())
    carrier = log_carrier(kind, rows.x, rows.frequency)
    return learned._replace(log_probability=learned.log_probability + carrier)


def log_carrier(kind: str, x: Array, frequency: Array | None) -> float:
    """Return the part of the log probability of rows that no parameter has a say in: −Σ ln x!."""
    if kind != "poisson":
        return 0.0
    total = 0.0
    for here in blocks_of_rows(x):
        each = gammaln(np.nan_to_num(x[here]) + 1.0).sum(axis=1)  # 0 of a missing entry: ln 0! = 0
        total -= float(each.sum() if frequency is None else each @ frequency[here])
    return total


# -- counting ------------------------------------------------------------------------------


def _count_squares(rows: ClassRows, prior: Any) -> ColumnMoments:
    return moments_by_class(rows)


def _count_sums(rows: ClassRows, prior: Any) -> ColumnMoments:
    return moments_by_class(rows, squares=False)


def _count_categories(rows: ClassRows, prior: Any) -> list[Array]:
    """Return how often each class (row) has each category, (K, C) of each column."""
    counts, k = [], len(rows.classes)
    for column, size in zip(rows.x.T, category_sizes(rows.x, prior), strict=True):
        seen = ~np.isnan(column)
        weight = None if rows.frequency is None else rows.frequency[seen]
        at = rows.codes[seen] * size + column[seen].astype(np.intp)
        flat = np.bincount(at, weights=weight, minlength=k * size)
        counts.append(flat.reshape(k, size).astype(np.float64))
    return counts


def category_sizes(x: Array, prior: Any) -> list[int]:
    """Return the number of categories of each column: the prior's, or up to the largest one seen."""
    sizes = []
    for column, before in zip(x.T, _one_each(prior, x.shape[1]), strict=True):
        largest = int(np.nanmax(column, initial=0.0))
        size = max(largest + 1, 2) if before is None else before.event_shape[0]
        if largest >= size:
            raise ValueError(f"category {largest} is beyond the {size} categories of the prior")
        sizes.append(size)
    return sizes


def _one_each(prior: Any, size: int) -> list[Any]:
    """Return a prior for each column, None for the default."""
    if prior is None or isinstance(prior, Dirichlet):
        return [prior] * size
    if len(prior) != size:
        raise ValueError(
            f"priors of categorical columns must be one Dirichlet, or one for each of the {size} "
            f"columns; got {len(prior)}"
        )
    return list(prior)


# -- learning ------------------------------------------------------------------------------


def _learn_normal(
    moments: ColumnMoments, prior: Any, integrate: bool, labels: Any
) -> LearnedClasses:
    if not integrate:
        return most_likely_columns(moments, labels)
    return bayesian_columns(prior or default_columns_prior(*overall(moments)), moments)


def _learn_binary(
    moments: ColumnMoments, prior: Any, integrate: bool, labels: Any
) -> LearnedClasses:
    n, ones = moments.counts, moments.counts * moments.means
    if not integrate:
        q = _share(ones, n, labels)
        return LearnedClasses(
            BinaryClasses(q), None, float((xlogy(ones, q) + xlogy(n - ones, 1 - q)).sum())
        )
    prior = prior or Beta(1.0, 1.0)
    belief = Beta(prior.a + ones, prior.b + (n - ones))
    log_evidence = (betaln(belief.a, belief.b) - betaln(prior.a, prior.b)).sum()
    classes = BinaryClasses(np.asarray(belief.mean))
    return LearnedClasses(classes, belief, float(log_evidence), prior=prior)


def _learn_counts(
    moments: ColumnMoments, prior: Any, integrate: bool, labels: Any
) -> LearnedClasses:
    n, total = moments.counts, moments.counts * moments.means
    if not integrate:
        rate = _share(total, n, labels)
        value = (xlogy(total, rate) - n * rate).sum()
        return LearnedClasses(CountClasses(np.full(n.shape, np.inf), rate), None, float(value))
    if prior is None:
        mean, _ = overall(moments)
        prior = Gamma(1.0, rate=1.0 / np.where(mean > 0, mean, 1.0))
    a, b = prior.shape, prior.rate
    belief = Gamma(a + total, rate=b + n)
    value = (
        a * np.log(b) - gammaln(a) + gammaln(belief.shape) - belief.shape * np.log(belief.rate)
    ).sum()
    classes = CountClasses(np.asarray(belief.shape), np.asarray(belief.rate))
    return LearnedClasses(classes, belief, float(value), prior=prior)


def _learn_categories(
    columns: list[Array], prior: Any, integrate: bool, labels: Any
) -> LearnedClasses:
    priors = _one_each(prior, len(columns))
    tables, beliefs, value = [], [], 0.0
    for d, counts in enumerate(columns):
        if not integrate:
            total = np.repeat(counts.sum(axis=1, keepdims=True), counts.shape[1], axis=1)
            table = _share(counts, total, labels)
            value += float(xlogy(counts, table).sum())
        else:
            before = priors[d] = priors[d] or Dirichlet(np.ones(counts.shape[1]))
            after = before.concentration + counts
            if not after.min(initial=1.0) > 0.0:  # sums that no rows have: all else is checked
                raise ValueError("counts of categories must not be negative")
            beliefs.append(Dirichlet._from(concentration=after))
            table = after / after.sum(axis=1, keepdims=True)
            value += float((log_beta(after) - log_beta(before.concentration)).sum())
        tables.append(table)
    classes = CategoryClasses(tuple(tables))
    return LearnedClasses(classes, beliefs if integrate else None, value, prior=priors)


def _share(part: Array, total: Array, labels: Any) -> Array:
    if not total.all():
        k, d = np.argwhere(total == 0)[0]
        raise ValueError(
            f"column {d} of its kind is missing in all rows of class {labels[k]!r}: "
            'leave it out or choose method="bayes"'
        )
    return part / total


#: Kinds of columns by name.
KINDS = {
    "normal": Kind(
        NormalInverseGamma,
        False,
        np.inf,
        _count_squares,
        _learn_normal,
        normal_left_out,
        normal_fit,
    ),
    "bernoulli": Kind(Beta, True, 1.0, _count_sums, _learn_binary, binary_left_out, binary_fit),
    "poisson": Kind(Gamma, True, np.inf, _count_sums, _learn_counts, counts_left_out, counts_fit),
    "categorical": Kind(
        Dirichlet,
        True,
        1e6,
        _count_categories,
        _learn_categories,
        categories_left_out,
        categories_fit,
    ),
    "table": Kind(
        Dirichlet, True, 1e6, count_cells, learn_table, categories_left_out, categories_fit
    ),
}
