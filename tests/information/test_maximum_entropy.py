"""Maximum entropy against known families, root finding, generic optimisation and rivals."""

import pickle

import numpy as np
import pytest
from scipy import integrate, optimize, special

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Exponential,
    Gamma,
    Geometric,
    Normal,
    Poisson,
    Uniform,
)
from posteriori.information import (
    Interval,
    entropy,
    kl_divergence,
    maximum_entropy,
    maximum_relative_entropy,
)
from posteriori.information.gibbs_density import GibbsDensity
from posteriori.numerics import ConvergenceWarning

FACES = np.arange(1, 7)


def beta_moments(a, b, n):
    return {k: float(np.prod((a + np.arange(k)) / (a + b + np.arange(k)))) for k in range(1, n + 1)}


# -- known families ----------------------------------------------------------------------------


@pytest.mark.topic("003/I.4")
def test_mean_and_variance_on_the_line_give_the_normal():
    found = maximum_entropy("reals", mean=1.5, variance=0.3)
    assert found.distribution == Normal(1.5, variance=0.3)
    assert found.entropy == pytest.approx(0.5 * (1 + np.log(2 * np.pi * 0.3)), rel=1e-14)
    raw = maximum_entropy("reals", {1: 1.5, 2: 0.3 + 2.25})
    assert raw.distribution.variance == pytest.approx(0.3, rel=1e-14)
    for rival in (
        np.log(np.sqrt(12 * 0.3)),  # uniform of variance 0.3
        1 + np.log(2 * np.sqrt(0.3 / 2)),  # Laplace of variance 0.3
        entropy(Gamma(4.0, np.sqrt(4.0 / 0.3))),
    ):
        assert rival < found.entropy


def test_other_closed_forms():
    assert maximum_entropy("positives", mean=2.5).distribution == Exponential(0.4)
    assert maximum_entropy(Interval(-1.0, 3.0)).distribution == Uniform(-1.0, 3.0)
    geometric = maximum_entropy("counts", {1: 3.0})
    assert isinstance(geometric.distribution, Geometric)
    assert geometric.distribution.mean == pytest.approx(3.0, rel=1e-14)
    assert maximum_entropy(["a", "b", "c"]).distribution == Categorical(
        np.full(3, 1 / 3), labels=("a", "b", "c")
    )


@pytest.mark.parametrize(
    ("found", "powers", "points"),
    [
        (maximum_entropy("reals", {1: 0.4, 2: 1.3}), (1, 2), [-1.0, 0.3, 2.0]),
        (maximum_entropy("positives", {1: 2.0}), (1,), [0.1, 1.0, 4.0]),
        (maximum_entropy("counts", {1: 2.0}), (1,), [0, 1, 5]),
        (maximum_entropy(Interval(0, 2), {1: 0.7, 3: 1.1}), (1, 3), [0.1, 1.0, 1.9]),
        (maximum_entropy(range(5), {1: 1.2, 2: 2.0}), (1, 2), [0, 2, 4]),
    ],
)
def test_multipliers_and_log_partition_reproduce_the_density(found, powers, points):
    x = np.asarray(points, dtype=float)
    exponent = sum(m * x**k for k, m in zip(powers, found.multipliers.values(), strict=True))
    log_prob = found.distribution.log_prob(points)
    np.testing.assert_allclose(exponent - found.log_partition, log_prob, atol=1e-10)


def test_the_numeric_dual_finds_the_closed_forms():
    """On a window wide enough, or with a redundant constraint, the exact family comes back."""
    wide = maximum_entropy(Interval(-30.0, 30.0), mean=0.5, variance=2.0).distribution
    x = np.linspace(-3.0, 4.0, 9)
    np.testing.assert_allclose(wide.log_prob(x), Normal(0.5, variance=2.0).log_prob(x), atol=1e-10)
    exponential = maximum_entropy("positives", {1: 1.5, 2: 4.5}).distribution
    np.testing.assert_allclose(
        exponential.log_prob(x[5:]), Exponential(1 / 1.5).log_prob(x[5:]), atol=1e-8
    )
    gamma = Gamma(3.0, 2.0)
    log_mean = float(special.digamma(3.0) - np.log(2.0))  # E[ln x] = ψ(a) − ln b
    again = maximum_entropy("positives", {1: 1.5, np.log: log_mean}).distribution
    np.testing.assert_allclose(
        again.log_prob([0.2, 1.0, 3.0]), gamma.log_prob([0.2, 1.0, 3.0]), atol=1e-6
    )
    laplace = maximum_entropy("reals", {np.abs: 1.0}, window=(-45.0, 45.0)).distribution
    np.testing.assert_allclose(laplace.log_prob(x), -np.abs(x) - np.log(2.0), atol=1e-9)


