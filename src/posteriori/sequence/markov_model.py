"""Markov chains learned from sequences of symbols: exact beliefs and evidence, or shares."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from functools import reduce
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.parameters import (
    NOT_NEGATIVE,
    POSITIVE,
    check_parameters,
    one_of,
)
from posteriori.numerics.evidence import Fingerprint, Kind, LogEvidence
from posteriori.numerics.types import Array, Seed
from posteriori.sequence.chain_parameters import check_states, log_of
from posteriori.sequence.markov_chain import MarkovChain
from posteriori.sequence.markov_counts import MarkovCounts, count_symbols
from posteriori.sequence.symbol_gaps import (
    GappySequences,
    are_countable,
    bound_gaps,
    fill_most_likely,
    log_prob_of_gaps,
    sum_completions,
)
from posteriori.sequence.symbol_sequences import (
    MISSING,
    CodedSequences,
    code_sequences,
    is_missing,
    list_sequences,
    symbols_of,
    trim_gaps,
)

__all__ = ["MarkovModel", "MarkovPosterior"]


#: What one method sets and another does not.
_LEARNED = ("model_", "posterior_", "log_evidence_", "log_likelihood_", "bic_")


class MarkovPosterior(NamedTuple):
    """Beliefs about the tables of a Markov chain.

    Attributes
    ----------
    initial : tuple of M Dirichlet
        Of the first symbol, of the second given the first, …: batches (), (K,), (K, K), ….
    transition : Dirichlet
        Of a symbol given the M before it: a batch of M axes, with one more in front where each step
        has its own table.
    """

    initial: tuple[Dirichlet, ...]
    transition: Dirichlet


class _Known(NamedTuple):
    """Counts of what no missing symbol touches, and the sequences that have such symbols."""

    counts: MarkovCounts
    gappy: GappySequences

    def add(self, other: _Known) -> _Known:
        """Return both together."""
        mine, more = self.gappy.coded, other.gappy.coded
        weights = np.concatenate([mine.weights, more.weights])
        both = CodedSequences([*mine.sequences, *more.sequences], weights)
        return _Known(self.counts.add(other.counts), self.gappy._replace(coded=both))


class MarkovModel(ApproximatePosterior, BaseEstimator):
    """A Markov chain of order M learned from sequences of symbols.

    Parameters
    ----------
    order : int
        How many predecessors a symbol depends on; 0 makes symbols independent.
    concentration : float
        Dirichlet prior of each cell, of the first M symbols together and of each row of the table.
    homogeneous : bool
        Whether one table serves all steps; False: each step has its own.
    method : {"bayes", "maximum-likelihood"}
        Beliefs with exact evidence, or shares of counts; of expected ones where symbols are missing.
    states : sequence, optional
        All symbols there are; those of the data (of the first chunk) if None.

    Attributes
    ----------
    states_ : tuple
        The symbols, in the order of the tables.
    model_ : MarkovChain
        With the posterior means, or the shares of counts; not where each step has its own table.
    initial_, transition_ : arrays
        Its tables; ``transition_`` has an axis of steps in front where each has its own.
    posterior_ : MarkovPosterior
        Of "bayes"; where symbols are missing, with expected counts in the place of counts.
    log_evidence_ : LogEvidence
        Of "bayes": of every symbol, also the first ones, so that orders compare.
    counts_ : MarkovCounts
    log_likelihood_, bic_ : float
        Of "maximum-likelihood".

    Notes
    -----
    Sequences are a list of lists (or arrays) of symbols of any kind, or one sequence; sequences
    shorter than M count for what they hold.

    None and NaN are missing symbols, which are summed over. No closed form does this with the tables unknown: up
    to 2¹⁶ ways of filling gaps are enumerated, and the evidence is exact; beyond, variational Bayes gives
    ``log_evidence_`` of kind "bound". Missing symbols at the end of a sequence, and all of order 0, say nothing
    and cost nothing; the evidence of sequences with gaps that count by fractions is bounded, too.
    "maximum-likelihood" is EM. Given learned beliefs, ``log_prob`` has expected counts for counts.

    Examples
    --------
    >>> model = MarkovModel(order=1).fit([list("ABABBA"), list("BBA")])
    >>> model.log_evidence_
    LogEvidence(-6.984716, kind="exact", of="X")
    >>> model.transition_.round(3)
    array([[0.25 , 0.75 ],
           [0.571, 0.429]])
    >>> MarkovModel(order=1).fit([["A", "B", None, "B", "B", "A"], list("BBA")]).log_evidence_
    LogEvidence(-6.365677, kind="exact", of="X")
    """

    _constraints = {
        "order": NOT_NEGATIVE._replace(words="be a whole number >= 0", whole=True),
        "concentration": POSITIVE,
        "method": one_of("bayes", "maximum-likelihood"),
    }

    def __init__(
        self,
        order: int = 1,
        concentration: float = 1.0,
        homogeneous: bool = True,
        method: str = "bayes",
        states: Any = None,
    ) -> None:
        self.order = order
        self.concentration = concentration
        self.homogeneous = homogeneous
        self.method = method
        self.states = states

    states_: tuple[Hashable, ...]

    def fit(
        self,
        sequences: Any,
        y: Any = None,
        *,
        lengths: ArrayLike | None = None,
        sequence_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from sequences; one of weight w counts as w equal ones."""
        check_parameters(self)
        listed = list_sequences(sequences, lengths)
        states = self._alphabet(listed)
        coded = code_sequences(listed, states, sequence_weight)
        self._set(states, self._read(coded, states), _fingerprint(coded))
        return self

    def partial_fit(
        self,
        sequences: Any,
        y: Any = None,
        *,
        lengths: ArrayLike | None = None,
        sequence_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from further sequences; the result is that of all of them at once."""
        if not hasattr(self, "counts_"):
            return self.fit(sequences, lengths=lengths, sequence_weight=sequence_weight)
        listed = list_sequences(sequences, lengths)
        coded = code_sequences(listed, self.states_, sequence_weight)
        both = self._known.add(self._read(coded, self.states_))
        self._set(self.states_, both, self._fingerprint.merge(_fingerprint(coded)))
        return self

    def log_prob(self, sequences: Any, *, lengths: ArrayLike | None = None) -> Array:
        """Return ln p of each sequence (S,) given what was learned, tables integrated out.

        Missing symbols are summed over; where they are too many for that, ``model_.log_prob`` does so with the
        tables at their means.
        """
        check_is_fitted(self)
        coded = code_sequences(list_sequences(sequences, lengths), self.states_)
        each = zip(coded.sequences, coded.weights, strict=True)
        alone = [CodedSequences([codes], np.array([weight])) for codes, weight in each]
        return np.array([self._log_prob(s, one) for s, one in enumerate(alone)])

    def score(self, sequences: Any, y: Any = None, *, lengths: ArrayLike | None = None) -> float:
        """Return the log probability of a symbol, on average over all."""
        logs = self.log_prob(sequences, lengths=lengths)
        every = (symbol for one in list_sequences(sequences, lengths) for symbol in one)
        return float(logs.sum() / max(sum(not is_missing(symbol) for symbol in every), 1))

    def sample(self, length: int, *, rng: Seed = None) -> Any:
        """Draw a sequence from ``model_``."""
        check_is_fitted(self)
        return self.model_.sample(length, rng=rng)

    # -- steps of the fit --------------------------------------------------------------------

    def _alphabet(self, listed: list[Any]) -> tuple[Hashable, ...]:
        found = symbols_of(listed)
        if self.states is None:
            return found
        return check_states(self.states, len(self.states)) or found

    def _read(self, coded: CodedSequences, states: tuple[Hashable, ...]) -> _Known:
        """Count what no missing symbol touches, and keep the sequences that have such symbols."""
        kept, size, order = trim_gaps(coded), len(states), int(self.order)
        parts = 1 if self.homogeneous else None
        counts = count_symbols(kept, size, order, parts=parts)
        return _Known(counts, GappySequences.among(kept, size, order, parts))

    def _log_prob(self, s: int, one: CodedSequences) -> float:
        """Return ln p of one sequence given what was learned."""
        known = self._read(one, self.states_)
        if self.method != "bayes":
            return log_prob_of_gaps(
                known.gappy._replace(coded=trim_gaps(one)), [log_of(t) for t in self._tables]
            )
        seen = self.counts_.add(known.counts)
        before = self.counts_.log_evidence(self.concentration)
        if not known.gappy.coded.sequences:
            return seen.log_evidence(self.concentration) - before
        if not are_countable(known.gappy, seen):
            raise ValueError(
                f"sequence {s} misses {len(known.gappy.gaps)} symbols, too many to sum over with the tables "
                "integrated out; ask model_.log_prob, which sums over any number with the tables at their means"
            )
        return sum_completions(known.gappy, seen, self.concentration).value - before

    def _solve(self, known: _Known) -> tuple[MarkovCounts, float, Kind]:
        """Return expected counts, the log evidence or likelihood, and its kind."""
        counts, gappy = known.counts, known.gappy.repeated()
        bayes, alpha = self.method == "bayes", self.concentration
        if not gappy.coded.sequences:
            value = counts.log_evidence(alpha) if bayes else counts.log_likelihood()
            return counts, value, "exact"
        if not bayes:
            value, filled = fill_most_likely(gappy, counts)
            return filled, value, "exact"
        if are_countable(gappy, counts):
            value, filled = sum_completions(gappy, counts, alpha)
            return filled, value, "exact"
        value, filled = bound_gaps(gappy, counts, alpha)
        return filled, value, "bound"

    def _set(self, states: tuple[Hashable, ...], known: _Known, fingerprint: Fingerprint) -> None:
        bayes = self.method == "bayes"
        counts, value, kind = self._solve(known)
        first, moves = counts.beliefs(self.concentration if bayes else 0.0)
        size, order = len(states), int(self.order)
        rows, table = [_shares(one) for one in first], _shares(moves, warn=not bayes)
        for name in _LEARNED:  # what another method left
            self.__dict__.pop(name, None)
        self.states_, self.counts_, self._fingerprint = states, counts, fingerprint
        self._known, self._tables = known, (*rows, table)
        self.initial_ = reduce(_extend, rows).reshape((size,) * order) if order else None
        steps = () if self.homogeneous else (len(moves),)
        self.transition_ = table.reshape(*steps, *(size,) * (order + 1))
        if self.homogeneous:
            self.model_ = _chain(self.initial_, self.transition_, states)
        if bayes:
            laws = [Dirichlet(one.reshape((size,) * (m + 1))) for m, one in enumerate(first)]
            law = Dirichlet(moves.reshape(self.transition_.shape))
            self.posterior_ = MarkovPosterior(tuple(laws), law)
            self.log_evidence_ = LogEvidence(value, kind=kind, of="X", fingerprint=fingerprint)
        else:
            self.log_likelihood_ = value
            free = size**order - 1 + len(moves) * size**order * (size - 1)
            self.bic_ = free * np.log(fingerprint.count) - 2.0 * self.log_likelihood_


def _shares(counts: Array, *, warn: bool = False) -> Array:
    """Return rows (..., K) over their sums; uniform ones where nothing was counted."""
    totals = counts.sum(axis=-1, keepdims=True)
    empty = totals[..., 0] == 0.0
    if warn and empty.any():
        warnings.warn(
            f"{int(empty.sum())} of {empty.size} rows of the transition table were never seen and are "
            'uniform; method="bayes" says how uncertain they are',
            stacklevel=4,
        )
    return np.where(
        empty[..., None], 1.0 / counts.shape[-1], counts / np.where(totals, totals, 1.0)
    )


def _extend(p: Array, after: Array) -> Array:
    """Return p(x_1, …, x_{m+1}), (K^m, K), from p(x_1, …, x_m) and the next symbol's table."""
    return p.reshape(-1, 1) * after


def _chain(initial: Array | None, transition: Array, states: tuple[Hashable, ...]) -> MarkovChain:
    if initial is None:
        return MarkovChain(transition, states=states)
    return MarkovChain(initial, transition, states=states)


def _fingerprint(coded: CodedSequences) -> Fingerprint:
    found = Fingerprint()
    for codes, weight in zip(coded.sequences, coded.weights, strict=True):
        rows = np.where(codes == MISSING, np.nan, codes + 1.0)  # the bits of 0 are no trace
        found = found.update(rows, np.full(len(rows), weight))
    return found
