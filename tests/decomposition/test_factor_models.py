"""Probabilistic principal components and factor analysis, complete and with gaps."""

import numpy as np
import pytest
import sklearn.decomposition as peers
from scipy.linalg import subspace_angles

from posteriori.decomposition import PCA, FactorAnalysis, ProbabilisticPCA
from posteriori.distributions import MvNormal
from posteriori.estimators.component_choice import choose_components

MODELS = [ProbabilisticPCA, FactorAnalysis]


def rows(n=400, d=6, k=2, gaps=0.0, seed=0, noise=None):
    rng = np.random.default_rng(seed)
    spread = rng.uniform(0.3, 1.5, size=d) if noise is None else noise
    x = rng.normal(size=(n, k)) @ (2.0 * rng.normal(size=(k, d))) + spread * rng.normal(size=(n, d))
    x = x * np.geomspace(0.1, 10.0, d) + np.linspace(-50.0, 50.0, d)
    x[rng.random(x.shape) < gaps] = np.nan
    return x


# -- complete rows -------------------------------------------------------------------------------


@pytest.mark.topic("000/I16", "003/U.9")
def test_the_model_has_the_leading_eigenvalues_and_one_noise():
    x = rows()
    p = ProbabilisticPCA(2).fit(x)
    values = np.linalg.eigvalsh(np.cov(x.T, bias=True))[::-1]
    found = np.linalg.eigvalsh(p.model_.cov)[::-1]
    np.testing.assert_allclose(found[:2], values[:2], rtol=1e-9)
    np.testing.assert_allclose(found[2:], values[2:].mean(), rtol=1e-9)
    assert p.noise_variance_ == pytest.approx(values[2:].mean())
    assert p.log_likelihood_ == pytest.approx(p.model_.log_prob(x).sum(), rel=1e-12)
    assert np.max(subspace_angles(p.components_.T, PCA(2).fit(x).components_.T)) < 1e-7


def test_more_columns_than_rows():
    x = np.random.default_rng(0).normal(size=(10, 30)) * np.linspace(1, 3, 30)
    p = ProbabilisticPCA(3).fit(x)
    values = np.linalg.eigvalsh(np.cov(x.T, bias=True))[::-1]
    assert p.noise_variance_ == pytest.approx(values[3:].sum() / 27)
    assert p.log_likelihood_ == pytest.approx(p.model_.log_prob(x).sum(), rel=1e-10)
    f = FactorAnalysis(2).fit(x)
    assert f.log_likelihood_ == pytest.approx(f.log_likelihood(x), rel=1e-8)


def test_peers_reach_the_same_likelihood():
    x = rows(500, 8)
    theirs = peers.PCA(2, svd_solver="full").fit(x).score(x) * 500
    ours = ProbabilisticPCA(2).fit(x).log_likelihood_
    assert ours == pytest.approx(theirs, abs=0.1)  # theirs divides by N − 1
    assert ours > theirs
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    peer = peers.FactorAnalysis(2, tol=1e-6, max_iter=20_000, svd_method="lapack").fit(z)
    mine = FactorAnalysis(2).fit(z)
    assert mine.log_likelihood_ == pytest.approx(peer.score(z) * 500, abs=1e-3)
    np.testing.assert_allclose(mine.noise_variance_, peer.noise_variance_, rtol=1e-3)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
@pytest.mark.topic("003/U.7")
def test_factor_analysis_recovers_what_made_the_rows(gaps):
    rng = np.random.default_rng(0)
    w, noise = rng.normal(size=(5, 2)), np.array([0.3, 0.5, 1.0, 1.5, 2.0])
    z = rng.normal(size=(20_000, 2))
    x = z @ w.T + np.sqrt(noise) * rng.normal(size=(20_000, 5))
    truth = w @ w.T + np.diag(noise)
    np.testing.assert_allclose(np.cov(x.T), truth, atol=0.15)  # marginal covariance of draws
    x[rng.random(x.shape) < gaps] = np.nan
    f = FactorAnalysis(2).fit(x)
    np.testing.assert_allclose(f.model_.cov, truth, atol=0.15)
    np.testing.assert_allclose(f.noise_variance_, noise, atol=0.15)
    assert f.heywood_ == []


