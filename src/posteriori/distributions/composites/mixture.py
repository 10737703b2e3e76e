r"""Mixtures of the members of a batch, :math:`p(x) = \sum_k \pi_k\,p_k(x)`.

The components are one batched distribution whose last batch axis counts them, so everything is
an operation on arrays with one more axis:

.. math:: E[x] = \sum_k\pi_k m_k,\qquad
          \mathrm{Cov}[x] = \sum_k\pi_k\{\Sigma_k + (m_k-E[x])(m_k-E[x])^\top\}.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution, Univariate, has_atoms
from posteriori.distributions.batches import joined, take_members
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.count_sweep import mixed_count_quantile
from posteriori.distributions.poles import log_prob_beside_poles
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.calculus.roots import invert_increasing, invert_smooth, least_whole
from posteriori.numerics.linalg import outer
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation, probability_vector

__all__ = ["Mixture", "MixtureFamily", "UnivariateMixture"]

#: Components from which on draws are made side by side instead of component by component.
_MANY = 32


class MixtureFamily(Distribution):
    """What mixtures of every event shape have in common."""

    _parameters = {"probabilities": 1}
    _shown = ("probabilities", "components")

    probabilities: Array
    components: Any

    def __new__(cls, probabilities: Any, components: Any) -> Self:
        if isinstance(probabilities, Categorical):
            probabilities = probabilities.probabilities
        p = probability_vector("probabilities", probabilities)
        if not isinstance(components, Distribution):
            raise TypeError(
                "components must be one distribution whose last batch axis counts the "
                f"components, such as Normal([0, 3], variance=[1, 2]); got {components!r}"
            )
        shape = components.batch_shape
        if not shape or shape[-1] != p.shape[-1]:
            raise ValueError(
                f"probabilities has {p.shape[-1]} entries but the batch of components has shape "
                f"{shape}; its last axis counts the components"
            )
        if any(isinstance(part, tuple) for part in components.event_shape):
            raise TypeError(
                f"components must have arrays as events, those of {type(components).__name__} "
                "are pairs"
            )
        return cls._make(p, components)

    @classmethod
    def _make(cls, probabilities: Array, components: Any) -> Self:
        univariate = isinstance(components, Univariate)
        self: Any = object.__new__(UnivariateMixture if univariate else Mixture)
        weights = np.broadcast_to(probabilities, components.batch_shape)
        self.__dict__.update(probabilities=weights, components=components)
        return self

    @cached_property
    def batch_shape(self) -> tuple[int, ...]:
        """Batch shape of the components less its last axis."""
        return self.components.batch_shape[:-1]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one draw of a component."""
        return self.components.event_shape

    @property
    def _event_ndim(self) -> int:  # type: ignore[override]
        return self.components._event_ndim

    @property
    def _has_atoms(self) -> bool:  # type: ignore[override]
        return has_atoms(self.components)

    @property
    def n_components(self) -> int:
        """Number of components K."""
        return int(self.probabilities.shape[-1])

    # -- moments ---------------------------------------------------------------------------

    def _average(self, values: Array) -> Array:
        """Return Σ π_k v_k over the component axis of (..., K, *event), where π_k > 0."""
        axis = self.probabilities.ndim - 1
        weights = self.probabilities.reshape(
            self.probabilities.shape + (1,) * (values.ndim - self.probabilities.ndim)
        )
        return (weights * np.where(weights > 0, values, 0.0)).sum(axis=axis)[()]

    @cached_property
    def mean(self) -> Array:
        """Σ π_k m_k."""
        return self._average(self.components.mean)

    @property
    def _gaps(self) -> Array:
        """m_k − m, infinite where the mean is."""
        mean = np.expand_dims(self.mean, self.probabilities.ndim - 1)
        known = np.isfinite(mean)
        return np.where(known, self.components.mean - np.where(known, mean, 0.0), np.inf)

    @cached_property
    def variance(self) -> Array:
        """Σ π_k {v_k + (m_k − m)²}, within and between components."""
        return self._average(self.components.variance + self._gaps**2)

    @property
    def std(self) -> Array:
        """Standard deviation."""
        return np.sqrt(self.variance)

    # -- density ---------------------------------------------------------------------------

    @cached_property
    def _log_probabilities(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    def _joint_log_density(self, x: Array) -> Array:
        """Return ln π_k + ln p_k(x), (..., K)."""
        at = np.expand_dims(x, np.ndim(x) - self._event_ndim)
        return self._log_probabilities + self.components.log_prob(at)

    def _log_density(self, x: Array) -> Array:
        return log_sum_exp(self._joint_log_density(x), axis=-1)

    def responsibilities(self, x: Any) -> Array:
        """Return p(component | x) ∝ π_k p_k(x), of shape (..., K).

        Raises
        ------
        ValueError
            When no component can have produced a point.
        """
        at = np.expand_dims(x := self._observe(x), np.ndim(x) - self._event_ndim)
        joint = self._log_probabilities + log_prob_beside_poles(self.components, at)
        if np.any(np.all(joint == -np.inf, axis=-1)):
            raise ValueError("x holds a point that no component can produce")
        return np.exp(log_softmax(joint))

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        lead = shape[: len(shape) - len(self.batch_shape)]
        uniform = rng.random((int(np.prod(lead)), *self.batch_shape, 1))
        edges = np.cumsum(self.probabilities, axis=-1)
        edges = (edges / edges[..., -1:])[..., :-1]
        if self.n_components > _MANY and not self.event_shape:  # each draw from a member of its own
            chosen = _places_among(edges, uniform[..., 0])
            places = np.indices(chosen.shape)[1:]
            drawn = take_members(self.components, (*places, chosen)).sample(rng=rng)
            return np.asarray(drawn).reshape(shape)[()]
        chosen = (uniform >= edges).sum(axis=-1)
        out = np.empty(chosen.shape + self.event_shape)
        for index in np.ndindex(*self.batch_shape):
            here = (slice(None), *index)
            for k in np.unique(chosen[here]):
                where = chosen[here] == k
                member = take_members(self.components, (*index, int(k)))
                out[(where, *index)] = member.sample(int(where.sum()), rng=rng)
        return out.reshape(shape + self.event_shape)[()]

    # -- being a value ---------------------------------------------------------------------

    def _averaged(self, weights: Array) -> Any:
        """Put all components side by side."""

        def side_by_side(values: Array) -> Array:
            return values.reshape(*shape, -1, *values.shape[len(shape) + 2 :])

        shape = self.batch_shape[:-1]
        shares = side_by_side(weights[..., None] * self.probabilities)
        return self._make(shares, joined([self.components], lambda v: side_by_side(v[0])))

    @staticmethod
    def _joined(batches: Sequence[MixtureFamily], join: Callable[[list[Array]], Array]) -> Any:
        components = joined([d.components for d in batches], join)
        return MixtureFamily._make(join([d.probabilities for d in batches]), components)

    def _take_members(self, index: Any) -> Self:
        return self._make(self.probabilities[index], take_members(self.components, index))

    def iid(self, n: int | str) -> Any:
        """Return ``n`` independent copies: the same mixture with a leading batch axis."""
        if isinstance(n, str):
            return super().iid(n)
        return self._make(self.probabilities, self.components.iid(n))

    def _given_parameters(self) -> dict[str, Any]:
        return {"probabilities": self.probabilities, "components": self.components}

    def _key(self) -> tuple[Array, ...]:
        name = np.asarray(type(self.components).__name__)
        return np.asarray(self.probabilities), name, *self.components._key()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.probabilities, self.components)

    def __repr__(self) -> str:
        weights = np.array2string(self._shown_weights, precision=6, separator=", ", threshold=12)
        return f"{type(self).__name__}({' '.join(weights.split())}, {self.components!r})"

    @property
    def _shown_weights(self) -> Array:
        """The weights, once where the whole batch shares them."""
        if not self.probabilities.size:  # no member of the batch
            return self.probabilities
        first = self.probabilities[(0,) * len(self.batch_shape)]
        return first if np.all(self.probabilities == first) else self.probabilities


