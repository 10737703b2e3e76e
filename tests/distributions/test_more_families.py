"""What intervals, heavy tails, angles, power laws and compound counts promise beyond the laws."""

import pickle

import mpmath
import numpy as np
import pytest
from mpmath import binomial, cos, erfc, exp, fabs, log, loggamma, pi, quad, sqrt
from scipy import stats

from posteriori import Beta, Binomial, Gamma, Multinomial, Normal, Poisson, bayes
from posteriori.distributions import (
    BetaBinomial,
    Cauchy,
    DirichletMultinomial,
    Geometric,
    HalfCauchy,
    HalfNormal,
    Laplace,
    LogNormal,
    NegativeBinomial,
    Pareto,
    StudentT,
    TruncatedNormal,
    Uniform,
    VonMises,
)
from posteriori.numerics.newton import solve_increasing
from tests.distributions import oracles
from tests.distributions.oracles import high_precision

# -- worked numbers ----------------------------------------------------------------------------

FIRST, SECOND = [0, 2], [0, 2, 0, 1]


@pytest.mark.topic("002/B6")
def test_geometric_maximum_likelihood():
    assert Geometric.fit(FIRST).probability == 1 / 2
    assert Geometric.fit(SECOND).probability == pytest.approx(4 / 7, rel=1e-15)
    np.testing.assert_allclose(
        np.exp(Geometric(0.5).log_prob(range(4))), [0.5, 0.25, 0.125, 0.0625]
    )


@pytest.mark.topic("002/B8")
def test_geometric_posterior_is_a_beta():
    first, second = (bayes(Beta(1, 1), Geometric, data).posterior for data in (FIRST, SECOND))
    assert first == Beta(3, 3)
    assert second == Beta(5, 4)
    theta = np.array([0.2, 0.5, 0.9])
    np.testing.assert_allclose(np.exp(first.log_prob(theta)), 30 * theta**2 * (1 - theta) ** 2)
    np.testing.assert_allclose(np.exp(second.log_prob(theta)), 280 * theta**4 * (1 - theta) ** 3)


@pytest.mark.topic("002/B9")
def test_geometric_predictive_decides_against_maximum_likelihood():
    counts = np.arange(6)
    one, two = (
        np.exp(bayes(Beta(1, 1), Geometric, data).predictive.log_prob(counts))
        for data in (FIRST, SECOND)
    )
    np.testing.assert_allclose(one, [0.5, 0.21429, 0.10714, 0.05952, 0.03571, 0.02273], atol=5e-6)
    np.testing.assert_allclose(
        two, [0.55556, 0.22222, 0.10101, 0.05051, 0.02720, 0.01554], atol=5e-6
    )
    assert one[1] == pytest.approx(3 / 14, rel=1e-12)
    assert two[1] == pytest.approx(2 / 9, rel=1e-12)
    assert two[1] / (one[1] + two[1]) == pytest.approx(28 / 55, rel=1e-12)
    np.testing.assert_array_equal(two > one, [True, True, False, False, False, False])
    plug_in = [np.exp(Geometric.fit(data).log_prob(1)) for data in (FIRST, SECOND)]
    assert 0.5 * plug_in[0] == pytest.approx(0.125)
    assert 0.5 * plug_in[1] == pytest.approx(6 / 49)  # the plug-in rule prefers the first class


@pytest.mark.topic("004/1.4")
def test_a_density_may_exceed_one():
    d = Uniform(0.0, 0.5)
    assert np.exp(d.log_prob(0.3)) == pytest.approx(2.0)
    x, w = oracles.interval(0.0, 0.5)
    assert (w * np.exp(d.log_prob(x))).sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.topic("004/1.13")
def test_products_of_log_normal_variables_are_log_normal():
    one, two = LogNormal(0.3, variance=0.25), LogNormal(-0.2, variance=0.16)
    product = LogNormal(0.3 - 0.2, variance=0.25 + 0.16)
    x, w = oracles.positive_line()
    for z in (0.4, 1.0, 2.7):
        with np.errstate(over="ignore"):
            density = np.exp(one.log_prob(x) + two.log_prob(z / x)) / x
        assert (w * density).sum() == pytest.approx(np.exp(product.log_prob(z)), rel=1e-9)


