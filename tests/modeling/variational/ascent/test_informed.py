"""Members of plates without data change neither shared beliefs nor the bound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori import (
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    Model,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
)

NAN = np.nan
COUNTS = np.array([1.0, 0.0, 2.0, 8.0, 9.0, 7.0, 1.0])


def poisson_mixture() -> Model:
    m = Model()
    m.pi = Dirichlet([1, 1])
    m.r = Gamma(1, rate=1).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = Poisson(m.r[m.z])
    return m


def schools() -> Model:
    m = Model()
    m.w = Input("school")
    m.mu = Normal(0, variance=100)
    m.tau = Gamma(1, rate=10)
    m.theta = Normal(m.mu, precision=m.tau).iid("school")
    m.y = Normal(m.theta, precision=m.w)
    return m


def hidden_markov() -> Model:
    m = Model()
    m.A = Dirichlet([2, 1]).iid(2)
    m.r = Gamma([2, 8], rate=1)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.x = Poisson(m.r[m.z])
    return m


def heavy_tails() -> Model:
    m = Model()
    m.pi = Dirichlet([1, 1])
    m.mu = Normal([-3, 3], variance=10)
    m.z = Categorical(m.pi).iid("n")
    m.u = Gamma(2, rate=2).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.u)
    return m


def vectors_of_one_class() -> Model:
    m = Model()
    m.mu = MvNormal(np.zeros(2), cov=9.0 * np.eye(2))
    m.L = Wishart(4, scale=0.5 * np.eye(2))
    m.x = MvNormal(m.mu, precision=m.L).iid("n")
    return m


def vectors_of_classes() -> Model:
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = MvNormal(np.zeros(2), cov=9.0 * np.eye(2)).iid(2)
    m.L = Wishart(4, scale=0.5 * np.eye(2)).iid(2)
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.L[m.z])
    return m


def autoregression() -> Model:
    m = Model()
    m.a = Normal(0, variance=1)
    m.tau = Gamma(2, rate=1)
    m.x = Chain(Normal(0, variance=4), lambda x: Normal(m.a * x, precision=m.tau), length="t")
    return m


def measured_twice() -> Model:
    m = Model()
    m.mu = Normal(0, variance=4)
    m.tau = Gamma(2, rate=1)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    m.w = Normal(0, variance=4)
    m.noise = Gamma(2, rate=1)
    m.y = Normal(m.w * m.x, precision=m.noise)
    return m


def classes_measured_twice() -> Model:
    m = Model()
    m.pi = Dirichlet([1, 1])
    m.mu = Normal([-3, 3], variance=10)
    m.tau = Gamma(2, rate=1)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], precision=m.tau)
    m.w = Normal(0, variance=4)
    m.noise = Gamma(2, rate=1)
    m.y = Normal(m.w * m.x, precision=m.noise)
    return m


SERIES = np.array([0.3, 1.1, 0.8, -0.2, -0.9, -0.4, 0.1, 0.9, 1.6, 1.2])
X = np.array([0.4, -1.2, 0.9, 2.0, -0.3, 1.1])
Y = np.array([0.9, -2.0, 2.1, NAN, -0.8, 1.9])

#: Numbers of two classes, and others that depend on them.
LEFT_AND_RIGHT = np.array([-3, -2.6, 3.3, 2.9, -3.5, 2.2, 3.1])
TWICE = np.array([-6.1, -5, 6.8, NAN, -7.3, 4.1, 6])

#: Vectors of which parts are missing.
VECTORS = np.array([[2, 2.4], [-2, NAN], [1.6, 2], [-2.5, -1.5], [NAN, 2], [-1.8, -2], [2.2, 1.7]])

CASES = {
    "end of a series": (autoregression, {"x": SERIES}, ["a", "tau"]),
    "end of a series with gaps": (
        autoregression,
        {"x": np.where(np.isin(np.arange(10), [0, 4, 5]), NAN, SERIES)},
        ["a", "tau"],
    ),
    "numbers that others depend on": (
        measured_twice,
        {"x": X, "y": Y},
        ["mu", "tau", "w", "noise"],
    ),
    "gaps that others depend on": (
        measured_twice,
        {"x": np.where(np.arange(6) == 2, NAN, X), "y": Y},
        ["mu", "tau", "w", "noise"],
    ),
    "classes of numbers that others depend on": (
        classes_measured_twice,
        {"x": LEFT_AND_RIGHT, "y": TWICE},
        ["pi", "mu", "tau", "w", "noise"],
    ),
    "classes of gaps that others depend on": (
        classes_measured_twice,
        {"x": np.where(np.arange(7) == 1, NAN, LEFT_AND_RIGHT), "y": TWICE},
        ["pi", "mu", "tau", "w", "noise"],
    ),
    "vectors beside parts of vectors": (vectors_of_one_class, {"x": VECTORS}, ["mu", "L"]),
    "classes beside parts of vectors": (vectors_of_classes, {"x": VECTORS}, ["pi", "mu", "L"]),
    "classes": (poisson_mixture, {"x": COUNTS}, ["pi", "r"]),
    "hierarchy": (
        schools,
        {
            "y": np.array([28, 8, -3, 7, -1, 1, 18, 12.0]),
            "w": np.array([15, 10, 16, 11, 9, 11, 10, 18.0]) ** -2,
        },
        ["mu", "tau"],
    ),
    "end of a chain": (hidden_markov, {"x": COUNTS}, ["A", "r"]),
    "two unknowns of each member": (heavy_tails, {"x": COUNTS - 4.0}, ["pi", "mu"]),
}


def with_gaps(values: np.ndarray, name: str, count: int) -> np.ndarray:
    """Add members whose data are missing; inputs go on with 1."""
    more = np.full((count, *values.shape[1:]), 1.0 if name == "w" else NAN)
    return np.concatenate([values, more])


@pytest.mark.parametrize("case", CASES)
def test_members_without_data_tell_nothing(case: str) -> None:
    make, data, shared = CASES[case]
    alone = make().infer(**data)
    more = make().infer(**{name: with_gaps(v, name, 300) for name, v in data.items()})
    assert_allclose(float(more.log_evidence), float(alone.log_evidence), rtol=1e-9)
    assert_allclose(
        sum(more.explain().energies.values()) + sum(more.explain().entropies.values()),
        float(more.log_evidence),
        rtol=1e-9,
    )
    for name in shared:
        assert_allclose(more[name].mean, alone[name].mean, rtol=1e-5)
        assert_allclose(more[name].variance, alone[name].variance, rtol=1e-5)


def test_members_before_the_gaps_keep_their_belief() -> None:
    alone = poisson_mixture().infer(x=COUNTS, method="vmp")
    more = poisson_mixture().infer(x=with_gaps(COUNTS, "x", 5), method="vmp")
    assert_allclose(more["z"].probabilities[:7], alone["z"].probabilities, rtol=1e-6)


def test_a_class_without_data_is_as_likely_as_shared_beliefs_say() -> None:
    post = poisson_mixture().infer(x=with_gaps(COUNTS, "x", 5), method="vmp")
    log_pi = post["pi"].mean_params[0]
    expected = np.exp(log_pi) / np.exp(log_pi).sum()
    assert_allclose(post["z"].probabilities[7:], np.broadcast_to(expected, (5, 2)), rtol=1e-9)


@pytest.mark.parametrize("gap", [False, True])
def test_classes_of_numbers_without_data_are_as_shared_beliefs_say(gap: bool) -> None:
    """The numbers themselves are near the average of both classes."""
    x = np.where(gap & (np.arange(7) == 1), NAN, LEFT_AND_RIGHT)
    alone = classes_measured_twice().infer(x=x, y=TWICE, tol=1e-9)
    data = {"x": with_gaps(x, "x", 4), "y": with_gaps(TWICE, "y", 4)}
    post = classes_measured_twice().infer(**data, tol=1e-9)
    assert_allclose(post["z"].probabilities[:7], alone["z"].probabilities, rtol=1e-5, atol=1e-15)
    expected = np.exp(post["pi"].mean_params[0])
    expected /= expected.sum()
    assert_allclose(post["z"].probabilities[7:], np.broadcast_to(expected, (4, 2)), rtol=1e-9)
    missing = post["x[missing]"].mean
    assert_allclose(missing[-4:], expected @ post["mu"].mean, rtol=1e-9)
    if gap:
        assert_allclose(missing[0], alone["x[missing]"].mean[0], rtol=1e-5)
    assert post.sample(3, rng=0)["z"].shape == (3, 11)
    assert post.predict("y").mean.shape == (11,)


def test_parts_of_vectors_keep_their_belief_beside_vectors_that_are_missing() -> None:
    x = np.insert(VECTORS, [0, 3, 3, 7], NAN, axis=0)
    alone, more = vectors_of_classes().infer(x=VECTORS), vectors_of_classes().infer(x=x)
    assert_allclose(more["x[missing]"].mean, alone["x[missing]"].mean, rtol=1e-6)
    assert_allclose(more["x[missing]"].variance, alone["x[missing]"].variance, rtol=1e-6)


def test_the_end_of_a_series_follows_from_its_last_number() -> None:
    """E[x] moves on by E[a]; the spread by E[τ]⁻¹ and E[a²], as the last precision says."""
    post = autoregression().infer(x=with_gaps(SERIES, "x", 2), tol=1e-12)
    a, spread = post.a.mean, 1.0 / post.tau.mean
    J = np.array([[1.0 + a**2 + post.a.variance, -a], [-a, 1.0]]) / spread
    h = np.array([a * SERIES[-1] / spread, 0.0])
    assert_allclose(post["x[missing]"].mean, np.linalg.solve(J, h), rtol=1e-9)
    assert_allclose(post["x[missing]"].variance, np.diag(np.linalg.inv(J)), rtol=1e-9)


def test_gaps_in_the_middle_are_left_out_too() -> None:
    x = np.insert(COUNTS, 3, [NAN, NAN])
    alone, more = (poisson_mixture().infer(x=values, method="vmp") for values in (COUNTS, x))
    assert_allclose(more["pi"].mean, alone["pi"].mean, rtol=1e-6)
    assert_allclose(
        np.delete(more["z"].probabilities, [3, 4], axis=0), alone["z"].probabilities, rtol=1e-5
    )


def test_groups_that_no_row_names_are_left_out() -> None:
    def model(groups: int) -> Model:
        m = Model()
        m.mu = Normal(0, variance=100)
        m.tau = Gamma(1, rate=1)
        m.theta = Normal(m.mu, precision=m.tau).iid(groups)
        m.y = Normal(m.theta[np.array([0, 0, 1, 2])], variance=1.0)
        return m

    y = np.array([1.0, 2.0, 5.0, -1.0])
    alone, more = model(3).infer(y=y), model(50).infer(y=y)
    assert_allclose(float(more.log_evidence), float(alone.log_evidence), rtol=1e-9)
    assert_allclose(more["tau"].mean, alone["tau"].mean, rtol=1e-6)
    assert_allclose(more["theta"].mean[3:], np.full(47, alone["mu"].mean), rtol=1e-5)


def test_starts_of_all_members_are_cut() -> None:
    x = with_gaps(COUNTS, "x", 2)
    codes = np.array([0, 0, 0, 1, 1, 1, 0, 1, 1])
    post = poisson_mixture().infer(x=x, init={"z": codes})
    alone = poisson_mixture().infer(x=COUNTS, init={"z": codes[:7]})
    assert_allclose(post["r"].mean, alone["r"].mean, rtol=1e-6)
