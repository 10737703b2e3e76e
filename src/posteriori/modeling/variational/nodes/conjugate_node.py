"""Beliefs about one variable of an exponential family: natural parameters add."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.coordinates import inner
from posteriori.modeling.beliefs.group_beliefs import ConjugateBelief, GroupBelief
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Table, count_of, seen, shape_of
from posteriori.modeling.binding.places import add_arrays
from posteriori.modeling.contract.costs import counted
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.densities.addressing import arrange
from posteriori.modeling.variational.nodes.node import Message, Node
from posteriori.numerics.types import Array

__all__ = ["ConjugateNode"]


class ConjugateNode(Node):
    """A variable whose belief has the family of its prior.

    Parameters
    ----------
    name : str
    family : type
    layout : Layout
    restart : Axis
        The label of several starts at once.
    """

    kind = "conjugate"
    form = "statistics"
    moves_freely = follows_means = can_be_drawn = True

    def __init__(self, name: str, family: Any, layout: Layout, restart: Axis) -> None:
        self.names = (name,)
        self.family = family
        self.lead = layout.lead
        self.events = layout.events
        self.restart = restart
        self._lead = (restart,)
        self._axes = [self.lead + (self.events if n else ()) for n in family._natural_ndims]
        self.belief: Any = None
        self._mode: Array | None = None
        self._tables: list[Table] = []

    def axes(self, component: int) -> tuple[Axis, ...]:
        """The variable's own axes that a statistic has."""
        return self._axes[component]

    def position(self, stats: Sequence[Any]) -> int:
        """Return which natural parameter a message is about."""
        return int(stats[0].component)

    def update(self, messages: Iterable[Message]) -> None:
        """Set the natural parameters to the sum of the messages."""
        parts: list[list[Array]] = [[] for _ in self._axes]
        for (stat,), table in messages:
            k = stat.component
            parts[k].append(arrange(table, stat.places, self._axes[k], self._lead))
        natural = [self._whole(found, k) for k, found in enumerate(parts)]
        belief = self.family._from_natural(*natural)
        if not belief._all_proper:
            raise ValueError(
                f"the belief about {self.names[0]} has become improper by rounding: numbers of its "
                "prior, or of what depends on it, are too large or too small for floating point; use "
                "other units, so that they are near 1"
            )
        self._set(belief, belief.mean_params)

    def _set(self, belief: Any, statistics: Sequence[Any]) -> None:
        """Take a belief, a batch over starts, plates and integer axes, and expected statistics."""
        self.belief = belief
        self._tables = [
            Table(np.asarray(part), self._lead + axes)
            for part, axes in zip(statistics, self._axes, strict=True)
        ]

    def start_from(self, name: str, value: Any, shape: tuple[int, ...]) -> None:
        if not isinstance(value, self.family):
            raise TypeError(f"init of {name} must be a {self.family.__name__}, got {value!r}")
        lead = shape[: len(shape) - self.family._event_ndim]
        if value.batch_shape != lead:
            raise ValueError(
                f"init of {name} must have batch shape {lead}, got {value.batch_shape}"
            )
        starts = self.restart.size
        natural = (np.broadcast_to(p, (starts, *np.shape(p))) for p in value.natural)
        belief = self.family._from_natural(*natural)
        self._set(belief, belief.mean_params)

    def settle(self) -> Array:
        """Move to the mode; before any data, a flat prior has none, and the mean stands in."""
        mode, statistics = _best_value(self.belief)
        if mode is None and self._mode is None:
            mode = np.asarray(self.belief.mean)
            statistics = self.family.sufficient(mode)
        if mode is None:
            raise ValueError(
                f"{self.names[0]} has no best value inside its domain: the density is highest at "
                "the border; choose a prior that falls there, or keep the whole belief"
            )
        self._mode = mode
        self._set(self.belief, statistics)
        return self._per_start(inner(self.belief.natural, statistics, self.family._natural_ndims))

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return the expectation of a product of statistics, as a sum of products of tables."""
        (stat,) = accesses
        return [(seen(self._tables[stat.component], self._axes[stat.component], stat.places),)]

    def natural(self) -> list[Array]:
        """Return the natural parameters."""
        return [np.asarray(part) for part in self.belief.natural]

    def set_natural(self, natural: Sequence[Array]) -> bool:
        """Take natural parameters; False where they are improper."""
        belief = self.family._from_natural(*natural)
        if not belief._all_proper:
            return False
        self._set(belief, belief.mean_params)
        return True

    def coordinates(self) -> list[Array]:
        """Return natural parameters, of rates and other negative numbers their logarithms."""
        return [np.log(-p) if self._is_negative(k) else p for k, p in enumerate(self.natural())]

    def set_coordinates(self, coordinates: Sequence[Array]) -> bool:
        """Take natural parameters in the form of the present ones; False where improper."""
        natural = [-np.exp(p) if self._is_negative(k) else p for k, p in enumerate(coordinates)]
        return self.set_natural(natural)

    def _is_negative(self, component: int) -> bool:
        numbers = self.family._natural_ndims[component] == 0
        return numbers and bool(np.all(self.belief.natural[component] < 0.0))

    def log_total(self) -> Array:
        """Log normaliser for each start."""
        return self._per_start(self.belief.log_normalizer())

    def entropy(self) -> Array:
        """Entropy for each start, A(η) − ⟨η, ∇A(η)⟩ − E[ln h]."""
        logs = self.belief.log_normalizer() - self.belief._expected_log_carrier()
        total = self._per_start(logs)
        for eta, mean in zip(self.belief.natural, self.belief.mean_params, strict=True):
            total = total - self._per_start(eta * mean)
        return total

    def _per_start(self, values: Any) -> Array:
        return np.asarray(values).reshape(self.restart.size, -1).sum(axis=1)

    def pick(self, start: int) -> Any:
        """Return the belief of one start."""
        natural = [np.asarray(part)[start] for part in self.belief.natural]
        return self.family._from_natural(*natural)

    def select(self, start: int) -> None:
        """Keep one start."""
        kept = slice(start, start + 1)
        natural = [np.asarray(part)[kept] for part in self.belief.natural]
        statistics = [table.values[kept] for table in self._tables]
        self._set(self.family._from_natural(*natural), statistics)
        self._mode = None if self._mode is None else self._mode[kept]

    def resume(self, node: ConjugateNode) -> None:
        parts = (np.asarray(part)[:1] for part in node.belief.natural)
        natural = [np.broadcast_to(p, (self.restart.size, *p.shape[1:])) for p in parts]
        belief = self.family._from_natural(*natural)
        self._set(belief, belief.mean_params)

    def conditional(self, name: str) -> Any:
        return self.belief

    def draw_given_others(self, rng: np.random.Generator) -> dict[str, Array]:
        drawn = np.asarray(self.belief.sample(rng=rng))
        self._set(self.belief, self.family.sufficient(drawn))
        return {self.names[0]: drawn}

    def marginal(self, name: str) -> Any:
        """Return the belief of the first start."""
        return self.pick(0)

    def point(self, name: str) -> PointMass:
        return PointMass(self.highest()[name], event_ndim=self.family._event_ndim)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        return {self.names[0]: self.pick(0).sample(size, rng=rng)}

    def highest(self) -> dict[str, Any]:
        return {self.names[0]: self.pick(0).mode if self._mode is None else self._mode[0]}

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        return [ConjugateBelief(self.names[0], self.pick(0))]

    def _whole(self, parts: list[Array], component: int) -> Array:
        shape = shape_of(self._lead + self._axes[component])
        total = add_arrays(parts, len(shape))
        whole = total if total.shape == shape else np.broadcast_to(total, shape)
        if self.family._natural_ndims[component] == 2:  # of a symmetric matrix: ½(η + ηᵀ)
            return 0.5 * (whole + np.swapaxes(whole, -1, -2))
        return whole.copy()

    def describe(self) -> str:
        """Say how many members there are."""
        count = count_of(self.lead)
        return f"{self.family.__name__}, {counted(count, 'member')}"


def _best_value(belief: Any) -> tuple[Array | None, Any]:
    """Return the mode and its statistics; None where it lies at the border of the domain."""
    try:
        mode = np.asarray(belief.mode)
        with np.errstate(divide="ignore"):
            statistics = type(belief).sufficient(mode)
    except ValueError:
        return None, ()
    inside = all(np.all(np.isfinite(part)) for part in statistics)
    return (mode, statistics) if inside else (None, ())
