"""Models written in the language against the same computation by hand: equal answers first.

Also how time grows with the data, and how much memory inference holds at its peak.
"""

from __future__ import annotations

import statistics
import time

import numpy as np
from harness import compare, peak_memory, report, time_processes

from posteriori import Categorical, Chain, Input, Model, MvNormal, Normal, take

RNG = np.random.default_rng(0)


def fusion():
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y1 = Normal(m.x, variance=1.0)
    m.y2 = Normal(m.x, variance=2.0)
    a, b = np.array([[2.0, 0.3], [0.3, 1.0]]), np.array([1.0, 2.0])
    assert abs(m.infer(y1=1.0, y2=2.0).x.mean - 8 / 7) < 1e-12
    return compare(
        "infer of two sensors / 2x2 np.linalg.solve",
        lambda: m.infer(y1=1.0, y2=2.0).x,
        lambda: np.linalg.solve(a, b),
        bar=400,
        faster=False,
        calls=50,
    )


def regression(missing: bool):
    x = RNG.normal(size=(10**6, 20))
    y = x @ RNG.normal(size=20) + RNG.normal(size=10**6)
    if missing:
        y[RNG.random(10**6) < 0.1] = np.nan
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(20), cov=np.eye(20))
    m.y = Normal(m.X @ m.w, variance=1.0)

    def by_hand() -> np.ndarray:
        return np.linalg.solve(x.T @ x + np.eye(20), x.T @ y)

    there = ~np.isnan(y)
    expected = np.linalg.solve(x[there].T @ x[there] + np.eye(20), x[there].T @ y[there])
    np.testing.assert_allclose(m.infer(X=x, y=y).w.mean, expected, rtol=1e-9)
    name = "regression 10^6 x 20" + (", 10 % missing" if missing else "")
    return compare(
        f"{name} / X'X + solve",
        lambda: m.infer(X=x, y=y).w,
        by_hand,
        bar=2.5 if missing else 1.3,
        faster=False,
    )


def hierarchy():
    groups, n = 10**6, 3 * 10**6
    g = np.sort(RNG.integers(0, groups, n))
    y = RNG.normal(size=n)
    starts = np.flatnonzero(np.r_[True, np.diff(g) > 0])
    m = Model()
    m.g = Input()
    m.mu = Normal(0.0, variance=100.0)
    m.theta = Normal(m.mu, variance=4.0).iid(groups)
    m.y = Normal(m.theta[m.g], variance=1.0)
    post = m.infer(g=g, y=y)
    counts = np.bincount(g, minlength=groups)
    sums = np.bincount(g, weights=y, minlength=groups)
    expected = (sums + post.mu.mean / 4.0) / (counts + 0.25)
    np.testing.assert_allclose(post.theta.mean, expected, atol=1e-9)
    return compare(
        "hierarchy of 10^6 groups / np.add.reduceat",
        lambda: m.infer(g=g, y=y).theta,
        lambda: np.add.reduceat(y, starts),
        bar=15,
        faster=False,
    )


COLD = {
    "coin": "from posteriori import Bernoulli, Beta, Model; m = Model(); m.p = Beta(1.0, 1.0);"
    "m.y = Bernoulli(m.p).iid(7); m.infer(y=[1, 0, 1, 1, 0, 0, 1]).p",
    "two sensors": "from posteriori import Model, Normal; m = Model();"
    "m.x = Normal(0.0, variance=4.0); m.y1 = Normal(m.x, variance=1.0);"
    "m.y2 = Normal(m.x, variance=2.0); m.infer(y1=1.0, y2=2.0).x",
}


def cold_start(name: str):
    return time_processes(
        f"cold process to the posterior of {name} / import numpy, scipy.linalg",
        COLD[name],
        "import numpy, scipy.linalg",
        bar=1.5,
    )


def regression_data(n: int):
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=np.eye(3))
    m.y = Normal(m.X @ m.w, variance=1.0)
    x = RNG.normal(size=(n, 3))
    return m, {"X": x, "y": x.sum(axis=1) + RNG.normal(size=n)}, "w"


def mean_data(n: int):
    m = Model()
    m.mu = Normal(0.0, variance=100.0)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    return m, {"y": RNG.normal(size=n)}, "mu"


def hierarchy_data(n: int):
    m = Model()
    m.g = Input()
    m.mu = Normal(0.0, variance=100.0)
    m.theta = Normal(m.mu, variance=4.0).iid(n // 3)
    m.y = Normal(m.theta[m.g], variance=1.0)
    return m, {"g": RNG.integers(0, n // 3, n), "y": RNG.normal(size=n)}, "theta"


def kalman_data(n: int):
    m = Model()
    m.x = Chain(
        initial=Normal(0.0, variance=10.0), step=lambda x: Normal(x, variance=0.1), length=n
    )
    m.y = Normal(m.x, variance=1.0)
    return m, {"y": np.cumsum(0.3 * RNG.normal(size=n)) + RNG.normal(size=n)}, "x"


def hidden_markov_data(n: int):
    m = Model()
    rows = np.array([[0.9, 0.1], [0.2, 0.8]])
    m.z = Chain(
        initial=Categorical([0.5, 0.5]), step=lambda z: Categorical(take(rows, z)), length=n
    )
    m.y = Normal(take(np.array([-1.0, 1.0]), m.z), variance=1.0)
    return m, {"y": RNG.normal(size=n)}, "z"


def lattice_data(n: int):
    """A square of about n sites, differences of neighbours observed."""
    side = round(n**0.5)
    sites = np.arange(side * side).reshape(side, side)
    i = np.concatenate([sites[:, :-1].ravel(), sites[:-1].ravel()])
    j = np.concatenate([sites[:, 1:].ravel(), sites[1:].ravel()])
    m = Model()
    m.i, m.j = Input(), Input()
    m.x = Normal(0.0, variance=10.0).iid(side * side)
    m.d = Normal(m.x[m.i] - m.x[m.j], variance=1.0)
    return m, {"i": i, "j": j, "d": RNG.normal(size=len(i))}, "x"


GROWTH = (
    ("regression on 3 columns", regression_data, (10**5, 10**6, 10**7), 6.0),
    ("mean", mean_data, (10**5, 10**6, 10**7), 6.0),
    ("hierarchy, 3 rows a group", hierarchy_data, (10**5, 10**6, 10**7), 6.0),
    ("Kalman chain", kalman_data, (10**5, 10**6, 10**7), 15.0),
    ("hidden Markov chain", hidden_markov_data, (10**5, 10**6, 10**7), 15.0),
    ("lattice", lattice_data, (10**3, 10**4, 10**5), np.inf),
)


def show_growth() -> None:
    """Print time per datum, and peak memory over the data, of a posterior and one marginal."""
    print("\ntime per datum and peak memory over the data, by size")
    for name, make, sizes, bar in GROWTH:
        for n in sizes:
            model, data, asked = make(n)

            def run(model=model, data=data, asked=asked) -> object:
                return model.infer(data)[asked]

            run()  # compiles
            times = []
            for _ in range(3):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
            memory = peak_memory(run) / sum(array.nbytes for array in data.values())
            goal = f" (goal <= {bar:g}){'' if memory <= bar else '   MISSED'}"
            print(
                f"  {name:28} N={n:<9} {statistics.median(times) / n * 1e9:7.0f} ns "
                f"{memory:6.1f} x{goal if np.isfinite(bar) else ''}",
                flush=True,
            )


if __name__ == "__main__":
    report(
        "Models",
        [fusion(), regression(False), regression(True), hierarchy(), *map(cold_start, COLD)],
    )
    show_growth()