@pytest.mark.topic("004/1.13")
def test_the_exponential_of_a_normal_variable_is_log_normal():
    d = LogNormal(0.3, scale=0.5)
    x = np.array([0.2, 1.0, 5.0])
    normal = Normal(0.3, variance=0.25)
    np.testing.assert_allclose(d.log_prob(x), normal.log_prob(np.log(x)) - np.log(x), rtol=1e-14)
    np.testing.assert_array_equal(d.sample(5, rng=1), np.exp(normal.sample(5, rng=1)))


@pytest.mark.topic("003/C.1")
def test_beta_binomial_counts_before_and_after_ten_tosses():
    r = bayes(Beta(2, 2), lambda p: Binomial(10, p), [7])
    assert r.posterior == Beta(9, 5)
    assert r.prior.mean == 0.5
    assert r.posterior.mean == pytest.approx(0.6428571429, abs=5e-11)
    assert r.prior_predictive == BetaBinomial(10, 2, 2)
    assert float(r.log_evidence) == pytest.approx(BetaBinomial(10, 2, 2).log_prob(7), rel=1e-13)
    assert r.predictive.mean == pytest.approx(6.428571429, abs=5e-10)


# -- fitting -----------------------------------------------------------------------------------

#: Family, how it is rebuilt from its parameters, their names, and a member to draw from.
FITTED = {
    "Laplace": (Laplace, ("mean", "scale"), Laplace(1.0, 2.0)),
    "Cauchy": (Cauchy, ("location", "scale"), Cauchy(1.0, 2.0)),
    "HalfCauchy": (HalfCauchy, ("scale",), HalfCauchy(2.0)),
    "NegativeBinomial": (NegativeBinomial, ("count", "probability"), NegativeBinomial(1.5, 0.2)),
}


@pytest.mark.parametrize("name", FITTED)
def test_fit_is_a_maximum_of_the_likelihood(name):
    family, names, truth = FITTED[name]
    data = truth.sample(201, rng=4)
    weights = np.linspace(0.1, 2.0, 201)
    for w in (None, weights):
        best = family.fit(data, weights=w)
        values = [float(getattr(best, n)) for n in names]
        top = best.log_prob(data) @ (np.ones(201) if w is None else w)
        for j in range(len(values)):
            for factor in (1 - 1e-3, 1 + 1e-3):
                moved = [v * factor if i == j else v for i, v in enumerate(values)]
                assert family(*moved).log_prob(data) @ (np.ones(201) if w is None else w) < top


@pytest.mark.parametrize("name", [*FITTED, "Uniform"])
def test_fit_of_weights_streams_and_columns(name):
    family, truth = (
        (FITTED[name][0], FITTED[name][2]) if name in FITTED else (Uniform, Uniform(1, 2))
    )
    data = truth.sample(41, rng=9)
    times = np.arange(41) % 3
    same = [
        (family.fit(data, weights=times), family.fit(np.repeat(data, times))),
        (family.fit(iter([data[:7], data[7:]])), family.fit(data)),
    ]
    both = family.fit(np.stack([data, data[::-1]], axis=1))
    assert both.batch_shape == (2,)
    same += [(both, family.fit(np.stack([data[::-1], data], axis=1)))]
    for one, two in same:
        for p, q in zip(one._key(), two._key(), strict=True):
            np.testing.assert_allclose(p, q, rtol=1e-7)
    with pytest.raises(ValueError, match="weights"):
        family.fit(data, weights=np.ones(3))
    with pytest.raises(ValueError, match="row 1"):
        family.fit([1.0, np.nan])


