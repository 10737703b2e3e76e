"""Draws of the posterior of mixtures, beside all assignments of a few rows; and what they say of beliefs."""

import pickle
from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from posteriori import Gamma, Poisson
from posteriori.inference.weighing.approximate_beliefs import WeighedDraws
from posteriori.inference.weighing.parameter_intervals import intervals_by_draws
from posteriori.mixture import (
    BayesianGaussianMixture,
    FamilyMixture,
    GaussianMixture,
    LatentClasses,
)

COUNTS = np.array([0.0, 1.0, 2.0, 5.0, 7.0, 9.0])
SHAPE, RATE, CONCENTRATION = 2.0, 0.5, 0.8


def poisson_mixture(x=COUNTS, **options):
    prior = Gamma(SHAPE, rate=RATE)
    model = FamilyMixture(
        Poisson, 2, prior=prior, weight_concentration_prior=CONCENTRATION, random_state=0
    )
    return model.fit(x[:, None], **options)


def enumerated(x=COUNTS):
    """Return E[Σ π λ], E[λ λ'] and E[(λ − λ')²] of two components, over all 2^N assignments."""
    logs, found = [], []
    for z in product((0, 1), repeat=len(x)):
        n = np.bincount(z, minlength=2)
        total = np.bincount(z, weights=x, minlength=2)
        a, b = SHAPE + total, RATE + n
        alpha = CONCENTRATION + n
        logs.append((gammaln(alpha) + gammaln(a) - a * np.log(b)).sum())
        mean, square = a / b, a * (a + 1) / b**2
        share = alpha / alpha.sum()
        found.append([share @ mean, mean.prod(), square.sum() - 2 * mean.prod()])
    weights = np.exp(np.array(logs) - logsumexp(logs))
    return weights @ np.array(found)


def functionals(values):
    share, rate = values["weights"], values["components"][..., 0]
    gap = (rate[..., 0] - rate[..., 1]) ** 2
    return np.stack([(share * rate).sum(axis=-1), rate.prod(axis=-1), gap], axis=-1)


def test_turns_draw_from_the_posterior_over_all_assignments():
    belief = poisson_mixture()._approximate_belief()
    chains = functionals(belief.draw_posterior(2000, np.random.default_rng(0)).values)
    means = chains.mean(axis=1)  # chains are independent of one another
    error = means.std(axis=0, ddof=1) / len(means) ** 0.5
    assert (np.abs(means.mean(axis=0) - enumerated()) < 5 * error).all()


def test_weighted_draws_of_the_belief_have_the_moments_of_the_posterior():
    belief = poisson_mixture(sample_weight=np.ones(6))._approximate_belief().belief
    drawn = belief.draw_belief(4000, np.random.default_rng(1))
    log_ratios = belief.log_joint(drawn) - drawn.log_density
    weights = np.exp(log_ratios - logsumexp(log_ratios))
    values = functionals(drawn.values)
    mean = weights @ values
    error = np.sqrt(weights**2 @ (values - mean) ** 2)
    assert (np.abs(mean - enumerated()) < 5 * error).all()


def test_rows_that_count_twice_are_two_rows():
    x = COUNTS[:4]
    once = poisson_mixture(np.repeat(x, 2))._approximate_belief()
    twice = poisson_mixture(x, sample_weight=np.full(4, 2.0))._approximate_belief()
    assert np.allclose(np.sort(once.features), np.sort(twice.features))
    assert np.allclose(once.belief.sums, twice.belief.sums, atol=1e-4)


def overlapping(n=120, apart=3.0, seed=0):
    rng = np.random.default_rng(seed)
    return (np.where(rng.random(n) < 0.5, 0.0, apart) + rng.normal(size=n))[:, None]


def test_fitted_components_lend_their_names():
    """Draws of far components never change names, whatever the chains do."""
    x = np.concatenate([overlapping(60, 0.0), 50.0 + overlapping(40, 0.0, 1)])
    model = BayesianGaussianMixture(2, random_state=0).fit(x)
    means = model.draw_posterior(200, rng=0)["means"][..., 0]
    assert (np.abs(means - model.means_[:, 0]) < 3.0).all()
    assert model.cautions == ()
    assert model.reliability(rng=0).verdict == "the belief agrees with the posterior"


def test_sticks_and_vectors_are_drawn():
    x = np.random.default_rng(3).normal(size=(40, 2))
    model = BayesianGaussianMixture(
        3, weight_concentration_prior_type="dirichlet_process", random_state=0
    ).fit(x)
    drawn = model.draw_posterior(100, rng=0)
    assert drawn["means"].shape == (100, 3, 2)
    assert np.allclose(drawn["weights"].sum(axis=1), 1.0)
    assert (np.linalg.eigvalsh(drawn["covariances"]) > 0.0).all()


