r"""Missing symbols of Markov chains: sums over all that could stand there.

Only factors :math:`p(x_t\mid x_{t-M}, …, x_{t-1})` that a missing symbol touches know of it. Stretches of such
factors, from M symbols before a gap to M after it, are passed over as hidden chains of M symbols in a row, given
tables. With tables integrated out, all completions are enumerated where they are few,

.. math:: p(x_{\text{seen}}) = \sum_{x_{\text{missing}}} p(x_{\text{seen}}, x_{\text{missing}}),

and bounded from below by variational Bayes where they are many.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import maximize_by_em
from posteriori.inference.state_chains.hidden_markov import forward_backward, impossible_steps
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, IntArray
from posteriori.sequence.chain_parameters import log_of
from posteriori.sequence.markov_counts import (
    MarkovCounts,
    count_symbols,
    log_row_evidences,
    table_numbers,
)
from posteriori.sequence.symbol_sequences import MISSING, CodedSequences, touched_steps

__all__ = [
    "GapSums",
    "GappySequences",
    "are_countable",
    "bound_gaps",
    "fill_most_likely",
    "log_prob_of_gaps",
    "sum_completions",
]

#: Completions, and numbers of all their tables, up to which they are enumerated.
_MOST_COMPLETIONS, _MOST_CELLS = 2**16, 2 * 10**8

#: Sequences that are written out as often as they count.
_MOST_REPEATED = 64

#: Spread of logarithms in a start that tells symbols apart.
_UNEVEN = 0.5

#: Numbers of tables that are held at once.
_AT_ONCE = 10**6


class GappySequences(NamedTuple):
    """Sequences with missing symbols, of a chain of order M over K symbols.

    Equal parts of each have a table of their own; all steps where ``parts`` is None.
    """

    coded: CodedSequences
    size: int
    order: int
    parts: int | None

    @classmethod
    def among(
        cls, coded: CodedSequences, size: int, order: int, parts: int | None
    ) -> GappySequences:
        """Return those of some sequences that miss symbols on which others depend."""
        pairs = zip(coded.sequences, coded.weights, strict=True)
        rest = [(codes, w) for codes, w in pairs if (codes == MISSING).any() and order and w]
        weights = np.array([w for _, w in rest])
        return cls(CodedSequences([codes for codes, _ in rest], weights), size, order, parts)

    @property
    def gaps(self) -> list[tuple[int, int]]:
        """Sequence and place of each missing symbol that a factor depends on."""
        return [
            (s, int(t))
            for s, codes in enumerate(self.coded.sequences)
            for t in np.flatnonzero(codes == MISSING)
            if self.order
        ]

    def repeated(self) -> GappySequences:
        """Return sequences that count several times as so many, as each has gaps of its own."""
        sequences, weights = self.coded
        if not np.array_equal(weights, np.rint(weights)) or weights.sum() > _MOST_REPEATED:
            return self
        times = weights.astype(np.int64)
        many = [codes for codes, n in zip(sequences, times, strict=True) for _ in range(n)]
        return self._replace(coded=CodedSequences(many, np.ones(len(many))))


class GapSums(NamedTuple):
    """What sequences with gaps say.

    Attributes
    ----------
    value : float
        ln p of all symbols that are seen, or a bound of it.
    counts : MarkovCounts
        Expected ones, those that are seen among them.
    """

    value: float
    counts: MarkovCounts


# -- tables integrated out -----------------------------------------------------------------------


def are_countable(gappy: GappySequences, seen: MarkovCounts) -> bool:
    """Tell whether all completions can be enumerated: not of many, nor of sequences that count in parts."""
    many = gappy.size ** min(len(gappy.gaps), 64)
    cells = seen.moves.size + sum(one.size for one in seen.first)
    whole = bool(np.all(gappy.coded.weights == 1.0))
    return whole and many <= _MOST_COMPLETIONS and many * cells <= _MOST_CELLS


def sum_completions(gappy: GappySequences, seen: MarkovCounts, concentration: float) -> GapSums:
    """Return exact evidence and expected counts, by enumeration.

    Parameters
    ----------
    gappy : GappySequences
    seen : MarkovCounts
        Of all factors that no gap touches, also of other sequences.
    concentration : float
    """
    gaps, size = gappy.gaps, gappy.size
    many = size ** len(gaps)
    cells = seen.moves.size + sum(one.size for one in seen.first)
    step = max(_AT_ONCE // cells, 1)
    value, total = -np.inf, [np.zeros_like(one) for one in (*seen.first, seen.moves)]
    for begin in range(0, many, step):
        numbers = np.arange(begin, min(begin + step, many))
        symbols = np.stack(np.unravel_index(numbers, (size,) * len(gaps)), axis=1)
        tables = _count_completions(gappy, seen, gaps, symbols)
        alphas = (*seen.first_concentrations(concentration), concentration)
        pairs = zip(tables, alphas, strict=True)
        logs = np.sum([log_row_evidences(one, alpha) for one, alpha in pairs], axis=0)
        after = np.logaddexp(value, log_sum_exp(logs, axis=0))
        shares, before = np.exp(logs - after), np.exp(value - after)
        total = [
            before * old + np.tensordot(shares, one, 1)
            for old, one in zip(total, tables, strict=True)
        ]
        value = float(after)
    return GapSums(value, MarkovCounts(tuple(total[:-1]), total[-1]))


def _count_completions(
    gappy: GappySequences, seen: MarkovCounts, gaps: list[tuple[int, int]], symbols: IntArray
) -> list[Array]:
    """Return the counts (C, ...) of all tables, first ones first, under C completions."""
    c, m, k = np.arange(len(symbols)), gappy.order, gappy.size
    tables = [np.repeat(one[None], len(c), axis=0) for one in (*seen.first, seen.moves)]
    for s, codes in enumerate(gappy.coded.sequences):
        numbers = table_numbers(len(codes) - m, gappy.parts)
        filled = np.repeat(codes[None], len(c), axis=0)
        for g, (where, t) in enumerate(gaps):
            if where == s:
                filled[:, t] = symbols[:, g]
        for at in np.flatnonzero(touched_steps(codes, m)).tolist():
            context = np.zeros(len(c), dtype=np.int64)
            for before in range(max(at - m, 0), at):
                context = context * k + filled[:, before]
            if at < m:
                tables[at][c, context, filled[:, at]] += 1.0
            else:
                tables[m][c, numbers[at - m], context, filled[:, at]] += 1.0
    return tables


def bound_gaps(gappy: GappySequences, seen: MarkovCounts, concentration: float) -> GapSums:
    """Return a lower bound of the evidence and expected counts, by variational Bayes."""

    def expect(hidden: tuple[Array, ...]) -> tuple[tuple[Array, ...], float]:
        counts = seen.add(_as_counts(hidden))
        first, moves = counts.beliefs(concentration)
        logs = [_expected_logs(one) for one in (*first, moves)]
        value, found = _pass_over(gappy, logs)
        spent = sum(float(np.vdot(n, e)) for n, e in zip(hidden, logs, strict=True))
        return found, value - spent + counts.log_evidence(concentration)

    even = tuple(np.zeros_like(one) for one in (*seen.first, seen.moves))
    rng = np.random.default_rng(0)  # where symbols are alike, the even start is a saddle
    uneven = [rng.normal(scale=_UNEVEN, size=one.shape) for one in even]
    starts = even, _pass_over(gappy, uneven)[1]
    ascents = [maximize_by_em(expect, lambda hidden: hidden, start) for start in starts]
    best = max(ascents, key=lambda one: one.trace[-1])
    return GapSums(float(best.trace[-1]), seen.add(_as_counts(best.parameters)))


# -- known tables --------------------------------------------------------------------------------


def fill_most_likely(gappy: GappySequences, seen: MarkovCounts) -> GapSums:
    """Return the largest likelihood and the expected counts there, by EM."""

    def tables(counts: MarkovCounts) -> list[Array]:
        each = (*counts.first, counts.moves)
        return [log_of(_shares(one)) for one in each]

    def expect(hidden: tuple[Array, ...]) -> tuple[tuple[Array, ...], float]:
        logs = tables(seen.add(_as_counts(hidden)))
        value, found = _pass_over(gappy, logs)
        return found, value + _log_likelihood(seen, logs)

    everything = MarkovCounts(
        tuple(one + 1.0 for one in seen.first), seen.moves + 1.0
    )  # nothing is impossible at the start
    start = _pass_over(gappy, tables(everything))[1]
    ascent = maximize_by_em(expect, lambda hidden: hidden, start)
    return GapSums(float(ascent.trace[-1]), seen.add(_as_counts(ascent.parameters)))


def log_prob_of_gaps(gappy: GappySequences, logs: list[Array]) -> float:
    """Return ln p(seen symbols) of sequences given ln tables; −inf where they are impossible.

    Parameters
    ----------
    gappy : GappySequences
    logs : M arrays (K^m, K) of first symbols, and (steps, K^M, K) of moves
    """
    seen = count_symbols(gappy.coded, gappy.size, gappy.order, parts=gappy.parts)
    if len(seen.moves) > len(logs[-1]):
        raise ValueError(
            f"the model has tables for {len(logs[-1])} steps, a sequence has {len(seen.moves)} moves"
        )
    return _pass_over(gappy, logs)[0] + _log_likelihood(seen, logs)


def _log_likelihood(counts: MarkovCounts, logs: list[Array]) -> float:
    total = 0.0
    for n, log_table in zip((*counts.first, counts.moves), logs, strict=True):
        inside = n > 0.0
        total += float((n[inside] * log_table[: len(n)][inside]).sum())
    return total


# -- passes over stretches -----------------------------------------------------------------------


class _Stretch(NamedTuple):
    """Symbols of a sequence around gaps.

    Which tables its moves go by, how often they count, and whether gaps touch the law of first symbols.
    """

    codes: IntArray
    tables: IntArray
    weight: float
    at_start: bool


def _pass_over(gappy: GappySequences, logs: list[Array]) -> tuple[float, tuple[Array, ...]]:
    """Return Σ w ln Σ exp(Σ ln factors) over the factors that gaps touch, and their expected counts."""
    sums = tuple(np.zeros_like(one) for one in logs)
    if not gappy.order:
        return 0.0, sums
    stretches = list(_stretches(gappy))
    value = 0.0
    for one in stretches:
        if len(one.codes) <= gappy.order:
            value += _pass_over_start(one, gappy, logs, sums)
    longer = [one for one in stretches if len(one.codes) > gappy.order]
    return value + (_pass_over_longer(longer, gappy, logs, sums) if longer else 0.0), sums


def _stretches(gappy: GappySequences) -> Iterator[_Stretch]:
    m = gappy.order
    for codes, weight in zip(gappy.coded.sequences, gappy.coded.weights, strict=True):
        touched = np.flatnonzero(touched_steps(codes, m))
        tables = table_numbers(len(codes) - m, gappy.parts)
        for part in np.split(touched, np.flatnonzero(np.diff(touched) > 1) + 1):
            if len(part):
                begin, end = max(int(part[0]) - m, 0), int(part[-1]) + 1
                at_start = bool(part[0] < m)
                moves = tables[begin : max(end - m, 0)]
                yield _Stretch(codes[begin:end], moves, float(weight), at_start)


def _first_joint(length: int, logs: list[Array]) -> Array:
    """Return ln p of all tuples of the first symbols, (K^length,)."""
    joint = np.zeros(1)
    for m in range(length):
        joint = (joint[:, None] + logs[m]).ravel()
    return joint


def _agreement(codes: IntArray, size: int) -> Array:
    """Return 0 of the tuples (K^L,) that agree with what is seen of L symbols, −inf of others."""
    fits = np.zeros(1)
    for code in codes:
        allowed = np.where((code == MISSING) | (np.arange(size) == code), 0.0, -np.inf)
        fits = (fits[:, None] + allowed).ravel()
    return fits


def _pass_over_start(
    one: _Stretch, gappy: GappySequences, logs: list[Array], sums: tuple[Array, ...]
) -> float:
    """Add the expected first symbols of a sequence of at most M symbols; return its part of the value."""
    scores = _first_joint(len(one.codes), logs) + _agreement(one.codes, gappy.size)
    value = float(log_sum_exp(scores, axis=0))
    if np.isfinite(value):
        _add_first(np.exp(scores - value) * one.weight, gappy.size, sums)
    return one.weight * value


def _add_first(shares: Array, size: int, sums: tuple[Array, ...]) -> None:
    """Add the shares (K^L,) of tuples of first symbols to the counts of each symbol given those before."""
    length = round(np.log(len(shares)) / np.log(size)) if size > 1 else 1
    for m in range(length):
        sums[m][...] += shares.reshape(size**m, size, -1).sum(axis=2)


def _pass_over_longer(
    stretches: list[_Stretch], gappy: GappySequences, logs: list[Array], sums: tuple[Array, ...]
) -> float:
    """Add expected counts of stretches of more than M symbols; return their part of the value."""
    m, k, moves = gappy.order, gappy.size, logs[-1]
    count = k**m
    lengths = np.array([len(one.codes) - m + 1 for one in stretches])
    weights = np.array([one.weight for one in stretches])
    rows = [_rows_of(one, gappy, logs) for one in stretches]
    numbers = np.concatenate([np.append(0, one.tables) for one in stretches])
    after = (np.arange(count)[:, None] * k + np.arange(k)) % count
    tables = np.full((len(moves), count, count), -np.inf)
    tables[:, np.arange(count)[:, None], after] = moves
    single = len(tables) == 1
    chain = tables[0] if single else tables[numbers]
    scores, even = np.concatenate(rows), np.zeros(count)
    if (impossible_steps(even, chain, scores, lengths=lengths) >= 0).any():
        return -np.inf
    found = forward_backward(
        even, chain, scores, lengths=lengths, weights=weights, pairs=not single
    )
    at, first = np.arange(count)[:, None], np.append(0, np.cumsum(lengths)[:-1])
    for one, row in zip(stretches, first, strict=True):
        if one.at_start:
            _add_first(found.probabilities[row] * one.weight, k, sums)
    if single:
        sums[-1][0] += found.pair_sums[at, after]
    else:
        assert found.pair_probabilities is not None
        later = np.setdiff1d(np.arange(len(numbers)), first)
        each = found.pair_probabilities[later][:, at, after]
        counted = np.repeat(weights, lengths)[later]
        np.add.at(sums[-1], numbers[later], each * counted[:, None, None])
    return float(weights @ found.log_evidence)


def _rows_of(one: _Stretch, gappy: GappySequences, logs: list[Array]) -> Array:
    """Return scores (L − M + 1, K^M) of the tuples of M symbols along a stretch."""
    m, k = gappy.order, gappy.size
    newest = np.tile(np.arange(k), k ** (m - 1))
    later = one.codes[m:, None]
    rest = np.where((later == MISSING) | (later == newest), 0.0, -np.inf)
    start = _agreement(one.codes[:m], k)
    if one.at_start:
        start = start + _first_joint(m, logs)
    return np.concatenate([start[None], rest])


def _expected_logs(alpha: Array) -> Array:
    return np.asarray(special.digamma(alpha) - special.digamma(alpha.sum(axis=-1, keepdims=True)))


def _shares(counts: Array) -> Array:
    """Return rows over their sums; even ones where nothing was counted."""
    total = counts.sum(axis=-1, keepdims=True)
    return np.where(total > 0.0, counts / np.where(total > 0.0, total, 1.0), 1.0 / counts.shape[-1])


def _as_counts(tables: tuple[Array, ...]) -> MarkovCounts:
    if min(one.min(initial=0.0) for one in tables) < 0.0:  # a jump went too far
        raise ValueError("a symbol is counted less than never")
    return MarkovCounts(tuple(tables[:-1]), tables[-1])