def test_fit_in_closed_form():
    assert Uniform.fit([3.0, -1.0, 2.0]) == Uniform(-1.0, 3.0)
    assert Uniform.fit([3.0, -1.0, 2.0], weights=[1, 0, 1]) == Uniform(2.0, 3.0)
    np.testing.assert_allclose(Laplace.fit([0.0, 1.0, 5.0])._key(), [1.0, 5 / 3], rtol=1e-15)
    assert HalfNormal.fit([3.0, 4.0]).scale == pytest.approx(np.sqrt(12.5))
    d = Pareto.fit([1.5, 3.0, 6.0])
    assert d.minimum == 1.5
    assert d.shape == pytest.approx(1 / np.log(2.0))
    streamed = Pareto.fit(iter([[3.0], [1.5, 6.0]]), weights=[1.0, 1.0, 1.0])
    np.testing.assert_allclose(streamed._key(), d._key(), rtol=1e-14)
    ignoring = Pareto.fit([1.0, 1.5, 3.0, 6.0], weights=[0, 1, 1, 1])
    np.testing.assert_allclose(ignoring._key(), d._key(), rtol=1e-14)
    assert Geometric.fit([1, 3], start=1).probability == 0.5
    assert Geometric.fit([0, 0]).probability == 1.0
    assert NegativeBinomial.fit([1, 5], count=2.0).mean == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: Uniform.fit([1.0, 1.0]), "do not vary"),
        (lambda: Laplace.fit([1.0, 1.0]), "do not vary"),
        (lambda: Cauchy.fit([1.0, 1.0, 1.0, 2.0]), "coincide"),
        (lambda: HalfCauchy.fit([0.0, 0.0, 1.0]), "half of the data"),
        (lambda: HalfCauchy.fit([-1.0, 1.0]), "support of HalfCauchy"),
        (lambda: HalfNormal.fit([0.0, 0.0]), "mean square"),
        (lambda: Pareto.fit([2.0, 2.0]), "spread of the data"),
        (lambda: Pareto.fit([1.0, 2.0], minimum=1.5), "support of Pareto"),
        (lambda: Geometric.fit([0, 1], start=1), "support of Geometric"),
        (lambda: NegativeBinomial.fit([1, 1, 2]), "fit Poisson"),
        (lambda: NegativeBinomial.fit([0, 0]), "mean of the counts"),
        (lambda: NegativeBinomial.fit([0.5, 2.0]), "support of NegativeBinomial"),
        (lambda: VonMises.fit([1.0, 1.0]), "all angles are equal"),
        (lambda: Uniform(1.0, 1.0), "low must lie below high"),
        (lambda: Laplace(0.0, 0.0), "scale must be positive"),
        (lambda: TruncatedNormal(0.0, 1.0, 1.0, scale=1.0), "lower must lie below upper"),
        (lambda: TruncatedNormal(0.0, np.nan, 1.0, scale=1.0), "lower must not be NaN"),
        (lambda: Geometric(0.0), "probability must be positive"),
        (lambda: Geometric(0.5, start=2), "start must be 0 or 1"),
        (lambda: NegativeBinomial(0.0, 0.5), "count must be positive"),
        (lambda: VonMises(0.0, -1.0), "concentration must not be negative"),
        (lambda: BetaBinomial(2.5, 1.0, 1.0), "whole number"),
        (lambda: Pareto(1.0, 1.0) * Pareto(1.0, 2.0), "equal minimum"),
        (lambda: Geometric(0.5).kl(Geometric(0.5, start=1)), "equal start"),
    ],
)
def test_bad_values(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: LogNormal(0.0), "exactly one of variance, scale, precision"),
        (lambda: TruncatedNormal(0.0, 0.0, 1.0), "exactly one of variance, scale"),
        (lambda: NegativeBinomial(1.0), "exactly one of probability, mean"),
        (lambda: NegativeBinomial(1.0, 0.5, mean=1.0), "exactly one of"),
        (lambda: Pareto.from_natural(-2.0), "needs the known minimum"),
        (lambda: Laplace(0.0, 1.0).kl(Cauchy(0.0, 1.0)), "Laplace and Cauchy"),
        (lambda: bayes(Pareto(1.0, 1.0), lambda h: Uniform(0.5, h), [1.0]), "width"),
        (lambda: bayes(Pareto(1.0, 1.0), Uniform, [1.0]), "needs to know the low"),
        (lambda: bayes(Beta(1, 1), NegativeBinomial, [1.0]), "needs to know the count"),
    ],
)
def test_bad_calls(call, words):
    with pytest.raises(TypeError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: bayes(Pareto(1.0, 1.0), lambda h: Uniform(0.0, h), [1.0, -1.0]), "row 1"),
        (lambda: bayes(Gamma(1, 1), lambda a: Pareto(a, 2.0), [3.0, 1.0]), "row 1"),
        (lambda: bayes(Beta(1, 1), lambda p: Geometric(p, start=1), [1, 0]), "row 1"),
        (lambda: bayes(Normal(0, variance=1), lambda m: LogNormal(m, scale=1.0), [-1.0]), "row 0"),
    ],
)
def test_data_that_the_likelihood_cannot_produce(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_heavy_tails_have_no_moments():
    for d in (Cauchy(0.0, 1.0), HalfCauchy(1.0)):
        for name in ("mean", "variance", "std"):
            with pytest.raises(AttributeError, match=f"has no {name}; it has (?!.*{name})"):
                getattr(d, name)
    d = Pareto([0.5, 1.5, 3.0], 1.0)
    np.testing.assert_array_equal(d.mean, [np.inf, 3.0, 1.5])
    np.testing.assert_array_equal(d.variance, [np.inf, np.inf, 0.75])


# -- special cases agree -----------------------------------------------------------------------


def test_families_that_are_special_cases_of_others():
    x, k = np.array([0.1, 0.9, 2.5]), np.array([0.0, 1.0, 4.0])
    pairs = [
        (Cauchy(0.5, 2.0), StudentT(1.0, 0.5, scale=2.0), x),
        (HalfNormal(1.3), TruncatedNormal(0.0, 0.0, np.inf, scale=1.3), x),
        (Normal(0.2, variance=2.0), TruncatedNormal(0.2, -np.inf, np.inf, variance=2.0), x),
        (Geometric(0.3), NegativeBinomial(1.0, 0.3), k),
        (NegativeBinomial(1e13, mean=3.0), Poisson(3.0), k),
        (BetaBinomial(7, 4e12, 6e12), Binomial(7, 0.4), k),
        (VonMises(0.3, 1e10), Normal(0.3, variance=1e-10), 0.3 + 1e-5 * np.array([-2.0, 0.5, 1.0])),
        (VonMises(0.3, 0.0), Uniform(0.3 - np.pi, 0.3 + np.pi), x),
    ]
    for one, two, points in pairs:
        np.testing.assert_allclose(one.log_prob(points), two.log_prob(points), rtol=1e-9)
        np.testing.assert_allclose(one.cdf(points), two.cdf(points), rtol=1e-8)
        q = np.array([0.01, 0.4, 0.95])
        np.testing.assert_allclose(one.quantile(q), two.quantile(q), rtol=1e-7, atol=1e-12)


def test_two_categories_are_successes_and_failures():
    x = np.arange(6.0)
    pairs = np.stack([x, 5 - x], axis=1)
    one, two = DirichletMultinomial(5, [1.3, 0.4]), BetaBinomial(5, 1.3, 0.4)
    np.testing.assert_allclose(one.log_prob(pairs), two.log_prob(x), rtol=1e-12)
    np.testing.assert_allclose(one.variance[0], two.variance, rtol=1e-14)
    many = DirichletMultinomial(5, [4e12, 6e12])
    multinomial = Multinomial(5, [0.4, 0.6])
    np.testing.assert_allclose(many.log_prob(pairs), multinomial.log_prob(pairs), rtol=1e-11)


def test_geometric_from_one_counts_trials():
    d, shifted = Geometric(0.3), Geometric(0.3, start=1)
    x = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(shifted.log_prob(x), d.log_prob(x - 1))
    np.testing.assert_array_equal(shifted.cdf(x), d.cdf(x - 1))
    np.testing.assert_array_equal(shifted.quantile([0.0, 0.5]), d.quantile([0.0, 0.5]) + 1)
    assert shifted.mean == d.mean + 1
    assert shifted.variance == d.variance
    assert shifted.log_prob(0) == -np.inf
    assert shifted.from_natural(*shifted.natural) == shifted
    assert Geometric.from_natural(np.log(0.7), start=1).mean == pytest.approx(shifted.mean)


def test_certain_success_and_no_trials():
    sure = Geometric(1.0)
    np.testing.assert_array_equal(sure.log_prob([0, 1]), [0.0, -np.inf])
    np.testing.assert_array_equal(sure.quantile([0.0, 0.5, 1.0]), [0.0, 0.0, 0.0])
    assert sure.entropy() == 0.0
    np.testing.assert_array_equal(sure.sample(3, rng=0), 0.0)
    np.testing.assert_array_equal(NegativeBinomial(2.0, 1.0).log_prob([0, 1]), [0.0, -np.inf])
    assert BetaBinomial(0, 1.0, 2.0).log_prob(0) == 0.0
    assert DirichletMultinomial(0, [1.0, 2.0]).log_prob([0, 0]) == 0.0


# -- digits ------------------------------------------------------------------------------------


def negative_binomial_log_prob(x, r, mean):
    return (
        loggamma(x + r) - loggamma(r) - loggamma(x + 1)
        + r * log(r / (r + mean)) + x * log(mean / (r + mean))
    )  # fmt: skip


@pytest.mark.parametrize("count", [1e-6, 0.3, 5.0, 150.0, 1e4, 1e8, 1e15])
@pytest.mark.parametrize("mean", [1e-3, 2.0, 300.0, 1e7])
def test_negative_binomial_keeps_its_digits(count, mean):
    d = NegativeBinomial(count, mean=mean)
    sd = np.sqrt(mean + mean**2 / count)
    points = np.unique(np.floor(mean + sd * np.array([-1.0, 0.0, 0.5, 3.0])).clip(0.0))
    for x in points:
        expected = high_precision(negative_binomial_log_prob, x, count, mean)
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=2e-12, atol=1e-13)
    np.testing.assert_allclose(d.log_prob(points), [d.log_prob(x) for x in points], rtol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e8])
