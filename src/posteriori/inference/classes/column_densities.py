"""Densities of columns of counts and categories that are independent given the class.

NaN is a missing entry; it is left out of every sum, which is what integrating over it gives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from posteriori.inference.classes import class_kernels
from posteriori.inference.classes.class_densities import require_columns_of
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.random import draw_counts
from posteriori.numerics.types import Array

__all__ = ["BinaryClasses", "CategoryClasses", "CountClasses"]


class BinaryClasses(NamedTuple):
    """Independent columns of 0 and 1.

    Attributes
    ----------
    probabilities : (K, D)
        Of 1.
    """

    probabilities: Array

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k) = x·ln q + (1 − x)·ln(1 − q) of the seen entries, (N, K)."""
        require_columns_of(self.probabilities, x)
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
        drawn: Array = draw_counts(rate, rng)
        return drawn

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
                    f"{table.shape[1] - 1} were); set it in X to NaN, or give a Dirichlet prior of more categories"
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
