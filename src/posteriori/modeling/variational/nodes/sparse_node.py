r"""Beliefs about normal variables of which each number meets few others: chains beside what they share.

As in a dense belief coefficients of one access add to h, of two accesses to J; J is kept where numbers
meet, and covariances are known there. A chain with static effects, several chains, groups with what
they have in common: all are one vector, and cost grows with its length.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.gaussian.sparse_precision import SparseSolution, solve_sparse
from posteriori.modeling.beliefs.group_beliefs import GroupBelief, dense_belief, require_few
from posteriori.modeling.binding.labelled import Axis, Table, seen
from posteriori.modeling.contract.costs import counted
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.nodes.node import Message
from posteriori.modeling.variational.nodes.normal_node import NormalNode
from posteriori.modeling.variational.nodes.sparse_numbers import Seen, SparseNumbers
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = ["SparseNode"]


class SparseNode(NormalNode):
    """Normal variables that are believed in jointly, few of whose numbers meet.

    Parameters
    ----------
    numbers : SparseNumbers
        Of its variables, which can be solved for together.
    restart : Axis
    """

    kind = "sparse normal"
    moves_freely = True

    def __init__(self, numbers: SparseNumbers, restart: Axis) -> None:
        assert numbers.meetings is not None
        self.numbers, self.meetings = numbers, numbers.meetings
        self.names, self.layouts = tuple(numbers.layouts), numbers.layouts
        self.restart = restart
        self.fit = self._log_det = np.zeros(restart.size)
        self.mean = np.zeros((restart.size, numbers.size))
        self.precision = np.zeros((restart.size, len(self.meetings.keys)))
        self.solution: SparseSolution | None = None  # None: without width

    # -- update ------------------------------------------------------------------------------

    def update(self, messages: Iterable[Message]) -> None:
        """Solve J m = h."""
        h, precision = np.zeros(self.mean.shape), np.zeros(self.precision.shape)
        for accesses, table in messages:
            here = self.numbers.seen(accesses)
            values = here.over_rows(table, self.restart)
            if len(accesses) == 1:
                _add(h, here.numbers[0], values)
            else:
                i, j = here.numbers  # c v_i v_j is −½ vᵀJv with J_ij = J_ji = −c, J_ii = −2c
                where = self.meetings.at(i, j) if here.at is None else here.at
                _add(precision, where, -np.where(i == j, 2.0, 1.0) * values)
        self._solve(precision, h)

    def _solve(self, precision: Array, h: Array) -> None:
        try:
            solved = solve_sparse(self.meetings, precision, h)
        except ValueError:
            raise ValueError(
                f"the belief about {', '.join(self.names)} has become improper by rounding: precisions "
                "in its prior and in what depends on it differ by too many powers of 10; bring them "
                "nearer to one another"
            ) from None
        self.solution, self.precision = solved, precision
        self.mean, self._log_det = solved.mean, solved.log_det
        self.fit = (h * solved.mean).sum(axis=1)

    def set_centre(self, name: str, values: Array) -> None:
        """Start one variable at given means (starts, *axes), all without uncertainty."""
        first, size = self.numbers.first[name], math.prod(self.layouts[name].shape)
        mean = self.mean.copy()
        mean[:, first : first + size] = values.reshape(len(mean), size)
        self.mean, self.solution = mean, None

    def select(self, start: int) -> None:
        """Keep one start."""
        one = slice(start, start + 1)
        self.mean, self.precision = self.mean[one], self.precision[one]
        self.fit, self._log_det = self.fit[one], self._log_det[one]
        if self.solution is not None:
            parts = ("mean", "lower", "inverse", "log_det")
            kept = {key: getattr(self.solution, key)[one] for key in parts}
            self.solution = self.solution._replace(**kept)

    # -- steps ---------------------------------------------------------------------------------

    def natural(self) -> list[Array]:
        """Return weighted means and precisions of numbers that meet."""
        return [self._weighted(self.mean, self.precision), self.precision]

    def set_natural(self, natural: Sequence[Array]) -> bool:
        """Take natural parameters; False where they are improper."""
        h, precision = natural
        try:
            self._solve(precision, h)
        except ValueError:
            return False
        return True

    def coordinates(self) -> list[Array]:
        """Return means and precisions: both move with the origin and units of the data."""
        return [self.mean, self.precision]

    def set_coordinates(self, coordinates: Sequence[Array]) -> bool:
        """Take means and precisions; False where these are improper."""
        mean, precision = coordinates
        return self.set_natural([self._weighted(mean, precision), precision])

    def _weighted(self, mean: Array, precision: Array) -> Array:
        """Return J m."""
        return np.stack(
            [self.meetings.multiply(j, m) for j, m in zip(precision, mean, strict=True)]
        )

    # -- expectations ------------------------------------------------------------------------

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return E[v] or E[v u] = E[v] E[u] + Cov, as a sum of products of tables."""
        means = tuple(self._seen_mean(a) for a in accesses)
        if len(accesses) == 1:
            return [means]
        a, b = accesses
        return [means, (self._seen_cov(a, b),)]

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return Cov[v, u] of any members."""
        return [(self._seen_cov(a, b),)]

    def _mean_of(self, name: str) -> Table:
        axes = self.layouts[name].axes
        first, shape = self.numbers.first[name], self.layouts[name].shape
        part = self.mean[:, first : first + math.prod(shape)]
        return Table(part.reshape(len(part), *shape), (self.restart, *axes))

    def _seen_mean(self, a: Any) -> Table:
        return seen(self._mean_of(a.name), self.layouts[a.name].axes, a.places)

    def _seen_cov(self, a: Any, b: Any) -> Table:
        here = self.numbers.seen((a, b))
        return here.table(self._covariances(here), self.restart)

    def _covariances(self, here: Seen) -> Array:
        i, j = here.numbers
        if self.solution is None:
            return np.zeros((len(self.mean), len(i)))
        if here.entries is not None:
            return self.solution.inverse[:, here.entries]
        return self.solution.covariances(i, j)

    def log_total(self) -> Array:
        """½ hᵀ m + ½ ln|2π Σ| for each start."""
        return 0.5 * (self.fit + self.numbers.size * LOG_2PI - self._log_det)

    def entropy(self) -> Array:
        """½ ln|2πe Σ| for each start."""
        return 0.5 * (self.numbers.size * (1.0 + LOG_2PI) - self._log_det)

    # -- answers -----------------------------------------------------------------------------

    def splits(self) -> list[Mapping[str, tuple[int, ...]]]:
        return [dict.fromkeys(self.names, ())]

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Array]:
        assert self.solution is not None
        values = self.mean[0] + self.solution.deviations(size, rng)
        return {
            name: values[:, self._part(name)].reshape(size, *layout.shape)
            for name, layout in self.layouts.items()
        }

    def joint_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        require_few(names, self.layouts)
        numbers = np.concatenate([self._part(name) for name in names])
        i, j = (a.reshape(-1) for a in np.meshgrid(numbers, numbers, indexing="ij"))
        cov = self._covariances(Seen((), (i, j)))[0]
        return self.mean[0, numbers], cov.reshape(len(numbers), len(numbers))

    def _part(self, name: str) -> IntArray:
        return self.numbers.first[name] + np.arange(math.prod(self.layouts[name].shape))

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        """Return the joint belief about some variables."""
        return [dense_belief(names, *self.joint_moments(names), self.layouts)]

    def describe(self) -> str:
        """Say how many numbers there are."""
        return f"sparse normal, {counted(self.numbers.size, 'number')}"


def _add(target: Array, where: IntArray, values: Array) -> None:
    """Add values (starts, rows) to what each row names."""
    for total, part in zip(target, values, strict=True):
        total += np.bincount(where, weights=part, minlength=len(total))
