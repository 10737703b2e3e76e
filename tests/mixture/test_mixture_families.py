"""Mixtures of every family: one component is the family's own fit or belief, two find two groups."""

import inspect

import numpy as np
import pandas as pd
import pytest

import posteriori.distributions as distributions
from posteriori import bayes
from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Cauchy,
    Dirichlet,
    Distribution,
    Exponential,
    Gamma,
    Geometric,
    HalfNormal,
    InverseGamma,
    Laplace,
    LogNormal,
    Multinomial,
    MvNormal,
    NegativeBinomial,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    Pareto,
    Poisson,
    StudentT,
    Uniform,
    VonMises,
)
from posteriori.mixture import FamilyMixture, LatentClasses, choose_components

RNG = np.random.default_rng(0)
GROUP = RNG.random(60) < 0.4
REAL = np.column_stack([RNG.normal(8.0 * GROUP), RNG.normal(-5.0 * GROUP)])
POSITIVE = np.exp(REAL / 4)
COUNTS = RNG.poisson(np.where(GROUP, 20.0, 2.0)[:, None], (60, 2)) * 1.0
SHARES = RNG.dirichlet([1.0, 2.0, 3.0], 60)
TRIALS = np.column_stack([COUNTS[:, 0], 5.0 + 0 * COUNTS[:, 0], 60.0 - COUNTS[:, 0]])

#: Data of every family that is fitted to rows and weights alone.
DATA = {
    Bernoulli: (COUNTS > 8) * 1.0,
    Beta: POSITIVE / (1 + POSITIVE),
    Categorical: np.minimum(COUNTS, 3.0),
    Cauchy: REAL,
    Dirichlet: SHARES,
    Exponential: POSITIVE,
    Gamma: POSITIVE,
    Geometric: COUNTS,
    HalfNormal: POSITIVE,
    InverseGamma: POSITIVE,
    Laplace: REAL,
    LogNormal: POSITIVE,
    Multinomial: TRIALS,
    MvNormal: REAL,
    NegativeBinomial: COUNTS,
    Normal: REAL,
    Pareto: POSITIVE,
    Poisson: COUNTS,
    StudentT: REAL,
    Uniform: REAL,
    VonMises: REAL % 3.0,
}
#: Families whose fit is told something more, or whose data are matrices or pairs.
OTHERS = {
    "Binomial",
    "HalfCauchy",
    "HalfStudentT",
    "InverseWishart",
    "MatrixNormal",
    "MatrixNormalWishart",
    "MvStudentT",
    "NormalGamma",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalWishart",
    "PolyaGamma",
    "TruncatedNormal",
    "VectorNormalGamma",
    "VectorNormalInverseGamma",
    "Wishart",
}
PAIRS = [
    (Bernoulli, Beta(1.0, 2.0), (COUNTS > 8) * 1.0),
    (Categorical, Dirichlet([1.0, 1.0, 2.0, 1.0]), np.minimum(COUNTS, 3.0)),
    (Exponential, Gamma(2.0, rate=1.0), POSITIVE),
    (Geometric, Beta(1.0, 2.0), COUNTS),
    (LogNormal, NormalGamma(0.0, 0.1, 1.5, 1.0), POSITIVE),
    (LogNormal, NormalInverseGamma(0.0, 0.1, 1.5, 1.0), POSITIVE),
    (MvNormal, NormalInverseWishart([1.0, 0.0], 0.5, 4.0, np.eye(2)), REAL),
    (MvNormal, NormalWishart([1.0, 0.0], 0.5, 4.0, np.eye(2)), REAL),
    (Normal, NormalGamma([0.0, 1.0], 0.1, 1.5, 1.0), REAL),
    (Normal, NormalInverseGamma(0.0, 0.1, 1.5, 1.0), REAL),
    (Poisson, Gamma(1.0, rate=0.2), COUNTS),
    (
        Poisson,
        Gamma([1.0, 2.0], rate=0.2),
        300.0 + COUNTS,
    ),  # large counts have statistics of their own
    (lambda p: Binomial(100, p), Beta(1.0, 1.0), COUNTS),
    (lambda m: Normal(m, variance=2.0), Normal(0.0, variance=50.0), REAL),
    (lambda n: Multinomial(int(TRIALS[0].sum()), n), Dirichlet([1.0, 2.0, 1.0]), TRIALS[:1]),
]


def test_every_family_with_a_fit_has_a_row():
    members = (getattr(distributions, name) for name in dir(distributions))
    families = {
        family.__name__
        for family in members
        if inspect.isclass(family) and issubclass(family, Distribution) and hasattr(family, "fit")
    }
    assert families - {"ExponentialFamily"} <= {f.__name__ for f in DATA} | OTHERS


@pytest.mark.parametrize("family", DATA, ids=lambda family: family.__name__)
def test_one_component_is_the_fit_of_the_family(family):
    x = DATA[family]
    model = FamilyMixture(family, 1).fit(x)
    best = family.fit(x).log_prob(x).sum()
    assert model.log_likelihood_ == pytest.approx(best, rel=1e-7)
    assert model.log_likelihood(x) == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(model.predict_proba(x), 1.0)