@pytest.mark.parametrize("trials", [5, 1000, 10**7])
def test_beta_binomial_keeps_its_digits(scale, trials):
    a, b = 2.0 * scale, 3.0 * scale

    def log_mass(x, n, a, b):
        choose = log(binomial(n, x)) if n < 2000 else -log(n + 1) - log_beta(n - x + 1, x + 1)
        return choose + log_beta(x + a, n - x + b) - log_beta(a, b)

    def log_beta(a, b):
        return loggamma(a) + loggamma(b) - loggamma(a + b)

    d = BetaBinomial(trials, a, b)
    for x in np.floor(trials * np.array([0.2, 0.4, 0.41, 0.9])):
        expected = high_precision(log_mass, x, float(trials), a, b)
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=2e-12)


def test_table_of_masses_equals_single_points():
    for d in (NegativeBinomial(2.5, 0.2), BetaBinomial(400, 0.7, 90.0)):
        x = d.sample(500, rng=2)
        np.testing.assert_allclose(d.log_prob(x), [d.log_prob(v) for v in x], rtol=1e-13)


def test_negative_binomial_quantile_reaches_far_tails():
    d = NegativeBinomial(0.01, mean=5.0)
    q = np.array([0.5, 0.99, 1 - 1e-9])
    np.testing.assert_array_equal(d.quantile(q), stats.nbinom(0.01, d.probability).ppf(q))
    assert d.quantile(1.0) == np.inf
    skewed = BetaBinomial(10**5, 0.01, 100.0)
    x = skewed.quantile(1 - 1e-5)
    assert skewed.cdf(x) >= 1 - 1e-5 > skewed.cdf(x - 1)