# -- finite supports ---------------------------------------------------------------------------


def test_loaded_die_against_the_root_of_its_mean():
    found = maximum_entropy(support=range(1, 7), moments={1: 4.5})

    def mean(lam):
        w = np.exp(lam * FACES)
        return w @ FACES / w.sum()

    lam = optimize.brentq(lambda v: mean(v) - 4.5, -5, 5, xtol=1e-15)
    p = np.exp(lam * FACES) / np.exp(lam * FACES).sum()
    np.testing.assert_allclose(found.distribution.probabilities, p, rtol=1e-12)
    assert found.multipliers["E[x]"] == pytest.approx(lam, rel=1e-11)
    assert found.entropy == pytest.approx(float(entropy(p)), rel=1e-12)
    # Jaynes, "Where do we stand on maximum entropy?", 1978
    np.testing.assert_allclose(p, [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749], atol=6e-6)
    assert found.distribution.labels == tuple(range(1, 7))


def test_no_rival_on_the_die_has_more_entropy():
    found = maximum_entropy(range(1, 7), {1: 4.5, 2: 22.0})
    p = found.distribution.probabilities
    np.testing.assert_allclose([p @ FACES, p @ FACES**2], [4.5, 22.0], rtol=1e-12)
    rows = np.stack([np.ones(6), FACES, FACES**2])
    null = np.linalg.svd(rows)[2][3:]
    for step in np.random.default_rng(0).normal(size=(100, 3)) @ null:
        rival = p + 0.01 * step
        assert np.all(rival > 0)
        assert entropy(rival / rival.sum()) <= found.entropy + 1e-15


