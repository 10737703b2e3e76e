r"""The laws of exponential families, written once.

.. math:: \ln p(x) = \langle\eta, T(x)\rangle + \ln h(x) - A(\eta),\qquad
          \nabla A = E[T],\qquad \nabla^2 A = \mathrm{Cov}[T].

A family states its natural parameters and back, the sufficient statistics T, the log-normalizer A
and its gradient; density, entropy, divergence, fitting, products and powers follow here.
Where the natural form loses digits (a Normal far from 0, a gamma of large shape), the family
states a stable form beside it and the law tests prove the two equal.

Reference: M. Wainwright & M. Jordan, "Graphical models, exponential families, and variational
inference", 2008, ch. 3.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self, cast

import numpy as np

from posteriori.distributions.base import Distribution, any_of
from posteriori.distributions.coordinates import (
    flatten_natural,
    flatten_statistics,
    inner,
    unflatten_natural,
)
from posteriori.distributions.statistics import Moments, Sums
from posteriori.numerics.blocks.chunks import read_blocks
from posteriori.numerics.calculus.derivatives import jacobian
from posteriori.numerics.rank import difference
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import as_observation

__all__ = ["ExponentialFamily", "Product"]


class Product(NamedTuple):
    """A product of two densities: ``p(x) q(x) = exp(log_scale) · distribution(x)``."""

    distribution: Any
    log_scale: Array


class ExponentialFamily(Distribution):
    """A distribution of the form exp(⟨η, T(x)⟩ + ln h(x) − A(η)).

    A value made by :meth:`from_natural`, or by dividing two others, may be improper: it stands
    for the function exp⟨η, T(x)⟩ with A taken as 0. Such messages multiply, divide and evaluate
    like any other; asking them for moments raises an error.
    """

    #: Event axes of each component of natural parameters and statistics.
    _natural_ndims: ClassVar[tuple[int, ...]]
    #: Whether ln h(x) is the same for every x: products of two members stay in the family.
    constant_carrier: ClassVar[bool] = True

    # -- what a family states --------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """Natural parameters η, one array per component."""
        raise TypeError(f"{type(self).__name__} states no natural parameters")

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        raise TypeError(f"{cls.__name__} states no way back from natural parameters")

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return the sufficient statistics T(x), one array per component: x itself unless stated."""
        return (as_observation(x),)

    @property
    def mean_params(self) -> Natural:
        """Mean parameters E[T(x)] = ∇A(η), one array per component: the mean unless stated."""
        return (self.mean,)

    def _log_normalizer(self) -> Array:
        raise TypeError(f"{type(self).__name__} states no log-normalizer")

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the member with E[T(x)] equal to ``mean_params``: the inverse of ∇A."""
        raise TypeError(f"{cls.__name__} states no way back from mean parameters")

    def _log_carrier(self, x: Array) -> Array | float:
        """Return ln h(x)."""
        return 0.0

    def _expected_log_carrier(self) -> Array | float:
        """Return E[ln h(x)]."""
        return 0.0

    @property
    def is_proper(self) -> Any:
        """Whether the parameters lie in the domain, elementwise: False for mere messages."""
        return np.True_

    # -- density ---------------------------------------------------------------------------

    @cached_property
    def _all_proper(self) -> bool:
        return bool(np.all(self.is_proper))

    def log_normalizer(self) -> Array:
        """Return A(η); 0 by convention for improper messages."""
        return self._cached_log_normalizer

    @cached_property
    def _cached_log_normalizer(self) -> Array:
        if self._all_proper:
            return self._log_normalizer()
        with np.errstate(all="ignore"):
            return np.where(self.is_proper, self._log_normalizer(), 0.0)[()]

    def log_prob(self, x: Any) -> Array:
        """Return ln p(x), −inf outside the support; of an improper message, its log value."""
        if self._all_proper:
            return super().log_prob(x)
        x = self._observe(x)
        with np.errstate(all="ignore"):
            value = self._natural_log_density(x)
        outside = self._outside(x)
        return value if outside is False else np.where(outside, -np.inf, value)[()]

    def _log_density(self, x: Array) -> Array:
        return self._natural_log_density(x)

    def _natural_log_density(self, x: Array) -> Array:
        """Evaluate the law itself; families with a stable form are tested against it."""
        exponent = inner(self.natural, self.sufficient(x), self._natural_ndims)
        return exponent + self._log_carrier(x) - self.log_normalizer()

    # -- information -----------------------------------------------------------------------

    def entropy(self) -> Array:
        r"""Return :math:`H = A - \langle\eta, \nabla A\rangle - E[\ln h]` in nats."""
        self._require_proper("entropy")
        return self._entropy()

    def _entropy(self) -> Array:
        exponent = inner(self.natural, self.mean_params, self._natural_ndims)
        return self.log_normalizer() - exponent - self._expected_log_carrier()

    def kl(self, other: Self) -> Array:
        r"""Return :math:`KL(p\,\|\,q) = A(\eta_q) - A(\eta_p) - \langle\eta_q-\eta_p, \mu_p\rangle`.

        Both must be of one family; the answer is in nats and never negative.
        """
        self._require_same_family(other, "KL divergence")
        self._require_proper("KL divergence")
        other._require_proper("KL divergence")
        return np.maximum(self._kl(other), 0.0)  # rounding may dip below 0

    def _kl(self, other: Self) -> Array:
        gap = tuple(q - p for p, q in zip(self.natural, other.natural, strict=True))
        rise = other.log_normalizer() - self.log_normalizer()
        return rise - inner(gap, self.mean_params, self._natural_ndims)

    def cross_entropy(self, other: Self) -> Array:
        r"""Return :math:`-E_p[\ln q] = H(p) + KL(p\,\|\,q)` in nats."""
        return self.entropy() + self.kl(other)

    def fisher_information(self) -> Array:
        r"""Return :math:`\nabla^2 A(\eta) = \mathrm{Cov}[T]`, (..., M, M) in flat coordinates.

        Symmetric matrices among the statistics are listed by their lower triangle. Families
        without a closed form differentiate the mean parameters numerically (about 8 digits).
        """
        self._require_proper("Fisher information")
        return self._fisher_information()

    def _fisher_information(self) -> Array:
        flat = flatten_natural(self.natural, self._natural_ndims)

        def mean_params(eta: Array, like: Natural) -> Array:
            parts = unflatten_natural(eta, like, self._natural_ndims)
            return flatten_statistics(self._from_natural(*parts).mean_params, self._natural_ndims)

        rows = []
        for index in np.ndindex(*self.batch_shape):
            like = tuple(part[index] for part in self.natural)
            rows.append(jacobian(partial(mean_params, like=like), flat[index]))
        stacked = np.stack(rows).reshape(self.batch_shape + rows[0].shape)
        return 0.5 * (stacked + np.swapaxes(stacked, -1, -2))

    def score(self, x: Any) -> Array:
        r"""Return :math:`\nabla_\eta\ln p(x) = T(x) - E\,T`, (..., M), in the coordinates of the information.

        Examples
        --------
        >>> from posteriori import Poisson
        >>> Poisson(2.0).score([1, 5])
        array([[-1.],
               [ 3.]])
        """
        ndims = self._natural_ndims
        mean = flatten_statistics(self.mean_params, ndims)
        return flatten_statistics(self.sufficient(x), ndims) - mean

    # -- algebra of beliefs ----------------------------------------------------------------

    @classmethod
    def from_natural(cls, *natural: Any) -> Self:
        """Return the member with natural parameters ``natural``; improper ones are messages."""
        if len(natural) != len(cls._natural_ndims):
            raise TypeError(
                f"{cls.__name__}.from_natural takes {len(cls._natural_ndims)} components, "
                f"got {len(natural)}"
            )
        parts = tuple(as_observation(part, "natural parameters") for part in natural)
        if any(np.any(np.isnan(part)) for part in parts):
            raise ValueError("natural parameters must not hold NaN")
        return cls._from_natural(*parts)

    def __mul__(self, other: Any) -> Self:
        """Multiply two densities and normalise: natural parameters add."""
        if not isinstance(other, ExponentialFamily):
            return NotImplemented  # a point mass has its own rule
        self._require_same_family(other, "product")
        self._require_constant_carrier("a product")
        return self._times(cast(Self, other))

    def __truediv__(self, other: Any) -> Self:
        """Divide two densities: natural parameters subtract; the result may be improper."""
        if not isinstance(other, Distribution):
            return NotImplemented
        self._require_same_family(other, "quotient")
        self._require_constant_carrier("a quotient")
        return self._over(cast(Self, other))

    def __pow__(self, exponent: float) -> Self:
        """Raise a density to a power and normalise: natural parameters scale."""
        self._require_constant_carrier("a power")
        power = as_observation(exponent, "exponent")
        if power.ndim or not np.isfinite(power):
            raise ValueError(f"exponent must be one finite number, got {exponent!r}")
        return self._to_the(power)

    def product(self, other: Self) -> Product:
        r"""Return the product and its scale: :math:`p(x)\,q(x) = e^{s}\,d(x)` for every x.

        Examples
        --------
        >>> from posteriori import Normal
        >>> d, log_scale = Normal(0, variance=1).product(Normal(3, variance=4))
        >>> d, round(float(np.exp(log_scale)), 8)
        (Normal(0.6, variance=0.8), 0.07253707)
        """
        d = self * other
        x = d._interior()  # the identity holds at every point, so any will do
        return Product(d, self.log_prob(x) + other.log_prob(x) - d.log_prob(x))

    def _times(self, other: Self) -> Self:
        with np.errstate(invalid="ignore"):  # certainties that contradict are for the family
            total = tuple(p + q for p, q in zip(self.natural, other.natural, strict=True))
        return self._from_natural(*total)

    def _over(self, other: Self) -> Self:
        parts = zip(self.natural, other.natural, self._natural_ndims, strict=True)
        return self._from_natural(*(difference(p, q, matrices=n == 2) for p, q, n in parts))

    def _to_the(self, power: Array) -> Self:
        return self._from_natural(*(power * p for p in self.natural))

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Sums | Moments:
        """Summarise a block of rows (N, ...) for :meth:`from_statistics`."""
        if weights is None:
            sums = tuple(t.sum(axis=0) for t in cls.sufficient(x))
            return Sums(number(len(x)), sums, number(0.0))
        sums = tuple(np.tensordot(weights, t, axes=(0, 0)) for t in cls.sufficient(x))
        return Sums(weights.sum(), sums, number(0.0))

    @classmethod
    def from_statistics(cls, statistics: Sums | Moments) -> Self:
        """Return the maximum-likelihood member: its mean parameters match those of the data."""
        assert isinstance(statistics, Sums)
        return cls.from_mean_params(*statistics.averages)

    @classmethod
    def fit(cls, data: Any, weights: Any = None) -> Self:
        """Fit by maximum likelihood: E[T(x)] becomes the weighted mean of T over the data.

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Rows are data points; axes between the first and the event make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        """
        total: Any = None
        for block, weight in cls._blocks(data, weights):
            part = cls.statistics(block, weight)
            total = part if total is None else total.merge(part)
        return cls.from_statistics(total)

    @classmethod
    def _blocks(cls, data: Any, weights: Any) -> Iterator[tuple[Array, Array | None]]:
        if weights is None:
            for block in read_blocks(data, cls._event_ndim):
                cls._check_data(block)
                yield block, None
            return
        w = as_observation(weights, "weights")
        if w.ndim != 1 or not np.all(np.isfinite(w)) or np.any(w < 0):
            raise ValueError("weights must be one finite number >= 0 per row")
        if not np.any(w):
            raise ValueError("weights must not all be 0")
        start = 0
        for block in read_blocks(data, cls._event_ndim):
            cls._check_data(block)
            part = w[start : start + len(block)]
            start += len(block)
            if len(part) != len(block):
                break
            if np.any(part):
                yield block, part
        if start != len(w):
            raise ValueError(f"weights has {len(w)} entries but data has {start} rows or more")

    @classmethod
    def _check_data(cls, block: Array) -> None:
        """Refuse data off the support: a likelihood of 0 fits nothing."""
        outside = cls._off_support(block)
        if outside is not False and any_of(outside):
            where = np.argwhere(outside)[0]
            example = block[tuple(where)]
            raise ValueError(f"data must lie in the support of {cls.__name__}, got {example}")

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        """Mark points off the support of every member; False where there are none."""
        return False

    def _outside(self, x: Array) -> Any:
        return self._off_support(x)

    # -- refusals --------------------------------------------------------------------------

    def _require_proper(self, what: str) -> None:
        if not self._all_proper:
            raise ValueError(
                f"{what} needs a proper distribution; this {type(self).__name__} is an improper "
                f"message, {self!r}"
            )

    def _require_same_family(self, other: Any, what: str) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"{what} is defined within one family, "
                f"got {type(self).__name__} and {type(other).__name__}"
            )

    def _require_constant_carrier(self, what: str) -> None:
        if not self.constant_carrier:
            raise TypeError(
                f"{what} of {type(self).__name__} densities leaves the family: "
                "its carrier measure h(x) is not constant"
            )

    def __repr__(self) -> str:
        if self._all_proper:
            return super().__repr__()
        texts = (np.array2string(np.asarray(p), precision=6) for p in self.natural)
        parts = ", ".join(" ".join(text.split()) for text in texts)
        return f"{type(self).__name__}.from_natural({parts})"

    def _key(self) -> tuple[Array, ...]:
        if self._all_proper:
            return super()._key()
        return tuple(map(np.asarray, self.natural))
