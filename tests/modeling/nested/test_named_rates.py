"""Unknowns with names of their own, of which each row sees one: as exact as members of one that are indexed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from posteriori import (
    Bernoulli,
    Beta,
    Categorical,
    Chain,
    Gamma,
    Model,
    Normal,
    NormalGamma,
    Poisson,
    bayes,
    take,
)
from posteriori.datasets import load_coal_disasters, yearly_counts
from posteriori.modeling.forms.rows_apart import split_rows

COUNTS = np.array([4, 3, 5, 2, 4, 1, 0, 1, 2, 0, 1, 0])
EVENTS = (COUNTS > 1).astype(float)
LENGTH = len(COUNTS)
BEFORE = (np.arange(LENGTH) < np.arange(1, LENGTH + 1)[:, None]).astype(float)


def once(m: Model, stay: float) -> None:
    step = np.array([[stay, 1.0 - stay], [0.0, 1.0]])
    m.z = Chain(Categorical([1.0, 0.0]), lambda z: Categorical(take(step, z)), length="t")


def assert_exact(post, y, priors, likelihood, log_prior) -> None:
    """Compare with Bayes' rule on both sides of every change."""
    logs, first, second = [], [], []
    for k in range(1, len(y) + 1):
        sides = (y[:k], y[k:])
        solved = [
            bayes(p, likelihood, side) if len(side) else None
            for p, side in zip(priors, sides, strict=True)
        ]
        logs.append(log_prior(k) + sum(float(s.log_evidence) for s in solved if s))
        beliefs = [p if s is None else s.posterior for p, s in zip(priors, solved, strict=True)]
        first.append([float(b.mean) for b in beliefs])
        second.append([float(b.variance) + float(b.mean) ** 2 for b in beliefs])
    weights = np.exp(logs - logsumexp(logs))
    mean = weights @ np.array(first)
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs), abs=1e-9)
    assert [float(post.early.mean), float(post.late.mean)] == pytest.approx(mean, rel=1e-6)
    spread = weights @ np.array(second) - mean**2
    assert [float(post.early.variance), float(post.late.variance)] == pytest.approx(
        spread, rel=1e-5
    )


def test_two_rates_with_priors_of_their_own():
    m = Model()
    m.early, m.late = Gamma(shape=3.0, rate=1.0), Gamma(shape=1.0, rate=2.0)
    once(m, 0.9)
    m.y = Poisson(take([m.early, m.late], m.z))
    priors = (Gamma(3.0, rate=1.0), Gamma(1.0, rate=2.0))

    def log_prior(k):
        return np.log(0.9) * (k - 1) + np.log(0.1) * (k < LENGTH)

    post = m.infer(y=COUNTS)
    assert_exact(post, COUNTS, priors, Poisson, log_prior)
    after = post.z.probabilities[:, 1]  # hardly depends on the rates in the first year and the last
    ends = np.where(after > 0.5, post.late.mean, post.early.mean)[[0, -1]]
    np.testing.assert_allclose(post.predict("y").mean[[0, -1]], ends, rtol=0.05)


def test_a_place_that_chooses_between_two_chances():
    m = Model()
    m.early, m.late = Beta(2.0, 1.0), Beta(1.0, 2.0)
    m.place = Categorical(np.full(LENGTH, 1.0 / LENGTH))
    m.y = Bernoulli(take(BEFORE, m.place) * m.early + take(1.0 - BEFORE, m.place) * m.late)
    priors = (Beta(2.0, 1.0), Beta(1.0, 2.0))
    assert_exact(m.infer(y=EVENTS), EVENTS, priors, Bernoulli, lambda k: -np.log(LENGTH))


def coal() -> tuple[Model, Model, np.ndarray]:
    """The same change of a rate, with an index and with names."""
    _, counts = yearly_counts(load_coal_disasters()["date"], 1851, 1962)
    indexed, named = Model(), Model()
    indexed.rate = Gamma(shape=1, rate=1).iid(2)
    named.early, named.late = Gamma(shape=1, rate=1), Gamma(shape=1, rate=1)
    for m in (indexed, named):
        once(m, 0.99)
    indexed.y = Poisson(indexed.rate[indexed.z])
    named.y = Poisson(take([named.early, named.late], named.z))
    return indexed, named, counts


def test_coal_mines_are_the_same_in_both_ways_of_writing():
    indexed, named, counts = coal()
    a, b = indexed.infer(y=counts), named.infer(y=counts)
    assert float(a.log_evidence) == pytest.approx(float(b.log_evidence), abs=1e-9)
    rates = (b.early, b.late)
    assert [float(r.mean) for r in rates] == pytest.approx(a.rate.mean, rel=1e-9)
    assert [float(r.std) for r in rates] == pytest.approx(a.rate.std, rel=1e-9)
    assert float(b.early.std) == pytest.approx(0.285, abs=5e-4)
    np.testing.assert_allclose(a.z.probabilities, b.z.probabilities, atol=1e-12)
    for asked in ({}, {"t": 2}):
        found, wanted = b.predict("y", **asked), a.predict("y", **asked)
        np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-9)
        np.testing.assert_allclose(found.variance, wanted.variance, rtol=1e-9)
    assert "log evidence" in repr(b.explain())


