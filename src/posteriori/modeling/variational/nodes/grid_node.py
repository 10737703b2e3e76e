r"""Beliefs about numbers that stay in no family: densities on grids, one for each member.

.. math:: \ln q(x) = \sum_k c_k f_k(x) - \ln Z,

where the coefficients :math:`c_k` are what messages add up to, and the functions :math:`f_k` are the log
density of the prior, :math:`\ln x`, :math:`x^{-2}` and others that laws ask for. All expectations are
those of one density on one grid, so that the bound is exact for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from posteriori.distributions.composites.numeric import Numeric
from posteriori.distributions.composites.point_mass import PointMass
from posteriori.inference.quadrature.tilted import (
    ImproperError,
    Line,
    Tilted,
    best_point,
    tilt,
)
from posteriori.modeling.beliefs.group_beliefs import ConjugateBelief, GroupBelief
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Table, count_of, seen, shape_of
from posteriori.modeling.binding.places import add_arrays
from posteriori.modeling.contract.costs import counted
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.densities.addressing import arrange
from posteriori.modeling.variational.densities.number_functions import Key, Numbers, Of, key_of
from posteriori.modeling.variational.nodes.node import Message, Node
from posteriori.numerics.types import Array

__all__ = ["GridNode", "NumberFactor"]

#: Nats below the highest point where tables for users end.
_DEPTH = 18.0
#: Nodes of such a table, at most and at least; and numbers of the tables of all members.
_NODES, _FEWEST, _NUMBERS = 2049, 65, 2**18


class GridNode(Node):
    """Numbers above an end, each with a density on a grid.

    Parameters
    ----------
    name : str
    numbers : Numbers
        Their prior, ends and functions.
    keys : tuple of Key
        The products of functions that the log density of the model has.
    layout : Layout
    restart : Axis
        The label of several starts at once.
    """

    kind = "grid"
    form = "numbers"
    moves_freely = follows_means = True

    def __init__(
        self, name: str, numbers: Numbers, keys: tuple[Key, ...], layout: Layout, restart: Axis
    ) -> None:
        self.names = (name,)
        self.numbers = numbers
        self.keys = keys
        self.lead, self.events = layout.lead, layout.events
        self.restart = restart
        self.coefficients: list[Array] = []
        self.density: Tilted | None = None
        self._means: dict[Key, Array] = {}
        self._mode: Array | None = None
        self._marginal: Numeric | None = None

    def position(self, stats: Sequence[Any]) -> int:
        """Return which coefficient a message is about."""
        return self.keys.index(key_of(stats))

    # -- messages ----------------------------------------------------------------------------

    def update(self, messages: Iterable[Message]) -> None:
        """Let the coefficients be the sums of the messages."""
        try:
            self._set(self._sums(messages))
        except ImproperError:
            raise ValueError(
                f"the belief about {self.names[0]} is improper: its prior and the data do not rule "
                "out extreme values; give it a prior that does"
            ) from None

    def begin(self) -> None:
        """Answer from the middle of the prior: a scale that may be 0 expects no finite precision."""
        middle = self.numbers.median(self.restart.size)
        if middle is not None:
            self._set_means(self._at(middle))

    def _sums(self, messages: Iterable[Message]) -> list[Array]:
        parts: dict[Key, list[Array]] = {key: [] for key in self.keys}
        for stats, table in messages:
            found = arrange(table, stats[0].places, self.lead, (self.restart,))
            parts[key_of(stats)].append(found)
        shape = (self.restart.size, *shape_of(self.lead))
        return [
            np.broadcast_to(add_arrays(parts[key], len(shape)), shape).reshape(-1)
            for key in self.keys
        ]

    def _set(self, coefficients: list[Array]) -> None:
        """Take coefficients (starts × members) of all functions."""
        line = self.numbers.repeated(self.restart.size)
        near = self.density
        if near is not None and len(near.low) != len(line.low):
            near = None
        self.density = tilt(line, self._evaluate(self.keys), coefficients, near)
        self.coefficients = coefficients
        self._set_means(self.density.means)

    def _set_means(self, means: Sequence[Array]) -> None:
        self._means = dict(zip(self.keys, means, strict=True))
        self._mode = self._marginal = None

    def _evaluate(self, keys: Sequence[Key]) -> Any:
        return partial(self.numbers.evaluate, keys)

    def _at(self, x: Array) -> list[Array]:
        """Return all functions at one number for each member."""
        found = self.numbers.evaluate(self.keys, x[None], slice(0, len(x)))
        return [f[0] for f in found]

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return the expectation of a product of functions."""
        key = key_of(accesses)
        if key not in self._means:
            raise self.cannot(f"tell the expectation of {key}, which nothing asked for before")
        values = self._means[key].reshape(self.restart.size, *shape_of(self.lead))
        return [(seen(Table(values, (self.restart, *self.lead)), self.lead, accesses[0].places),)]

    def log_total(self) -> Array:
        """Log normaliser for each start."""
        return self._per_start(self._found.log_total)

    def entropy(self) -> Array:
        """Entropy for each start, ln Z − Σ c E[f]."""
        found = self._found
        total = found.log_total
        for c, mean in zip(self.coefficients, found.means, strict=True):
            total = total - c * mean
        return self._per_start(total)

    @property
    def _found(self) -> Tilted:
        assert self.density is not None
        return self.density

    def _per_start(self, values: Array) -> Array:
        return values.reshape(self.restart.size, -1).sum(axis=1)

    # -- starts and steps --------------------------------------------------------------------

    def select(self, start: int) -> None:
        """Keep one start."""
        count = count_of(self.lead)
        kept = slice(start * count, (start + 1) * count)
        low, high, total, means = self._found
        self.density = Tilted(low[kept], high[kept], total[kept], [m[kept] for m in means])
        self.coefficients = [c[kept] for c in self.coefficients]
        self._marginal = None
        self._means = {key: mean[kept] for key, mean in self._means.items()}
        self._mode = None if self._mode is None else self._mode[kept]

    def settle(self) -> Array:
        """Move to the highest point; return the log joint density there, for each start."""
        mode = self._best()
        if np.isnan(mode).any():
            middle = self.numbers.median(self.restart.size)
            if self._mode is not None or middle is None:
                raise ValueError(
                    f"{self.names[0]} has no best value inside its domain: the density is highest "
                    "at the border; choose a prior that falls there, or keep the whole belief"
                )
            mode = np.where(np.isnan(mode), middle, mode)
        values = self._at(mode)
        self._set_means(values)
        self._mode = mode
        logs = [c * f for c, f in zip(self.coefficients, values, strict=True)]
        return self._per_start(np.sum(logs, axis=0))

    def _best(self) -> Array:
        line = self.numbers.repeated(self.restart.size)
        return best_point(line, self._evaluate(self.keys), self.coefficients, self._found)

    def natural(self) -> list[Array]:
        """Return the coefficients."""
        return list(self.coefficients)

    def set_natural(self, natural: Sequence[Array]) -> bool:
        """Take coefficients; False where the density would not fall."""
        try:
            self._set(list(natural))
        except ImproperError:
            return False
        return True

    def coordinates(self) -> list[Array]:
        """Return the coefficients, of negative ones their logarithms."""
        return [np.log(-c) if np.all(c < 0.0) else c for c in self.coefficients]

    def set_coordinates(self, coordinates: Sequence[Array]) -> bool:
        """Take coefficients in the form of the present ones; False where improper."""
        pairs = zip(self.coefficients, coordinates, strict=True)
        return self.set_natural([-np.exp(u) if np.all(c < 0.0) else u for c, u in pairs])

    # -- answers -----------------------------------------------------------------------------

    def marginal(self, name: str) -> Numeric:
        """Return the densities of the first start as tables."""
        if self._marginal is None:
            count = count_of(self.lead)
            first = tuple(c[:count] for c in self.coefficients)
            self._marginal = cast(Numeric, self.read_message(first, shape_of(self.lead)))
        return self._marginal

    def read_message(self, parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        """Return what coefficients say of numbers: densities, or factors without an integral."""
        numbers, count = self.numbers, len(parts[0])
        if count != len(numbers.line.low):  # rows of a factor: of any member
            low, high = np.min(numbers.line.low), np.max(numbers.line.high)
            numbers = numbers._replace(line=Line(np.full(count, low), np.full(count, high)))
        try:
            found = tilt(numbers.line, partial(numbers.evaluate, self.keys), parts)
        except ImproperError:
            named = {
                _written(k): p.reshape(shape)[()] for k, p in zip(self.keys, parts, strict=True)
            }
            return NumberFactor(named, shape)
        return _tabulate(numbers, self.keys, parts, found, shape)

    def point(self, name: str) -> PointMass:
        return PointMass(self.highest()[name])

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        return {self.names[0]: self.marginal(self.names[0]).sample(size, rng=rng)}

    def highest(self) -> dict[str, Any]:
        found = self._best() if self._mode is None else self._mode
        first = found[: count_of(self.lead)]
        if np.isnan(first).any():  # at an end of the window, as near as it comes
            first = np.where(np.isnan(first), np.ravel(self.marginal(self.names[0]).mode), first)
        return {self.names[0]: first.reshape(shape_of(self.lead))[()]}

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        return [ConjugateBelief(self.names[0], self.marginal(self.names[0]))]

    def describe(self) -> str:
        """Say how many members there are."""
        count = counted(count_of(self.lead), "member")
        return f"density on a grid, prior {self.numbers.family.__name__}, {count}"


class NumberFactor(NamedTuple):
    """What a message says of a number, exp Σ c f(x), where that has no finite integral.

    Attributes
    ----------
    coefficients : mapping to arrays
        By the functions that they multiply.
    batch_shape : tuple of int
    """

    coefficients: Mapping[str, Any]
    batch_shape: tuple[int, ...]
    event_shape: tuple[int, ...] = ()


def _written(key: Key) -> str:
    """Return a product of functions in words."""
    return " × ".join(
        f"statistic {c}"
        if not isinstance(c, Of)
        else c.kind
        if c.factor == 1.0
        else f"{c.kind} of {c.factor:g} times"
        for c in key
    )


def _tabulate(
    numbers: Numbers,
    keys: Sequence[Key],
    coefficients: Sequence[Array],
    found: Tilted,
    shape: tuple[int, ...],
) -> Numeric:
    """Return densities as tables."""
    count = len(found.low)
    points = int(np.clip(_NUMBERS // max(count, 1), _FEWEST, _NODES))

    def at(low: Array, high: Array) -> tuple[Array, Array, Array, Array]:
        u = low + np.linspace(0.0, 1.0, points)[:, None] * (high - low)
        x, log_slope = numbers.line.at(u)
        with np.errstate(all="ignore"):
            functions = numbers.evaluate(keys, x, slice(0, count))
        logs = sum((c * f for c, f in zip(coefficients, functions, strict=True)), log_slope)
        return u, x, logs - logs.max(axis=0), log_slope

    u, _, logs, _ = at(found.low, found.high)
    inside = logs > -_DEPTH
    ends = inside.argmax(axis=0), points - 1 - inside[::-1].argmax(axis=0)
    _, x, logs, log_slope = at(*(np.take_along_axis(u, e[None], axis=0)[0] for e in ends))
    heights = np.exp(logs - log_slope)
    return Numeric(x.T.reshape(*shape, points), heights.T.reshape(*shape, points))