def test_the_dual_agrees_with_a_generic_optimiser():
    labels = np.linspace(-1.0, 1.0, 9)
    found = maximum_entropy(labels.tolist(), {1: 0.2, 2: 0.3, np.exp: 1.4})
    best = optimize.minimize(
        lambda p: (p * np.log(p)).sum(),
        np.full(9, 1 / 9),
        bounds=[(1e-9, 1)] * 9,
        constraints=[
            {"type": "eq", "fun": lambda p: p.sum() - 1},
            {"type": "eq", "fun": lambda p: p @ labels - 0.2},
            {"type": "eq", "fun": lambda p: p @ labels**2 - 0.3},
            {"type": "eq", "fun": lambda p: p @ np.exp(labels) - 1.4},
        ],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert found.entropy == pytest.approx(-best.fun, abs=1e-8)
    np.testing.assert_allclose(found.distribution.probabilities, best.x, atol=1e-4)


def test_functions_of_labels():
    coat = {"cat": 1.0, "dog": 2.0, "ant": 0.0}
    found = maximum_entropy(coat, {coat.get: 1.5})
    p = found.distribution
    mean = sum(np.exp(p.log_prob(k)) * v for k, v in coat.items())
    assert mean == pytest.approx(1.5, abs=1e-12)


def test_a_mean_at_the_edge_is_a_certainty():
    edge = maximum_entropy(range(1, 7), {1: 6.0})
    assert edge.distribution.probabilities[-1] == pytest.approx(1.0, abs=1e-8)


# -- densities ---------------------------------------------------------------------------------


def test_mean_on_an_interval_is_a_truncated_exponential():
    found = maximum_entropy(Interval(0.0, 1.0), {1: 0.3})
    lam = optimize.brentq(lambda v: 1 / (1 - np.exp(-v)) - 1 / v - 0.3, -50, -1e-3)
    assert found.multipliers["E[x]"] == pytest.approx(lam, rel=1e-9)
    x = np.array([0.05, 0.5, 0.99])
    exact = lam * x - np.log(np.expm1(lam) / lam)
    np.testing.assert_allclose(found.distribution.log_prob(x), exact, atol=1e-11)


def test_fourth_moment_on_the_line():
    found = maximum_entropy("reals", {1: 0.0, 2: 1.0, 4: 2.0})
    d = found.distribution
    for k, target in ((0, 1.0), (1, 0.0), (2, 1.0), (4, 2.0)):
        value, _ = integrate.quad(lambda x, k=k: x**k * np.exp(d.log_prob(x)), -9, 9, limit=200)
        assert value == pytest.approx(target, abs=1e-9)
    assert found.multipliers["E[x^4]"] < 0
    assert found.entropy < entropy(Normal(0.0, variance=1.0))  # more is known


def test_a_numeric_density_is_a_distribution():
    d = maximum_entropy(Interval(-1.0, 2.0), {1: 0.1, 2: 0.5, 3: 0.3}).distribution
    assert isinstance(d, GibbsDensity)
    total, _ = integrate.quad(lambda x: np.exp(d.log_prob(x)), -1, 2)
    assert total == pytest.approx(1.0, abs=1e-10)
    below, _ = integrate.quad(lambda x: np.exp(d.log_prob(x)), -1, 0.4)
    assert d.cdf(0.4) == pytest.approx(below, abs=1e-10)
    q = np.array([0.0, 0.01, 0.3, 0.5, 0.99, 1.0])
    np.testing.assert_allclose(d.cdf(d.quantile(q)), q, atol=1e-12)
    draws = d.sample(20_000, rng=0)
    assert abs(draws.mean() - 0.1) < 5 * d.std / np.sqrt(20_000)
    grid = np.linspace(-1, 2, 30_001)
    assert d.mode == pytest.approx(grid[np.argmax(d.log_prob(grid))], abs=2e-4)
    surprise, _ = integrate.quad(lambda x: -np.exp(d.log_prob(x)) * d.log_prob(x), -1, 2)
    assert d.entropy() == pytest.approx(surprise, abs=1e-9)
    assert d.log_prob(2.1) == -np.inf
    assert "GibbsDensity(on [-1, 2]" in repr(d)
    assert pickle.loads(pickle.dumps(d)) == d


# -- fifty moments -----------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(2.5, 4.0), (1.0, 1.0), (30.0, 10.0), (0.7, 0.6), (100, 60)])
def test_fifty_moments_are_met(a, b):
    moments = beta_moments(a, b, 50)
    found = maximum_entropy(Interval(0.0, 1.0), moments)
    assert found.converged
    x, w = np.polynomial.legendre.leggauss(400)
    x, w = 0.5 * (x + 1), 0.5 * w
    p = w * np.exp(found.distribution.log_prob(x))
    deviations = [abs(p @ x**k - target) for k, target in moments.items()]
    assert max(deviations) < 1e-10
    # the beta meets the same moments, so it has less entropy; large multipliers turn the 1e-10
    # of the moments into some 1e-7 of the entropy
    assert found.entropy >= float(entropy(Beta(a, b))) - 1e-6


def test_fifty_random_features_of_a_finite_support():
    rng = np.random.default_rng(3)
    table, p = rng.normal(size=(50, 200)), rng.dirichlet(np.full(200, 2.0))
    features = {(lambda x, row=row: row[x]): float(row @ p) for row in table}
    for k, f in enumerate(features):
        f.__name__ = f"f{k}"
    found = maximum_entropy(range(200), features)
    q = found.distribution.probabilities
    np.testing.assert_allclose(table @ q, table @ p, atol=1e-10)
    assert found.entropy >= entropy(p)


def test_what_does_not_converge_says_why():
    with pytest.warns(ConvergenceWarning, match="hold within"):
        short = maximum_entropy(Interval(0.0, 1.0), beta_moments(30.0, 10.0, 50), max_iter=6)
    assert not short.converged
    assert "Newton steps" in short.reason


# -- what cannot be ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("support", "moments", "message"),
    [
        (range(1, 7), {1: 7.0}, r"E\[x\] = 7 is impossible.*between 1 and 6"),
        (range(1, 7), {1: 2.0, 2: 3.0}, r"contradict each other.*E\[x\^2\] = 3 \(nearest .* 4\)"),
        (Interval(0.0, 1.0), {1: 0.5, 2: 0.2}, r"contradict"),
        (Interval(0.0, 1.0), {1: 1.5}, r"E\[x\] = 1.5 is impossible"),
        ("reals", {1: 2.0, 2: 3.0}, r"E\[x\^2\] = 3 is impossible with E\[x\] = 2"),
        ("reals", {1: 2.0}, "entropy is unbounded"),
        ("reals", None, "entropy is unbounded"),
        ("counts", None, "unbounded unless the mean"),
        ("positives", {1: -1.0}, r"E\[x\] = -1 is impossible"),
        ("counts", {1: -1.0}, "impossible"),
        ("positives", {1: 1.0, 2: 3.0}, "ever farther out"),  # beyond the exponential's 2
        ("reals", {1: 0.0, 2: 1.0, 3: 0.5}, "ever farther out"),  # an odd highest power
        ("reals", {1: 0.0, 2: 1.0, 4: 4.0}, "ever farther out"),  # more kurtosis than a normal
        ("reals", {np.abs: 1.0}, "window="),
        ("integers", {1: 1.0}, '"reals", "positives", "counts"'),
        (Interval(1.0, 1.0), {}, "lower < upper"),
        ([], {}, "must not be empty"),
    ],
)
def test_impossible_or_unbounded_problems_are_explained(support, moments, message):
    with pytest.raises(ValueError, match=message):
        maximum_entropy(support, moments)


