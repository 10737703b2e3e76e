r"""Whole rows ahead of a hidden chain: columns that are independent given the state, but not without it.

.. math:: p(x) = \sum_k π_k \prod_d p_{kd}(x_d).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.counts.categorical import Categorical
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["RowMixture"]


class RowMixture:
    """A batch (H,) of distributions of rows (D,), each a mixture over states.

    Parameters
    ----------
    probabilities : (H, K)
        Of the states.
    densities : object
        With ``log_prob`` (N, K) of rows (N, D), and ``sample`` of state codes.
    width : int
        D.
    marginals : distribution, optional
        Of each entry by itself, a batch (H, D), where columns are of one family.

    Examples
    --------
    >>> from posteriori import Poisson
    >>> from posteriori.sequence import HiddenMarkovChain
    >>> moves, rates = [[0.9, 0.1], [0.1, 0.9]], [[1.0, 2.0], [9.0, 8.0]]
    >>> ahead = HiddenMarkovChain([0.5, 0.5], moves, Poisson(rates)).forecast([[1, 2], [8, 9]], 3)
    >>> ahead.batch_shape, ahead.event_shape, ahead.mean.shape
    ((3,), (2,), (3, 2))
    >>> bool(ahead.cov[0, 0, 1] > 0)  # both columns are high or low together
    True
    """

    def __init__(
        self, probabilities: Array, densities: Any, width: int, marginals: Any = None
    ) -> None:
        self.probabilities, self._densities = probabilities, densities
        self.event_shape = (width,)
        self._marginals = marginals

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """(H,)."""
        return (len(self.probabilities),)

    @property
    def marginals(self) -> Any:
        """Each entry by itself, a batch (H, D) of mixtures.

        Raises
        ------
        TypeError
            When columns are of several families.
        """
        if self._marginals is None:
            raise TypeError(
                "columns of several families have no common batch of distributions; draw rows with sample"
            )
        return self._marginals

    def log_prob(self, x: Any) -> Array:
        """Return ln p of rows (..., H, D), (..., H); missing entries are integrated out."""
        given = np.asarray(x, dtype=np.float64)
        if given.shape[-1:] != self.event_shape:
            raise ValueError(f"x must have {self.event_shape[0]} columns, got shape {given.shape}")
        rows = np.broadcast_to(
            given, np.broadcast_shapes(given.shape, (*self.batch_shape, *self.event_shape))
        )
        each = self._densities.log_prob(rows.reshape(-1, rows.shape[-1]))
        with np.errstate(divide="ignore"):
            joint = np.log(self.probabilities) + each.reshape(*rows.shape[:-1], -1)
        return np.asarray(log_sum_exp(joint, axis=-1))

    def sample(self, size: int | None = None, *, rng: Seed = None) -> Array:
        """Draw rows, (H, D) or (size, H, D); entries of a row belong together, rows are independent."""
        generator = as_generator(rng)
        edges = np.cumsum(self.probabilities, axis=1)
        uniform = generator.random((1 if size is None else size, len(edges), 1))
        codes = (uniform >= (edges / edges[:, -1:])[:, :-1]).sum(axis=-1)
        drawn = np.asarray(self._densities.sample(codes.ravel(), generator))
        rows = drawn.reshape(*codes.shape, *self.event_shape)
        return rows[0] if size is None else rows

    @property
    def mean(self) -> Array:
        """(H, D)."""
        return self.probabilities @ self._moments[0]

    @property
    def variance(self) -> Array:
        """(H, D), within states and between them."""
        return np.diagonal(self.cov, axis1=1, axis2=2)

    @property
    def cov(self) -> Array:
        """(H, D, D)."""
        means, variances = self._moments
        apart = means - self.mean[:, None]
        between = np.einsum("hk,hki,hkj->hij", self.probabilities, apart, apart)
        return between + np.eye(means.shape[1]) * (self.probabilities @ variances)[:, None]

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Means and variances (K, D) of states."""
        n_states, width = self.probabilities.shape[1], self.event_shape[0]
        means, variances = np.empty((2, n_states, width))
        for places, member in _members(self._densities, n_states, width):
            if isinstance(member, Categorical) or not hasattr(member, "variance"):
                raise TypeError(
                    f"columns of {type(member).__name__} have no mean; draw rows with sample"
                )
            means[places], variances[places] = member.mean, member.variance
        return means, variances

    def __repr__(self) -> str:
        return f"RowMixture(batch {self.batch_shape} of rows of {self.event_shape[0]} columns)"


def _members(densities: Any, n_states: int, width: int) -> Any:
    """Yield the places (state, column) of distributions, whatever holds them."""
    parts = getattr(densities, "parts", None)
    inner = getattr(densities, "densities", None)
    components = getattr(densities, "components", None)
    if parts is not None:  # columns of several kinds
        for name, at in densities.places.items():
            for (states, columns), member in _members(parts[name], n_states, len(at)):
                yield (states, np.asarray(at)[columns]), member
    elif inner is not None:
        yield from _members(inner, n_states, width)
    elif components is not None:  # members that were fitted one by one
        for k, members in enumerate(components):
            for d, member in enumerate(members):
                yield (k, d if len(members) == width else np.arange(width)), member
    elif not hasattr(densities, "family"):  # a user's
        yield (slice(None), slice(None)), densities
    elif len(densities.family.batch_shape) == 2:
        for d in range(width):
            yield (np.arange(n_states), d), take_members(densities.family, np.s_[:, d])
    else:
        for k in range(n_states):
            at = np.arange(width) if densities.family.event_shape else 0
            yield (k, at), take_members(densities.family, k)