def test_factors_are_independent_given_a_row_and_their_peaks_positive():
    f = FactorAnalysis(2).fit(rows())
    w = f.components_
    inner = w / f.noise_variance_ @ w.T
    assert abs(inner[0, 1]) < 1e-8 * inner[0, 0]
    assert inner[0, 0] > inner[1, 1]
    scaled = w / np.sqrt(np.diag(f.model_.cov))
    assert np.all(w[np.arange(2), np.argmax(np.abs(scaled), axis=1)] > 0)


def test_factor_analysis_moves_with_units():
    x = rows()
    a, b = FactorAnalysis(2).fit(x), FactorAnalysis(2).fit(x * np.geomspace(1e-3, 1e3, 6) + 7.0)
    np.testing.assert_allclose(b.components_, a.components_ * np.geomspace(1e-3, 1e3, 6), rtol=1e-6)
    shift = 400 * np.log(np.geomspace(1e-3, 1e3, 6)).sum()
    assert b.log_likelihood_ == pytest.approx(a.log_likelihood_ - shift, abs=1e-6)


def test_a_column_that_factors_explain_is_named():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(100, 1))
    x = np.c_[z, z + rng.normal(size=(100, 3))]
    f = FactorAnalysis(1).fit(x)
    assert f.heywood_ == ["column 0"]
    assert f.noise_variance_[0] == pytest.approx(1e-6 * x[:, 0].var())


# -- gaps ----------------------------------------------------------------------------------------


def dense_log_density(model, x):
    total = []
    for row in x:
        o = ~np.isnan(row)
        part = MvNormal(model.mean[o], cov=model.cov[np.ix_(o, o)]) if o.any() else None
        total.append(0.0 if part is None else float(part.log_prob(row[o])))
    return np.array(total)


@pytest.mark.parametrize("kind", MODELS)
def test_answers_with_gaps_are_those_of_dense_algebra(kind):
    x = rows(300, gaps=0.2)
    x[5] = np.nan
    m = kind(2).fit(x)
    assert m.converged_
    np.testing.assert_allclose(m.score_samples(x), dense_log_density(m.model_, x), atol=1e-8)
    assert m.log_likelihood_ == pytest.approx(m.score_samples(x).sum(), abs=1e-6)
    filled, known, cov = m.impute(x), m.transform_dist(x), m.model_.cov
    assert known.mean.shape == (300, 2)
    for row, full, z, spread in zip(x, filled, known.mean, known.cov, strict=True):
        o = ~np.isnan(row)
        gain = np.linalg.solve(cov[np.ix_(o, o)], cov[o]).T
        np.testing.assert_allclose(full, m.mean_ + gain @ (row - m.mean_)[o], atol=1e-7)
        np.testing.assert_array_equal(full[o], row[o])
        factor_gain = np.linalg.solve(cov[np.ix_(o, o)], m.components_[:, o].T).T
        np.testing.assert_allclose(z, factor_gain @ (row - m.mean_)[o], atol=1e-7)
        np.testing.assert_allclose(
            spread, np.eye(2) - factor_gain @ m.components_[:, o].T, atol=1e-7
        )
    np.testing.assert_allclose(m.transform(x), known.mean)


@pytest.mark.parametrize("kind", MODELS)
def test_gaps_make_beliefs_about_factors_wider(kind):
    m = kind(1).fit(rows())
    row = m.sample(1, rng=0)
    less = row.copy()
    less[0, :3] = np.nan
    assert m.transform_dist(less).cov[0, 0, 0] > m.transform_dist(row).cov[0, 0, 0]
    nothing = m.transform_dist(np.full((1, 6), np.nan))
    np.testing.assert_allclose([nothing.mean[0, 0], nothing.cov[0, 0, 0]], [0.0, 1.0])


@pytest.mark.parametrize("kind", MODELS)
def test_a_single_gap_changes_little(kind):
    x = rows(1000)
    whole = kind(2).fit(x)
    x[3, 4] = np.nan
    part = kind(2, tol=1e-9).fit(x)
    assert part.n_iter_ > 1
    np.testing.assert_allclose(part.model_.cov, whole.model_.cov, rtol=0.05, atol=0.05)


def test_unseen_entries_are_predicted_better_than_by_means():
    x = rows(500, noise=0.2)
    holes = x.copy()
    hidden = np.random.default_rng(1).random(x.shape) < 0.15
    holes[hidden] = np.nan
    error = (FactorAnalysis(2).fit(holes).impute(holes) - x) / x.std(axis=0)
    assert np.mean(error[hidden] ** 2) < 0.1


