"""Entropic inference with the numbers of the notes: constraints, relative entropy, divergence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from posteriori import Categorical, Gamma, Normal
from posteriori.information import kl_divergence, maximum_entropy, maximum_relative_entropy
from posteriori.tables import JointTable

DIE = [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749]


@pytest.mark.topic("004/9.6")
def test_known_means_tilt_the_prior() -> None:
    """N(0, 1) with E = 3 is N(3, 1); Gam(a, b) with E = 3 is Gam(a, a/3); the die of Jaynes."""
    assert maximum_relative_entropy(Normal(0.0, variance=1.0), mean=3.0).distribution == Normal(
        3.0, variance=1.0
    )
    tilted = maximum_relative_entropy(Gamma(2.5, rate=4.0), mean=3.0).distribution
    assert_allclose([tilted.shape, tilted.rate], [2.5, 2.5 / 3.0], rtol=1e-12)
    die = maximum_relative_entropy(
        Categorical(np.full(6, 1 / 6), labels=tuple(range(1, 7))), {1: 4.5}
    )
    assert_allclose(die.distribution.probabilities, DIE, atol=6e-6)
    assert_allclose(die.multipliers["E[x]"], 0.371049, atol=5e-7)


@pytest.mark.topic("004/9.6")
def test_no_other_distribution_with_these_moments_is_nearer_to_the_prior() -> None:
    prior = np.array([0.1, 0.4, 0.2, 0.3])
    found = maximum_relative_entropy(prior, {1: 2.0}).distribution.probabilities
    slow = optimize.minimize(
        lambda q: np.sum(q * np.log(q / prior)),
        np.array([0.05, 0.25, 0.35, 0.35]),
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1.0},
            {"type": "eq", "fun": lambda q: q @ np.arange(4) - 2.0},
        ],
        bounds=[(1e-9, 1)] * 4,
        options={"ftol": 1e-15},
    )
    assert_allclose(found, slow.x, atol=1e-6)


@pytest.mark.topic("004/9.6")
def test_what_is_independent_and_not_constrained_stays_as_it_was() -> None:
    """States are pairs (x, y), independent before; a constraint on x leaves y alone."""
    x, y = np.array([0.2, 0.5, 0.3]), np.array([0.6, 0.4])
    prior = np.outer(x, y)
    found = maximum_relative_entropy(prior.ravel(), {lambda k: k // 2: 1.5}).distribution
    table = found.probabilities.reshape(3, 2)
    alone = maximum_relative_entropy(x, {1: 1.5}).distribution.probabilities
    assert_allclose(table, np.outer(alone, y), rtol=1e-9)


@pytest.mark.topic("004/9.6")
def test_coordinates_do_not_matter() -> None:
    """The same constraint on y = 2x + 1 gives the image of the same distribution."""
    p = [0.1, 0.4, 0.2, 0.3]
    x = maximum_relative_entropy(Categorical(p, labels=(0, 1, 2, 3)), {1: 2.0}).distribution
    y = maximum_relative_entropy(Categorical(p, labels=(1, 3, 5, 7)), {1: 5.0}).distribution
    assert_allclose(x.probabilities, y.probabilities, rtol=1e-9)


@pytest.mark.topic("004/9.5")
def test_a_data_constraint_is_bayes_rule() -> None:
    """Of all joint tables with q(x) = δ, p(z | x̂) δ is nearest to the prior joint."""
    joint = np.array([[0.10, 0.25, 0.15], [0.20, 0.05, 0.25]])  # z, x
    table = JointTable(["z", "x"], joint)
    posterior = table.query("z", given={"x": 1}).probabilities
    others = np.random.default_rng(0).dirichlet(np.ones(2), 200)
    distances = np.sum(others * np.log(others / joint[:, 1]), axis=1)
    nearest = np.sum(posterior * np.log(posterior / joint[:, 1]))
    assert np.all(distances >= nearest)
    assert_allclose(nearest, -np.log(joint[:, 1].sum()), rtol=1e-13)  # F* = −ln p(x̂)


@pytest.mark.topic("004/9.5")
def test_moment_and_form_constraints_differ() -> None:
    """E = 3 tilts a Gamma; of all Gammas of one shape the same one is nearest to the prior."""
    prior = Gamma(2.0, rate=1.0)
    tilted = maximum_relative_entropy(prior, mean=3.0).distribution
    for shape in (1.0, 1.5, 3.0, 4.0):
        assert Gamma(shape, rate=shape / 3.0).kl(prior) > tilted.kl(prior)


@pytest.mark.topic("004/9.7")
def test_entropy_is_distance_from_uniform() -> None:
    q = np.array([0.5, 0.2, 0.2, 0.1])
    uniform = np.full(4, 0.25)
    assert_allclose(Categorical(q).entropy(), np.log(4) - kl_divergence(q, uniform), rtol=1e-14)
    assert_allclose(maximum_entropy(range(4)).distribution.probabilities, uniform, rtol=1e-14)
    flat = maximum_relative_entropy(uniform, {1: 2.0}).distribution.probabilities
    assert_allclose(maximum_entropy(range(4), {1: 2.0}).distribution.probabilities, flat, rtol=1e-9)
    most = maximum_entropy("reals", mean=1.0, variance=2.0).distribution
    assert most == Normal(1.0, variance=2.0)


@pytest.mark.topic("004/9.8")
def test_divergence_of_two_normals_has_the_numbers_of_the_notes() -> None:
    p, q = Normal(0.0, variance=1.0), Normal(1.0, variance=4.0)
    assert_allclose(kl_divergence(p, q), 0.4431472, atol=5e-8)
    assert_allclose(kl_divergence(q, p), 1.3068528, atol=5e-8)
    assert kl_divergence(p, p) == 0.0
    x, w = np.polynomial.legendre.leggauss(200)
    at = 12.0 * x
    density = stats.norm.pdf(at)
    slow = 12.0 * w @ (density * (stats.norm.logpdf(at) - stats.norm.logpdf(at, 1.0, 2.0)))
    assert_allclose(kl_divergence(p, q), slow, rtol=1e-12)
