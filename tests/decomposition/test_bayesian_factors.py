"""Factors as beliefs: the bound is that of the model language, numbers are found, gaps are taken."""

import numpy as np
import pytest

from posteriori import Gamma, Model, MvNormal, Normal
from posteriori.decomposition import (
    BayesianFactorAnalysis,
    BayesianPCA,
    FactorAnalysis,
    ProbabilisticPCA,
)
from posteriori.estimators.component_choice import choose_components
from posteriori.inference.components.factor_beliefs import (
    FactorPrior,
    _expect,
    learn_factor_beliefs,
)
from posteriori.inference.components.factor_posteriors import gappy_blocks

MODELS = [BayesianPCA, BayesianFactorAnalysis]


def rows(n=150, d=8, k=3, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x = 2 * rng.normal(size=(n, k)) @ rng.normal(size=(k, d)) + rng.normal(size=(n, d))
    x[rng.random(x.shape) < gaps] = np.nan
    return x


def language_model(d, k, shared, prior):
    m = Model()
    m.alpha = Gamma(prior.relevance[0], rate=prior.relevance[1]).iid(k)
    m.W = Normal(0.0, precision=m.alpha).iid(d)
    m.mu = Normal(0.0, variance=prior.mean_variance).iid(d)
    tau = Gamma(prior.noise[0], rate=prior.noise[1])
    m.tau = tau if shared else tau.iid(d)
    m.z = MvNormal(np.zeros(k), cov=np.eye(k)).iid("n")
    m.x = Normal(m.W @ m.z + m.mu, precision=m.tau)
    return m


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_bound_is_that_of_the_model_language(shared, gaps):
    x = rows(60, 6, 2, gaps)
    x = (x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0) + 0.1
    prior = FactorPrior((2.0, 1.0), (1.5, 0.5), 0.7)
    ours = learn_factor_beliefs(x, 3, prior, shared=shared, tol=1e-10, max_iter=3000)
    post = language_model(6, 3, shared, prior).infer(x=x, tol=1e-10, rng=0)
    assert ours.trace[-1] == pytest.approx(float(post.log_evidence), abs=1e-4)


@pytest.mark.parametrize("shared", [True, False])
def test_the_bound_is_a_bound_of_the_evidence(shared):
    """Of one row in one column beside another, the evidence is an integral over all unknowns."""
    prior = FactorPrior((3.0, 2.0), (4.0, 2.0), 0.5)
    x = np.array([[0.3, -0.8], [1.0, 0.4]])
    found = learn_factor_beliefs(x, 1, prior, shared=shared, tol=1e-12, max_iter=3000)
    rng = np.random.default_rng(0)
    s = 400_000
    alpha = rng.gamma(3.0, 0.5, size=(s, 1))
    tau = np.broadcast_to(rng.gamma(4.0, 0.5, size=(s, 1 if shared else 2)), (s, 2))
    w = rng.normal(size=(s, 2)) / np.sqrt(alpha)
    cov = w[:, :, None] * w[:, None, :] + np.eye(2) / tau[:, None, :]
    mu = rng.normal(size=(s, 2)) * np.sqrt(0.5)
    likelihood = np.exp(sum(MvNormal(mu, cov=cov).log_prob(row) for row in x))
    evidence, error = likelihood.mean(), likelihood.std() / np.sqrt(s)
    assert np.exp(found.trace[-1]) <= evidence + 5 * error
    assert found.trace[-1] > np.log(evidence) - 1.0


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_the_bound_never_falls_and_the_number_is_found(kind, gaps):
    m = kind().fit(rows(gaps=gaps))
    assert m.converged_
    assert np.all(np.diff(m.trace_) >= -1e-8)
    assert m.n_components_ == 3
    assert m.components_.shape == (3, 8)
    assert m.log_evidence_.kind == "bound"
    assert float(m.log_evidence_) == m.trace_[-1]


@pytest.mark.parametrize("kind", MODELS)
def test_no_factor_is_needed_for_noise(kind):
    m = kind().fit(np.random.default_rng(0).normal(size=(300, 5)))
    assert m.n_components_ == 0
    assert m.transform(np.zeros((2, 5))).shape == (2, 1)


@pytest.mark.parametrize("kind", MODELS)
def test_evidence_chooses_the_number(kind):
    found = choose_components(kind(), rows(), range(1, 6))
    assert found.criterion == "evidence"
    assert found.best == 3


def test_of_many_rows_beliefs_are_the_maximum():
    x = rows(20_000, 6, 2)
    for belief, point in (
        (BayesianPCA, ProbabilisticPCA),
        (BayesianFactorAnalysis, FactorAnalysis),
    ):
        a, b = belief(2).fit(x), point(2).fit(x)
        np.testing.assert_allclose(a.model_.cov, b.model_.cov, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("kind", MODELS)
def test_evidence_moves_with_units(kind):
    x = rows()
    a, b = kind(3).fit(x), kind(3).fit(1000.0 * x + 5.0)
    shift = x.size * np.log(1000.0)
    assert float(b.log_evidence_) == pytest.approx(float(a.log_evidence_) - shift, abs=1e-4)


def test_rows_left_out_are_more_probable_than_under_the_maximum():
    x = rows(25, 8, 2)
    new = rows(2000, 8, 2)[25:]
    assert BayesianPCA().fit(x).score(new) > ProbabilisticPCA(5).fit(x).score(new)


def test_impossible_beliefs_are_no_place_to_jump_to():
    x = rows(30, 4, 1)
    prior = FactorPrior((1.0, 1.0), (1.0, 1.0), 1.0)
    found = learn_factor_beliefs(x, 2, prior, shared=True, tol=1e-3, max_iter=500).parameters
    blocks = gappy_blocks(x, 9)
    with pytest.raises(ValueError, match="beliefs that are none"):
        _expect(blocks, found._replace(noise_rate=-found.noise_rate), prior)
    with pytest.raises(np.linalg.LinAlgError):
        _expect(blocks, found._replace(spreads=-found.spreads), prior)


@pytest.mark.parametrize("kind", MODELS)
def test_what_leaves_no_noise_is_refused(kind):
    with pytest.raises(ValueError, match=r"n_components=8 leaves no column for the noise"):
        kind(8).fit(rows())
    with pytest.raises(ValueError, match=r"n_features=1"):
        kind().fit(rows()[:, :1])


def test_standardised_components_are_those_of_standardised_columns() -> None:
    """Evidence and densities move by the Jacobian of the units, fill-ins by the units themselves."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5)) + 0.3 * rng.normal(size=(80, 5))
    x = x * [1.0, 1e3, 1e-3, 10.0, 1.0] + [0.0, 5e4, 0.0, -3.0, 2.0]
    unit, mean = x.std(axis=0), x.mean(axis=0)
    gappy = x[:6].copy()
    gappy[[0, 1, 2], [1, 3, 0]] = np.nan
    ours = BayesianPCA(standardize=True, tol=1e-10).fit(x)
    plain = BayesianPCA(tol=1e-10).fit((x - mean) / unit)
    jacobian = np.log(unit).sum()
    assert float(ours.log_evidence_) == pytest.approx(
        float(plain.log_evidence_) - 80 * jacobian, rel=1e-6
    )
    np.testing.assert_allclose(
        ours.score_samples(x), plain.score_samples((x - mean) / unit) - jacobian, rtol=1e-3
    )
    np.testing.assert_allclose(
        ours.impute(gappy), mean + unit * plain.impute((gappy - mean) / unit), rtol=1e-3
    )
    assert ours.n_components_ == plain.n_components_ == 2
    assert ours.noise_variance_.shape == (5,)


@pytest.mark.parametrize("model", [BayesianPCA(2), BayesianFactorAnalysis(2)])
def test_gaps_are_believed_as_the_normal_says(model: BayesianPCA) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 4)) + rng.normal(size=(60, 4))
    normal = model.fit(x).model_
    row = np.array([x[0, 0], np.nan, x[0, 2], np.nan])
    rest = normal.condition([0, 2], row[[0, 2]])
    beliefs = model.gap_beliefs(row[None])
    assert [belief.column for belief in beliefs] == [1, 3]
    np.testing.assert_allclose([belief.mean[0] for belief in beliefs], rest.mean, rtol=1e-8)
    np.testing.assert_allclose([b.variance[0] for b in beliefs], rest.variance, rtol=1e-8)