class Mixture(MixtureFamily):
    """Mixture of vectors or matrices; of numbers it is a :class:`UnivariateMixture`.

    Parameters
    ----------
    probabilities : array (..., K), or Categorical
        Mixing weights π.
    components : distribution
        One batched distribution; the last axis of its batch counts the K components.

    Examples
    --------
    >>> from posteriori import MvNormal
    >>> means, covs = [[0.0, 0.0], [4.0, 2.0]], [[[1.0, 0.0], [0.0, 1.0]]] * 2
    >>> d = Mixture([0.25, 0.75], MvNormal(means, cov=covs))
    >>> d.mean
    array([3. , 1.5])
    >>> d.condition([0], [2.0]).probabilities.round(6)  # equally far from both
    array([0.25, 0.75])
    """

    @cached_property
    def cov(self) -> Array:
        """Σ π_k {Σ_k + (m_k − m)(m_k − m)ᵀ}, within and between components."""
        return self._average(self.components.cov + outer(self._gaps, self._gaps))

    def marginal(self, indices: Any) -> Mixture:
        """Return the distribution of the coordinates ``indices`` of a mixture of normals."""
        return self._make(self.probabilities, self._normals.marginal(indices))

    def condition(self, indices: Any, values: Any) -> Mixture:
        """Return the distribution of the other coordinates given x[indices] = values.

        Components are conditioned one by one, and each counts by how well it predicted the
        values: π_k ∝ π_k p_k(x_b).
        """
        known = np.atleast_1d(as_observation(values, "values"))
        at = np.expand_dims(known, known.ndim - 1)
        seen = self._log_probabilities + self._normals.marginal(indices).log_prob(at)
        return self._make(np.exp(log_softmax(seen)), self._normals.condition(indices, at))

    @property
    def _normals(self) -> MvNormal:
        if not isinstance(self.components, MvNormal):
            raise TypeError(
                "marginal and condition need MvNormal components, "
                f"got {type(self.components).__name__}"
            )
        return self.components


