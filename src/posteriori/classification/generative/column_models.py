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

Each kind learns all of its columns at once; those of the kind "table" make one joint table. Missing entries (NaN) are left out of every sum: that is
what integrating over them gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, xlogy

from posteriori.classification.generative import class_kernels
from posteriori.classification.generative.class_moments import column_moments, overall
from posteriori.classification.generative.gaussian_discriminant import default_columns_prior
from posteriori.classification.generative.gaussian_learning import (
    LearnedClasses,
    bayesian_columns,
    most_likely_columns,
)
from posteriori.classification.generative.joint_tables import learn_table, log_beta
from posteriori.classification.generative.row_terms import (
    binary_fit,
    binary_left_out,
    categories_fit,
    categories_left_out,
    counts_fit,
    counts_left_out,
    normal_fit,
    normal_left_out,
)
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = ["KINDS", "Kind", "learn_columns"]


class BinaryClasses(NamedTuple):
    """Independent columns of 0 and 1; ``probabilities`` (K, D) of 1."""

    probabilities: Array

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k) = x·ln q + (1 − x)·ln(1 − q) of the seen entries, (N, K)."""
        out = np.zeros((len(x), len(self.probabilities)))
        with np.errstate(divide="ignore"):  # ln 0 = −∞ is the answer
            one, zero = np.log(self.probabilities), np.log1p(-self.probabilities)
        if np.isfinite(one).all() and np.isfinite(zero).all():
            linear = x @ (one - zero).T + zero.sum(axis=1)
            if not np.isnan(linear).any():  # every entry is seen
                return linear
        class_kernels.binary_terms(as_kernel_input(x), one, zero, out)
        return out

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code."""
        p = self.probabilities[codes]
        return (rng.random(p.shape) < p).astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """Free parameters of one class."""
        return self.probabilities.shape[1]


class CountClasses(NamedTuple):
    """Independent columns of counts: Gamma(shape, rate) mixtures of Poisson, (K, D).

    An infinite shape is a Poisson distribution of mean ``rate``.
    """

    shape: Array
    rate: Array

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k) of the seen entries, (N, K)."""
        counts, seen = np.nan_to_num(x), ~np.isnan(x)
        total = [self._one_class(counts, seen, k) for k in range(len(self.rate))]
        return np.stack(total, axis=1)

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code."""
        rate = self.rate[codes]
        if np.isfinite(self.shape).all():
            rate = rng.gamma(self.shape[codes]) / rate
        return rng.poisson(rate).astype(np.float64)

    def _one_class(self, x: Array, seen: Array, k: int) -> Array:
        a, b = self.shape[k], self.rate[k]
        if np.isinf(a).all():
            terms = xlogy(x, b) - b - gammaln(x + 1.0)
        else:  # negative binomial
            odds = np.log1p(b)
            terms = (
                gammaln(x + a) - gammaln(a) - gammaln(x + 1.0) + a * (np.log(b) - odds) - x * odds
            )
        return np.where(seen, terms, 0.0).sum(axis=1)

    @property
    def n_parameters(self) -> int:
        """Free parameters of one class."""
        return self.rate.shape[1]


class CategoryClasses(NamedTuple):
    """Independent columns of categories; ``tables`` of probabilities (K, C), one for each column."""

    tables: tuple[Array, ...]

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k) of the seen entries, (N, K)."""
        total = np.zeros((len(x), len(self.tables[0])))
        for column, table in zip(x.T, self.tables, strict=True):
            seen = ~np.isnan(column)
            codes = column[seen].astype(np.intp)
            if codes.size and codes.max() >= table.shape[1]:
                raise ValueError(
                    f"category {codes.max()} was not there to be learned (0 to "
                    f"{table.shape[1] - 1} were); set it to NaN, or give a Dirichlet prior of more categories"
                )
            with np.errstate(divide="ignore"):
                total[seen] += np.log(table.T)[codes]
        return total

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code."""
        levels = [np.cumsum(table, axis=1)[codes] for table in self.tables]
        drawn = [(rng.random((len(codes), 1)) >= level[:, :-1]).sum(axis=1) for level in levels]
        return np.stack(drawn, axis=1).astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """Free parameters of one class."""
        return sum(table.shape[1] - 1 for table in self.tables)


class Kind(NamedTuple):
    """How columns of one kind are learned.

    Attributes
    ----------
    prior_family : type
    whole : bool
        Whether entries must be whole numbers >= 0.
    largest : float
        Largest entry that is allowed.
    learn : callable
        From rows, a prior (None: the default) and whether to integrate, ``LearnedClasses``.
    left_out, fit : callable
        From the belief, x and class codes, what it says of each row in its class (N,): left out, and
        as it is fitted.
    """

    prior_family: type
    whole: bool
    largest: float
    learn: Any
    left_out: Any
    fit: Any