@pytest.mark.parametrize("family", DATA, ids=lambda family: family.__name__)
def test_two_components_climb_and_are_a_mixture(family):
    x = DATA[family]
    if family in (NegativeBinomial, StudentT):
        x = x[:30, :1]  # fits of several steps each
    model = FamilyMixture(family, 2, random_state=0, n_init=2, max_iter=60, tol=1e-3).fit(x)
    assert np.diff(model.trace_).min() >= -1e-10 * abs(model.trace_).max()
    assert model.weights_[0] >= model.weights_[1]
    assert model.log_likelihood_ >= FamilyMixture(family, 1).fit(x).log_likelihood_ - 0.01
    drawn, codes = model.sample(7, rng=0)
    assert drawn.shape == (7, x.shape[1])
    assert set(codes) <= {0, 1}
    if model.model_.batch_shape:
        assert model.model_.batch_shape == (x.shape[1],)
        alone = np.full_like(x, np.nan)
        alone[:, 1] = x[:, 1]
        marginal = model.model_.log_prob(x)[:, 1]
        np.testing.assert_allclose(marginal, model.score_samples(alone), rtol=1e-8, atol=1e-8)
    else:
        values = x if model.model_.event_shape else x[:, 0]
        np.testing.assert_allclose(model.model_.log_prob(values), model.score_samples(x), rtol=1e-8)


@pytest.mark.parametrize(("family", "prior", "x"), PAIRS)
def test_one_belief_is_that_of_bayes_rule(family, prior, x):
    model = FamilyMixture(family, 1, prior=prior).fit(x)
    result = bayes(prior, family, x)
    assert model.log_evidence_.value == pytest.approx(
        float(np.sum(result.log_evidence.value)), rel=1e-9
    )
    assert model.log_evidence_.kind == "exact"
    predicted = np.asarray(result.predictive.log_prob(x))
    np.testing.assert_allclose(
        model.score_samples(x),
        predicted if predicted.ndim == 1 else predicted.sum(axis=1),
        rtol=1e-6,
    )


@pytest.mark.parametrize(("family", "prior", "x"), PAIRS[:-1])
def test_two_beliefs_climb(family, prior, x):
    model = FamilyMixture(family, 2, prior=prior, random_state=0, n_init=2).fit(x)
    assert np.diff(model.trace_).min() >= -1e-10 * abs(model.trace_).max()
    drawn, _ = model.sample(5, rng=0)
    assert drawn.shape == (5, x.shape[1])
    np.testing.assert_allclose(model.predict_proba(x).sum(axis=1), 1.0)


def test_columns_of_one_family_are_latent_classes():
    counts = COUNTS.copy()
    counts[::7, 0] = np.nan
    prior, common = Gamma(1.0, rate=0.2), {"random_state": 0, "tol": 1e-10}
    one = FamilyMixture(Poisson, 2, prior=prior, **common).fit(counts)
    other = LatentClasses(2, "poisson", priors={"poisson": prior}, **common).fit(counts)
    assert one.log_evidence_.value == pytest.approx(other.log_evidence_.value, rel=1e-9)
    np.testing.assert_allclose(one.score_samples(counts), other.score_samples(counts), rtol=1e-6)
    one = FamilyMixture(Poisson, 2, **common).fit(counts)
    other = LatentClasses(2, "poisson", method="ml", **common).fit(counts)
    assert one.log_likelihood_ == pytest.approx(other.log_likelihood_, rel=1e-9)
    assert one.n_parameters_ == other.n_parameters_ == 5


class Triangle:
    """A class of a user: density 1 − |x − c| around the weighted mean."""

    def __init__(self, centre):
        self.centre = centre

    @classmethod
    def fit(cls, x, weights):
        return cls(weights @ x / weights.sum())

    def log_prob(self, x):
        return -abs(x - self.centre)


def test_any_class_with_a_fit_will_do():
    model = FamilyMixture(Triangle, 2, random_state=0).fit(REAL)
    assert not hasattr(model, "model_")
    np.testing.assert_array_equal(model.predict(REAL), GROUP * 1)
    gappy = REAL.copy()
    gappy[::5, 1] = np.nan
    assert (FamilyMixture(Triangle, 2, random_state=0).fit_predict(gappy) == GROUP).mean() > 0.95


def test_gaps_of_fitted_families_are_left_out():
    x = REAL.copy()
    x[::4, 1] = np.nan
    model = FamilyMixture(Laplace, 1).fit(x)
    seen = x[~np.isnan(x[:, 1]), 1]
    expected = Laplace.fit(x[:, 0]).log_prob(x[:, 0]).sum() + Laplace.fit(seen).log_prob(seen).sum()
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("prior", [None, Gamma(1.0, 0.2)])
def test_numbers_of_one_column_need_no_second_axis(prior):
    numbers, column = COUNTS[:, 0], COUNTS[:, :1]
    told = FamilyMixture(Poisson, 2, prior=prior, random_state=0).fit(column)
    for given in (numbers, numbers.tolist(), pd.Series(numbers, name="calls")):
        model = FamilyMixture(Poisson, 2, prior=prior, random_state=0).fit(given)
        np.testing.assert_array_equal(model.weights_, told.weights_)
        np.testing.assert_array_equal(model.score_samples(given), told.score_samples(column))
        np.testing.assert_array_equal(model.predict_proba(given), told.predict_proba(column))
    choice = choose_components(FamilyMixture(Poisson, prior=prior, random_state=0), numbers, [1, 2])
    assert choice.best == 2
    if prior is not None:
        sampled = told.sample_partitions(numbers, draws=40, rng=0)
        assert sampled.similarity.shape == (60, 60)
        few = numbers[:6]
        assert told.enumerate_partitions(few).log_evidence == pytest.approx(
            float(told.enumerate_partitions(few[:, None]).log_evidence)
        )


def test_one_row_of_several_columns_is_not_a_column():
    with pytest.raises(ValueError, match="Reshape your data"):
        FamilyMixture(Poisson, 2, random_state=0).fit(COUNTS).predict(COUNTS[:, 0])
    with pytest.raises(ValueError, match="Reshape your data"):
        FamilyMixture(MvNormal, 2).fit(REAL[:, 0])
