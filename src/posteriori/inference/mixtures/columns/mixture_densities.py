"""Densities of the components of a mixture, and draws from them; NaN is a missing entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.batches import take_members
from posteriori.inference.classes.column_checks import take_columns
from posteriori.inference.mixtures.columns.member_fits import Columns, log_density_of
from posteriori.numerics.types import Array

__all__ = [
    "ColumnDensities",
    "FittedDensities",
    "MemberDensities",
    "MixtureDensities",
    "join_members",
]


class MixtureDensities(Protocol):
    """The components of a mixture."""

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | component) of the seen entries of rows (N, D), (N, K)."""

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each component code, (N, D)."""


class ColumnDensities(NamedTuple):
    """Columns of several kinds: where they are, and the densities of those of each kind."""

    places: Mapping[str, Any]
    parts: Mapping[str, Any]

    def widened(self, widths: Array) -> ColumnDensities:
        """Return the same with no column of numbers narrower than its width, of (D,)."""
        if "normal" not in self.parts:
            return self
        part, least = self.parts["normal"], widths[self.places["normal"]]
        wide = part._replace(scales=np.maximum(part.scales, least))
        return self._replace(parts={**self.parts, "normal": wide})

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | component), (N, K)."""
        found = [self.parts[kind].log_prob(take_columns(x, at)) for kind, at in self.places.items()]
        return np.asarray(sum(found[1:], start=found[0]))

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each component code."""
        drawn = np.empty((len(codes), sum(len(at) for at in self.places.values())))
        for kind, at in self.places.items():
            some = self.parts[kind].sample(codes, rng)
            drawn[:, at] = np.reshape(some, (len(codes), len(at)))  # one column may be a vector
        return drawn


class MemberDensities(NamedTuple):
    """Members of a family: a batch (D, K) of columns, or (K,) of whole rows.

    ``standing`` (D,) holds a possible value of each column, which stands in for missing entries.
    """

    members: Any
    standing: Array

    @property
    def _vectors(self) -> bool:
        return len(self.members.batch_shape) == 1

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | component), (N, K)."""
        if self._vectors:
            return np.asarray(self.members.log_prob(x[:, None, :]))
        seen = x == x
        each = self.members.log_prob(np.where(seen, x, self.standing)[:, :, None])
        return np.asarray(np.where(seen[:, :, None], each, 0.0).sum(axis=1))

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each component code."""
        drawn = np.empty((len(codes), len(self.standing)))
        for k in np.unique(codes):
            mine = codes == k
            member = take_members(self.members, (int(k),) if self._vectors else np.s_[:, int(k)])
            drawn[mine] = member.sample(int(mine.sum()), rng=rng)
        return drawn


class FittedDensities(NamedTuple):
    """Components whose columns were fitted one by one."""

    components: Sequence[Columns]
    width: int

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | component), (N, K)."""
        return np.stack([log_density_of(component, x) for component in self.components], axis=1)

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each component code."""
        drawn = np.empty((len(codes), self.width))
        for k in np.unique(codes):
            mine, component = np.flatnonzero(codes == k), self.components[k]
            columns = [member.sample(len(mine), rng=rng) for member in component]
            vectors = getattr(component[0], "_event_ndim", 0)
            drawn[mine] = columns[0] if vectors else np.stack(columns, axis=1)
        return drawn


def join_members(components: Sequence[Columns]) -> Any:
    """Return members as one batch, (K,) of one column and (D, K) of several.

    None where they are no distributions, or where columns have parameters of different shapes.
    """
    members = np.array(components, dtype=object).T  # (D, K)
    if not all(isinstance(member, Distribution) for member in members.flat):
        return None
    given = [[member._given_parameters() for member in column] for column in members]
    shapes = {str({n: np.shape(v) for n, v in one.items()}) for column in given for one in column}
    if len(shapes) > 1:
        return None
    stacked = {
        name: np.array([[one[name] for one in column] for column in given]) for name in given[0][0]
    }
    if len(members) == 1:
        stacked = {name: value[0] for name, value in stacked.items()}
    return type(members[0, 0])._from(**stacked)