# -- streams and draws ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_chunks_add_up_to_the_whole(kind, offset):
    x = rows(300) / np.geomspace(0.1, 10.0, 6) + offset
    whole, parts = kind(2, tol=1e-13).fit(x), kind(2, tol=1e-13)
    for first in range(0, 300, 90):
        parts.partial_fit(x[first : first + 90])
    near = 1e-6 if offset == 0.0 else 1e-5
    np.testing.assert_allclose(parts.model_.cov, whole.model_.cov, rtol=near, atol=near)
    assert parts.log_likelihood_ == pytest.approx(whole.log_likelihood_, abs=1e-3)


@pytest.mark.parametrize("kind", MODELS)
def test_draws_have_the_moments_of_the_model(kind):
    m = kind(2).fit(rows())
    drawn = m.sample(200_000, rng=0)
    sd = np.sqrt(np.diag(m.model_.cov))
    np.testing.assert_allclose((drawn.mean(axis=0) - m.mean_) / sd, 0.0, atol=0.012)
    ratio = np.cov(drawn.T) / np.outer(sd, sd) - m.model_.cov / np.outer(sd, sd)
    np.testing.assert_allclose(ratio, 0.0, atol=0.02)


@pytest.mark.parametrize("kind", MODELS)
def test_scores_and_rows_go_back_and_forth(kind):
    x = rows(noise=1e-3)
    m = kind(2).fit(x)
    back = m.inverse_transform(m.transform(x))
    np.testing.assert_allclose((back - x) / x.std(axis=0), 0.0, atol=0.02)


# -- rotations and numbers -----------------------------------------------------------------------


@pytest.mark.parametrize("rotation", ["varimax", "quartimax"])
def test_rotations_raise_their_criterion_to_the_top(rotation):
    x = rows()
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    ours = FactorAnalysis(2, rotation=rotation).fit(z)
    plain = FactorAnalysis(2).fit(z)
    turned = ours.components_ @ np.linalg.pinv(plain.components_)
    np.testing.assert_allclose(turned @ turned.T, np.eye(2), atol=1e-8)  # a rotation
    np.testing.assert_allclose(ours.model_.cov, plain.model_.cov, atol=1e-9)
    np.testing.assert_allclose(ours.factor_covariance_, np.eye(2), atol=1e-9)

    def criterion(b):
        fourth = np.sum(b**4)
        return fourth - (np.sum(np.sum(b**2, axis=0) ** 2) / 6 if rotation == "varimax" else 0.0)

    best = max(
        criterion(plain.components_.T @ np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]))
        for a in np.linspace(0.0, np.pi, 20_001)
    )
    assert criterion(ours.components_.T) == pytest.approx(best, rel=1e-6)


def test_promax_lets_factors_correlate():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(5000, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])  # correlation 0.6
    w = np.array([[1.0, 0.9, 1.1, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.2, 0.8]])
    x = z @ w + 0.5 * rng.normal(size=(5000, 6))
    f = FactorAnalysis(2, rotation="promax").fit(x)
    np.testing.assert_allclose(np.diag(f.factor_covariance_), 1.0, atol=1e-10)
    assert f.factor_covariance_[0, 1] == pytest.approx(0.6, abs=0.1)
    small = np.minimum(np.abs(f.components_[0]), np.abs(f.components_[1]))
    assert small.max() < 0.15
    cov = f.components_.T @ f.factor_covariance_ @ f.components_ + np.diag(f.noise_variance_)
    np.testing.assert_allclose(cov, f.model_.cov, atol=1e-10)
    known = f.transform_dist(x[:3])
    np.testing.assert_allclose(known.mean, f.transform(x[:3]))
    gain = np.linalg.solve(f.model_.cov, f.components_.T @ f.factor_covariance_).T
    np.testing.assert_allclose(known.mean, (x[:3] - f.mean_) @ gain.T, atol=1e-8)


@pytest.mark.parametrize("criterion", ["held out", "bic"])
@pytest.mark.parametrize("kind", MODELS)
def test_the_number_of_factors_is_found(kind, criterion):
    x = rows(400, 8, 2, noise=1.0) / np.geomspace(0.1, 10.0, 8)
    found = choose_components(kind(), x, range(1, 5), criterion=criterion)
    assert found.best == 2
