r"""A hidden Markov chain with known parameters: a value that answers every question about states.

.. math:: p(x, z) = \pi_{z_1} \prod_{t=2}^{T} A_{z_{t-1} z_t} \prod_{t=1}^{T} p(x_t\mid z_t)

The answers are exact: sums and maxima over all :math:`K^T` paths by the passes of
:mod:`posteriori.inference`, in O(T K²).

Reference: Rabiner (1989), A tutorial on hidden Markov models; Bishop (2006), section 13.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors import Factor
from posteriori.inference.state_chains.hidden_markov import HiddenMarkovPosterior, MostLikelyPath
from posteriori.inference.state_chains.run_lengths import RunLengthPosterior
from posteriori.inference.state_chains.state_filters import FilteredStates
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import probability_vector
from posteriori.sequence.chain_parameters import (
    check_rows,
    check_states,
    decode_states,
    encode_states,
    log_of,
)
from posteriori.sequence.emission_densities import (
    EmissionDensities,
    FamilyDensities,
    emission_densities,
)
from posteriori.sequence.state_passes import PlainPasses, RunLengthPasses

__all__ = ["HiddenMarkovChain", "HiddenMarkovSample"]


class HiddenMarkovSample(NamedTuple):
    """A draw from a hidden Markov chain: states (T,), and what they emitted, (T,) or (T, D)."""

    states: Any
    observations: Any


@dataclass(frozen=True, eq=False)
class HiddenMarkovChain:
    """A hidden Markov chain with known parameters.

    Parameters
    ----------
    initial : (K,)
        π, probabilities of the first state.
    transition : (K, K)
        A, from row to column; rows sum to 1. With ``durations``, from a run to the next: the diagonal
        is 0.
    emission : distribution, or object with ``log_prob`` and ``sample``
        What states emit. A distribution with batch (K,), whose event is a row of data (a number, a
        symbol, a vector), or with batch (K, D): columns that are independent given the state. Of
        any other object ``log_prob(x)`` gives (T, K) for rows (T, D), and ``sample(codes, rng)``
        a row for each state.
    durations : (K, longest), optional
        Probabilities that a run of each state lasts 1, …, longest rows; rows sum to 1. A run starts
        with the first row, and the end of a sequence cuts the last one. By default runs last
        geometrically, by the diagonal of A.
    states : sequence of K names, optional
        Names of the states; answers hold names then, not numbers.

    Notes
    -----
    A sequence ``x`` is an array (T,) or (T, D), a table, or a list of rows. NaN is missing: by entry
    for independent columns, ``MvNormal`` and ``MvStudentT``, by row for other vectors.

    Examples
    --------
    >>> from posteriori import Categorical
    >>> hmm = HiddenMarkovChain(
    ...     [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], Categorical([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    ... )
    >>> x = [0, 1, 2]
    >>> np.exp(hmm.log_prob(x)).round(5)
    np.float64(0.03628)
    >>> hmm.smooth(x).probabilities.round(4)
    array([[0.8765, 0.1235],
           [0.6229, 0.3771],
           [0.2121, 0.7879]])
    >>> hmm.decode(x).states
    array([0, 0, 1])
    """

    initial: Any
    transition: Any
    emission: Any
    _: KW_ONLY
    durations: Any = None
    states: Any = None

    def __post_init__(self) -> None:
        size = len(probability_vector("initial", self.initial))
        checked = {
            "initial": check_rows("initial", self.initial, (size,)),
            "transition": check_rows("transition", self.transition, (size, size)),
            "durations": _check_durations(self.durations, self.transition, size),
            "states": check_states(self.states, size),
        }
        self.__dict__.update(checked)
        emission_densities(self.emission, size)  # refuses what does not fit

    @property
    def n_states(self) -> int:
        """Number of states K."""
        return len(self.initial)

    # -- probabilities -----------------------------------------------------------------------

    def log_prob(self, x: Any) -> Any:
        """Return ln p(x), summed over all paths: a number, or (S,) of a list of S sequences.

        Raises
        ------
        ValueError
            When a sequence is impossible; its first impossible row is named.
        """
        if not self._is_list(x):
            return np.float64(self._passes.log_evidence(self._read(x)))
        sequences = [self.densities.read(one) for one in x]
        rows, lengths = np.concatenate(sequences), [len(one) for one in sequences]
        return self._passes.log_evidence(self._scores(rows), lengths)

    def smooth(self, x: Any, *, pairs: bool = False) -> HiddenMarkovPosterior | RunLengthPosterior:
        """Return P(z_t | x), expected transitions and ln p(x); P(z_t, z_{t+1} | x) by ``pairs``.

        With ``durations`` also the expected numbers of runs by length.
        """
        return self._passes.smooth(self._read(x), pairs)

    def joint_log_prob(self, x: Any, states: Any) -> np.float64:
        """Return ln p(x, z) of a path; −inf where it is impossible."""
        scores = self._read(x)
        path = encode_states(states, self.states, self.n_states)
        if path.shape != (len(scores),):
            raise ValueError(f"states must have shape ({len(scores)},) as x has, got {path.shape}")
        return np.float64(self._passes.joint(scores, path))

    # -- paths -------------------------------------------------------------------------------

    def decode(self, x: Any, n: int | None = None) -> MostLikelyPath:
        """Return the most probable path (T,) and its ln p(x, z), or the n best (n, T), best first.

        Of equals, the one whose state is lower at the last row where they differ comes first.
        Where fewer than n paths are possible, there are fewer.
        """
        best = self._passes.best(self._read(x), 1 if n is None else n)
        if n is None:
            best = MostLikelyPath(best.states[0], best.log_joint[0])
        return best._replace(states=decode_states(best.states, self.states))

    def optimal_paths(self, x: Any, limit: int | None = 1000) -> Iterator[Any]:
        """Yield all paths of highest probability, at most ``limit`` of them (None: all).

        Paths count as equal whose ln p(x, z) rounding cannot tell apart.

        Examples
        --------
        >>> from posteriori import Categorical
        >>> fair = HiddenMarkovChain([0.5, 0.5], [[0.5, 0.5]] * 2, Categorical([[0.5, 0.5]] * 2))
        >>> [path.tolist() for path in fair.optimal_paths([0, 1])]
        [[0, 0], [1, 0], [0, 1], [1, 1]]
        """
        paths = self._passes.ties(self._read(x))
        return (decode_states(path, self.states) for path in islice(paths, limit))

    def sample_paths(self, x: Any, size: int = 1, *, rng: Seed = None) -> Any:
        """Draw whole paths (size, T) from P(z | x)."""
        return decode_states(self._passes.draw(self._read(x), size, rng), self.states)

    # -- as rows arrive ----------------------------------------------------------------------

    def filter(self, x: Any) -> FilteredStates:
        """Return P(z_t | x_1, …, x_t) of every row, and ln p(x); :meth:`step` goes on from it."""
        return self._passes.filter(self._read(x))

    def step(self, now: FilteredStates, row: Any) -> FilteredStates:
        """Go on with one more row.

        Examples
        --------
        >>> from posteriori import Categorical
        >>> hmm = HiddenMarkovChain(
        ...     [0.6, 0.4],
        ...     [[0.7, 0.3], [0.4, 0.6]],
        ...     Categorical([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]),
        ... )
        >>> now = hmm.step(hmm.filter([0, 1]), 2)
        >>> bool(np.isclose(now.log_evidence, hmm.log_prob([0, 1, 2])))
        True
        """
        return self._passes.step(now, self._read([row]))

    def forecast(self, x: Any, horizon: int) -> Any:
        """Return the distributions of the next rows: a batch (horizon,) of mixtures over states.

        Columns that are independent given the state belong together in a row, as a state raises or lowers
        them all: of normal ones rows are mixtures of ``MvNormal``, of others a :class:`RowMixture`.
        """
        if horizon < 1:
            raise ValueError(f"horizon must be at least 1, got {horizon}")
        missing = np.zeros((horizon, self.n_states))  # rows that say nothing of their states
        rows = self.densities.read(x)
        now = self._passes.filter(self._scores(rows))
        return self.densities.mix(self._passes.step(now, missing).probabilities, rows.shape[1])

    def sample(self, length: int, *, rng: Seed = None) -> HiddenMarkovSample:
        """Draw a sequence of states and what they emit."""
        generator = as_generator(rng)
        if length < 1:
            raise ValueError(f"length must be at least 1, got {length}")
        codes = self._passes.draw(np.zeros((length, self.n_states)), 1, generator)[0]
        drawn = self.densities.sample(codes, generator)
        return HiddenMarkovSample(decode_states(codes, self.states), drawn)

    # -- as a graph --------------------------------------------------------------------------

    def to_factors(self, x: Any) -> list[Factor]:
        """Return p(x, z) as factors h(z1), f(z1, z2), …, with the emissions absorbed.

        Examples
        --------
        >>> from posteriori import Categorical
        >>> from posteriori.factors import contract
        >>> hmm = HiddenMarkovChain(
        ...     [0.6, 0.4],
        ...     [[0.7, 0.3], [0.4, 0.6]],
        ...     Categorical([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]),
        ... )
        >>> contract(hmm.to_factors([0, 1, 2]), "z2").normalize().factor
        Factor over z2
        z2  value
        0   0.622933
        1   0.377067
        """
        first, others = self._passes.factors(self._read(x))
        names = [f"z{t + 1}" for t in range(len(others) + 1)]
        values = self.states or tuple(range(self.n_states))
        factors = [Factor.from_log(names[0], first, [values])]
        for a, b, table in zip(names, names[1:], others, strict=False):
            factors.append(Factor.from_log([a, b], table, [values, values]))
        return factors

    # -- reading -----------------------------------------------------------------------------

    @cached_property
    def densities(self) -> EmissionDensities | FamilyDensities:
        """Densities of rows in each state, and draws of them."""
        return emission_densities(self.emission, self.n_states)

    @cached_property
    def _passes(self) -> PlainPasses | RunLengthPasses:
        logs = log_of(self.initial), log_of(self.transition)
        if self.durations is None:
            return PlainPasses(*logs)
        return RunLengthPasses(*logs, log_of(self.durations))

    def _read(self, x: Any) -> Array:
        """Return ln p(x_t | z_t = k), (T, K), of one sequence."""
        if self._is_list(x):
            raise ValueError("x must be one sequence here; of a list, ask for each sequence")
        return self._scores(self.densities.read(x))

    def _scores(self, rows: Array) -> Array:
        scores = self.densities.log_prob(rows)
        if scores.shape != (len(rows), self.n_states):
            raise ValueError(
                f"log_prob of the emission must give ({len(rows)}, {self.n_states}) for as many "
                f"rows and states, got {scores.shape}"
            )
        return scores

    def _is_list(self, x: Any) -> bool:
        """Tell a list of sequences from one sequence by the axes of its first entry."""
        if not isinstance(x, list | tuple) or not len(x) or isinstance(x[0], str):
            return np.ndim(x) == 3 if isinstance(x, np.ndarray) else False
        return np.ndim(x[0]) > (0 if self.densities.scalar else 1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HiddenMarkovChain):
            return NotImplemented
        return (
            np.array_equal(self.initial, other.initial)
            and np.array_equal(self.transition, other.transition)
            and _same(self.durations, other.durations)
            and self.states == other.states
            and bool(self.emission == other.emission)
        )


def _check_durations(durations: Any, transition: Any, size: int) -> Array | None:
    if durations is None:
        return None
    table = probability_vector("durations", durations)
    if table.ndim != 2 or len(table) != size:
        raise ValueError(f"durations must have shape ({size}, longest), got {table.shape}")
    stays = np.flatnonzero(np.diagonal(transition) > 0.0)
    if len(stays):
        raise ValueError(
            "transition leads from a run to the next where durations are given: its diagonal must "
            f"be 0, state {stays[0]} follows itself with probability "
            f"{np.diagonal(transition)[stays[0]]:g}"
        )
    return table


def _same(a: Array | None, b: Array | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)
