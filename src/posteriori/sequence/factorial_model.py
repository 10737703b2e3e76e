r"""Several hidden chains behind one sequence, whose effects add up.

.. math:: x_t = b + \sum_{m=1}^{M} w^m_{s^m_t} + \varepsilon_t, \qquad \varepsilon_t \sim \mathcal N(0, C),
          \qquad s^m_t \mid s^m_{t-1} \sim A^m.

Ten switches make 2¹⁰ joint states; one chain of these has 1,047,552 free transitions, ten chains of two
states have 20.

Reference: Z. Ghahramani & M. Jordan, "Factorial hidden Markov models", 1997.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import NOT_NEGATIVE, WHOLE, check_parameters, one_of
from posteriori.inference.factorial_chains.additive_normal import (
    FactorialRows,
    make_factorial_rows,
)
from posteriori.inference.factorial_chains.factorial_learning import (
    FactorialParameters,
    decode_rows,
    learn_factorial,
    smooth_rows,
)
from posteriori.inference.factorial_chains.factorial_units import (
    log_units,
    order_of_chains,
    seen_units,
)
from posteriori.inference.factorial_chains.kronecker_passes import FactorialPosterior, Sequences
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed
from posteriori.numerics.validation import require_moderate
from posteriori.sequence.sequence_rows import (
    SequenceTable,
    check_weights,
    join_sequences,
    split_rows,
)

__all__ = ["FactorialHiddenMarkovModel", "TransitionCounts"]

#: Joint states up to which passes are exact.
_EXACT = 4096

#: Joint states beyond which a single row is too much.
_MOST = 2**20


class TransitionCounts(NamedTuple):
    """Free parameters of transitions: of the chains, and of one chain of all joint states."""

    chains: int
    joint: int


class FactorialHiddenMarkovModel(BaseEstimator):
    """Several hidden chains whose effects add up, with normal noise, by maximum likelihood.

    Parameters
    ----------
    n_states : tuple of int
        States of each chain.
    method : {"auto", "exact", "variational"}
        Exact passes over all ΠK joint states in O(T ΣK ΠK), or one variational chain each (structured
        mean field) in O(T ΣK²) a sweep, with a bound in place of the likelihood. By default exact while
        ΠK ≤ 4096.
    n_init : int
        Starts; some steps from each show which one to follow.
    tol : float
        Nats that a step must gain.
    max_iter : int
        Steps of the ascent.
    callback : callable, optional
        Is told the number of the step and the objective, and stops the ascent by answering True.
    random_state : int, Generator or None
        Of the starts.

    Attributes
    ----------
    initial_ : tuple of (K_m,)
        Probabilities of first states.
    transition_ : tuple of (K_m, K_m)
        From row to column.
    intercept_ : (D,)
    effects_ : tuple of (K_m, D)
        0 on average over the rows. States are ordered by their effect on the first column, chains of
        equally many states by how much they explain.
    covariance_ : (D, D)
        Of the noise.
    inference_ : {"exact", "variational"}
        How it was learned.
    log_likelihood_ : float
        ln p(X), of seen entries; a lower bound of it where ``inference_`` is "variational".
    n_parameters_ : int
        Free ones.
    bic_ : float
        −2 ln p(X) + ``n_parameters_`` ln N; only where ``inference_`` is "exact".
    n_iter_ : int
    converged_ : bool
    trace_ : tuple of float
        The objective of the ascent, in units of the columns, at the start and after every step.

    Notes
    -----
    Ctrl-C ends the ascent and keeps what was learned. NaN is missing: rows or entries. Noise has at least a millionth of its column's variance.

    Chains are independent before anything is seen, and dependent given the data: exact probabilities
    know that, variational ones do not, and are too sure.

    Examples
    --------
    Two machines, on and off, and the sum of what they draw:

    >>> rng = np.random.default_rng(0)
    >>> on = np.cumsum(rng.random((500, 2)) < 0.05, axis=0) % 2
    >>> power = on @ [[30.0], [12.0]] + rng.normal(size=(500, 1))
    >>> m = FactorialHiddenMarkovModel((2, 2), random_state=0).fit(power)
    >>> [np.ptp(effect).round() for effect in m.effects_]
    [np.float64(30.0), np.float64(12.0)]
    >>> bool((m.predict(power) == on).mean() > 0.99)
    True
    """

    _constraints = {
        "method": one_of("auto", "exact", "variational"),
        "n_init": WHOLE,
        "max_iter": WHOLE,
        "tol": NOT_NEGATIVE,
    }

    def __init__(
        self,
        n_states: tuple[int, ...] = (2, 2),
        *,
        method: str = "auto",
        n_init: int = 10,
        tol: float = 1e-4,
        max_iter: int = 500,
        callback: Any = None,
        random_state: Seed = None,
    ) -> None:
        self.n_states = n_states
        self.method = method
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback
        self.random_state = random_state

    @staticmethod
    def transition_counts(n_states: tuple[int, ...]) -> TransitionCounts:
        """Return how many free transitions the chains have, and one chain of all joint states.

        Examples
        --------
        >>> FactorialHiddenMarkovModel.transition_counts((2,) * 10)
        TransitionCounts(chains=20, joint=1047552)
        """
        sizes = _sizes(n_states)
        joint = math.prod(sizes)
        return TransitionCounts(sum(k * (k - 1) for k in sizes), joint * (joint - 1))

    def fit(
        self, X: Any, y: Any = None, *, lengths: Any = None, sequence_weight: Any = None
    ) -> Self:
        """Learn from one sequence or several.

        Parameters
        ----------
        X : (T, D) array or table, or a list of them
            NaN is missing.
        y : None
        lengths : (S,), optional
            Rows of each sequence, where X holds several one after another.
        sequence_weight : (S,), optional
            How often each sequence counts: equal to repeating it.
        """
        check_parameters(self)
        sizes = _sizes(self.n_states)
        table = join_sequences(X, lengths)
        x = check_gappy_inputs(self, table.table, reset=True)
        weights = check_weights(sequence_weight, table.lengths)
        sequences = Sequences(
            table.lengths, np.ones(len(table.lengths)) if weights is None else weights
        )
        _require_rows(sizes, x)
        self._require_entries(x, sequences)
        mean, scale = seen_units(x, sequences)
        rows = make_factorial_rows((x - mean) / scale, sequences)
        exact = self._is_exact(sizes)
        found = learn_factorial(
            rows,
            sizes,
            as_generator(self.random_state),
            exact=exact,
            n_init=int(self.n_init),
            tol=self.tol,
            max_iter=int(self.max_iter),
            callback=self.callback,
        )
        self.inference_ = "exact" if exact else "variational"
        self.n_iter_, self.converged_, self.trace_ = found.n_iter, found.converged, found.trace
        known = smooth_rows(rows, sizes, found.parameters, exact=exact)
        self._settle(found.parameters, known, sequences, mean, scale)
        value = sequences.weights @ (known.log_evidence - log_units(x, scale, sequences))
        self.log_likelihood_ = float(value)
        self._count_parameters(float(sequences.row_weights.sum()))
        return self

    def predict(self, X: Any, *, lengths: Any = None) -> Any:
        """Return the states of the most probable path, (T, M): a column for each chain.

        A list of arrays for a list of sequences or with lengths. With variational chains it is each
        chain's own path.
        """
        table, rows, parameters, _ = self._rows_in_units(X, lengths)
        states = decode_rows(rows, self._chain_sizes, parameters, exact=self._exactly)
        return split_rows(states, table)

    def predict_proba(self, X: Any, *, lengths: Any = None) -> Any:
        """Return P(state of a chain | sequence): a list of M arrays (T, K_m).

        A list of such lists for a list of sequences or with lengths.
        """
        table, known, _ = self._smooth(X, lengths)
        if not table.listed:
            return list(known.probabilities)
        parts = [split_rows(p, table) for p in known.probabilities]
        return [list(one) for one in zip(*parts, strict=True)]

    def log_prob(self, X: Any, *, lengths: Any = None) -> Any:
        """Return ln p(x) of each sequence, (S,), or a number for one table; a bound if variational."""
        table, known, units = self._smooth(X, lengths)
        found = known.log_evidence - units
        return found if table.listed else np.float64(found[0])

    def score(self, X: Any, y: Any = None, *, lengths: Any = None) -> float:
        """Return ln p(X) per row."""
        table, known, units = self._smooth(X, lengths)
        return float((known.log_evidence - units).sum() / table.lengths.sum())

    def sample(self, length: int = 1, rng: Seed = None) -> tuple[Array, IntArray]:
        """Draw a sequence: its rows (length, D), and the states behind them (length, M)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        states = np.empty((length, len(self.effects_)), dtype=np.int64)
        for m, (initial, transition) in enumerate(
            zip(self.initial_, self.transition_, strict=True)
        ):
            states[:, m] = _draw_path(initial, transition, generator.random(length))
        noise = generator.standard_normal((length, len(self.covariance_)))
        rows = self.intercept_ + noise @ np.linalg.cholesky(self.covariance_).T
        for m, effect in enumerate(self.effects_):
            rows += effect[states[:, m]]
        return rows, states

    @property
    def _chain_sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.initial_))

    @property
    def _exactly(self) -> bool:
        return self.inference_ == "exact"

    def _smooth(self, X: Any, lengths: Any) -> tuple[SequenceTable, FactorialPosterior, Array]:
        table, rows, parameters, units = self._rows_in_units(X, lengths)
        known = smooth_rows(rows, self._chain_sizes, parameters, exact=self._exactly)
        return table, known, units

    def _rows_in_units(
        self, X: Any, lengths: Any
    ) -> tuple[SequenceTable, FactorialRows, FactorialParameters, Array]:
        """Return rows and parameters in units of the noise, and ln of these for each sequence."""
        check_is_fitted(self)
        table = join_sequences(X, lengths)
        x = check_gappy_inputs(self, table.table)
        sequences = Sequences(table.lengths, np.ones(len(table.lengths)))
        scale = np.sqrt(np.diag(self.covariance_))
        parameters = FactorialParameters(
            np.concatenate(self.initial_),
            np.concatenate([a.ravel() for a in self.transition_]),
            np.concatenate(self.effects_) / scale,
            self.covariance_ / np.outer(scale, scale),
        )
        rows = make_factorial_rows((x - self.intercept_) / scale, sequences)
        return table, rows, parameters, log_units(x, scale, sequences)

    def _require_entries(self, x: Array, sequences: Sequences) -> None:
        require_moderate("X", x)
        counted = ~np.isnan(x[sequences.row_weights > 0])
        if not counted.any(axis=0).all():
            name = column_names(self)[int(np.argmin(counted.any(axis=0)))]
            raise ValueError(f"X has no entry in {name}: leave the column out")

    def _is_exact(self, sizes: tuple[int, ...]) -> bool:
        joint = math.prod(sizes)
        if self.method == "exact" and joint > _MOST:
            raise ValueError(
                f"method='exact' takes at most {_MOST:,} joint states, n_states={self.n_states!r} has "
                f"{joint:,}; take method='variational'"
            )
        return self.method == "exact" or (self.method == "auto" and joint <= _EXACT)

    def _settle(
        self,
        learned: FactorialParameters,
        known: FactorialPosterior,
        sequences: Sequences,
        mean: Array,
        scale: Array,
    ) -> None:
        """Set the parameters in the units of the data; chains and their states in a fixed order."""
        sizes = tuple(a.shape[1] for a in known.probabilities)
        chains = learned.chains(sizes)
        effects = np.split(learned.effects, np.cumsum(sizes)[:-1])
        weights = sequences.row_weights / sequences.row_weights.sum()
        shares = [weights @ a for a in known.probabilities]
        middles = [share @ effect for share, effect in zip(shares, effects, strict=True)]
        effects = [effect - middle for effect, middle in zip(effects, middles, strict=True)]
        explained = [share @ (e**2).sum(axis=1) for share, e in zip(shares, effects, strict=True)]
        order = order_of_chains(sizes, explained)
        by_effect = [np.argsort(effect[:, 0], kind="stable") for effect in effects]
        self.initial_ = tuple(chains.initial[m][by_effect[m]] for m in order)
        self.transition_ = tuple(
            chains.transition[m][np.ix_(by_effect[m], by_effect[m])] for m in order
        )
        self.effects_ = tuple(effects[m][by_effect[m]] * scale for m in order)
        self.intercept_ = mean + sum(middles) * scale
        self.covariance_ = learned.cov * np.outer(scale, scale)

    def _count_parameters(self, n_rows: float) -> None:
        sizes, d = self._chain_sizes, len(self.intercept_)
        moves = sum(k * k - 1 for k in sizes)  # π and A
        self.n_parameters_ = moves + d * (1 + sum(k - 1 for k in sizes)) + d * (d + 1) // 2
        self.__dict__.pop("bic_", None)
        if self._exactly:
            self.bic_ = -2.0 * self.log_likelihood_ + self.n_parameters_ * math.log(n_rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _sizes(n_states: Any) -> tuple[int, ...]:
    """Return the numbers of states, whole and at least 1."""
    given = tuple(n_states) if isinstance(n_states, list | tuple | np.ndarray) else ()
    if not given or not all(WHOLE.allows(k) for k in given):
        raise ValueError(
            f"n_states must be a tuple of whole numbers >= 1, one for each chain, got {n_states!r}; "
            "for instance (2, 2)"
        )
    return tuple(int(k) for k in given)


def _draw_path(initial: Array, transition: Array, uniform: Array) -> IntArray:
    """Return the states that uniform numbers lead to."""
    edges, state = np.cumsum(transition, axis=1), -1
    path = np.empty(len(uniform), dtype=np.int64)
    for t, u in enumerate(uniform):
        row = np.cumsum(initial) if t == 0 else edges[state]
        state = min(int(np.searchsorted(row, u * row[-1], side="right")), len(row) - 1)
        path[t] = state
    return path


def _require_rows(sizes: tuple[int, ...], x: Array) -> None:
    if len(x) < max(sizes):
        raise ValueError(
            f"n_states={sizes} asks for {max(sizes)} states of a chain, X has n_samples={len(x)}; give "
            "more rows or ask for fewer states"
        )
