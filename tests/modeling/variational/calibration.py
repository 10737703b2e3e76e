"""How often intervals of approximate posteriors hold the truth, by simulation.

Parameters and data are drawn from a model, the posterior's distribution function is taken at the
parameters. In a calibrated posterior the value lies between 1/4 and 3/4 half of the time.

Run ``python -m tests.modeling.variational.calibration`` to print the table of the guide.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori import Categorical, Dirichlet, Gamma, MvNormal, Normal
from posteriori.modeling import Chain, Input, Model, take
from tests.modeling.test_calibration import place_of

REPETITIONS = 1000
X = np.column_stack([np.ones(8), np.linspace(-1.0, 2.0, 8), np.linspace(-1.0, 2.0, 8) ** 2])


class Study(NamedTuple):
    """A model to draw from, its inputs and the sizes of its plates."""

    build: Callable[[], Model]
    plates: dict[str, int]
    inputs: dict[str, Any]


class Coverage(NamedTuple):
    """Shares of truths inside the central intervals of half and nine tenths of the mass."""

    half: float
    most: float
    error: float


def conjugate() -> Model:
    """Mean and precision whose priors belong together: exact, for comparison."""
    m = Model()
    m.tau = Gamma(shape=2.0, rate=1.0)
    m.mu = Normal(0.0, precision=0.25 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def mean_and_precision() -> Model:
    m = Model()
    m.tau = Gamma(shape=2.0, rate=1.0)
    m.mu = Normal(0.0, variance=4.0)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.tau = Gamma(shape=3.0, rate=1.0)
    m.w = MvNormal(np.zeros(3), cov=np.eye(3))
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


def groups() -> Model:
    m = Model()
    m.between = Gamma(shape=2.0, rate=2.0)
    m.mu = Normal(0.0, variance=4.0)
    m.theta = Normal(m.mu, precision=m.between).iid("g")
    m.y = Normal(m.theta, variance=1.0)
    return m


def mixture(distance: float) -> Model:
    """Two classes whose priors tell them apart."""
    m = Model()
    m.pi = Dirichlet([2.0, 2.0])
    m.mu = Normal([-0.5 * distance, 0.5 * distance], variance=0.5)
    m.tau = Gamma(shape=4.0, rate=4.0)
    m.z = Categorical(m.pi).iid("n")
    m.y = Normal(m.mu[m.z], precision=m.tau)
    return m


def walk() -> Model:
    m = Model()
    m.step = Gamma(shape=3.0, rate=1.0)
    m.noise = Gamma(shape=3.0, rate=2.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: Normal(s, precision=m.step), length="t")
    m.y = Normal(m.s, precision=m.noise)
    return m


def hidden_markov() -> Model:
    m = Model()
    move = np.array([[0.9, 0.1], [0.2, 0.8]])
    m.mu = Normal([-1.0, 1.0], variance=0.5)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(move, z)), length="t")
    m.y = Normal(m.mu[m.z], variance=0.5)
    return m


STUDIES = {
    "mean and precision, conjugate (exact)": Study(conjugate, {"n": 5}, {}),
    "mean and precision, 5 data": Study(mean_and_precision, {"n": 5}, {}),
    "mean and precision, 50 data": Study(mean_and_precision, {"n": 50}, {}),
    "regression, 8 data": Study(regression, {}, {"X": X}),
    "8 groups": Study(groups, {"g": 8}, {}),
    "40 groups": Study(groups, {"g": 40}, {}),
    "two classes, 30 data": Study(partial(mixture, 3.0), {"n": 30}, {}),
    "two classes far apart, 30 data": Study(partial(mixture, 10.0), {"n": 30}, {}),
    "random walk, 20 steps": Study(walk, {"t": 20}, {}),
    "hidden Markov chain, 20 steps": Study(hidden_markov, {"t": 20}, {}),
}


def measure(study: Study, repetitions: int = REPETITIONS, seed: int = 0) -> dict[str, Coverage]:
    """Return the coverage of each unknown variable, over all its members."""
    model = study.build()
    rng = np.random.default_rng(seed)
    places: dict[str, list[np.ndarray]] = {}
    for _ in range(repetitions):
        drawn = model.simulate(plates=study.plates, rng=rng, **study.inputs)
        post = model.infer(y=drawn.pop("y"), **study.inputs)
        for name, truth in drawn.items():
            if name != "z":
                place = np.ravel(place_of(truth, post[name], rng))
                places.setdefault(name, []).append(place)
    return {name: _coverage(np.array(found)) for name, found in places.items()}


def _coverage(places: np.ndarray) -> Coverage:
    """Count rows (repetitions, members); members of one repetition are not independent."""
    away = np.abs(places - 0.5)
    half, most = (away <= 0.25).mean(axis=1), (away <= 0.45).mean(axis=1)
    error = float(np.std(most)) / np.sqrt(len(places))
    return Coverage(float(half.mean()), float(most.mean()), error)


def as_rows(name: str, found: dict[str, Coverage]) -> list[str]:
    """Return lines of a table in percent."""
    return [
        f"| {name if i == 0 else ''} | `{variable}` | {100 * c.half:.0f} | {100 * c.most:.0f} |"
        for i, (variable, c) in enumerate(found.items())
    ]


if __name__ == "__main__":
    for title, one in STUDIES.items():
        print("\n".join(as_rows(title, measure(one))), flush=True)
