"""Lists of numbers and unknowns from which classes choose: ``take([0.0, m.p], m.z)``."""

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
    Model,
    Normal,
    Poisson,
    take,
)

COINS = np.array([0.0, 1.0, 1.0, 0.0, 0.0])
COUNTS = np.array([0.0, 3.0, 0.0, 5.0, 2.0])


def coins(low=0.0):
    m = Model()
    m.p = Beta(2.0, 1.5)
    m.z = Bernoulli(0.6).iid("n")
    m.y = Bernoulli(take([low, m.p], m.z))
    return m


def counts():
    m = Model()
    m.rate = Gamma(2.0, 1.0)
    m.z = Bernoulli(0.6).iid("n")
    m.y = Poisson(take([0.0, m.rate], m.z))
    return m


def enumerated(log_evidence, size):
    """ln Σ_z p(z) p(y | z), with the evidence of the rows that see the unknown in closed form."""
    terms = []
    for states in product((0, 1), repeat=size):
        z = np.array(states)
        terms.append(np.log(np.where(z, 0.6, 0.4)).sum() + log_evidence(z == 1))
    return special.logsumexp(terms)


@pytest.mark.parametrize("low", [0.0, 0.2, 1.0])
def test_coins_of_which_some_are_known(low):
    def log_evidence(seen):
        with np.errstate(divide="ignore"):
            known = np.log(np.where(COINS[~seen] > 0, low, 1.0 - low)).sum()
        ones = COINS[seen].sum()
        zeros = seen.sum() - ones
        return known + special.betaln(2.0 + ones, 1.5 + zeros) - special.betaln(2.0, 1.5)

    exact = enumerated(log_evidence, len(COINS))
    post = coins(low).infer(y=COINS, method="vmp")
    assert exact - 0.5 < float(post.log_evidence) < exact
    if low in (0.0, 1.0):  # who shows what the known coin never does is the other
        np.testing.assert_allclose(post.z.probability[low != COINS], 1.0)


def test_counts_with_too_many_zeros():
    def log_evidence(seen):
        x = COUNTS[seen]
        if COUNTS[~seen].any():
            return -np.inf
        after = special.gammaln(2.0 + x.sum()) - (2.0 + x.sum()) * np.log(1.0 + len(x))
        return after - special.gammaln(x + 1.0).sum()

    exact = enumerated(log_evidence, len(COUNTS))
    post = counts().infer(y=COUNTS, method="vmp")
    assert exact - 0.5 < float(post.log_evidence) < exact
    np.testing.assert_allclose(post.z.probability[COUNTS > 0], 1.0)
    assert (post.z.probability[COUNTS == 0] < 0.6).all()


def test_beliefs_solve_the_equations_of_mean_field():
    post = coins(0.2).infer(y=COINS, method="vmp", tol=1e-14, max_iter=10_000)
    q = post.z.probability
    a, b = 2.0 + q @ COINS, 1.5 + q @ (1.0 - COINS)
    np.testing.assert_allclose([post.p.a, post.p.b], [a, b], rtol=1e-6)
    logs = np.where(COINS > 0, special.digamma(a), special.digamma(b)) - special.digamma(a + b)
    odds = np.log(0.6 / 0.4) + logs - np.log(np.where(COINS > 0, 0.2, 0.8))
    np.testing.assert_allclose(q, special.expit(odds), rtol=1e-5)


def test_unknowns_in_a_list_are_those_of_a_plate():
    y = np.array([0.1, 1.2, 0.9, -0.4])
    apart, plate = Model(), Model()
    apart.a, apart.b = Normal(0.0, variance=1.0), Normal(1.0, variance=2.0)
    plate.mu = Normal([0.0, 1.0], variance=[1.0, 2.0])
    for m in (apart, plate):
        m.z = Bernoulli(0.6).iid("n")
        m.y = Normal(take([m.a, m.b] if m is apart else m.mu, m.z), variance=0.5)
    one, other = (m.infer(y=y, tol=1e-12, max_iter=5000) for m in (apart, plate))
    np.testing.assert_allclose(one.z.probability, other.z.probability, rtol=1e-4)
    assert float(one.log_evidence) == pytest.approx(float(other.log_evidence), abs=1e-8)


def test_a_number_and_an_unknown_mean_are_a_gate_times_the_unknown():
    y = np.array([0.1, 1.2, 0.9, -0.4])
    found = []
    for write in (
        lambda m: take([0.5, m.mu], m.z),
        lambda m: take([0.5, 0.0], m.z) + take([0.0, 1.0], m.z) * m.mu,
    ):
        m = Model()
        m.mu = Normal(0.0, variance=1.0)
        m.z = Bernoulli(0.6).iid("n")
        m.y = Normal(write(m), variance=0.5)
        found.append(float(m.infer(y=y).log_evidence))
    assert found[0] == pytest.approx(found[1], abs=1e-12)


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda m: Bernoulli(take([1.5, m.p], m.z)), "probability of y must lie between 0 and 1"),
        (lambda m: Poisson(take([-1.0, m.r], m.z)), "rate of y must be positive"),
        (lambda m: Normal(0.0, precision=take([0.0, m.r], m.z)), "precision of y must be positive"),
        (lambda m: Categorical(take([[0.5, 0.6], m.q], m.z)), "must sum to 1 in each state"),
    ],
)
def test_numbers_that_cannot_be_are_refused(write, words):
    m = Model()
    m.p, m.r, m.q = Beta(1.0, 1.0), Gamma(1.0, 1.0), Dirichlet([1.0, 1.0])
    m.z = Bernoulli(0.5).iid("n")
    m.y = write(m)
    with pytest.raises(ValueError, match=words):
        m.infer(y=[1.0, 0.0], method="vmp")


# -- other families ----------------------------------------------------------------------------


def test_known_and_unknown_probabilities_of_categories():
    known = np.array([0.5, 0.5, 0.0])
    m = Model()
    m.p = Dirichlet([1.0, 1.0, 2.0])
    m.z = Bernoulli(0.6).iid("n")
    m.y = Categorical(take([known, m.p], m.z))
    y = np.array([0, 2, 1, 2, 0])

    def log_evidence(seen):
        with np.errstate(divide="ignore"):
            logs = np.log(known[y[~seen]]).sum()
        counts, prior = np.bincount(y[seen], minlength=3), np.array([1.0, 1.0, 2.0])
        logs += special.gammaln(prior + counts).sum() - special.gammaln(prior).sum()
        return logs + special.gammaln(4.0) - special.gammaln(4.0 + counts.sum())

    exact = enumerated(log_evidence, 5)
    post = m.infer(y=y, method="vmp")
    assert exact - 0.7 < float(post.log_evidence) < exact
    np.testing.assert_allclose(post.z.probability[y == 2], 1.0)


def test_known_and_unknown_rates_of_waiting_times():
    m = Model()
    m.rate = Gamma(2.0, 1.0)
    m.z = Bernoulli(0.6).iid("n")
    m.y = Gamma(2.0, take([3.0, m.rate], m.z))
    y = np.array([0.3, 4.0, 0.8, 2.5, 0.2])

    def log_evidence(seen):
        x = y[seen]
        logs = (2.0 * np.log(3.0) + np.log(y[~seen]) - 3.0 * y[~seen]).sum() + np.log(x).sum()
        shape = 2.0 + 2.0 * len(x)
        return logs + special.gammaln(shape) - shape * np.log(1.0 + x.sum())

    exact = enumerated(log_evidence, 5)
    post = m.infer(y=y, method="vmp")
    assert exact - 0.7 < float(post.log_evidence) < exact
