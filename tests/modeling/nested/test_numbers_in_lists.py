"""Lists of numbers and unknowns from which classes choose, integrated and summed over: by enumeration."""

from itertools import product

import numpy as np
import pytest
from scipy import special

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    Input,
    Model,
    Normal,
    Poisson,
    take,
)

COINS = np.array([0.0, 1.0, 1.0, 0.0, 0.0])
COUNTS = np.array([0.0, 3.0, 0.0, 5.0, 2.0])
TIMES = np.array([0.3, 4.0, 0.8, 2.5, 0.2])


def enumerated(log_evidence):
    """ln Σ_z p(z) p(y | z), with the evidence of the rows that see the unknown in closed form."""
    terms = []
    for states in product((0, 1), repeat=5):
        z = np.array(states)
        terms.append(np.log(np.where(z, 0.6, 0.4)).sum() + log_evidence(z == 1))
    return special.logsumexp(terms)


def inferred(prior, write, y):
    m = Model()
    m.unknown = prior
    m.z = Bernoulli(0.6).iid("n")
    m.y = write(m)
    return m.infer(y=y)


@pytest.mark.parametrize("low", [0.0, 0.2, 1.0])
def test_coins(low):
    def log_evidence(seen):
        with np.errstate(divide="ignore"):
            known = np.log(np.where(COINS[~seen] > 0, low, 1.0 - low)).sum()
        ones = COINS[seen].sum()
        zeros = seen.sum() - ones
        return known + special.betaln(2.0 + ones, 1.5 + zeros) - special.betaln(2.0, 1.5)

    post = inferred(Beta(2.0, 1.5), lambda m: Bernoulli(take([low, m.unknown], m.z)), COINS)
    assert float(post.log_evidence) == pytest.approx(enumerated(log_evidence), abs=1e-5)
    if low in (0.0, 1.0):
        np.testing.assert_allclose(post.z.probability[low != COINS], 1.0)


def test_counts_of_which_some_are_always_0():
    def log_evidence(seen):
        x = COUNTS[seen]
        if COUNTS[~seen].any():
            return -np.inf
        after = special.gammaln(2.0 + x.sum()) - (2.0 + x.sum()) * np.log(1.0 + len(x))
        return after - special.gammaln(x + 1.0).sum()

    post = inferred(Gamma(2.0, 1.0), lambda m: Poisson(take([0.0, m.unknown], m.z)), COUNTS)
    assert float(post.log_evidence) == pytest.approx(enumerated(log_evidence), abs=1e-5)


def test_waiting_times():
    def log_evidence(seen):
        x, known = TIMES[seen], TIMES[~seen]
        logs = (2.0 * np.log(3.0) + np.log(known) - 3.0 * known).sum() + np.log(x).sum()
        shape = 2.0 + 2.0 * len(x)
        return logs + special.gammaln(shape) - shape * np.log(1.0 + x.sum())

    post = inferred(Gamma(2.0, 1.0), lambda m: Gamma(2.0, take([3.0, m.unknown], m.z)), TIMES)
    assert float(post.log_evidence) == pytest.approx(enumerated(log_evidence), abs=1e-5)


def test_precisions():
    def log_evidence(seen):
        x, known = TIMES[seen], TIMES[~seen]
        logs = (0.5 * np.log(3.0) - 1.5 * known**2).sum() - 2.5 * np.log(2.0 * np.pi)
        shape = 2.0 + 0.5 * len(x)
        return logs + special.gammaln(shape) - shape * np.log(1.0 + 0.5 * (x @ x))

    def write(m):
        return Normal(0.0, precision=take([3.0, m.unknown], m.z))

    post = inferred(Gamma(2.0, 1.0), write, TIMES)
    assert float(post.log_evidence) == pytest.approx(enumerated(log_evidence), abs=1e-5)


def test_rows_that_are_known_not_to_see_the_unknown():
    """A known index: the rest is conjugate, and rows of the known coin count as they are."""
    m = Model()
    m.p = Beta(2.0, 1.5)
    m.which = Input("n")
    m.y = Bernoulli(take([0.2, m.p], m.which))
    post = m.infer(y=COINS, which=[0, 1, 1, 1, 0])
    expected = 2 * np.log(0.8) + special.betaln(4.0, 2.5) - special.betaln(2.0, 1.5)
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(expected, abs=1e-12)
    np.testing.assert_allclose([post.p.a, post.p.b], [4.0, 2.5])


def test_a_known_coin_on_either_side_of_an_unknown_one():
    """Unknown weights of three coins, of which one never and one always shows heads."""
    y, weights = COINS[:4], np.array([1.0, 2.0, 1.5])
    terms, heads = [], []
    for states in product(range(3), repeat=4):
        z = np.array(states)
        if np.any(y[z == 0] == 1.0) or np.any(y[z == 2] == 0.0):
            continue
        ones, zeros = y[z == 1].sum(), (1.0 - y[z == 1]).sum()
        counts = np.bincount(z, minlength=3)
        log_z = special.gammaln(weights + counts).sum() - special.gammaln(weights).sum()
        log_z += special.gammaln(weights.sum()) - special.gammaln(weights.sum() + 4.0)
        log_y = special.betaln(2.0 + ones, 1.5 + zeros) - special.betaln(2.0, 1.5)
        terms.append(log_z + log_y)
        heads.append((2.0 + ones) / (3.5 + ones + zeros))
    exact = special.logsumexp(terms)
    m = Model()
    m.p = Beta(2.0, 1.5)
    m.w = Dirichlet(weights).iid(2)
    m.g = Input("n")
    m.z = Categorical(m.w[m.g])
    m.y = Bernoulli(take([0.0, m.p, 1.0], m.z))
    post = m.infer(y=y, g=np.zeros(4))
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(exact, abs=1e-10)
    assert float(post.p.mean) == pytest.approx(special.softmax(terms) @ heads, abs=1e-10)
