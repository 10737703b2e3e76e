"""Change points are summed over exactly: against Bayes' rule for every place of the change."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    Model,
    Normal,
    Poisson,
    bayes,
    take,
)
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.nested.states import possible_states

STAY = 0.9
COUNTS = np.array([4, 3, 5, 2, 4, 1, 0, 1, 2, 0, 1, 0])
NUMBERS = np.array([0.3, -0.4, 0.9, 0.1, -0.2, 2.1, 1.7, 3.0, 2.2, 1.4])
ONCE = np.array([[STAY, 1 - STAY], [0.0, 1.0]])
TWICE = np.array([[STAY, 1 - STAY, 0.0], [0.0, STAY, 1 - STAY], [0.0, 0.0, 1.0]])


def switched(step: np.ndarray) -> Model:
    """States that are left for the next one only, and never entered again."""
    m = Model()
    first = np.eye(len(step))[0]
    m.z = Chain(Categorical(first), lambda z: Categorical(take(step, z)), length="t")
    return m


def rates(step=ONCE) -> tuple[Model, str]:
    m = switched(step)
    m.rate = Gamma(shape=2.0, rate=1.0).iid(len(step))
    m.y = Poisson(m.rate[m.z])
    return m, "rate"


def means() -> tuple[Model, str]:
    m = switched(ONCE)
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.y = Normal(m.mu[m.z], variance=0.5)
    return m, "mu"


def precisions() -> tuple[Model, str]:
    m = switched(ONCE)
    m.tau = Gamma(shape=2.0, rate=1.0).iid(2)
    m.y = Normal(0.0, precision=m.tau[m.z])
    return m, "tau"


def chances() -> tuple[Model, str]:
    m = switched(ONCE)
    m.p = Beta(2.0, 1.0).iid(2)
    m.y = Bernoulli(m.p[m.z])
    return m, "p"


def place_of_change() -> tuple[Model, str]:
    """The place itself is an unknown, and says where each member is."""
    m = Model()
    n = len(COUNTS)
    after = np.arange(n) >= np.arange(1, n + 1)[:, None]
    m.place = Categorical(np.full(n, 1.0 / n))
    m.z = Bernoulli(take(after.astype(float), m.place))
    m.rate = Gamma(shape=2.0, rate=1.0).iid(2)
    m.y = Poisson(m.rate[m.z])
    return m, "rate"


#: Model and data, the prior of one class and its likelihood.
CASES = {
    "rates": (rates, COUNTS, Gamma(2.0, rate=1.0), Poisson),
    "means": (means, NUMBERS, Normal(0.0, variance=9.0), lambda x: Normal(x, variance=0.5)),
    "precisions": (precisions, NUMBERS, Gamma(2.0, rate=1.0), lambda x: Normal(0.0, precision=x)),
    "chances": (chances, (NUMBERS > 1).astype(float), Beta(2.0, 1.0), Bernoulli),
}


def one_by_one(y, prior, likelihood, changes, log_prior):
    """Return ln p(y), p(changes | y), and the posteriors of all classes given each of them."""
    logs, found = [], []
    for places in changes:
        parts = np.split(y, places)
        solved = [bayes(prior, likelihood, part) if len(part) else None for part in parts]
        logs.append(log_prior(places) + sum(float(s.log_evidence) for s in solved if s))
        found.append([prior if s is None else s.posterior for s in solved])
    total = logsumexp(logs)
    return total, np.exp(logs - total), found


def assert_mixture(marginal, weights, found) -> None:
    """Compare means and variances of all classes with those of a mixture."""
    first = np.array([[float(p.mean) for p in classes] for classes in found])
    second = np.array([[float(p.variance) for p in classes] for classes in found]) + first**2
    mean = weights @ first
    np.testing.assert_allclose(marginal.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(marginal.variance, weights @ second - mean**2, rtol=1e-5)


def once(n):
    """Places of one change, n for none, and their prior."""

    def log_prior(places):
        return np.log(STAY) * (places[0] - 1) + np.log(1 - STAY) * (places[0] < n)

    return [(k,) for k in range(1, n + 1)], log_prior


@pytest.mark.parametrize("case", CASES)
def test_one_change_is_a_sum_over_its_places(case):
    make, y, prior, likelihood = CASES[case]
    m, name = make()
    post = m.infer(y=y)
    log_evidence, weights, found = one_by_one(y, prior, likelihood, *once(len(y)))
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=1e-9)
    assert_mixture(post[name], weights, found)
    after = np.append(np.diff(post.z.probabilities[:, 1]), post.z.probabilities[-1, 0])
    np.testing.assert_allclose(after, weights, atol=1e-9)


def test_two_changes():
    m, _ = rates(TWICE)
    n = len(COUNTS)
    changes = [*combinations(range(1, n), 2), *((k, n) for k in range(1, n)), (n, n)]

    def log_prior(places):
        """Moves before the second change: the last state is never left."""
        moves, left = min(places[1], n - 1), sum(k < n for k in places)
        return left * np.log(1 - STAY) + (moves - left) * np.log(STAY)

    post = m.infer(y=COUNTS)
    log_evidence, weights, found = one_by_one(
        COUNTS, Gamma(2.0, rate=1.0), Poisson, changes, log_prior
    )
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=1e-9)
    assert_mixture(post.rate, weights, found)


def test_a_place_that_says_which_members_are_before_it():
    m, _ = place_of_change()
    post = m.infer(y=COUNTS)
    n = len(COUNTS)
    changes = [(k,) for k in range(1, n + 1)]
    prior = Gamma(2.0, rate=1.0)
    log_evidence, weights, found = one_by_one(
        COUNTS, prior, Poisson, changes, lambda places: -np.log(n)
    )
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=1e-9)
    np.testing.assert_allclose(post.place.probabilities, weights, atol=1e-9)
    assert_mixture(post.rate, weights, found)


def test_means_that_share_an_unknown_precision():
    """Normal and Gamma together: t densities of each part, by one integral over the precision."""
    m = switched(ONCE)
    m.tau = Gamma(shape=2.0, rate=1.0)
    m.mu = Normal(0.0, precision=0.5 * m.tau).iid(2)
    m.y = Normal(m.mu[m.z], precision=m.tau)
    post = m.infer(y=NUMBERS)
    n, (changes, log_prior) = len(NUMBERS), once(len(NUMBERS))
    logs = []
    for places in changes:
        side = np.arange(n) < places[0]
        cov = np.eye(n) + 2.0 * (side[:, None] == side)
        rate = 1.0 + 0.5 * NUMBERS @ np.linalg.solve(cov, NUMBERS)
        log_det = np.linalg.slogdet(2 * np.pi * cov)[1]
        logs.append(
            log_prior(places)
            + gammaln(2.0 + n / 2)
            - gammaln(2.0)
            - (2.0 + n / 2) * np.log(rate)
            - 0.5 * log_det
        )
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs), abs=1e-9)


def test_an_unknown_chance_of_the_change():
    """Given the place, a Beta chance has seen so many years without a change, and one with it."""
    m = Model()
    m.q = Beta(1.0, 5.0)
    m.rate = Gamma(shape=2.0, rate=1.0).iid(2)
    m.z = Chain(Bernoulli(0.0), lambda z: Bernoulli(take([m.q, 1.0], z)), length="t")
    m.y = Poisson(m.rate[m.z])
    post = m.infer(y=COUNTS)
    n = len(COUNTS)

    def log_prior(places):
        seen = np.append(np.zeros(places[0] - 1), np.ones(int(places[0] < n)))
        return float(bayes(Beta(1.0, 5.0), Bernoulli, seen).log_evidence) if len(seen) else 0.0

    changes = [(k,) for k in range(1, n + 1)]
    log_evidence, weights, found = one_by_one(
        COUNTS, Gamma(2.0, rate=1.0), Poisson, changes, log_prior
    )
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=1e-9)
    assert_mixture(post.rate, weights, found)


def test_members_after_the_end():
    """A state goes on as its moves say, and its rate is the one that was learned."""
    m, _ = rates()
    post = m.infer(y=COUNTS)
    _, weights, found = one_by_one(COUNTS, Gamma(2.0, rate=1.0), Poisson, *once(len(COUNTS)))
    stayed = weights[-1] * STAY ** np.arange(1, 4)
    np.testing.assert_allclose(post.predict("z", t=3).probabilities[:, 0], stayed, atol=1e-9)
    each = np.array([[float(p.mean) for p in classes] for classes in found])
    last = np.where(np.arange(len(weights)) == len(weights) - 1, STAY, 0.0)
    mean = weights @ (last * each[:, 0] + (1.0 - last) * each[:, 1])
    assert float(post.predict("y", t=3).mean[0]) == pytest.approx(mean, rel=1e-6)


def test_draws_follow_the_posterior():
    m, _ = rates()
    post = m.infer(y=COUNTS)
    draws = post.sample(4000, rng=0)
    error = post.rate.std / np.sqrt(4000)
    assert np.all(np.abs(draws["rate"].mean(axis=0) - post.rate.mean) < 5 * error)
    assert np.all(np.diff(draws["z"], axis=1) >= 0)


def possible(m: Model, name: str, most: float = 1e4, **data):
    bound = m.plan(**data).bound
    return possible_states(name, Group(bound, bound.latent, bound.factors), most)


def test_possible_states_are_those_of_positive_probability():
    m, _ = rates(TWICE)
    found = possible(m, "z", y=COUNTS[:5])
    paths = np.stack(np.unravel_index(np.arange(3**5), (3,) * 5), axis=1)
    moves = np.array([TWICE[a, b] for a, b in zip(paths[:, :-1].T, paths[:, 1:].T, strict=True)])
    expected = paths[(paths[:, 0] == 0) & (moves > 0).all(axis=0)]
    np.testing.assert_array_equal(found, expected)


def test_states_without_zeros_or_with_too_many_paths_are_not_listed():
    m = Model()
    moves = np.array([[0.9, 0.1], [0.1, 0.9]])
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(moves, z)), length="t")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    assert possible(m, "z", y=NUMBERS) is None
    assert possible(rates()[0], "z", 5, y=COUNTS) is None


def test_unknown_probabilities_are_not_zero_but_for_numbers_that_make_them_so():
    """Beside an unknown chance, a known 0 still leaves few paths."""
    m = Model()
    m.stay = Beta(9.0, 1.0)
    m.start = Dirichlet([1.0, 1.0])
    m.u = Categorical(m.start).iid(3)
    m.z = Chain(Bernoulli(0.0), lambda z: Bernoulli(take([1.0 - m.stay, 1.0], z)), length="t")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    m.x = Normal(take([0.0, 1.0], m.u), variance=1.0)
    data = {"y": NUMBERS[:4], "x": np.zeros(3)}
    assert possible(m, "u", **data) is None
    np.testing.assert_array_equal(possible(m, "z", **data), np.tri(4, 4, -1)[:, ::-1])


def test_inputs_on_the_plate_of_the_chain():
    """Moves that differ from step to step: a change is possible in one of three years."""
    m = Model()
    m.open = Input("t")
    m.z = Chain(Bernoulli(0.0), lambda z: Bernoulli(take([m.open, 1.0], z)), length="t")
    m.rate = Gamma(shape=2.0, rate=1.0).iid(2)
    m.y = Poisson(m.rate[m.z])
    chance = np.where(np.isin(np.arange(len(COUNTS)), [4, 5, 6]), 0.3, 0.0)
    post = m.infer(y=COUNTS, open=chance)
    changes = [(4,), (5,), (6,), (len(COUNTS),)]
    priors = dict(zip(changes, np.log([0.3, 0.21, 0.147, 0.343]), strict=True))
    log_evidence, weights, found = one_by_one(
        COUNTS, Gamma(2.0, rate=1.0), Poisson, changes, priors.__getitem__
    )
    assert float(post.log_evidence) == pytest.approx(log_evidence, abs=1e-9)
    assert_mixture(post.rate, weights, found)


@pytest.mark.slow
def test_intervals_hold_what_they_promise():
    """Of 150 simulated series with one change, central 90 % intervals hold 86 to 94 % of the rates."""
    rng = np.random.default_rng(11)
    inside = []
    for _ in range(150):
        rate = rng.gamma(2.0, size=2)
        place = min(rng.geometric(1 - STAY), 30)
        y = rng.poisson(rate[(np.arange(30) >= place).astype(int)])
        post = rates()[0].infer(y=y)
        at = np.array([float(post.rate.cdf(rate)[k]) for k in range(2)])
        inside.append((at > 0.05) & (at < 0.95))
    assert 0.86 <= np.mean(inside) <= 0.94