class UnivariateMixture(MixtureFamily, Univariate):
    """Mixture of numbers: what :class:`Mixture` makes of univariate components.

    Parameters
    ----------
    probabilities : array (..., K), or Categorical
        Mixing weights π.
    components : univariate distribution
        One batched distribution; the last axis of its batch counts the K components.

    Examples
    --------
    >>> from posteriori import Normal
    >>> d = Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0]))
    >>> d.mean.round(6), d.variance.round(6)
    (np.float64(2.1), np.float64(3.59))
    >>> d.responsibilities(1.0).round(6)
    array([0.499819, 0.500181])
    """

    def _cdf(self, x: Array) -> Array:
        below = self.components.cdf(np.asarray(x)[..., None])
        return np.minimum((self.probabilities * below).sum(axis=-1), 1.0)[()]

    def _quantile(self, q: Array) -> Array:
        if hasattr(self.components, "_panjer"):
            return mixed_count_quantile(self.probabilities, self.components, q)
        ends = self.components.quantile(np.asarray(q)[..., None])
        possible = self.probabilities > 0
        low = np.where(possible, ends, np.inf).min(axis=-1)
        high = np.where(possible, ends, -np.inf).max(axis=-1)
        if self._has_atoms and np.isfinite(ends).all() and (ends == np.floor(ends)).all():
            return least_whole(self._cdf, q, low, high)
        if self._has_atoms or not np.isfinite(low + high).all():
            return invert_increasing(self._cdf, q, low, high, jumps=self._has_atoms)
        middle = (self.probabilities * np.where(possible, ends, 0.0)).sum(axis=-1)
        start = np.clip(middle, low, high)
        return invert_smooth(self._cdf, self._density, q, low, high, start)

    def _density(self, x: Array) -> Array:
        each = np.exp(self.components.log_prob(np.asarray(x)[..., None]))
        return (self.probabilities * each).sum(axis=-1)


def _places_among(edges: Array, uniform: Array) -> Array:
    """Return how many of the edges (..., K) of each member numbers (N, ...) have passed."""
    flat = edges.reshape(-1, edges.shape[-1])
    if (flat == flat[:1]).all():  # the whole batch shares them
        return np.searchsorted(flat[0], uniform, side="right")
    found = np.empty(uniform.shape, dtype=np.int64)
    for index in np.ndindex(*uniform.shape[1:]):
        here = (slice(None), *index)
        found[here] = np.searchsorted(edges[index], uniform[here], side="right")
    return found


def _restore(probabilities: Array, components: Any) -> MixtureFamily:
    return MixtureFamily._make(probabilities, components)
