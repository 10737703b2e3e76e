"""Bayes error: against quadrature with SciPy, closed forms, and under every bound."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from posteriori import Bernoulli, Exponential, MvNormal, Normal, Poisson
from posteriori.decision import (
    bayes_error,
    bhattacharyya_bound,
    chance_bound,
    chernoff_bound,
    decision_regions,
    error_of,
    estimate_bayes_error,
    harmonic_bound,
    prior_bound,
)
from posteriori.distributions import Binomial, Cauchy, Dirichlet, MvStudentT


def cauchy(mu):
    return [Cauchy(-mu, 1.0), Cauchy(mu, 1.0)]


@pytest.mark.topic("002/A14")
@pytest.mark.parametrize(
    ("mu", "p", "bound", "error"),
    [
        (0.5, 0.5, 0.447214, 0.352416),
        (2.0, 0.5, 0.223607, 0.147584),
        (2.0, 0.2, 0.169600, None),
        (0.5, 0.2, 0.297113, 0.2),
    ],
)
def test_the_table_of_cauchy_classes(mu, p, bound, error):
    found = harmonic_bound(cauchy(mu), [p, 1 - p])
    assert found == pytest.approx(bound, abs=5e-7)
    assert found == pytest.approx(2 * p * (1 - p) / np.sqrt(1 + 4 * mu**2 * p * (1 - p)), rel=1e-9)
    exact = bayes_error(cauchy(mu), [p, 1 - p])
    if error is not None:
        assert exact == pytest.approx(error, abs=5e-7)
    assert exact < found


@pytest.mark.topic("002/A14")
def test_a_rare_class_of_wide_tails_is_never_chosen():
    assert [r.action for r in decision_regions(cauchy(0.5), [0.2, 0.8])] == [1]


@pytest.mark.topic("002/A5", "002/A11")
def test_two_unit_normals_meet_in_the_middle():
    classes = [Normal(-1, variance=1), Normal(1, variance=1)]
    assert bayes_error(classes) == pytest.approx(0.158655, abs=5e-7)
    left, right = decision_regions(classes)
    assert left.upper == pytest.approx(0.0, abs=1e-12)
    assert (left.action, right.action) == (0, 1)


def random_models():
    return st.tuples(st.floats(-3, 3), st.floats(0.3, 3), st.floats(0.3, 3), st.floats(0.02, 0.98))


@pytest.mark.topic("002/A11", "002/A12", "002/A13", "002/A14")
@given(random_models())
def test_every_bound_dominates_the_error_that_quadrature_finds(model):
    mean, s1, s2, p = model
    classes, priors = [Normal(0, variance=s1**2), Normal(mean, variance=s2**2)], [p, 1 - p]
    exact = bayes_error(classes, priors)
    x = np.linspace(-40, 45, 200_001)
    joint = p * stats.norm(0, s1).pdf(x), (1 - p) * stats.norm(mean, s2).pdf(x)
    assert exact == pytest.approx(integrate.trapezoid(np.minimum(*joint), x), abs=1e-7)
    chernoff, bhattacharyya = (
        chernoff_bound(classes, priors).value,
        bhattacharyya_bound(classes, priors),
    )
    slack = 1e-9
    plain = chance_bound(), prior_bound(priors), harmonic_bound(classes, priors)
    for bound in (*plain, chernoff, bhattacharyya):
        assert exact <= bound + slack
    assert chernoff <= bhattacharyya + slack
    assert chernoff <= prior_bound(priors) + slack
    assert prior_bound(priors) <= 2 * min(priors)


@pytest.mark.topic("002/A12", "002/A13")
@pytest.mark.parametrize("seed", range(4))
def test_bounds_of_three_classes_dominate_their_error(seed):
    rng = np.random.default_rng(seed)
    classes = [
        Normal(m, variance=v)
        for m, v in np.stack([rng.normal(0, 2, 3), rng.gamma(2, 1, 3)], axis=1)
    ]
    priors = rng.dirichlet(np.ones(3))
    exact = bayes_error(classes, priors)
    x = np.linspace(-40, 40, 200_001)
    joint = [p * stats.norm(c.mean, c.std).pdf(x) for p, c in zip(priors, classes, strict=True)]
    assert exact == pytest.approx(1 - integrate.trapezoid(np.max(joint, axis=0), x), abs=1e-7)
    for bound in (
        chance_bound(3),
        prior_bound(priors),
        harmonic_bound(classes, priors),
        bhattacharyya_bound(classes, priors),
        chernoff_bound(classes, priors).value,
    ):
        assert exact <= bound + 1e-9


@pytest.mark.parametrize(
    "classes",
    [
        [Normal(0, variance=1), Cauchy(1.0, 2.0)],
        [Exponential(1.0), Exponential(3.0)],
        [MvNormal([0.0], cov=[[1.0]]), MvNormal([2.0], cov=[[3.0]])],
    ],
)
def test_overlaps_equal_quadrature(classes):
    def product(x):
        at = x if classes[0].event_shape == () else [x]
        return np.exp(0.5 * sum(c.log_prob(at) for c in classes))

    start = 0.0 if isinstance(classes[0], Exponential) else -np.inf
    area = integrate.quad(product, start, np.inf)[0]
    assert bhattacharyya_bound(classes) == pytest.approx(0.5 * area, rel=1e-7)


def test_overlap_of_counts_is_a_sum():
    k = np.arange(200)
    p, q = stats.poisson(2).pmf(k), stats.poisson(6).pmf(k)
    found = bhattacharyya_bound([Poisson(2.0), Poisson(6.0)], [0.3, 0.7])
    assert found == pytest.approx(np.sqrt(0.21) * np.sqrt(p * q).sum(), rel=1e-9)
    exact = bayes_error([Poisson(2.0), Poisson(6.0)], [0.3, 0.7])
    assert exact == pytest.approx(np.minimum(0.3 * p, 0.7 * q).sum(), rel=1e-9)


def test_binomials_of_different_size_share_no_carrier():
    k = np.arange(11)
    p, q = stats.binom(5, 0.3).pmf(k), stats.binom(10, 0.6).pmf(k)
    found = bhattacharyya_bound([Binomial(5, 0.3), Binomial(10, 0.6)])
    assert found == pytest.approx(0.5 * np.sqrt(p * q).sum(), rel=1e-9)


def test_estimates_scatter_as_widely_as_they_say():
    classes = [Normal(m, variance=1.0) for m in (0.0, 1.0, 2.5)]
    found = [estimate_bayes_error(classes, size=400, rng=seed) for seed in range(200)]
    scatter = np.std([one.value for one in found])
    assert scatter == pytest.approx(np.mean([one.error for one in found]), rel=5 / np.sqrt(400))


@pytest.mark.topic("002/A11")
def test_simulation_agrees_with_the_closed_form_of_shared_covariances():
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    means = np.array([[0.0, 0.0], [1.5, -1.0]])
    shift = means[1] - means[0]
    distance = np.sqrt(shift @ np.linalg.solve(cov, shift))
    found = estimate_bayes_error([MvNormal(m, cov=cov) for m in means], rng=0)
    assert abs(found.value - stats.norm.cdf(-distance / 2)) < 5 * found.error
    assert found.error < 1e-3


@pytest.mark.topic("002/A11")
@pytest.mark.parametrize(("d", "tol"), [(1, 1e-6), (2, 1e-6), (3, 1e-5)])
def test_cubature_agrees_with_the_closed_form_of_shared_covariances(d, tol):
    rng = np.random.default_rng(d)
    root = rng.normal(size=(d, d))
    cov, shift, p = root @ root.T + np.eye(d), 1.5 * rng.normal(size=d), 0.3
    distance = np.sqrt(shift @ np.linalg.solve(cov, shift))
    edge = np.log(p / (1 - p)) / distance
    truth = p * stats.norm.cdf(-distance / 2 - edge) + (1 - p) * stats.norm.cdf(
        -distance / 2 + edge
    )
    classes = [MvNormal(np.zeros(d), cov=cov), MvNormal(shift, cov=cov)]
    assert bayes_error(classes, [p, 1 - p]) == pytest.approx(truth, abs=tol)


@pytest.mark.topic("002/A11")
def test_cubature_of_circles_in_circles_heavy_tails_and_narrow_classes():
    wide = bayes_error(
        [MvNormal([0.0, 0.0], cov=np.eye(2)), MvNormal([0.0, 0.0], cov=4 * np.eye(2))]
    )
    square = 8.0 / 3.0 * np.log(4.0)  # |x|² at which both densities are equal
    truth = 0.5 * (stats.chi2(2).sf(square) + stats.chi2(2).cdf(square / 4))
    assert wide == pytest.approx(truth, abs=1e-6)
    tails = bayes_error([MvStudentT(1.0, m, scale=np.eye(2)) for m in ([-1.5, 0.0], [1.5, 0.0])])
    assert tails == pytest.approx(stats.cauchy.sf(1.5), abs=2e-6)  # each marginal is Cauchy
    narrow = [MvNormal([0.0, 0.0], cov=np.eye(2)), MvNormal([3.0, 3.0], cov=1e-8 * np.eye(2))]
    assert 0 < bayes_error(narrow) < 1e-9
    three = [MvNormal(m, cov=np.eye(2)) for m in ([0.0, 0.0], [2.0, 0.0], [0.0, 2.0])]
    found = estimate_bayes_error(three, [0.5, 0.3, 0.2], rng=0)
    assert abs(bayes_error(three, [0.5, 0.3, 0.2]) - found.value) < 5 * found.error


@pytest.mark.topic("002/A12", "002/A13", "002/A14")
@pytest.mark.parametrize("seed", range(2))
def test_bounds_of_vectors_dominate_their_error(seed):
    rng = np.random.default_rng(seed)
    means, roots = rng.normal(size=(2, 2)), rng.normal(size=(2, 2, 2))
    priors = rng.dirichlet([2.0, 2.0])
    covs = roots @ roots.swapaxes(1, 2) + np.eye(2)
    for classes in (
        [MvNormal(m, cov=c) for m, c in zip(means, covs, strict=True)],
        [MvStudentT(4.0, m, scale=c) for m, c in zip(means, covs, strict=True)],
    ):
        exact = bayes_error(classes, priors)
        harmonic, chernoff = harmonic_bound(classes, priors), chernoff_bound(classes, priors).value
        assert exact + 1e-5 < harmonic <= 2 * exact * (1 - exact) + 1e-5  # Cover & Hart
        assert exact + 1e-5 < chernoff < prior_bound(priors) + 1e-6
        if seed == 0:
            assert chernoff <= bhattacharyya_bound(classes, priors) + 1e-6


@pytest.mark.topic("002/A10")
def test_the_error_of_a_threshold_that_is_not_the_best():
    classes = [Normal(-1, variance=1), Normal(1, variance=1)]
    found = error_of(lambda x: x > 0.5, classes, [0.3, 0.7], rng=1)
    truth = 0.3 * stats.norm.sf(1.5) + 0.7 * stats.norm.cdf(-0.5)
    assert abs(found.value - truth) < 5 * found.error
    assert truth > bayes_error(classes, [0.3, 0.7])


@pytest.mark.topic("000/G1", "002/A3")
def test_regions_of_a_narrow_and_a_wide_class_are_three_intervals():
    regions = decision_regions([Normal(12, variance=0.25), Normal(12.5, variance=4)], [0.5, 0.5])
    assert [r.action for r in regions] == [1, 0, 1]
    for region in regions[:-1]:  # both joint densities are equal at the edge
        a = stats.norm(12, 0.5).logpdf(region.upper)
        assert a == pytest.approx(stats.norm(12.5, 2).logpdf(region.upper), abs=1e-9)


@pytest.mark.topic("002/A3")
def test_a_loss_moves_the_edge():
    classes = [Normal(-1, variance=1), Normal(1, variance=1)]
    left, _ = decision_regions(classes, loss=[[0, 1], [np.e**2, 0]])
    assert left.upper == pytest.approx(-1.0, abs=1e-9)  # 2x = −ln(e²)


@pytest.mark.topic("002/A15")
def test_the_rule_of_a_wrong_model_errs_more_often_than_the_best():
    truth = [Normal(0, variance=1), Normal(0, variance=9)]
    assumed = [Normal(-0.1, variance=4), Normal(0.1, variance=4)]
    edge = decision_regions(assumed)[0].upper
    found = error_of(lambda x: x > edge, truth, rng=2)
    assert found.value - 5 * found.error > bayes_error(truth)


def test_classes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="vectors of 4 numbers are too long for cubature"):
        bayes_error([MvNormal(np.zeros(4), cov=np.eye(4))] * 2)
    with pytest.raises(ValueError, match=r"integrate to .* see estimate_bayes_error"):
        bayes_error([Dirichlet([2.0, 3.0]), Dirichlet([3.0, 3.0])])
    with pytest.raises(TypeError, match="mix discrete and continuous"):
        bayes_error([Normal(0, variance=1), Bernoulli(0.5)])
    with pytest.raises(TypeError, match="single distribution"):
        bayes_error([Normal([0.0, 1.0], variance=1), Normal(0, variance=1)])
    with pytest.raises(TypeError, match="continuous distribution"):
        decision_regions([Poisson(1.0), Poisson(2.0)])
    with pytest.raises(ValueError, match="one class number"):
        error_of(lambda x: np.full(len(x), 2), cauchy(1.0), rng=0)
    with pytest.raises(ValueError, match="size must be at least 2"):
        estimate_bayes_error(cauchy(1.0), size=1)
    with pytest.raises(ValueError, match="one probability for each"):
        bayes_error(cauchy(1.0), [0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match="n_classes"):
        chance_bound(1)
