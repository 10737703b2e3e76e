"""Simulated mixtures, and whether intervals of 90 % hold what they were simulated with."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from posteriori import Categorical, Dirichlet, Gamma, Model, Normal, take

__all__ = ["Truth", "cover", "make_model", "simulate"]


class Truth(NamedTuple):
    """What rows were simulated with, and the rows."""

    values: dict[str, np.ndarray]
    y: np.ndarray


def make_model(classes: int, *, known: bool) -> Model:
    """Return a mixture of normal classes, of precision 1 or with precisions of their own."""
    m = Model()
    m.w = Dirichlet(np.full(classes, 5.0))
    m.mu = Normal(0, variance=16).iid(classes)
    m.z = Categorical(m.w).iid("n")
    if known:
        m.y = Normal(take(m.mu, m.z), variance=1)
    else:
        m.tau = Gamma(shape=6, rate=6).iid(classes)
        m.y = Normal(take(m.mu, m.z), precision=take(m.tau, m.z))
    return m


def simulate(classes: int, *, known: bool, apart: float, rng: np.random.Generator) -> Truth:
    """Draw 60 to 200 rows of classes some standard deviations apart; all else is drawn from its prior."""
    mu = (np.arange(classes) - (classes - 1) / 2) * apart
    w = rng.dirichlet(np.full(classes, 5.0))
    tau = np.ones(classes) if known else rng.gamma(6.0, 1 / 6.0, classes)
    z = rng.choice(classes, int(rng.integers(60, 201)), p=w)
    y = mu[z] + rng.standard_normal(len(z)) / np.sqrt(tau[z])
    return Truth({"mu": mu, "w": w} if known else {"mu": mu, "w": w, "tau": tau}, y)


def cover(post: Any, truth: Truth) -> dict[str, np.ndarray]:
    """Tell of each number whether its central interval of 90 % holds it, classes named to fit best."""
    mu = truth.values["mu"]
    orders = itertools.permutations(range(len(mu)))
    order = list(min(orders, key=lambda o: np.sum((post.mu.mean[list(o)] - mu) ** 2)))
    found = {}
    for name, values in truth.values.items():
        draws = post[name].sample(4000, rng=0)
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)[:, order]
        found[name] = (low <= values) & (values <= high)
    return found
