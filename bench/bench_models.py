"""Models written in the language against the same computation by hand: equal answers first."""

from __future__ import annotations

import numpy as np
from harness import compare, report, time_processes

from posteriori import Input, Model, MvNormal, Normal

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

    if not missing:
        np.testing.assert_allclose(m.infer(X=x, y=y).w.mean, by_hand(), rtol=1e-9)
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


if __name__ == "__main__":
    report(
        "Models",
        [fusion(), regression(False), regression(True), hierarchy(), *map(cold_start, COLD)],
    )
