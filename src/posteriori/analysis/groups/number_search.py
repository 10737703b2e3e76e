"""How many groups: mixtures of several kinds with 1, 2, … components, weighed by their evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.counted.number_weights import (
    Found,
    early_end,
    heard_interrupts,
    is_over,
    weigh_numbers,
)
from posteriori.analysis.table.wording import counted
from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Tried", "search_numbers"]

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

    @property
    def words(self) -> str:
        """What was tried."""
        return f"{self.kind} of {counted(self.number, 'component')}"


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
    with heard_interrupts() as pressed:
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
    notes += [note for kind in wanted if (note := early_end(tried, kind, numbers))]
    return weigh_numbers(tried, notes)


def _climb(
    x: Array, kind: str, kinds: Sequence[str], numbers: Sequence[int], seed: int, rival: float
) -> Iterator[Tried]:
    """Fit one kind with rising numbers, until more are as good as excluded."""
    values: list[float] = []
    for number in numbers:
        one = _fit(_mixture(kind, kinds, number, x.size, seed), kind, x)
        values.append(one.log_evidence)
        yield one
        fewer = _without_empty(one, kinds, x, seed)
        if fewer is not None and fewer.number in numbers:
            yield fewer
        if is_over(values, len(numbers) - len(values), rival):
            return


def _without_empty(one: Tried, kinds: Sequence[str], x: Array, seed: int) -> Tried | None:
    """Return the mixture of the groups that have rows, where some have none: a start that seeds may miss."""
    shares = one.model.predict_proba(x)
    used = np.bincount(shares.argmax(axis=1), minlength=one.number) > 0
    if used.all():
        return None
    mixture = _mixture(one.kind, kinds, int(used.sum()), x.size, seed)
    kept = shares[:, used] / shares[:, used].sum(axis=1, keepdims=True)
    return _fit(mixture.set_params(responsibilities_init=kept), one.kind, x)


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