@pytest.mark.parametrize("concentration", [0.0, 1e-9, 0.5, 39.0, 41.0, 1e4, 1e12])
def test_von_mises_keeps_its_digits(concentration):
    d = VonMises(0.4, concentration)
    width = 1.0 / np.sqrt(1.0 + concentration)

    def log_density(x, m, k):
        return k * (cos(x - m) - 1) - log(2 * pi * mpmath.besseli(0, k) * exp(-k))

    for x in 0.4 + width * np.array([-1.5, 0.0, 0.01, 2.0]):
        if concentration < 1e12:
            expected = high_precision(log_density, x, 0.4, concentration)
        else:  # the series of I₀ ends: e⁻ᵏ I₀ = (1 + 1/8k)/√(2πk)
            expected = high_precision(
                lambda x, m, k: k * (cos(x - m) - 1) - log(sqrt(2 * pi / k) * (1 + 1 / (8 * k))),
                x,
                0.4,
                concentration,
            )
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-13, atol=1e-15)
    if concentration:
        expected = high_precision(
            lambda k: (
                1 - mpmath.besseli(1, k) / mpmath.besseli(0, k)
                if k < 1e6
                else 1 / (2 * k) + 1 / (8 * k**2)
            ),
            concentration,
        )
        np.testing.assert_allclose(d.circular_variance, expected, rtol=1e-12)
        back = VonMises.from_mean_params(*d.mean_params)
        rtol = 1e-9 + 4e-16 * concentration  # the length of the mean holds 1 − R to rounding
        np.testing.assert_allclose(back.concentration, concentration, rtol=rtol, atol=1e-15)