def test_overlap_is_told_before_any_draw_and_checked_by_draws():
    model = BayesianGaussianMixture(2, random_state=0).fit(overlapping())
    assert model.cautions == ("intervals of weights, means, covariances are too narrow",)
    found = model.reliability(rng=0)
    assert "weights" in found.too_narrow
    assert found.unknowns["weights"].ratio < 0.7
    assert model.cautions[0].startswith("intervals of weights")
    again = pickle.loads(pickle.dumps(model))
    assert again.cautions == model.cautions
    model.fit(np.concatenate([x := overlapping(60, 0.0), 50.0 + x]))
    assert model.cautions == ()  # of another fit nothing is known yet


def test_intervals_are_wider_than_those_of_the_belief():
    model = BayesianGaussianMixture(2, random_state=0).fit(overlapping())
    found = model.parameter_intervals(0.9, rng=0)
    believed = model.posterior_.weights
    width = found.upper["weights"] - found.lower["weights"]
    assert (width > 2.0 * 1.645 * np.sqrt(believed.variance)).all()
    assert "90 % intervals" in repr(found)
    assert "weights[0]" in repr(found)


def test_one_component_is_exact():
    model = BayesianGaussianMixture(1).fit(overlapping())
    assert model.reliability().verdict == "exact: nothing to check"
    mean = model.draw_posterior(4000, rng=0)["means"]
    belief = model.posterior_.components.marginal_mean()
    assert abs(mean.mean() - belief.mean.item()) < 5 * (belief.cov.item() / 4000) ** 0.5


def test_gaps_are_weighed():
    x = np.hstack([overlapping(60, 6.0), overlapping(60, 6.0, 5)])
    x[::9, 0] = np.nan
    found = BayesianGaussianMixture(2, random_state=0).fit(x).reliability(200, rng=0)
    assert found.weighed == ("weights", "means", "covariances")


@pytest.mark.parametrize("kinds", [["normal", "bernoulli", "poisson"], ["categorical"], ["table"]])
def test_all_kinds_of_columns_are_drawn(kinds):
    rng = np.random.default_rng(0)
    z = rng.random(50) < 0.4
    columns = {
        "normal": rng.normal(2.0 * z),
        "bernoulli": rng.random(50) < 0.2 + 0.6 * z,
        "poisson": rng.poisson(1.0 + 4.0 * z),
        "categorical": rng.integers(0, 3, size=50),
        "table": rng.integers(0, 3, size=50),
    }
    x = np.column_stack([columns[kind] for kind in kinds]).astype(float)
    model = LatentClasses(2, columns=kinds, n_init=2, random_state=0).fit(x)
    intervals = model.parameter_intervals(draws=100, rng=0)
    assert all((intervals.lower[name] < intervals.upper[name]).all() for name in intervals.median)
    assert len(intervals.median) == {3: 5, 1: 2}[len(kinds)]


def test_estimates_have_no_posterior_to_check():
    assert not hasattr(GaussianMixture(2), "reliability")
    model = LatentClasses(2, method="ml", n_init=2, random_state=0).fit(overlapping())
    assert model.cautions == ()
    with pytest.raises(TypeError, match="has estimates with these parameters"):
        model.reliability()


@pytest.mark.slow
def test_intervals_hold_what_they_promise():
    """Two components 3 standard deviations apart, 24 sets: beliefs hold 54 to 67 of 100, drawn intervals 90 or more."""
    held = {"drawn": [], "believed": []}
    for seed in range(24):
        rng = np.random.default_rng(seed)
        z = rng.choice(2, size=200)
        sd = rng.uniform(0.8, 1.2, size=2)
        x = 3.0 * z + sd[z] * rng.normal(size=200)
        model = BayesianGaussianMixture(2, random_state=0).fit(x[:, None])
        believed = model._approximate_belief().draw_belief(1000, rng).values
        drawn = model.parameter_intervals(0.9, rng=seed)
        plain = WeighedDraws(believed, np.full(1000, 1e-3), drawn, ())
        for key, found in (("drawn", drawn), ("believed", intervals_by_draws(plain, 0.9))):
            order = np.argsort(found.median["means"][:, 0])
            for name, truth in (("weights", 0.5), ("means", [0.0, 3.0]), ("covariances", sd**2)):
                low, high = (
                    end[name].reshape(2, -1)[order, 0] for end in (found.lower, found.upper)
                )
                held[key].append((low <= truth) & (truth <= high))
    assert np.mean(held["drawn"]) > 0.85
    assert np.mean(held["believed"]) < 0.75