def test_names_cost_as_much_as_an_index():
    blocks = [m.plan(y=y).blocks for *models, y in [coal()] for m in models]
    (indexed,), (named,) = blocks
    assert named.outside.points == indexed.outside.points == 112
    assert named.cost.operations == pytest.approx(indexed.cost.operations, rel=0.1)


def test_draws_see_the_rate_of_their_side():
    _, named, counts = coal()
    draws = named.infer(y=counts).sample(2000, rng=0)
    assert draws["early"].mean() == pytest.approx(3.066, abs=5 * 0.285 / np.sqrt(2000))
    assert draws["late"].mean() == pytest.approx(0.923, abs=5 * 0.116 / np.sqrt(2000))


def test_known_places_need_no_sum():
    """Each rate learns from its own rows, repeated here and with a gap; the third rate has none."""
    codes = np.array([0, 1, 0, 1, 1])
    y = np.array([[3.0, 0.0, 5.0, 1.0, 0.0], [4.0, 1.0, np.nan, 1.0, 2.0]])
    m = Model()
    m.a, m.b, m.c = Gamma(shape=2.0, rate=1.0), Gamma(shape=1.0, rate=1.0), Gamma(3.0, rate=2.0)
    m.y = Poisson(take([m.a, m.b, m.c], codes)).iid(2)
    post = m.infer(y=y)
    first, second = y[:, codes == 0].ravel(), y[:, codes == 1].ravel()
    a = bayes(Gamma(2.0, rate=1.0), Poisson, first[~np.isnan(first)])
    b = bayes(Gamma(1.0, rate=1.0), Poisson, second)
    assert (post.a, post.b, post.c) == (a.posterior, b.posterior, Gamma(3.0, rate=2.0))
    total = float(a.log_evidence) + float(b.log_evidence)
    assert float(post.log_evidence) == pytest.approx(total, abs=1e-9)
    rates = np.array([a.posterior.mean, b.posterior.mean])
    np.testing.assert_allclose(post.predict("y").mean, np.tile(rates[codes], (2, 1)))
    assert post.messages()["y", "b"].to_variable.batch_shape == (6,)
    again = post.update(y=y)
    expected = bayes(a.posterior, Poisson, first[~np.isnan(first)]).posterior
    assert float(again.a.mean) == pytest.approx(float(expected.mean))


def test_means_with_precisions_of_their_own():
    """Rows that see a mean and a precision together stay together."""
    codes = np.array([0, 1, 1, 0, 1, 0])
    y = np.array([0.3, 2.0, 3.1, -0.4, 2.2, 0.9])
    m = Model()
    m.s, m.t = Gamma(shape=2.0, rate=1.0), Gamma(shape=3.0, rate=1.0)
    m.a, m.b = Normal(0.0, precision=0.5 * m.s), Normal(1.0, precision=2.0 * m.t)
    m.y = Normal(take([m.a, m.b], codes), precision=take([m.s, m.t], codes))
    post = m.infer(y=y)
    first = bayes(NormalGamma(0.0, mean_strength=0.5, shape=2.0, rate=1.0), Normal, y[codes == 0])
    second = bayes(NormalGamma(1.0, mean_strength=2.0, shape=3.0, rate=1.0), Normal, y[codes == 1])
    total = float(first.log_evidence) + float(second.log_evidence)
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(total, abs=1e-9)
    assert float(post.s.rate) == pytest.approx(float(first.posterior.rate))
    assert float(post.t.rate) == pytest.approx(float(second.posterior.rate))


def test_rows_that_see_two_unknowns_join_them():
    """Of three rates the second and third meet in a row; what sees none goes with the first."""
    gains = np.array([[1, 0, 0, 0, 1], [0, 1, 1, 0, 0], [0, 0, 1, 0, 0]], dtype=float)
    m = Model()
    m.a, m.b, m.c = (Gamma(shape=2.0, rate=1.0) for _ in range(3))
    m.y = Poisson(m.a * gains[0] + m.b * gains[1] + m.c * gains[2])
    bound = m.plan(y=np.array([1.0, 2.0, 3.0, 0.0, 1.0])).bound
    factor = next(f for f in bound.factors if f.name == "y")
    parts = split_rows(factor, bound.families)
    assert [part.positions.tolist() for part in parts] == [[0, 3, 4], [1, 2]]
    names = [{a.name for a in part.factor.accesses} for part in parts]
    assert names == [{"a"}, {"b", "c"}]
