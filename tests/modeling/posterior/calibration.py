"""How often intervals of approximate posteriors hold the truth, by simulation.

Parameters and data are drawn from a model, the posterior's distribution function is taken at the
parameters. In a calibrated posterior the value lies between 1/4 and 3/4 half of the time.

Run ``python -m tests.modeling.posterior.calibration`` to print the table of the guide.
"""

import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions import Empirical, Mixture
from tests.modeling.posterior.calibrated_models import STUDIES, Study
from tests.modeling.test_calibration import place_of

__all__ = ["REPETITIONS", "Coverage", "Named", "Run", "measure", "named", "runs"]

REPETITIONS = 300

#: Draws among which the truth has a rank: the ends of 90 % intervals are known to 1 %.
_RANKED = 499


class Coverage(NamedTuple):
    """Shares of truths inside the central intervals of half and nine tenths of the mass."""

    half: float
    most: float
    error: float


class Run(NamedTuple):
    """A posterior of simulated data, and where the truth lies in it, by unknown."""

    posterior: Any
    places: dict[str, np.ndarray]


def runs(study: Study, repetitions: int, seed: int = 0) -> Iterator[Run]:
    """Draw parameters and data and infer, again and again; hidden states are not looked at."""
    model = study.build()
    rng = np.random.default_rng(seed)
    for _ in range(repetitions):
        drawn = model.simulate(plates=study.plates, rng=rng, **study.inputs)
        post = model.infer({**study.inputs, "y": drawn.pop("y")}, **study.options)
        unknown = {name: truth for name, truth in drawn.items() if not name.startswith("z")}
        places = {n: np.ravel(_place(truth, post, n, rng)) for n, truth in unknown.items()}
        yield Run(post, places)


def _place(truth: Any, posterior: Any, name: str, rng: np.random.Generator) -> np.ndarray:
    """Return the distribution function at the truth; by ranks where only draws tell it."""
    if not isinstance(posterior[name], Empirical | Mixture):
        return place_of(truth, posterior[name], rng)
    draws = posterior.sample(_RANKED, rng=rng)[name]
    return ((draws < truth).sum(axis=0) + rng.random(np.shape(truth))) / (_RANKED + 1)


def measure(study: Study, repetitions: int = REPETITIONS, seed: int = 0) -> dict[str, Coverage]:
    """Return the coverage of each unknown variable, over all its members."""
    found = [run.places for run in runs(study, repetitions, seed)]
    return {name: _coverage(np.array([places[name] for places in found])) for name in found[0]}


class Named(NamedTuple):
    """Of truths outside their 90 % interval, and of all runs: shares of runs that name the unknown."""

    coverage: float
    of_misses: float
    of_runs: float


def named(study: Study, repetitions: int, draws: int, seed: int = 0) -> dict[str, Named]:
    """Return how often the check of reliability names each unknown."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for i, run in enumerate(runs(study, repetitions, seed)):
        checked = run.posterior.reliability(draws, rng=i)
        for name, places in run.places.items():
            missed = float(np.mean(np.abs(places - 0.5) > 0.45))
            told = name in (*checked.too_narrow, *checked.shifted)
            found.setdefault(name, []).append((missed, told))
    return {name: _named(np.array(pairs, dtype=float)) for name, pairs in found.items()}


def _named(pairs: np.ndarray) -> Named:
    missed, told = pairs.T
    share = float(missed @ told / missed.sum()) if missed.any() else 1.0
    return Named(1.0 - float(missed.mean()), share, float(told.mean()))


def _coverage(places: np.ndarray) -> Coverage:
    """Count rows (repetitions, members); members of one repetition are not independent."""
    away = np.abs(places - 0.5)
    half, most = (away <= 0.25).mean(axis=1), (away <= 0.45).mean(axis=1)
    error = float(np.std(most)) / np.sqrt(len(places))
    return Coverage(float(half.mean()), float(most.mean()), error)


def as_rows(name: str, found: dict[str, Coverage]) -> list[str]:
    """Return lines of a table in percent."""
    return [
        f"| {name if i == 0 else ''} | `{variable}` | {100 * c.half:.0f} | {100 * c.most:.0f} "
        f"| {100 * c.error:.1f} |"
        for i, (variable, c) in enumerate(found.items())
    ]


if __name__ == "__main__":
    for title in sys.argv[1:] or STUDIES:
        print("\n".join(as_rows(title, measure(STUDIES[title]))), flush=True)
