"""What intervals, heavy tails, angles, power laws and compound counts promise beyond the laws."""

import pickle

import numpy as np
import pytest

from posteriori import Beta, Binomial, Gamma, Multinomial, Normal, Poisson, bayes
from posteriori.distributions import (
    BetaBinomial,
    Cauchy,
    DirichletMultinomial,
    Geometric,
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    Laplace,
    LogNormal,
    NegativeBinomial,
    Pareto,
    StudentT,
    TruncatedNormal,
    Uniform,
    VonMises,
)

# -- fitting -----------------------------------------------------------------------------------

#: Family, how it is rebuilt from its parameters, their names, and a member to draw from.
FITTED = {
    "Laplace": (Laplace, ("mean", "scale"), Laplace(1.0, 2.0)),
    "Cauchy": (Cauchy, ("location", "scale"), Cauchy(1.0, 2.0)),
    "HalfCauchy": (HalfCauchy, ("scale",), HalfCauchy(2.0)),
    "HalfStudentT": (HalfStudentT, ("dof", "scale"), HalfStudentT(3.0, 2.0)),
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
        (lambda: HalfStudentT.fit([-1.0, 1.0]), "support of HalfStudentT"),
        (lambda: HalfStudentT(0.5, 1.0).mean, "exists only for dof > 1"),
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
        (HalfCauchy(1.3), HalfStudentT(1.0, 1.3), x),
        (HalfNormal(1.3), HalfStudentT(1e13, 1.3), x),
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


def test_tails_are_exact():
    assert Cauchy(0.0, 1.0).cdf(-1e300) == pytest.approx(1e-300 / np.pi, rel=1e-14)
    assert Cauchy(0.0, 1.0).log_prob(1e200) == pytest.approx(-np.log(np.pi) - 400 * np.log(10.0))
    assert HalfCauchy(1.0).quantile(1e-300) == pytest.approx(1e-300 * np.pi / 2, rel=1e-14)
    assert HalfStudentT(1.0, 1.0).quantile(1e-300) == pytest.approx(1e-300 * np.pi / 2, rel=1e-14)
    np.testing.assert_array_equal(HalfStudentT(3.0, 1.0).quantile([0.0, 1.0]), [0.0, np.inf])
    np.testing.assert_array_equal(HalfStudentT(3.0, 1.0).cdf([0.0, 1e200, np.inf]), [0.0, 1.0, 1.0])
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
