r"""How many groups: mixtures of several kinds with 1, 2, … components, weighed by their evidence.

.. math:: p(K\mid X) \propto \sum_{\text{kinds}} p(X\mid K, \text{kind}),

all numbers and kinds equally probable before. Every kind is a density of the same table in the same units.
"""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Found", "Tried", "search_numbers"]

#: Nats below the best from which a number is as good as excluded, e⁻²⁰ is 2e-9, and how many of these in a
#: row end the search.
_HOPELESS, _IN_A_ROW = 20.0, 3

#: Entries of a table from which fewer starts are tried: each takes long, and more rows leave fewer summits.
_LARGE = 100_000

#: Starts of latent classes in other tables and in such; a normal mixture moves on from where one has ended.
_STARTS, _FEW_STARTS = 4, 1

#: Nats; far less than evidences must differ to tell numbers apart.
_TOLERANCE = 1e-3

#: Steps of one ascent, after which it is hardly rising.
_MOST_STEPS = 1000


class Tried(NamedTuple):
    """One mixture that was fitted.

    Attributes
    ----------
    kind : {"normal mixture", "latent classes"}
    number : int
        Of components.
    log_evidence : float
    model : estimator
    """

    kind: str
    number: int
    log_evidence: float
    model: Any


class Found(NamedTuple):
    """All mixtures that were fitted, and what they say together.

    Attributes
    ----------
    tried : tuple of Tried
    numbers : tuple of int
        From the smallest on.
    probabilities : array
        p(number | table).
    best : Tried
        Of the most probable number the kind of higher evidence.
    notes : tuple of str
        Where the search ended early, and what could not be fitted.
    """

    tried: tuple[Tried, ...]
    numbers: tuple[int, ...]
    probabilities: Array
    best: Tried
    notes: tuple[str, ...]


def search_numbers(
    x: Array,
    kinds: Sequence[str],
    numbers: Sequence[int],
    seed: int = 0,
    on_tried: Callable[[Tried], None] | None = None,
) -> Found:
    """Fit mixtures with each number of components, and say how probable each number is.

    Parameters
    ----------
    x : (N, D)
        Numbers and codes; NaN is missing.
    kinds : sequence of D str
        As of :class:`LatentClasses`; where all are "normal", columns may also depend on one another.
    numbers : sequence of int
        Rising.
    seed : int
    on_tried : callable, optional
        Called after every fit.

    Raises
    ------
    ValueError
        When no mixture could be fitted.
    KeyboardInterrupt
        When Ctrl-C was pressed, also where an ascent would end with what it has.
    """
    wanted = ["normal mixture"] * (set(kinds) == {"normal"}) + ["latent classes"]
    tried: list[Tried] = []
    notes: list[str] = []
    with _heard_interrupts() as pressed:
        for kind in wanted:
            best = max((one.log_evidence for one in tried), default=-np.inf)
            climb = _climb(x, kind, kinds, numbers, seed, best)
            try:
                for one in climb:
                    if pressed:
                        raise KeyboardInterrupt
                    tried.append(one)
                    if on_tried is not None:
                        on_tried(one)
            except ValueError as error:
                notes.append(f"no {kind} was fitted: {error}")
    if not tried:
        raise ValueError("; ".join(notes))
    notes += [note for kind in wanted if (note := _early_end(tried, kind, numbers))]
    return _weigh(tried, notes)


def _climb(
    x: Array, kind: str, kinds: Sequence[str], numbers: Sequence[int], seed: int, rival: float
) -> Iterator[Tried]:
    """Fit one kind with rising numbers, until more are as good as excluded."""
    values: list[float] = []
    for number in numbers:
        one = _fit(_mixture(kind, kinds, number, x.size, seed), kind, x)
        values.append(one.log_evidence)
        yield one
        if _is_over(values, len(numbers) - len(values), rival):
            return


def _is_over(values: list[float], left: int, rival: float) -> bool:
    """Tell whether evidence has fallen for long, or rises too slowly to come near another kind's."""
    last = values[-_IN_A_ROW:]
    if len(last) == _IN_A_ROW and max(last) < max(values) - _HOPELESS:
        return True
    if len(values) < _IN_A_ROW:
        return False
    gain = max(max(values) - max(values[:-1]), values[-2] - values[-3], 0.0)
    return max(values) + left * gain < rival - _HOPELESS


def _mixture(kind: str, kinds: Sequence[str], number: int, size: int, seed: int) -> Any:
    options: dict[str, Any] = {
        "weight_concentration_prior": 1.0,  # 1/K would make components free that are not needed
        "tol": _TOLERANCE,
        "max_iter": _MOST_STEPS,
        "random_state": seed,
    }
    if kind == "normal mixture":
        return BayesianGaussianMixture(number, **options)
    starts = _FEW_STARTS if size > _LARGE else _STARTS
    return LatentClasses(number, list(kinds), n_init=starts, **options)


def _fit(mixture: Any, kind: str, x: Array) -> Tried:
    # an ascent that is cut off has a bound all the same, and jumps that lead nowhere are not taken
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = mixture.fit(x)
    return Tried(kind, fitted.n_components, float(fitted.log_evidence_), fitted)


def _weigh(tried: list[Tried], notes: list[str]) -> Found:
    """Return p(number | X) ∝ Σ over kinds of p(X | number, kind)."""
    numbers = tuple(sorted({one.number for one in tried}))
    each = softmax(np.array([one.log_evidence for one in tried]))
    place = [numbers.index(one.number) for one in tried]
    probabilities = np.bincount(place, weights=each, minlength=len(numbers))
    most = numbers[int(probabilities.argmax())]
    best = max((one for one in tried if one.number == most), key=lambda one: one.log_evidence)
    return Found(tuple(tried), numbers, probabilities, best, tuple(notes))


def _early_end(tried: list[Tried], kind: str, numbers: Sequence[int]) -> str:
    last = max((one.number for one in tried if one.kind == kind), default=numbers[-1])
    if last == numbers[-1]:
        return ""
    return f"{kind}: more than {last} were not tried, as their evidence is far below the best"


@contextmanager
def _heard_interrupts() -> Iterator[list[bool]]:
    """Remember that Ctrl-C was pressed, which ascents take as a wish to end with what they have."""
    pressed: list[bool] = []
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield pressed
        return

    def hear(number: int, frame: Any) -> None:
        pressed.append(True)
        before(number, frame)

    signal.signal(signal.SIGINT, hear)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
