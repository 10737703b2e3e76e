r"""Markov chains of any order with known parameters, and what their structure says.

.. math:: p(x_1, \dots, x_T) = p(x_1, \dots, x_M)
          \prod_{t=M+1}^{T} p(x_t\mid x_{t-M}, \dots, x_{t-1})

A new symbol depends on the M symbols before it. Stacked symbols
:math:`y_t = (x_{t-M+1}, \dots, x_t)` form a chain of order 1, through which questions about long runs
are answered for every order.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.state_chains.walks import draw_walk
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed
from posteriori.numerics.validation import nonnegative, probability_vector
from posteriori.sequence.chain_parameters import (
    check_states,
    decode_states,
    log_of,
)
from posteriori.sequence.markov_structure import (
    StateClass,
    absorption,
    hitting_probabilities,
    hitting_times,
    state_classes,
    stationary_laws,
)
from posteriori.sequence.symbol_gaps import GappySequences, log_prob_of_gaps
from posteriori.sequence.symbol_sequences import (
    MISSING,
    CodedSequences,
    context_numbers,
    encode_symbols,
    list_sequences,
    trim_gaps,
)

__all__ = ["Absorption", "MarkovChain"]


class Absorption(NamedTuple):
    """Where a chain ends.

    Attributes
    ----------
    classes : list of StateClass
        The closed classes.
    probabilities : (K, C)
        Probabilities to end in each of them, by the first state.
    expected_steps : (K,)
        Until one of them is entered.
    """

    classes: list[StateClass]
    probabilities: Array
    expected_steps: Array


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """A Markov chain of order M with known parameters.

    Parameters
    ----------
    initial : M axes of length K; (K,) of orders 0 and 1
        Probabilities of the first M symbols, oldest first.
    transition : M + 1 axes of length K, optional
        Probabilities of a symbol (last axis) given the M before it, oldest first. None: order 0, where
        symbols are independent and ``initial`` is the law of each.
    states : sequence of K names, optional
        Names of the symbols; answers hold names then, not numbers.

    Examples
    --------
    >>> walk = MarkovChain([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], states=("dry", "wet"))
    >>> np.exp(walk.log_prob(["dry", "wet", "wet"])).round(6)
    np.float64(0.108)
    >>> walk.stationary().round(6)
    array([0.571429, 0.428571])
    """

    initial: Any
    transition: Any = None
    _: KW_ONLY
    states: Any = None

    def __post_init__(self) -> None:
        transition = self.transition
        if transition is not None:
            transition = probability_vector("transition", transition)
        initial = _joint_probabilities(self.initial)
        size = initial.shape[-1]
        order = 0 if transition is None else transition.ndim - 1
        shapes = [("initial", initial.shape, (size,) * max(order, 1))]
        if transition is not None:
            shapes.append(("transition", transition.shape, (size,) * (order + 1)))
        for name, found, expected in shapes:
            if found != expected or (transition is not None and order == 0):
                raise ValueError(
                    f"{name} must have shape {expected} for {size} states and order {order}, got "
                    f"{found}; transition has an axis more than initial"
                )
        checked = {"initial": initial, "transition": transition}
        self.__dict__.update(checked, states=check_states(self.states, size))

    @property
    def n_states(self) -> int:
        """Number of states K."""
        return int(self.initial.shape[-1])

    @property
    def order(self) -> int:
        """How many predecessors a symbol depends on, M."""
        return 0 if self.transition is None else self.transition.ndim - 1

    @staticmethod
    def parameter_count(n_states: int, order: int) -> tuple[int, int]:
        """Return the numbers of free parameters of ``initial`` and ``transition``.

        Examples
        --------
        >>> [MarkovChain.parameter_count(3, order) for order in range(4)]
        [(2, 0), (2, 6), (8, 18), (26, 54)]
        """
        if order == 0:
            return n_states - 1, 0
        return n_states**order - 1, n_states**order * (n_states - 1)

    # -- sequences ---------------------------------------------------------------------------

    def log_prob(self, x: Any) -> Any:
        """Return ln p(x): a number, or (S,) of a list of S sequences; −inf of impossible ones.

        Missing symbols (None or NaN) are summed over.

        Examples
        --------
        >>> walk = MarkovChain([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], states=("dry", "wet"))
        >>> np.exp(walk.log_prob(["dry", None, "wet"])).round(6)  # 0.6 · (0.7 · 0.3 + 0.3 · 0.6)
        np.float64(0.234)
        """
        logs = np.array([self._log_prob(one) for one in list_sequences(x)])
        several = isinstance(x, list | tuple) and isinstance(x[0], list | np.ndarray)
        return logs if several else logs[0]

    def sample(self, length: int, *, rng: Seed = None) -> Any:
        """Draw a sequence.

        Examples
        --------
        >>> MarkovChain([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], states="ab").sample(4, rng=0)
        array(['a', 'b', 'a', 'b'], dtype='<U1')
        """
        if length < 1:
            raise ValueError(f"length must be at least 1, got {length}")
        generator = as_generator(rng)
        flat = generator.choice(self.initial.size, p=self.initial.ravel())
        first = np.array(np.unravel_index(flat, self.initial.shape), dtype=np.int64)[:length]
        uniforms = generator.random(length - len(first))
        if self.order == 0:
            edges = np.cumsum(self.initial)[:-1]
            codes = np.append(first, np.searchsorted(edges, uniforms, side="right"))
        else:
            codes = draw_walk(self._rows, first, uniforms)
        return decode_states(codes, self.states)

    # -- steps ahead -------------------------------------------------------------------------

    def n_step(self, n: int) -> Array:
        """Return the law of the symbol n steps ahead given the last M, in the shape of ``transition``."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n}")
        if self.order == 0:
            return np.asarray(self.initial)
        power = np.linalg.matrix_power(self._first_order, n)
        last = power.reshape(len(power), -1, self.n_states).sum(axis=1)
        return last.reshape(self.transition.shape)

    def stationary(self) -> Array:
        """Return the stationary law of M symbols in a row, in the shape of ``initial``.

        Raises
        ------
        ValueError
            When there are several, one for each closed class: :meth:`stationary_laws` has them.
        """
        laws = self.stationary_laws()
        if len(laws) > 1:
            names = "; ".join(str(c.states) for c in self.classes() if c.closed)
            raise ValueError(
                f"the chain has {len(laws)} closed classes ({names}), each with a stationary law: ask "
                "for stationary_laws()"
            )
        return laws[0]

    def stationary_laws(self) -> Array:
        """Return the stationary law of each closed class, (C, ...)."""
        return stationary_laws(self._first_order).reshape(-1, *self.initial.shape)

    def entropy_rate(self) -> float:
        """Return the entropy of a symbol given its predecessors, in the long run, in nats."""
        p = self._rows
        terms = np.where(p > 0.0, p * log_of(np.where(p > 0.0, p, 1.0)), 0.0).sum(axis=1)
        weights = self.stationary().ravel() if self.order else np.ones(1)
        return float(-weights @ terms)

    def is_reversible(self, tolerance: float = 1e-10) -> bool:
        """Tell whether a stationary stretch has the same law backwards, for every closed class."""
        if self.order == 0:
            return True
        joints = self.stationary_laws()[..., None] * self.transition
        backwards = joints.transpose(0, *range(joints.ndim - 1, 0, -1))
        return bool(np.abs(joints - backwards).max() <= tolerance)

    # -- structure ---------------------------------------------------------------------------

    def classes(self) -> list[StateClass]:
        """Return the communicating classes with their periods; of order M those of M symbols.

        Examples
        --------
        >>> walk = MarkovChain([1, 0, 0], [[0.5, 0.5, 0], [0, 0, 1], [0, 1, 0]])
        >>> [(c.states, c.closed, c.period) for c in walk.classes()]
        [((0,), False, 1), ((1, 2), True, 2)]
        """
        names = self._contexts
        found = state_classes(self._first_order)
        return [c._replace(states=tuple(names[s] for s in c.states)) for c in found]

    def absorption(self) -> Absorption:
        """Return where the chain ends, and how long it takes, by the first state."""
        closed = [c for c in self.classes() if c.closed]
        return Absorption(closed, *absorption(self._first_order))

    def hitting_probabilities(self, targets: Any) -> Array:
        """Return the probability (K,) of ever being in one of the ``targets``, by the first state."""
        return hitting_probabilities(self._first_order, self._targets(targets))

    def hitting_times(self, targets: Any) -> Array:
        """Return the expected steps (K,) to one of the ``targets``; infinite where it may not come.

        Examples
        --------
        >>> MarkovChain([1, 0], [[0.75, 0.25], [0, 1]], states="ab").hitting_times("b")
        array([4., 0.])
        """
        return hitting_times(self._first_order, self._targets(targets))

    def to_first_order(self) -> MarkovChain:
        """Return the chain of order 1 of M symbols in a row, whose states are tuples of symbols.

        Sequences of M symbols and more keep their probability; moves between tuples that do not
        overlap are impossible.

        Examples
        --------
        >>> pair = MarkovChain([[0.5, 0], [0, 0.5]], [[[0.9, 0.1], [0.5, 0.5]]] * 2, states="ab")
        >>> first = pair.to_first_order()
        >>> bool(np.isclose(pair.log_prob("aab"), first.log_prob([("a", "a"), ("a", "b")])))
        True
        """
        if self.order <= 1:
            return MarkovChain(self.initial, self._first_order, states=self.states)
        return MarkovChain(self.initial.ravel(), self._first_order, states=self._contexts)

    # -- tables by context -------------------------------------------------------------------

    @cached_property
    def _rows(self) -> Array:
        """Laws of a symbol by its context, (K^M, K)."""
        table = self.initial if self.transition is None else self.transition
        return np.asarray(table).reshape(-1, self.n_states)

    @cached_property
    def _log_rows(self) -> Array:
        return log_of(self._rows)

    @cached_property
    def _log_tables(self) -> list[Array]:
        """Return ln p of each first symbol given those before, (K^m, K), and of moves (1, K^M, K)."""
        joints = [
            self.initial.sum(axis=tuple(range(m, self.order))) for m in range(1, self.order + 1)
        ]
        logs = []
        for joint in joints:
            rows = joint.reshape(-1, self.n_states)
            total = rows.sum(axis=1, keepdims=True)
            logs.append(log_of(rows / np.where(total > 0.0, total, 1.0)))
        return [*logs, self._log_rows[None]]

    @cached_property
    def _contexts(self) -> tuple[Any, ...]:
        names = self.states or tuple(range(self.n_states))
        return names if self.order <= 1 else tuple(product(names, repeat=self.order))

    @cached_property
    def _first_order(self) -> Array:
        """Transitions between contexts, (K^M, K^M)."""
        if self.order == 0:
            return np.tile(self.initial, (self.n_states, 1))
        count, size = len(self._rows), self.n_states
        moves = np.zeros((count, count))
        after = (np.arange(count)[:, None] * size + np.arange(size)) % count
        moves[np.arange(count)[:, None], after] = self._rows
        return moves

    def _log_prob(self, sequence: Any) -> float:
        codes = encode_symbols(sequence, self.states, self.n_states)
        if (codes == MISSING).any():
            coded = trim_gaps(CodedSequences([codes], np.ones(1)))
            gappy = GappySequences(coded, self.n_states, self.order, parts=1)
            return log_prob_of_gaps(gappy, self._log_tables) if coded.sequences else 0.0
        first = codes[: self.order]
        rest = tuple(range(len(first), self.initial.ndim))  # of a sequence shorter than M
        start = log_of(self.initial.sum(axis=rest)[tuple(first)]) if self.order else 0.0
        contexts = context_numbers(codes, self.n_states, self.order)
        return float(start + self._log_rows[contexts, codes[self.order :]].sum())

    def _targets(self, targets: Any) -> IntArray:
        names = self._contexts
        several = [targets] if _is_among(targets, names) else list(targets)
        unknown = [t for t in several if not _is_among(t, names)]
        if unknown or not several:
            raise ValueError(f"targets must be states, of {names[:8]}, got {targets!r}")
        return np.array(sorted(names.index(t) for t in several), dtype=np.int64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovChain):
            return NotImplemented
        return (
            np.array_equal(self.initial, other.initial)
            and np.array_equal(self._rows, other._rows)
            and (self.order, self.states) == (other.order, other.states)
        )


def _joint_probabilities(initial: Any) -> Array:
    table = np.asarray(nonnegative("initial", initial))
    if not table.ndim:
        raise ValueError(f"initial must be a vector of probabilities, got {initial!r}")
    return probability_vector("initial", table.ravel()).reshape(table.shape)


def _is_among(value: Any, names: tuple[Any, ...]) -> bool:
    try:
        return value in names
    except ValueError:  # an array is no name
        return False