@pytest.mark.parametrize("concentration", [50.0, 1e6, 1e12])
def test_von_mises_divergence_of_near_members(concentration):
    for change in (1e-6, 0.3):
        p, q = VonMises(0.0, concentration), VonMises(0.0, concentration * (1 + change))
        ratio = q.concentration / p.concentration
        normal = 0.5 * (ratio - 1 - np.log1p(ratio - 1))  # of N(0, 1/κ), to order 1/κ
        np.testing.assert_allclose(p.kl(q), normal, rtol=2.0 / concentration + 1e-8, atol=1e-16)


@pytest.mark.parametrize("concentration", [0.0, 0.3, 8.0, 300.0, 1e8])
def test_von_mises_cdf_is_an_integral_and_its_inverse_inverts(concentration):
    d = VonMises(-3.0, concentration)
    assert d.cdf(-3.0) == pytest.approx(0.5, rel=1e-15)
    width = min(np.pi, 4.0 / np.sqrt(concentration + 1e-9))
    x = -3.0 + width * np.array([-0.99, -0.5, -0.01, 0.3, 0.9])

    def tail(x, k):
        return quad(
            lambda u: exp(-2 * k * mpmath.sin(u / 2) ** 2), mpmath.linspace(-pi, x, 40)
        ) / quad(lambda u: exp(-2 * k * mpmath.sin(u / 2) ** 2), mpmath.linspace(-pi, pi, 80))

    if concentration < 1e3:
        expected = [high_precision(tail, v + 3.0, concentration, digits=20) for v in x]
        np.testing.assert_allclose(d.cdf(x), expected, rtol=1e-11)
    np.testing.assert_allclose(d.quantile(d.cdf(x)), x, rtol=0, atol=1e-12 * width + 1e-15)
    np.testing.assert_array_equal(d.cdf([-7.0, 1.0]), [0.0, 1.0])
    np.testing.assert_allclose(d.quantile([0.0, 1.0]), [-3.0 - np.pi, -3.0 + np.pi], rtol=1e-15)


def test_von_mises_accepts_any_angle():
    d = VonMises(0.5 + 2 * np.pi, 3.0)
    assert d.mean == pytest.approx(0.5, abs=1e-14)
    x = np.array([-1.0, 2.0])
    np.testing.assert_allclose(d.log_prob(x + 6 * np.pi), d.log_prob(x), rtol=1e-12)
    fitted = [VonMises.fit(np.array([2.9, -2.9, 3.1]) + turn) for turn in (0.0, 2 * np.pi)]
    np.testing.assert_allclose(fitted[0]._key(), fitted[1]._key(), rtol=1e-9)
    assert abs(fitted[0].mean) > 3.0  # across the cut, not at 0
    low, high = VonMises(3.1, 50.0).interval(0.9)
    assert high - low < 0.5


def truncated_moments(low, high, mean, scale):
    """Mean and variance by integration with many digits, in units of the parent."""
    a, b = (low - mean) / scale, (high - mean) / scale
    near = a if a > 0 else b if b < 0 else mpmath.mpf(0)
    reach = 100 / (8 + fabs(near))
    ends = [max(a, near - reach), near, min(b, near + reach)]
    ends = mpmath.linspace(ends[0], ends[1], 12) + mpmath.linspace(ends[1], ends[2], 12)[1:]
    ends = sorted(set(ends))
    mass, first, second = (
        quad(lambda u, k=k: (u - near) ** k * exp(-(u * u - near * near) / 2), ends)
        for k in range(3)
    )
    return mean + scale * (near + first / mass), scale**2 * (second / mass - (first / mass) ** 2)


