r"""How many states: hidden chains of several kinds with 1, 2, … states, weighed by their evidence.

The evidence is estimated by draws, so that all orders of the states count and numbers of states compare. A chain
may have states that no row is most probably in: what it says of the rows a smaller one says as well, so that a
number counts only by a chain whose rows tell all its states apart, :math:`p(K\mid X) \propto p(X\mid K)\,[V_K = K]`.
Where runs are to last at least m rows, paths with shorter ones are left out of the sums, as if before any row was seen
none of them had been possible: :math:`p(X\mid K, m) = p(X\mid K)\,p(m\mid X, K)\,/\,p(m\mid K)`, the last two at the
estimates.
Few draws tell which numbers may be most probable; these are estimated anew with more. Beside it stands how well chains that have seen the first
four fifths of each series predict the rest, :math:`\sum_s \ln p(x_{\text{last fifth}}\mid x_{\text{rest}})`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.segments.segment_rows import SegmentRows
from posteriori.analysis.table.wording import counted
from posteriori.inference.state_chains.long_runs import LongRuns, smooth_long_runs
from posteriori.inference.weighing.number_weights import (
    NumberSearch,
    WeighedNumbers,
    try_numbers,
    weigh_numbers,
)
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array, IntArray
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain

__all__ = ["TriedStates", "search_states", "share_states"]

#: Part of each series that is predicted from the rest.
_HELD_OUT = 0.2

#: Starts of a chain; and of one to predict with, or of more steps than this.
_STARTS, _FEW_STARTS, _LARGE = 5, 2, 100_000

#: Nats; far less than evidences must differ to tell numbers apart.
_TOLERANCE = 1e-3

#: Steps of one ascent, after which it is hardly rising.
_MOST_STEPS = 500

#: Draws of an evidence at first and at least, and their cost: steps times squared states.
_DRAWS, _FEWEST_DRAWS, _WORK = 150, 100, 2e8

#: What is less than so many nats behind the best, with an error larger than so many, is estimated with so many
#: times the draws.
_BEHIND, _SETTLED, _MORE = 2.0, 0.3, 4

#: Where the first two are less than so many errors apart, so many times the draws decide, up to so many steps times
#: squared states.
_APART, _MOST, _CHEAP = 2.0, 16, 4000


class TriedStates(NamedTuple):
    """One hidden chain that was fitted.

    Attributes
    ----------
    kind : str
        "independent columns" or "related columns".
    number : int
        Of states.
    told : int
        Of states that some row is most probably in.
    log_evidence, error : float
        Estimated, and how far it may be off.
    held_out : float
        Log density of the last fifth of every series given the rest; NaN where there is none.
    model : HiddenMarkovModel
    """

    kind: str
    number: int
    told: int
    log_evidence: float
    error: float
    held_out: float
    model: Any

    @property
    def whole(self) -> bool:
        """Whether rows tell all its states apart."""
        return self.told == self.number

    @property
    def bound(self) -> float:
        """Of the evidence, from below."""
        return float(self.model.log_evidence_)

    @property
    def words(self) -> str:
        """What was tried."""
        return f"{counted(self.number, 'state')} with {self.kind}"


class SomeStates(NamedTuple):
    """What some of the states of a chain emit."""

    densities: Any
    states: IntArray

    def log_prob(self, x: Array) -> Array:
        """Return ln p(row | state), (T, K)."""
        return np.asarray(self.densities.log_prob(x))[:, self.states]

    def sample(self, codes: Any, rng: np.random.Generator) -> Any:
        """Draw a row for each of some states."""
        return self.densities.sample(self.states[codes], rng)


def search_states(
    rows: SegmentRows,
    numbers: Sequence[int],
    seed: int = 0,
    on_tried: Callable[[TriedStates], None] | None = None,
) -> WeighedNumbers:
    """Fit chains with each number of states, and say how probable each number is.

    Errors are those of :func:`try_numbers`.
    """
    several = ("several numbers",) if not rows.symbols and len(rows.used) > 1 else ()
    wanted = candidates_for("segments", targets=several, inputs=len(rows.used), rows=len(rows.x))

    def climbed(candidate: Candidate) -> NumberSearch:
        return NumberSearch(
            candidate.name,
            f"{candidate.name} were not fitted",
            lambda number: _fit(rows, candidate, number, seed),
            lambda one: _without_empty(rows, candidate, one, numbers, seed),
        )

    tried, notes, interrupted = try_numbers(
        [climbed(candidate) for candidate in wanted], numbers, on_tried
    )
    best = _best_beliefs(tried)
    if not interrupted:
        best = _decide(rows, _settle(rows, best, seed), seed)
    return _count_whole(weigh_numbers(best, notes, interrupted))


def _best_beliefs(tried: Sequence[TriedStates]) -> list[TriedStates]:
    """Keep of each kind and number the chain of highest bound: the highest estimate would have erred upwards."""
    best: dict[tuple[str, int], TriedStates] = {}
    for one in sorted(tried, key=lambda one: one.bound):
        best[one.kind, one.number] = one
    return list(best.values())


def _settle(rows: SegmentRows, tried: Sequence[TriedStates], seed: int) -> list[TriedStates]:
    """Estimate anew, with more draws, what counts, may be most probable and is not known well enough."""
    wanted = [one for one in tried if one.whole]
    if len(wanted) < 2:
        return list(tried)
    unsure = [one for one in wanted if one.error > _SETTLED]
    settled = [one for one in wanted if one.error <= _SETTLED]
    while unsure:
        best = max(one.log_evidence for one in (*unsure, *settled))
        one = max(unsure, key=lambda one: one.log_evidence + one.error)
        if one.log_evidence + one.error < best - _BEHIND:
            break
        unsure.remove(one)
        value, error = _estimate(rows, one.model, _MORE, seed + 1)
        settled.append(one._replace(log_evidence=value, error=error))
    return [*settled, *unsure, *(one for one in tried if not one.whole)]


def _decide(rows: SegmentRows, tried: Sequence[TriedStates], seed: int) -> list[TriedStates]:
    """Estimate the two most probable once more where errors leave open which is first, and that is cheap."""
    first = sorted((one for one in tried if one.whole), key=lambda one: -one.log_evidence)[:2]
    if len(first) < 2:
        return list(tried)
    gap = first[0].log_evidence - first[1].log_evidence
    doubt = np.hypot(first[0].error, first[1].error)
    found = [one for one in tried if all(one is not other for other in first)]
    for one in first:
        if one.error > _SETTLED and gap < _APART * doubt and _size(rows, one) <= _CHEAP:
            value, error = _estimate(rows, one.model, _MOST, seed + 2)
            found.append(one._replace(log_evidence=value, error=error))
        else:
            found.append(one)
    return found


def _size(rows: SegmentRows, one: TriedStates) -> int:
    """Return steps times squared states."""
    return len(rows.x) * one.number**2


def _count_whole(found: WeighedNumbers) -> WeighedNumbers:
    """Let a number count by chains that have rows in just so many states; all chains count where there is none."""
    whole = np.array([one.whole for one in found.tried])
    if not whole.any():
        return found
    logs = np.array([one.log_evidence for one in found.tried])
    each = softmax(np.where(whole, logs, -np.inf))
    place = [found.numbers.index(one.number) for one in found.tried]
    probabilities = np.bincount(place, weights=each, minlength=len(found.numbers))
    most = found.numbers[int(probabilities.argmax())]
    best = max(
        (one for one in found.tried if one.number == most),
        key=lambda one: (one.whole, one.log_evidence),
    )
    return found._replace(probabilities=probabilities, best=best)


def _without_empty(
    rows: SegmentRows, candidate: Candidate, one: TriedStates, numbers: Sequence[int], seed: int
) -> TriedStates | None:
    """Return the chain of the states that have rows, where some have none."""
    if one.whole or one.told < 2 or one.told not in numbers:
        return None
    return _fit(rows, candidate, one.told, seed, _states_with_rows(rows, one.model))


def _told_states(rows: SegmentRows, model: Any) -> IntArray:
    """Return the states that some row is most probably in."""
    return np.unique(share_states(rows, model).argmax(axis=1))


def share_states(rows: SegmentRows, model: Any) -> Array:
    """Return p(state | series) of the steps that are rows, (N, K)."""
    scores = model.model_.densities.log_prob(rows.x)
    shares = _smooth(rows, model, scores, rows.min_length).probabilities
    return shares[rows.arrangement.rows >= 0]


def _smooth(rows: SegmentRows, model: Any, scores: Array, least: int) -> LongRuns:
    chain = model.model_
    return smooth_long_runs(
        chain.initial, chain.transition, scores, least, rows.arrangement.lengths
    )


def _log_lasting(rows: SegmentRows, model: Any) -> float:
    """Return ln p(no run is shorter | series) − ln p(no run is shorter), at the estimates."""
    if rows.min_length == 1 or model.n_states == 1:
        return 0.0
    scores = model.model_.densities.log_prob(rows.x)
    joint, series, before = (
        float(_smooth(rows, model, x, least).log_joint.sum())
        for x, least in (
            (scores, rows.min_length),
            (scores, 1),
            (np.zeros_like(scores), rows.min_length),
        )
    )
    return joint - series - before


def _states_with_rows(rows: SegmentRows, model: Any) -> HiddenMarkovChain:
    """Return the chain of the states that have rows: a start that clusters may miss."""
    used, chain = _told_states(rows, model), model.model_
    initial, transition = chain.initial[used], chain.transition[np.ix_(used, used)]
    return HiddenMarkovChain(
        initial / initial.sum(),
        transition / transition.sum(axis=1, keepdims=True),
        SomeStates(chain.densities, used),
    )


def _fit(
    rows: SegmentRows,
    candidate: Candidate,
    number: int,
    seed: int,
    start: HiddenMarkovChain | None = None,
) -> TriedStates:
    lengths = rows.arrangement.lengths
    # what an ascent that is cut off has found is a belief all the same; errors are told beside estimates
    with warnings.catch_warnings(action="ignore"), np.errstate(invalid="ignore"):
        model = _chain(rows, candidate, number, seed).set_params(start=start)
        model.fit(rows.x, lengths=lengths)
        evidence = _estimate(rows, model, 1, seed)
        held_out = _held_out(rows, _chain(rows, candidate, number, seed))
    told = len(_told_states(rows, model))
    return TriedStates(candidate.name, number, told, *evidence, held_out, model)


def _estimate(rows: SegmentRows, model: Any, times: int, seed: int) -> tuple[float, float]:
    """Return the evidence of a fitted chain and its error, by so many times the draws."""
    draws = int(np.clip(_WORK / (len(rows.x) * model.n_states**2), _FEWEST_DRAWS, _DRAWS))
    with warnings.catch_warnings(action="ignore"):
        evidence = model.estimate_evidence(times * draws, rng=seed)
    return float(evidence) + _log_lasting(rows, model), float(evidence.error or 0.0)


def _chain(rows: SegmentRows, candidate: Candidate, number: int, seed: int) -> Any:
    starts = _FEW_STARTS if rows.x.size > _LARGE else _STARTS
    chain = candidate.make().set_params(
        n_states=number, n_init=starts, tol=_TOLERANCE, max_iter=_MOST_STEPS, random_state=seed
    )
    if rows.symbols:
        places = range(len(rows.used))
        chain.set_params(
            emission={d: "categorical" if d in rows.symbols else "normal" for d in places}
        )
    return chain


def _held_out(rows: SegmentRows, chain: Any) -> float:
    """Return Σ ln p(last fifth | rest) under a chain that was fitted to the rest."""
    lengths = rows.arrangement.lengths
    heads = lengths - np.floor(_HELD_OUT * lengths).astype(np.int64)
    kept = _first_rows(lengths, heads)
    head = rows.x[kept]
    lacking = np.isnan(head).all(axis=0).any() or len(head) < chain.n_states
    if kept.all() or lacking or not _same_symbols(rows, head):
        return np.nan
    fitted = chain.set_params(n_init=_FEW_STARTS).fit(head, lengths=heads)
    both = fitted.log_prob(rows.x, lengths=lengths) - fitted.log_prob(head, lengths=heads)
    return float(both.sum())


def _first_rows(lengths: IntArray, heads: IntArray) -> Array:
    """Tell which steps of series are among their first."""
    starts = np.cumsum(lengths) - lengths
    place = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    return place < np.repeat(heads, lengths)


def _same_symbols(rows: SegmentRows, head: Array) -> bool:
    """Tell whether all levels of categories occur in the first parts."""
    return all(
        len(np.unique(head[~np.isnan(head[:, d]), d])) == len(known)
        for d, known in rows.symbols.items()
    )
