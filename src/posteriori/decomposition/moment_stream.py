"""Rows that come in chunks: their moments, measured from an origin near the first of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.decomposition.spectra import block_moments, table_origin
from posteriori.distributions.statistics import Moments
from posteriori.numerics.types import Array

__all__ = ["MomentStream"]


class MomentStream(NamedTuple):
    """Moments of x − origin: means of 10⁸ and spreads of 1 keep all their digits.

    Attributes
    ----------
    origin : (D,)
    moments : Moments
    """

    origin: Array
    moments: Moments

    @classmethod
    def of(cls, x: Array) -> MomentStream:
        """Begin with rows (N, D)."""
        origin = table_origin(x)
        return cls(origin, block_moments(x, origin))

    def add(self, x: Array) -> MomentStream:
        """Return the moments of these rows as well."""
        return self._replace(moments=self.moments.merge(block_moments(x, self.origin)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.moments.count)

    @property
    def mean(self) -> Array:
        """Means of the columns, (D,)."""
        return self.origin + self.moments.mean

    @property
    def cov(self) -> Array:
        """Covariance (D, D), divided by N."""
        return self.moments.scatter / self.moments.count

    @property
    def variances(self) -> Array:
        """Variances of the columns, (D,)."""
        return np.diagonal(self.cov)