@pytest.mark.parametrize(
    ("low", "high"),
    [(30.0, 31.0), (30.0, np.inf), (-np.inf, -30.0), (-1.0, 2.0), (1e6, 2e6), (5.0, 5.0 + 1e-6)],
)
def test_truncated_normal_moments_keep_their_digits(low, high):
    d = TruncatedNormal(0.0, low, high, scale=1.0)
    low, high = max(low, -1e7), min(high, 1e7)
    mean = high_precision(lambda *p: truncated_moments(*p)[0], low, high, 0.0, 1.0, digits=40)
    variance = high_precision(lambda *p: truncated_moments(*p)[1], low, high, 0.0, 1.0, digits=40)
    np.testing.assert_allclose(d.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(d.variance, variance, rtol=1e-10)


def test_truncated_normal_far_in_the_tail():
    d = TruncatedNormal(1.0, 31.0, np.inf, scale=1.0)  # 30 standard deviations out
    upper = high_precision(lambda z: log(erfc(z / sqrt(mpmath.mpf(2))) / 2), 30.0)
    for x in (31.0, 31.02, 31.4):
        expected = -0.5 * (x - 1.0) ** 2 - 0.5 * np.log(2 * np.pi) - upper
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-11, atol=1e-12)
        share = high_precision(
            lambda z, a: 1 - erfc(z / sqrt(mpmath.mpf(2))) / erfc(a / sqrt(mpmath.mpf(2))),
            x - 1.0,
            30.0,
        )
        np.testing.assert_allclose(d.cdf(x), share, rtol=1e-11)
        np.testing.assert_allclose(d.quantile(d.cdf(x)), x, rtol=1e-13)
    draws = d.sample(50_000, rng=5)
    assert abs(draws.mean() - d.mean) < 5 * d.std / np.sqrt(len(draws))
    assert draws.min() >= 31.0


@pytest.mark.parametrize(
    ("low", "high"),
    [(0.5, 0.7), (40.0, np.inf), (-np.inf, -1e5), (-2.0, 0.1), (-1e-9, 1e-9), (3, 9)],
)
def test_truncated_normal_draws_and_quantiles(low, high):
    d = TruncatedNormal(0.0, low, high, scale=1.0)
    q = np.array([1e-9, 0.02, 0.5, 0.97, 1 - 1e-9])
    x = d.quantile(q)
    assert np.all(np.diff(x) > 0)
    spread = float(d.std)
    rounding = np.exp(d.log_prob(x)) * np.spacing(np.abs(x).max())  # of x itself
    assert np.all(np.abs(d.cdf(x) - q) <= 1e-12 * q + rounding)
    np.testing.assert_array_equal(d.quantile([0.0, 1.0]), [low, high])
    draws = d.sample(20_000, rng=1)
    assert low <= draws.min() <= draws.max() <= high
    assert abs((draws - d.mean).mean()) < 5 * spread / np.sqrt(len(draws))
    np.testing.assert_array_equal(d.log_prob([low - 1.0, high + 1.0]), -np.inf)


def test_truncated_normal_is_a_mirror_image():
    d, e = TruncatedNormal(1.0, 2.0, 7.0, scale=0.5), TruncatedNormal(-1.0, -7.0, -2.0, scale=0.5)
    x = np.array([2.0, 2.1, 4.0])
    np.testing.assert_allclose(d.log_prob(x), e.log_prob(-x), rtol=1e-15)
    np.testing.assert_allclose(d.mean, -e.mean, rtol=1e-15)
    np.testing.assert_allclose(d.cdf(x), 1 - e.cdf(-x), rtol=1e-13)
    assert d.parent == Normal(1.0, variance=0.25)
    assert d.kl(TruncatedNormal(1.0, 3.0, 7.0, scale=0.5)) == np.inf


def test_tails_are_exact():
    assert Cauchy(0.0, 1.0).cdf(-1e300) == pytest.approx(1e-300 / np.pi, rel=1e-14)
    assert Cauchy(0.0, 1.0).log_prob(1e200) == pytest.approx(-np.log(np.pi) - 400 * np.log(10.0))
    assert HalfCauchy(1.0).quantile(1e-300) == pytest.approx(1e-300 * np.pi / 2, rel=1e-14)
    assert Laplace(0.0, 1.0).quantile(1e-300) == pytest.approx(np.log(2e-300), rel=1e-14)
    assert Geometric(1e-15).cdf(10) == pytest.approx(1.1e-14, rel=1e-12)
    assert Pareto(2.0, 1.0).cdf(1.0 + 1e-12) == pytest.approx(2e-12, rel=1e-3)
    np.testing.assert_array_equal(Pareto(2.0, 1.0).quantile([0.0, 1.0]), [1.0, np.inf])
    np.testing.assert_array_equal(LogNormal(0.0, scale=1.0).quantile([0.0, 1.0]), [0.0, np.inf])
    np.testing.assert_array_equal(Cauchy(0.0, 1.0).quantile([0.0, 1.0]), [-np.inf, np.inf])
    np.testing.assert_array_equal(HalfCauchy(1.0).quantile([0.0, 1.0]), [0.0, np.inf])


