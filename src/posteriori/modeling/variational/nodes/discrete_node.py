"""Beliefs about discrete variables: log tables add, and an exact block of them is solved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.modeling.beliefs.group_beliefs import ConjugateBelief, GroupBelief
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.labelled import Axis, Table, seen, shape_of
from posteriori.modeling.binding.places import add_arrays
from posteriori.modeling.contract.costs import members_and_states
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.exact.discrete.discrete_account import discrete_terms
from posteriori.modeling.exact.discrete.discrete_block import DiscreteResult
from posteriori.modeling.forms.state_tables import evidence_table
from posteriori.modeling.variational.densities.addressing import arrange
from posteriori.modeling.variational.nodes.node import Message, Node
from posteriori.modeling.variational.nodes.state_chain import (
    StateChain,
    best_path,
    draw_path,
    draw_states,
    find_state_chain,
    log_path,
    log_states,
    solve_state_chain,
)
from posteriori.modeling.variational.nodes.state_scopes import Scope, in_scope, matching_labels
from posteriori.modeling.variational.nodes.table_block import (
    TableBlock,
    table_beliefs,
    table_of_scope,
    table_of_states,
)
from posteriori.numerics.types import Array

__all__ = ["DiscreteNode", "map_states", "soft_states"]

#: Weight that a start at given states leaves to the other ones.
_SOFT = 0.1


class DiscreteNode(Node):
    """Categorical and Bernoulli variables that are believed in jointly.

    Parameters
    ----------
    bound : Bound
    sizes : mapping
        Number of states of each variable.
    restart : Axis
    """

    kind = "discrete"
    form = "states"
    comes_last = True

    def __init__(self, bound: Bound, sizes: Mapping[str, int], restart: Axis) -> None:
        self.bound = bound
        self.sizes = dict(sizes)
        self.names = tuple(sizes)
        self.restart = restart
        self.states = {name: Axis(name, size) for name, size in sizes.items()}
        self._labels = {
            name: (restart, *bound.layouts[name].axes, state) for name, state in self.states.items()
        }
        self._probabilities: dict[str, Table] = {
            name: self._uniform(name)
            for name in self.names  # priors may meet in a circle
        }
        self._sums: dict[tuple[str, tuple[int, ...]], tuple[Array, Table]] = {}
        self._pairs: list[tuple[Scope, Table]] = []
        self.chain: StateChain | None = None
        self.solved: list[DiscreteResult] = []
        self._block: TableBlock | None = None  # the last one, whose plan is used again
        self._find_entropy: Callable[[], Array] = self._entropy_of_rows
        self._log_total = np.zeros(restart.size)

    def _uniform(self, name: str) -> Table:
        labels = self._labels[name]
        shape = shape_of(labels)
        return Table(np.broadcast_to(1.0 / self.sizes[name], shape), labels)

    # -- update ------------------------------------------------------------------------------

    def update(self, messages: Iterable[Message]) -> None:
        """Solve the block whose log tables are the sums of the messages."""
        single: dict[str, list[Array]] = {name: [] for name in self.names}
        joint: list[tuple[Scope, list[Table]]] = []
        for switches, table in messages:
            if len(switches) == 1:
                (s,) = switches
                lead, axes = self._labels[s.name][:1], self._labels[s.name][1:]
                single[s.name].append(arrange(table, (*s.places, s.state), axes, lead))
            else:
                scope, moved = in_scope(joint, switches, table)
                scope.append(moved)
        logs = {name: self._logits(name, parts) for name, parts in single.items()}
        if not joint:
            self._solve_rows(logs)
        elif not self._solve_chain(logs, joint):
            self._solve_block(logs, joint)

    def _logits(self, name: str, parts: list[Array]) -> Table:
        labels = self._labels[name]
        known = self.bound.evidence.get(name)
        values = add_arrays(parts, len(labels))
        if known is not None:
            at = evidence_table(name, self.bound, self.sizes[name]).table.values
            values = values + np.maximum(at, -1e100)
        shape = shape_of(labels)
        return Table(values if values.shape == shape else np.broadcast_to(values, shape), labels)

    def _solve_rows(self, logs: Mapping[str, Table]) -> None:
        """Members do not meet: normalise each, states first, so that inner loops are long."""
        total = np.zeros(self.restart.size)
        for name, (values, axes) in logs.items():
            first = (0, values.ndim - 1, *range(1, values.ndim - 1))
            weights = np.array(values.transpose(first), order="C")
            top = weights.max(axis=1, keepdims=True)
            weights -= top
            np.exp(weights, out=weights)
            norm = weights.sum(axis=1, keepdims=True)
            weights /= norm
            last = (0, *range(2, values.ndim), 1)
            probabilities = Table(weights.transpose(last), axes)
            self._probabilities = {**self._probabilities, name: probabilities}
            total += (top + np.log(norm)).reshape(self.restart.size, -1).sum(axis=1)
        self._log_total, self._find_entropy = total, self._entropy_of_rows
        self._pairs, self.chain, self.solved = [], None, []

    def _solve_chain(
        self, logs: Mapping[str, Table], joint: Sequence[tuple[Scope, list[Table]]]
    ) -> bool:
        """Solve all starts at once where there is one variable and it only follows itself."""
        if len(self.names) > 1 or len(joint) > 1:
            return False
        (name,), ((scope, parts),) = self.names, joint
        chain = find_state_chain(scope.switches, self.bound.layouts[name].axes)
        if chain is None:
            return False
        logits = logs[name]
        belief = solve_state_chain(chain, logits, parts, self.restart)
        probabilities = np.moveaxis(belief.probabilities, -2, 1 + chain.time)
        self._probabilities = {**self._probabilities, name: Table(probabilities, logits.axes)}
        self._pairs = [(scope, Table(belief.pairs, (self.restart, *chain.labels)))]
        self._log_total, self._find_entropy = belief.log_total, belief.entropy
        self.chain, self.solved = chain, []
        return True

    def _solve_block(
        self, logs: Mapping[str, Table], joint: Sequence[tuple[Scope, list[Table]]]
    ) -> None:
        """Solve one exact block for each start."""
        totals, found, pairs = [], [], []
        solved: list[DiscreteResult] = []
        for start in range(self.restart.size):
            tables = [
                table_of_states(name, self.states[name], t, start) for name, t in logs.items()
            ]
            tables += [table_of_scope(scope, t, self.restart, start) for scope, t in joint]
            last = self._block
            self._block = (
                TableBlock(self.bound, self.sizes, tables)
                if last is None
                else last.refilled(tables)
            )
            result = self._block.solve()
            solved.append(result)
            totals.append(result.log_evidence)
            found.append({name: result.probabilities(name) for name in self.names})
            beliefs = table_beliefs(result, len(logs))
            pairs.append([b.values for b in beliefs])
            axes = [b.axes for b in beliefs]
        self._log_total, self._find_entropy = np.array(totals), partial(_entropies, solved)
        self.chain, self.solved = None, solved
        for name in self.names:
            labels = self._labels[name]
            self._probabilities = {
                **self._probabilities,
                name: Table(np.stack([f[name] for f in found]), labels),
            }
        self._pairs = [
            (scope, Table(np.stack([p[i] for p in pairs]), (self.restart, *axes[i])))
            for i, (scope, _) in enumerate(joint)
        ]

    # -- expectations ------------------------------------------------------------------------

    def centre(self, name: str) -> Array:
        """Return the probabilities of a variable, (starts, *axes, K)."""
        return self._probabilities[name].values

    def set_centre(self, name: str, probabilities: Array) -> None:
        """Take probabilities (starts, *axes, K); members do not depend on one another."""
        labels = self._labels[name]
        self._probabilities = {**self._probabilities, name: Table(probabilities, labels)}
        self._pairs, self.chain, self.solved = [], None, []
        self._find_entropy = self._entropy_of_rows

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return the probability that the switches are on together."""
        if len(accesses) == 1:
            (s,) = accesses
            axes = (*self.bound.layouts[s.name].axes, self.states[s.name])
            return [(seen(self._probabilities[s.name], axes, (*s.places, s.state)),)]
        for scope, table in self._pairs:
            new = matching_labels(scope.switches, accesses)
            if new is not None:
                return [(table.relabelled(new),)]
        tables = tuple(self.expect([a])[0][0] for a in accesses)
        return [tables]  # before the first solution: independent

    @property
    def is_joined(self) -> bool:
        """Whether members depend on one another."""
        return bool(self._pairs)

    @property
    def pairs(self) -> Array:
        """Joint probabilities of neighbours along the chain, (starts, *series, T - 1, K, K)."""
        ((_, table),) = self._pairs
        return table.values

    def summable(self, accesses: Sequence[Any], free: frozenset[Axis]) -> frozenset[Axis]:
        """Return those of some labels that :meth:`expect_sum` can sum over."""
        if len(accesses) > 1:
            return frozenset()
        return free.intersection(a for a in accesses[0].places if isinstance(a, Axis))

    def expect_sum(self, accesses: Sequence[Any], summed: frozenset[Axis]) -> Expectation:
        """Return the expected number of members in each state, found once for all factors."""
        (s,) = accesses
        axes = self.bound.layouts[s.name].axes
        gone = tuple(i for i, a in enumerate(s.places) if isinstance(a, Axis) and a in summed)
        values, labels = self._probabilities[s.name]
        of, total = self._sums.get((s.name, gone), (None, None))
        if of is not values or total is None:
            kept = tuple(a for i, a in enumerate(labels) if i - 1 not in gone)
            total = Table(values.sum(axis=tuple(1 + i for i in gone)), kept)
            self._sums[s.name, gone] = values, total
        return [(seen(total, (*axes, self.states[s.name]), (*s.places, s.state)),)]

    def read_start(self, name: str, numbers: Array, shape: tuple[int, ...]) -> Array:
        """Return probabilities of classes, given these or codes."""
        size = self.sizes[name]
        if numbers.shape == shape:
            if not np.all((numbers >= 0) & (numbers < size) & (numbers % 1 == 0)):
                raise ValueError(
                    f"init of {name} must hold codes 0 to {size - 1}, "
                    f"got values from {numbers.min():g} to {numbers.max():g}"
                )
            return soft_states(numbers, size)
        if numbers.shape != (*shape, size):
            raise ValueError(
                f"init of {name} must hold codes of shape {shape} or probabilities of shape "
                f"{(*shape, size)}, got shape {numbers.shape}"
            )
        if np.any(numbers < 0) or not np.allclose(numbers.sum(axis=-1), 1.0):
            raise ValueError(
                f"init of {name} must hold probabilities: >= 0, with sum 1 in every row"
            )
        return numbers

    def settle(self) -> Array:
        """Move to the best state of each member."""
        if self.is_joined:
            raise TypeError(
                f"states of {', '.join(self.names)} depend on one another and have no single best "
                'value here: leave them out of form={...: "point"}'
            )
        total = np.array(self._log_total)
        for name in self.names:
            p = self.centre(name)
            best = p.argmax(axis=-1)[..., None]
            logs = np.log(np.take_along_axis(p, best, axis=-1))
            total += logs.reshape(self.restart.size, -1).sum(axis=1)
            self.set_centre(name, (best == np.arange(p.shape[-1])).astype(np.float64))
        return total

    def overlaps(self, name: str) -> Array:
        """Return Σ q(a) q(b) over all members of a variable, (K, K), in the first start."""
        p = self._probabilities[name].values[0].reshape(-1, self.sizes[name])
        return p.T @ p

    def map_states(self, name: str, matrix: Array) -> None:
        """Let the probabilities p of a variable's states be M p."""
        mapped = map_states(self._probabilities[name], [self.states[name]], matrix)
        self._probabilities = {**self._probabilities, name: mapped}
        self._pairs = [
            (scope, map_states(t, [s.state for s in scope.switches if s.name == name], matrix))
            for scope, t in self._pairs
        ]

    def log_total(self) -> Array:
        """Log normaliser for each start."""
        return self._log_total

    def entropy(self) -> Array:
        """Entropy for each start."""
        return self._find_entropy()

    def _entropy_of_rows(self) -> Array:
        total = np.zeros(self.restart.size)
        for table in self._probabilities.values():
            p = table.values.reshape(self.restart.size, -1)
            total -= (p * np.log(np.where(p > 0, p, 1.0))).sum(axis=1)
        return total

    def select(self, start: int) -> None:
        """Keep one start."""
        kept = slice(start, start + 1)
        entropy = self.entropy()[kept]
        self._find_entropy = lambda: entropy
        self._probabilities = {
            name: Table(t.values[kept], t.axes) for name, t in self._probabilities.items()
        }
        self._pairs = [(scope, Table(t.values[kept], t.axes)) for scope, t in self._pairs]
        self._log_total = self._log_total[kept]
        self.solved = self.solved[kept]

    def resume(self, node: DiscreteNode) -> None:
        for name in self.names:
            p = node.centre(name)[:1]
            self.set_centre(name, np.broadcast_to(p, (self.restart.size, *p.shape[1:])))

    @property
    def can_be_drawn(self) -> bool:  # type: ignore[override]
        """Whether members do not meet, or only along a chain: others are solved one start after another."""
        return not self.solved

    def draw_given_others(self, rng: np.random.Generator) -> dict[str, Array]:
        if self.chain:
            (name,) = self.names
            chain = self.chain._replace(time=1 + self.chain.time)
            codes = {name: draw_path(self.centre(name), self.pairs, chain, 1, rng)[0]}
        else:
            codes = {name: draw_states(self.centre(name), 1, rng)[0] for name in self.names}
        for name, drawn in codes.items():
            self.set_centre(name, np.equal.outer(drawn, np.arange(self.sizes[name])).astype(float))
        return codes

    def marginal(self, name: str) -> Any:
        """Return the belief of the first start."""
        return self._distribution(name, self._probabilities[name].values[0])

    def conditional(self, name: str) -> Any:
        return self._distribution(name, self._probabilities[name].values)

    def _distribution(self, name: str, p: Array) -> Any:
        if self.bound.families[name] is Bernoulli:
            return Bernoulli._from(probability=np.minimum(p[..., 1], 1.0))
        p = np.ascontiguousarray(p / p.sum(axis=-1, keepdims=True))
        return Categorical._from(probabilities=p)._labelled(self.bound.labels.get(name))

    def point(self, name: str) -> Any:
        return self.marginal(name)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        if self.solved:
            return self.solved[0].sample(size, rng=rng)
        if self.chain:
            path = draw_path(self.centre(self.names[0])[0], self.pairs[0], self.chain, size, rng)
            return self._in_words({self.names[0]: path})
        return self._in_words({n: draw_states(self.centre(n)[0], size, rng) for n in self.names})

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        """Whether members do not meet, or only along a chain."""
        return not self.solved

    def log_prob(self, draws: Mapping[str, Any]) -> Array:
        if self.chain:
            (name,) = self.names
            return log_path(self.centre(name)[0], self.pairs[0], self.chain, draws[name])
        return sum((log_states(self.centre(n)[0], draws[n]) for n in self.names), np.zeros(1))

    def highest(self) -> dict[str, Any]:
        if self.solved:
            return self.solved[0].most_likely()
        if self.chain:
            path = best_path(self.centre(self.names[0])[0], self.pairs[0], self.chain)
            return self._in_words({self.names[0]: path})
        return self._in_words({n: self.centre(n)[0].argmax(axis=-1) for n in self.names})

    def _in_words(self, codes: dict[str, Array]) -> dict[str, Any]:
        labels = self.bound.labels
        return {
            name: values if labels.get(name) is None else decode_labels(values, labels[name])
            for name, values in codes.items()
        }

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        if self.is_joined:
            return super().carried_over(names)
        return [ConjugateBelief(name, self.marginal(name)) for name in names]

    def describe(self) -> str:
        """Say how many members and states there are."""
        parts = {
            name: members_and_states(math.prod(self.bound.layouts[name].shape), size)
            for name, size in self.sizes.items()
        }
        if len(parts) == 1:
            return next(iter(parts.values()))
        return ", ".join(f"{name} ({text})" for name, text in parts.items())


def _entropies(solved: Sequence[DiscreteResult]) -> Array:
    return np.array([discrete_terms(result.block.planned, result.solved)[1] for result in solved])


def soft_states(codes: Array, size: int) -> Array:
    """Return probabilities (..., K) of a start at some states."""
    return (1.0 - _SOFT) * (codes[..., None] == np.arange(size)) + _SOFT / size


def map_states(table: Table, states: Sequence[Axis], matrix: Array) -> Table:
    """Multiply a table by a matrix (K, K) along each of some labels."""
    values = table.values
    for axis in states:
        if axis in table.axes:
            at = table.axes.index(axis)
            values = np.moveaxis(np.tensordot(matrix, values, axes=(1, at)), 0, at)
    return Table(values, table.axes)
