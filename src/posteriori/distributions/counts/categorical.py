r"""The categorical distribution, :math:`p(x) = \prod_k \mu_k^{x_k}` for x a one-of-K code.

Natural parameters are log weights :math:`\eta_k = \ln\mu_k + \text{const}` with the one-hot code
as statistic and :math:`A = \ln\sum_k e^{\eta_k}`: K numbers for K − 1 degrees of freedom, so that
messages add without a reference category. Weights of 0 (η = −inf) are legal: certainty.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import any_of
from posteriori.distributions.counts.poisson_terms import off_whole_numbers
from posteriori.distributions.exponential import ExponentialFamily, Product
from posteriori.distributions.labels import LabelsLike, check_labels, decode_labels, encode_labels
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import outer
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import as_observation, probability_vector

__all__ = ["Categorical", "check_log_weights", "one_hot_cov"]

#: What a distribution that was made of probabilities remembers of how it was made.
_BY_PROBABILITIES = {"probabilities": None}.keys()


class Categorical(ExponentialFamily):
    """Categorical distribution: one of K categories.

    Events are codes 0, …, K − 1, or labels where these are given. A category is no number, so
    there is no mean; the mean of the one-hot code is ``probabilities`` and its covariance
    ``cov``.

    Parameters
    ----------
    probabilities : array (..., K)
        Probabilities of the categories, with sum 1.
    labels : sequence of K distinct hashables, optional
        Names of the categories: ``log_prob`` takes them, ``sample`` and ``mode`` return them.

    Examples
    --------
    >>> Categorical([0.2, 0.3, 0.5]).log_prob([0, 2]).round(6)
    array([-1.609438, -0.693147])
    >>> weather = Categorical([0.25, 0.75], labels=("rain", "sun"))
    >>> weather.mode, weather.log_prob("rain").round(6)
    ('sun', np.float64(-1.386294))
    """

    _parameters = {"probabilities": 1, "log_weights": 1}
    _shown = ("probabilities", "labels=")
    _has_atoms = True
    _natural_ndims = (1,)

    _labels: tuple[Any, ...] | None = None

    def __new__(cls, probabilities: Any, labels: LabelsLike | None = None) -> Self:
        p = probability_vector("probabilities", probabilities)
        if isinstance(p, Symbol):
            return cls._from(probabilities=p, labels=labels)
        return cls._from(probabilities=p)._labelled(labels)

    @classmethod
    def _of_vector(cls, probabilities: Array, labels: tuple[Any, ...]) -> Self:
        """Build from one read-only vector of probabilities and its labels, both checked: many at a time."""
        self = object.__new__(cls)
        kept = self.__dict__
        kept["probabilities"], kept["_given"], kept["_labels"] = (
            probabilities,
            _BY_PROBABILITIES,
            labels,
        )
        return self

    def _labelled(self, labels: LabelsLike | None) -> Self:
        if labels is not None:
            self.__dict__["_labels"] = check_labels(labels, self.n_categories)
        return self

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """Names of the categories in the order of their codes; None where there are none."""
        return self._labels

    @property
    def n_categories(self) -> int:
        """Number of categories K."""
        given = self.__dict__.get("probabilities", self.__dict__.get("log_weights"))
        assert given is not None
        return int(given.shape[-1])

    @cached_property
    def probabilities(self) -> Array:
        """Probabilities μ, the mean of the one-hot code."""
        return softmax(self.log_weights)

    @cached_property
    def log_weights(self) -> Array:
        """Log probabilities up to a constant, −inf for impossible categories."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    @cached_property
    def cov(self) -> Array:
        """Covariance of the one-hot code, diag(μ) − μμᵀ."""
        return one_hot_cov(self.probabilities)

    @cached_property
    def mode(self) -> Any:
        """The most probable category (the first of equals): its code, or its label."""
        return self._decode(self._most_probable)

    @cached_property
    def _most_probable(self) -> Any:
        return np.argmax(self.log_weights, axis=-1)

    def _decode(self, codes: Any) -> Any:
        return codes if self.labels is None else decode_labels(codes, self.labels)

    # -- exponential family ----------------------------------------------------------------

    @property
    def natural(self) -> Natural:
        """(ln μ,), or the log weights as they were given."""
        return (self.log_weights,)

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        return cls._from(log_weights=check_log_weights(natural[0]))

    @classmethod
    def sufficient(cls, x: Any, n_categories: int | None = None) -> Natural:
        """Return T(x), the one-hot code of codes x: (..., K).

        K is one more than the largest code unless ``n_categories`` says otherwise.

        Examples
        --------
        >>> Categorical.sufficient(2, n_categories=6)
        (array([0., 0., 1., 0., 0., 0.]),)
        """
        codes = as_observation(x)
        size = n_categories or int(np.max(codes, initial=0)) + 1
        return ((codes[..., None] == np.arange(size)) * 1.0,)

    @property
    def mean_params(self) -> Natural:
        """(μ,)."""
        return (self.probabilities,)

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the categorical whose one-hot code has the given mean."""
        return cls(*mean_params)

    def _log_normalizer(self) -> Array:
        return log_sum_exp(self.log_weights, axis=-1)

    @cached_property
    def _log_probabilities(self) -> Array:
        return self.log_weights - self.log_normalizer()[..., None]

    def _natural_log_density(self, x: Array) -> Array:
        (code,) = self.sufficient(x, self.n_categories)
        terms = np.where(code > 0, self.log_weights, 0.0)
        return terms.sum(axis=-1) - self.log_normalizer()

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return off_whole_numbers(x)

    def _outside(self, x: Array) -> Any:
        return off_whole_numbers(x) | (x >= self.n_categories)

    def _observe(self, x: Any) -> Array:
        if self.labels is not None:
            return encode_labels(x, self.labels)
        codes = as_observation(x)
        if any_of(codes != codes):
            raise ValueError("x must not hold NaN; drop or impute missing values first")
        return codes

    # -- forms that hold at certainty ------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        logs = self._log_probabilities
        if logs.ndim == 1:
            return logs[x.astype(np.intp)]
        rows = logs.shape[-1] * np.arange(logs[..., 0].size).reshape(self.batch_shape)
        return logs.ravel()[rows + x.astype(np.intp)]

    def _entropy(self) -> Array:
        total: Array = special.entr(self.probabilities).sum(axis=-1)
        return total

    def _kl(self, other: Self) -> Array:
        self._require_same_categories(other, "KL divergence")
        terms = relative_entropy_terms(self.probabilities, other.probabilities)
        total: Array = terms.sum(axis=-1)
        return total

    def _fisher_information(self) -> Array:
        return self.cov

    def _times(self, other: Self) -> Self:
        self._require_same_categories(other, "a product")
        return super()._times(other)._labelled(self.labels)

    def _over(self, other: Self) -> Self:
        self._require_same_categories(other, "a quotient")
        possible = self.log_weights > -np.inf  # 0/0 counts as 0
        gap = np.where(possible, self.log_weights, 0.0) - other.log_weights
        made = self._from_natural(np.where(possible, gap, -np.inf))
        return made._labelled(self.labels)

    def _to_the(self, power: Array) -> Self:
        weights = power * self.log_weights if power else np.zeros(self.log_weights.shape)
        return self._from_natural(weights)._labelled(self.labels)

    def product(self, other: Self) -> Product:
        """Return the product and its scale: p(x) q(x) = exp(log_scale) · d(x) for every x."""
        d = self * other
        x = d.mode  # the identity holds at every point, so any possible one will do
        return Product(d, self.log_prob(x) + other.log_prob(x) - d.log_prob(x))

    def _require_same_categories(self, other: Self, what: str) -> None:
        if self.n_categories != other.n_categories or self.labels != other.labels:
            raise ValueError(
                f"{what} needs the same categories, got {self._categories()} "
                f"and {other._categories()}"
            )

    def _categories(self) -> str:
        return f"{self.n_categories} unnamed ones" if self.labels is None else f"{self.labels}"

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def statistics(
        cls, x: Array, weights: Array | None = None, *, n_categories: int | None = None
    ) -> Sums:
        """Summarise codes (N, ...) by the counts of the categories (..., K)."""
        size = n_categories or int(x.max()) + 1
        codes = x.reshape(len(x), -1).astype(np.int64)
        columns = codes.shape[1]
        w = None if weights is None else np.repeat(weights, columns)
        flat = (codes + size * np.arange(columns)).ravel()
        counts = np.bincount(flat, weights=w, minlength=size * columns).astype(np.float64)
        count = number(len(x)) if weights is None else weights.sum()
        return Sums(count, (counts.reshape(*x.shape[1:], size),), number(0.0))

    @classmethod
    def from_statistics(cls, statistics: Sums | Moments) -> Self:
        """Return the maximum-likelihood member: the shares of the categories."""
        assert isinstance(statistics, Sums)
        return cls.from_mean_params(*statistics.averages)

    @classmethod
    def fit(
        cls,
        data: Any,
        weights: Any = None,
        n_categories: int | None = None,
        labels: LabelsLike | None = None,
    ) -> Self:
        """Fit by maximum likelihood: probabilities are the shares of the categories.

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Codes 0, …, K − 1, or labels if ``labels`` is given; further axes make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        n_categories : int, optional
            Number of categories K; by default one more than the largest code.
        labels : sequence of K distinct hashables, optional
            Names of the categories.

        Examples
        --------
        >>> Categorical.fit(["a", "b", "b", "b"], labels=("a", "b"))
        Categorical([0.25, 0.75], labels=('a', 'b'))
        """
        if labels is not None:
            labels = check_labels(labels, n_categories)
            n_categories = len(labels)
            data = _encoded(data, labels)
        total: Any = None
        for block, weight in cls._blocks(data, weights):
            if n_categories is not None and any_of(block >= n_categories):
                raise ValueError(
                    f"data must lie in the support of {cls.__name__}, got {block.max():g} "
                    f"with codes 0 to {n_categories - 1}"
                )
            part = cls.statistics(block, weight, n_categories=n_categories)
            total = part if total is None else _merge(total, part)
        return cls.from_statistics(total)._labelled(labels)

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        u = rng.random(shape or None)
        levels = self._cumulative
        if levels.ndim == 1:
            return self._decode(np.searchsorted(levels, u, side="right"))
        return self._decode(_first_above(levels, np.asarray(u)))

    @cached_property
    def _cumulative(self) -> Array:
        sums: Array = np.cumsum(self.probabilities, axis=-1)
        return sums / sums[..., -1:]

    def _interior(self) -> Array:
        codes: Array = self._most_probable * 1.0
        return codes

    # -- being a value ---------------------------------------------------------------------

    def iid(self, n: int | str) -> Any:
        """Repeat independently; copies keep their labels."""
        made = super().iid(n)
        if self.labels is None:
            return made
        if isinstance(made, Categorical):
            return made._labelled(self.labels)
        return made._replace(parameters={**made.parameters, "labels": self.labels})

    def _averaged(self, weights: Array) -> Categorical:
        p = np.einsum("...k,...kc->...c", weights, self.probabilities)
        return Categorical._from(probabilities=p / p.sum(axis=-1, keepdims=True))._labelled(
            self.labels
        )

    def _key(self) -> tuple[Array, ...]:
        return (np.asarray(self.probabilities),)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categorical):
            return NotImplemented
        return super().__eq__(other) and self.labels == other.labels

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.labels))

    def __reduce__(self) -> tuple[Any, ...]:
        given = {k: self.__dict__[k] for k in self._parameters if k in self.__dict__}
        return _restore, (type(self), given, self.labels)


def check_log_weights(weights: Array) -> Array:
    """Check log weights (..., K): −inf is a 0, and not all may be that."""
    if weights.ndim < 1:
        raise ValueError(f"log weights must be a vector, got shape {weights.shape}")
    top = np.max(weights, axis=-1)
    if np.any(top == -np.inf):
        raise ValueError("contradictory certainties: the product of the two is 0 everywhere")
    if np.any(top == np.inf):
        raise ValueError("log weights must be below infinity; was something divided by 0?")
    return weights


def one_hot_cov(p: Array) -> Array:
    """Return diag(p) − p pᵀ, with rows that sum to 0."""
    spread = -outer(p, p)
    diagonal = np.arange(p.shape[-1])
    spread[..., diagonal, diagonal] = p * (1.0 - p)
    return spread


def _encoded(data: Any, labels: LabelsLike) -> Any:
    if hasattr(data, "__next__"):
        return (encode_labels(chunk, labels) for chunk in data)
    return encode_labels(data, labels)


def _merge(a: Sums, b: Sums) -> Sums:
    """Merge counts of which one may know fewer categories."""
    size = max(a.sums[0].shape[-1], b.sums[0].shape[-1])
    parts = [Sums(s.count, (_padded(s.sums[0], size),), s.log_carrier) for s in (a, b)]
    return parts[0].merge(parts[1])


def _padded(counts: Array, size: int) -> Array:
    missing = [(0, 0)] * (counts.ndim - 1) + [(0, size - counts.shape[-1])]
    return np.pad(counts, missing)


def _first_above(levels: Array, u: Array) -> Any:
    """Return the first k with levels[..., k] > u, by bisection for all rows at once."""
    size = levels.shape[-1]
    flat = levels.ravel()
    rows = size * np.arange(flat.size // size).reshape(levels.shape[:-1])
    low, high = np.zeros(u.shape, dtype=np.intp), np.full(u.shape, size - 1)
    for _ in range(int(size - 1).bit_length()):
        middle = (low + high) // 2
        above = flat[rows + middle] > u
        low, high = np.where(above, low, middle + 1), np.where(above, middle, high)
    return high


def _restore(
    family: type[Categorical], given: dict[str, Array], labels: tuple[Any, ...] | None
) -> Categorical:
    return family._from(**given)._labelled(labels)