def test_badly_stated_constraints_are_named():
    with pytest.raises(TypeError, match="keyed by whole numbers"):
        maximum_entropy(range(3), {0.5: 1.0})
    with pytest.raises(ValueError, match=r"E\[x\] is given twice"):
        maximum_entropy(range(3), {1: 1.0}, mean=1.0)
    with pytest.raises(ValueError, match="needs the mean"):
        maximum_entropy("reals", variance=1.0)
    with pytest.raises(TypeError, match=r"E\[x\] is not defined for the value 'a'"):
        maximum_entropy(["a", "b"], {1: 1.0})
    with pytest.raises(ValueError, match="elementwise"):
        maximum_entropy(Interval(0.0, 1.0), {np.sum: 1.0})


# -- relative entropy --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "mean", "expected"),
    [
        (Normal(0.0, variance=2.0), 1.5, Normal(1.5, variance=2.0)),
        (Exponential(1.0), 3.0, Exponential(1 / 3.0)),
        (Gamma(3.0, 1.0), 6.0, Gamma(3.0, 0.5)),
        (Poisson(3.0), 5.0, Poisson(5.0)),
        (Binomial(10, 0.3), 5.0, Binomial(10, 0.5)),
        (Bernoulli(0.3), 0.6, Bernoulli(0.6)),
    ],
)
def test_a_known_mean_tilts_within_the_family(base, mean, expected):
    found = maximum_relative_entropy(base, {1: mean})
    assert found.distribution == expected
    assert found.entropy == pytest.approx(-float(kl_divergence(expected, base)), rel=1e-13)
    x = base.quantile([0.2, 0.9])
    tilt = found.multipliers["E[x]"] * x - found.log_partition
    np.testing.assert_allclose(base.log_prob(x) + tilt, expected.log_prob(x), rtol=1e-9)


def test_a_numeric_tilt_of_a_density_and_of_counts():
    base = Normal(0.0, variance=1.0)
    found = maximum_relative_entropy(base, {np.abs: 1.2})
    d = found.distribution
    spread, _ = integrate.quad(lambda x: 2 * x * np.exp(d.log_prob(x)), 0, 13)
    assert spread == pytest.approx(1.2, abs=1e-9)
    cost, _ = integrate.quad(
        lambda x: 2 * np.exp(d.log_prob(x)) * (d.log_prob(x) - base.log_prob(x)), 0, 13
    )
    assert found.entropy == pytest.approx(-cost, abs=1e-9)
    counts = maximum_relative_entropy(Poisson(3.0), {2: 9.0}).distribution
    k = np.array(counts.labels, dtype=float)
    assert counts.probabilities @ k**2 == pytest.approx(9.0, rel=1e-12)
    assert counts.probabilities[-1] < 1e-12
    for base, second in ((Poisson(3.0), 20.0), (Gamma(3.0, 1.0), 20.0)):
        with pytest.raises(ValueError, match="ever farther out"):  # exp(λk²) beats any such tail
            maximum_relative_entropy(base, {2: second})


def test_nothing_new_leaves_the_base_and_zeros_stay_zeros():
    base = Categorical([0.5, 0.0, 0.3, 0.2], labels=(1, 2, 3, 4))
    same = maximum_relative_entropy(base, {1: float(base.probabilities @ [1, 2, 3, 4])})
    np.testing.assert_allclose(same.distribution.probabilities, base.probabilities, atol=1e-14)
    assert same.entropy == pytest.approx(0.0, abs=1e-14)
    moved = maximum_relative_entropy(base, {1: 3.0}).distribution.probabilities
    assert moved[1] == 0.0
    lam = optimize.brentq(
        lambda v: (base.probabilities * np.exp(v * np.arange(1, 5))) @ (np.arange(1, 5) - 3.0),
        -9,
        9,
    )
    p = base.probabilities * np.exp(lam * np.arange(1, 5))
    np.testing.assert_allclose(moved, p / p.sum(), rtol=1e-10, atol=1e-15)
    with pytest.raises(ValueError, match="single distribution"):
        maximum_relative_entropy(Normal([0.0, 1.0], variance=1.0), {1: 0.0})