def learn_columns(kind: str, rows: LabelledRows, prior: Any, integrate: bool) -> LearnedClasses:
    """Learn columns of one kind.

    Parameters
    ----------
    kind : {"normal", "bernoulli", "poisson", "categorical", "table"}
    rows : LabelledRows
        With these columns only.
    prior : distribution or None
        Of each column's parameters in each class.
    integrate : bool
        Whether parameters are integrated out, or estimated by maximum likelihood.
    """
    learned: LearnedClasses = KINDS[kind].learn(rows, prior, integrate)
    return learned


def _learn_normal(rows: LabelledRows, prior: Any, integrate: bool) -> LearnedClasses:
    moments = column_moments(rows)
    if not integrate:
        return most_likely_columns(moments, rows.classes.tolist())
    return bayesian_columns(prior or default_columns_prior(*overall(moments)), moments)


def _learn_binary(rows: LabelledRows, prior: Any, integrate: bool) -> LearnedClasses:
    moments = column_moments(rows, squares=False)
    n, ones = moments.counts, moments.counts * moments.means
    if not integrate:
        q = _share(ones, n, rows)
        return LearnedClasses(
            BinaryClasses(q), None, float((xlogy(ones, q) + xlogy(n - ones, 1 - q)).sum())
        )
    prior = prior or Beta(1.0, 1.0)
    belief = Beta(prior.a + ones, prior.b + (n - ones))
    log_evidence = (betaln(belief.a, belief.b) - betaln(prior.a, prior.b)).sum()
    classes = BinaryClasses(np.asarray(belief.mean))
    return LearnedClasses(classes, belief, float(log_evidence), prior=prior)


def _learn_counts(rows: LabelledRows, prior: Any, integrate: bool) -> LearnedClasses:
    moments = column_moments(rows, squares=False)
    n, total = moments.counts, moments.counts * moments.means
    weight = 1.0 if rows.frequency is None else rows.frequency[:, None]
    carrier = -float(
        (weight * np.where(np.isnan(rows.x), 0.0, gammaln(np.nan_to_num(rows.x) + 1))).sum()
    )
    if not integrate:
        rate = _share(total, n, rows)
        value = (xlogy(total, rate) - n * rate).sum() + carrier
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
    return LearnedClasses(classes, belief, float(value) + carrier, prior=prior)


def _learn_categories(rows: LabelledRows, prior: Any, integrate: bool) -> LearnedClasses:
    priors = _one_each(prior, rows.x.shape[1])
    tables, beliefs, value = [], [], 0.0
    for d, column in enumerate(rows.x.T):
        before = priors[d]
        counts = _category_counts(rows, column, None if before is None else before.event_shape[0])
        if not integrate:
            total = np.repeat(counts.sum(axis=1, keepdims=True), counts.shape[1], axis=1)
            table = _share(counts, total, rows)
            value += float(xlogy(counts, table).sum())
        else:
            before = priors[d] = before or Dirichlet(np.ones(counts.shape[1]))
            after = before.concentration + counts
            beliefs.append(Dirichlet(after))
            table = after / after.sum(axis=1, keepdims=True)
            value += float((log_beta(after) - log_beta(before.concentration)).sum())
        tables.append(table)
    classes = CategoryClasses(tuple(tables))
    return LearnedClasses(classes, beliefs if integrate else None, value, prior=priors)


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


def _category_counts(rows: LabelledRows, column: Array, size: int | None) -> Array:
    """Return how often each class (row) has each category (column)."""
    seen = ~np.isnan(column)
    values = column[seen].astype(np.intp)
    largest = int(values.max(initial=1)) + 1
    size = largest if size is None else size
    if largest > size and values.size and values.max() >= size:
        raise ValueError(f"category {values.max()} is beyond the {size} categories of the prior")
    weight = None if rows.frequency is None else rows.frequency[seen]
    k = len(rows.classes)
    flat = np.bincount(rows.codes[seen] * size + values, weights=weight, minlength=k * size)
    return flat.reshape(k, size).astype(np.float64)


def _share(part: Array, total: Array, rows: LabelledRows) -> Array:
    if not total.all():
        k, d = np.argwhere(total == 0)[0]
        raise ValueError(
            f"column {d} of its kind is missing in all rows of class {rows.classes.tolist()[k]!r}: "
            'leave it out or choose estimate="bayes"'
        )
    return part / total


#: Kinds of columns by name.
KINDS = {
    "normal": Kind(NormalInverseGamma, False, np.inf, _learn_normal, normal_left_out, normal_fit),
    "bernoulli": Kind(Beta, True, 1.0, _learn_binary, binary_left_out, binary_fit),
    "poisson": Kind(Gamma, True, np.inf, _learn_counts, counts_left_out, counts_fit),
    "categorical": Kind(
        Dirichlet, True, 1e6, _learn_categories, categories_left_out, categories_fit
    ),
    "table": Kind(Dirichlet, True, 1e6, learn_table, categories_left_out, categories_fit),
}
