"""Entropy and divergence for families that state them without being exponential."""

from __future__ import annotations

from typing import Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.numerics.types import Array

__all__ = ["Comparable"]


class Comparable(Univariate):
    """A distribution of one number that states ``_entropy`` and ``_kl`` in closed form."""

    def entropy(self) -> Array:
        r"""Return :math:`H = -E[\ln p]` in nats."""
        return self._entropy()

    def kl(self, other: Self) -> Array:
        r"""Return :math:`KL(p\,\|\,q) = E_p[\ln p - \ln q]` in nats.

        Both must be of one family; infinite where p has probability outside the support of q.
        """
        if type(other) is not type(self):
            raise TypeError(
                f"KL divergence is defined within one family, "
                f"got {type(self).__name__} and {type(other).__name__}"
            )
        return np.maximum(self._kl(other), 0.0)  # rounding may dip below 0

    def cross_entropy(self, other: Self) -> Array:
        r"""Return :math:`-E_p[\ln q] = H(p) + KL(p\,\|\,q)` in nats."""
        return self.entropy() + self.kl(other)

    def _entropy(self) -> Array:
        raise TypeError(f"{type(self).__name__} states no entropy")

    def _kl(self, other: Self) -> Array:
        raise TypeError(f"{type(self).__name__} states no KL divergence")
