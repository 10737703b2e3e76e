r"""How many states: hidden chains of several kinds with 1, 2, … states, weighed by their evidence.

The evidence is estimated by draws, so that all orders of the states count and numbers of states compare. A chain
may have states that no row is most probably in: then the rows tell fewer states apart than it has, and its
probability counts for that number, :math:`p(V\mid X) = \sum_{K:\,V_K = V} p(K\mid X)`. Beside it stands how well chains that have seen the first four fifths of each series predict the
rest, :math:`\sum_s \ln p(x_{\text{last fifth}}\mid x_{\text{rest}})`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.fitting.number_weights import (
    Found,
    early_end,
    heard_interrupts,
    is_over,
    weigh_numbers,
)
from posteriori.analysis.segments.segment_rows import SegmentRows
from posteriori.analysis.table.wording import counted
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array, IntArray
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.sequence.hidden_markov_chain import HiddenMarkovChain

__all__ = ["TriedStates", "search_states"]

#: Part of each series that is predicted from the rest.
_HELD_OUT = 0.2

#: Starts of a chain; and of one to predict with, or of more steps than this.
_STARTS, _FEW_STARTS, _LARGE = 5, 2, 100_000

#: Nats; far less than evidences must differ to tell numbers apart.
_TOLERANCE = 1e-3

#: Steps of one ascent, after which it is hardly rising.
_MOST_STEPS = 500

#: Draws of an evidence, whose error is then some tenths of a nat, and their cost: steps times squared states.
_DRAWS, _FEWEST_DRAWS, _WORK = 300, 100, 2e8


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
) -> Found:
    """Fit chains with each number of states, and say how probable each number is.

    Raises
    ------
    ValueError
        When no chain could be fitted.
    KeyboardInterrupt
        When Ctrl-C was pressed, also where an ascent would end with what it has.
    """
    several = ("several numbers",) if not rows.symbols and len(rows.used) > 1 else ()
    wanted = candidates_for("segments", targets=several, inputs=len(rows.used), rows=len(rows.x))
    tried: list[TriedStates] = []
    notes: list[str] = []
    with heard_interrupts() as pressed:
        for candidate in wanted:
            best = max((one.log_evidence for one in tried), default=-np.inf)
            try:
                for one in _climb(rows, candidate, numbers, seed, best):
                    if pressed:
                        raise KeyboardInterrupt
                    tried.append(one)
                    if on_tried is not None:
                        on_tried(one)
            except ValueError as error:
                notes.append(f"{candidate.name} were not fitted: {error}")
    if not tried:
        raise ValueError("; ".join(notes))
    notes += [note for c in wanted if (note := early_end(tried, c.name, numbers))]
    return _count_told(weigh_numbers(tried, notes), tried)


def _count_told(found: Found, tried: Sequence[TriedStates]) -> Found:
    """Let each chain count for the states that its rows tell apart, where a chain with just these was fitted."""
    whole = {one.number for one in tried if one.told == one.number} or {found.numbers[0]}
    counted = [max((n for n in whole if n <= one.told), default=min(whole)) for one in found.tried]
    each = softmax(np.array([one.log_evidence for one in found.tried]))
    place = [found.numbers.index(number) for number in counted]
    probabilities = np.bincount(place, weights=each, minlength=len(found.numbers))
    most = found.numbers[int(probabilities.argmax())]
    best = max(
        (one for one in tried if one.number == most),
        key=lambda one: (one.told == most, one.log_evidence),
    )
    return found._replace(probabilities=probabilities, best=best)


def _climb(
    rows: SegmentRows, candidate: Candidate, numbers: Sequence[int], seed: int, rival: float
) -> Iterator[TriedStates]:
    """Fit one kind with rising numbers, until more are as good as excluded."""
    values: list[float] = []
    for number in numbers:
        one = _fit(rows, candidate, number, seed)
        values.append(one.log_evidence)
        yield one
        fewer = _states_with_rows(rows, one.model)
        if fewer is not None and len(fewer.initial) in numbers:
            yield _fit(rows, candidate, one.told, seed, fewer)
        if is_over(values, len(numbers) - len(values), rival):
            return


def _told_states(rows: SegmentRows, model: Any) -> IntArray:
    """Return the states that some row is most probably in."""
    shares = model.predict_proba(rows.x, lengths=rows.arrangement.lengths)
    shares = np.concatenate(shares) if isinstance(shares, list) else shares
    return np.unique(shares[rows.arrangement.rows >= 0].argmax(axis=1))


def _states_with_rows(rows: SegmentRows, model: Any) -> HiddenMarkovChain | None:
    """Return the chain of the states that have rows, where some have none: a start that clusters may miss."""
    used = _told_states(rows, model)
    if len(used) == model.n_states:
        return None
    chain = model.model_
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
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore")
        model = _chain(rows, candidate, number, seed).set_params(start=start)
        model.fit(rows.x, lengths=lengths)
        draws = int(np.clip(_WORK / (len(rows.x) * number**2), _FEWEST_DRAWS, _DRAWS))
        evidence = model.estimate_evidence(draws, rng=seed)
        held_out = _held_out(rows, _chain(rows, candidate, number, seed))
    error = float(evidence.error or 0.0)
    told = len(_told_states(rows, model))
    return TriedStates(candidate.name, number, told, float(evidence), error, held_out, model)


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