def test_log_normal_products_of_densities_far_from_zero():
    p, q = LogNormal(1e3, variance=1e-6), LogNormal(1e3 + 1e-3, variance=1e-6)
    product = p * q
    assert product.logarithm.mean == pytest.approx(1e3 + 0.5e-3 - 0.5e-6, abs=2e-13)
    assert product.logarithm.variance == pytest.approx(5e-7)
    assert (p / q).natural[1] == 0.0
    assert (p**3).logarithm.mean == pytest.approx(1e3 - 2 / 3 * 1e-6, abs=2e-13)


# -- learning upper ends -----------------------------------------------------------------------


def test_upper_end_of_a_uniform():
    r = bayes(Pareto(2.0, 1.0), lambda high: Uniform(0.0, high), [0.5, 3.0, 1.0])
    assert r.posterior == Pareto(5.0, 3.0)
    assert r.predictive.log_prob(1.0) == pytest.approx(np.log(5 / 6 / 3))  # a/(a+1) · 1/m
    assert r.predictive.log_prob(4.0) == pytest.approx(np.log(5 / 6 * 3.0**5 / 4.0**6))
    assert r.predictive.log_prob(-0.1) == -np.inf
    assert r.predictive.mean == pytest.approx(0.5 * 5 / 4 * 3)
    assert r.correction.gain == 1.0
    idle = bayes(Pareto(2.0, 4.0), lambda high: Uniform(0.0, high), [0.5, 3.0])
    assert idle.posterior == Pareto(4.0, 4.0)
    assert idle.correction.gain == 0.0
    streamed = bayes(Pareto(2.0, 1.0), lambda high: Uniform(0.0, high), iter([[0.5], [3.0, 1.0]]))
    assert streamed.posterior == r.posterior


# -- being values ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "d",
    [
        Uniform(0.0, [1.0, 2.0]),
        LogNormal(0.3, precision=2.0),
        TruncatedNormal(0.0, 1.0, np.inf, variance=4.0),
        NegativeBinomial(2.0, mean=3.0),
        Geometric(0.3, start=1),
        DirichletMultinomial(3, [1.0, 2.0]),
        VonMises(1.0, 2.0),
    ],
    ids=lambda d: type(d).__name__,
)
def test_values_survive_pickling_and_printing(d):
    assert pickle.loads(pickle.dumps(d)) == d
    assert repr(d).startswith(type(d).__name__ + "(")
    assert hash(d) == hash(pickle.loads(pickle.dumps(d)))


def test_how_values_print():
    assert repr(LogNormal(0.5, scale=2.0)) == "LogNormal(0.5, variance=4)"
    assert repr(TruncatedNormal(0.5, 0, np.inf, scale=2.0)) == (
        "TruncatedNormal(0.5, 0, inf, variance=4)"
    )
    assert repr(NegativeBinomial(3.0, 0.25)) == "NegativeBinomial(3, mean=9)"
    assert NegativeBinomial(1e18, mean=3.0) != NegativeBinomial(1e18, mean=4.0)
    assert LogNormal(0.0, variance=1.0) != LogNormal(0.0, variance=2.0)
    assert TruncatedNormal(0.0, 0.0, 1.0, scale=1.0) != TruncatedNormal(0.0, 0.0, 2.0, scale=1.0)


def test_newton_in_a_bracket():
    levels = np.array([0.0, 0.3, 5.0, 100.0])
    root = solve_increasing(
        lambda x: (np.arctan(x - levels), 1 / (1 + (x - levels) ** 2)), -9, 200, 0
    )
    np.testing.assert_allclose(root, levels, atol=1e-12)
    flat = solve_increasing(lambda x: (np.sign(x - 2.5), np.zeros_like(x)), 0.0, 10.0, 1.0)
    np.testing.assert_allclose(flat, 2.5, rtol=1e-15)
