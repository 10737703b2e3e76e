"""Principal components: solvers agree, scores and reconstructions keep their laws, numbers are chosen."""

import numpy as np
import pytest
import sklearn.decomposition as peers
from scipy.linalg import subspace_angles
from sklearn.decomposition._pca import _assess_dimension
from sklearn.pipeline import make_pipeline

from posteriori.classification import FisherDiscriminant
from posteriori.decomposition import PCA
from posteriori.decomposition.component_number import find_knee, log_evidences_of_rank
from posteriori.numerics import ConvergenceWarning

SOLVERS = ("covariance", "svd", "gram", "randomized", "power")


def table(n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return rng.normal(size=(n, d)) * 0.6 ** np.arange(d) @ turn + rng.normal(size=d)


# -- solvers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("shape", [(200, 6), (12, 30), (20, 20)])
@pytest.mark.topic("000/I10", "001/2.17", "002/D6", "002/D7", "002/D8", "002/D9")
def test_all_solvers_find_the_eigenvectors(solver, shape):
    n, d = shape
    rng = np.random.default_rng(1)
    x = (
        table(n, 6)
        if d == 6
        else rng.normal(size=(n, 5)) * [9, 6, 4, 2, 1] @ rng.normal(size=(5, d))
    )
    x = x + 0.01 * rng.normal(size=shape)
    values, vectors = np.linalg.eigh(np.cov(x.T, bias=True))
    found = PCA(4, solver=solver, random_state=0).fit(x)
    np.testing.assert_allclose(found.eigenvalues_[:4], values[::-1][:4], rtol=1e-9)
    overlap = np.abs(found.components_ @ vectors[:, ::-1][:, :4])
    np.testing.assert_allclose(overlap, np.eye(4), atol=1e-7)
    peak = np.argmax(np.abs(found.components_), axis=1)
    assert np.all(found.components_[np.arange(4), peak] > 0)
    left = values[::-1][4:].sum()
    assert found.reconstruction_error_ == pytest.approx(left, rel=1e-7)


def test_auto_chooses_by_the_shape():
    choose = PCA(2)._chosen_solver
    shapes = [(100, 10), (10, 100), (15, 10), (5000, 4000)]
    assert [choose(*s) for s in shapes] == ["covariance", "gram", "svd", "randomized"]


def test_random_directions_say_where_they_do_not_settle():
    x = np.random.default_rng(0).normal(size=(3000, 300))
    with pytest.warns(ConvergenceWarning, match="still moved"):
        PCA(5, solver="randomized", random_state=0).fit(x)


@pytest.mark.topic("001/2.8", "001/2.11")
def test_three_points():
    found = PCA().fit([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    np.testing.assert_allclose(found.mean_, [3.0, 5.0])
    np.testing.assert_allclose(found.eigenvalues_, [11.21443899, 0.11889434], atol=5e-9)
    np.testing.assert_allclose(found.components_[0], [0.47918807, 0.87771225], atol=5e-9)
    cov = found.components_.T @ np.diag(found.eigenvalues_) @ found.components_
    np.testing.assert_allclose(cov, [[8 / 3, 14 / 3], [14 / 3, 26 / 3]], atol=1e-12)


def test_peers_agree():
    x = table()
    ours, theirs = PCA(3).fit(x), peers.PCA(3, svd_solver="full").fit(x)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-10
    )
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-10)


# -- scores and reconstructions ------------------------------------------------------------------


@pytest.mark.topic("000/I12", "001/2.14", "001/2.10")
def test_scores_are_uncorrelated_and_their_variances_are_the_eigenvalues():
    x = table()
    found = PCA(4).fit(x)
    z = found.transform(x)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.diag(found.eigenvalues_[:4]), atol=1e-12)


@pytest.mark.topic("000/I13")
def test_white_scores_have_covariance_one():
    x = table()
    found = PCA(whiten=True).fit(x)
    z = found.transform(x)
    np.testing.assert_allclose(np.cov(z.T, bias=True), np.eye(6), atol=1e-11)
    np.testing.assert_allclose(found.inverse_transform(z), x, atol=1e-11)


@pytest.mark.parametrize("k", [1, 3, 6])
@pytest.mark.topic("000/I14", "000/I15", "001/2.12", "001/2.18", "002/D2", "002/D3")
def test_what_is_lost_is_the_sum_of_dropped_eigenvalues(k):
    x = table()
    found = PCA(k).fit(x)
    back = found.inverse_transform(found.transform(x))
    error = np.mean(np.sum((x - back) ** 2, axis=1))
    assert error == pytest.approx(found.reconstruction_error_, abs=1e-12)
    kept = np.sum(np.var(found.transform(x), axis=0))  # signal and noise add up to all variance
    assert kept + error == pytest.approx(np.var(x, axis=0).sum(), rel=1e-12)
    rng = np.random.default_rng(0)
    other = np.linalg.qr(rng.normal(size=(6, k)))[0]
    centred = x - x.mean(axis=0)
    assert error <= np.mean(np.sum((centred - centred @ other @ other.T) ** 2, axis=1)) + 1e-12


@pytest.mark.topic("001/2.4")
def test_four_images_rebuild_a_family_of_images():
    rng = np.random.default_rng(0)
    base = rng.normal(size=(4, 64))
    images = rng.normal(size=(50, 4)) @ base + 3.0
    found = PCA(4).fit(images)
    assert found.transform(images).shape == (50, 4)
    back = found.inverse_transform(found.transform(images))
    np.testing.assert_allclose(back, images, atol=1e-10)
    assert np.max(subspace_angles(found.components_.T, base.T)) < 1e-6


@pytest.mark.topic("002/D4")
def test_rows_far_out_are_dropped_and_named():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2)) * [3.0, 0.3]
    bad = np.vstack([x, [[0.0, 60.0], [1.0, 70.0]]])
    assert abs(PCA(1).fit(bad).components_[0, 1]) > 0.9  # they turn the direction
    found = PCA(1, outliers="drop", random_state=0).fit(bad)
    assert {200, 201} <= set(found.outliers_.tolist())
    assert len(found.outliers_) < 20
    assert found.components_[0, 0] > 0.999
    assert found.n_samples_ == 202 - len(found.outliers_)


# -- how many ------------------------------------------------------------------------------------


@pytest.mark.topic("000/I11")
def test_a_share_of_variance_decides():
    x = np.diag(np.sqrt([5.0, 3.0, 1.5, 0.5])).repeat(2, axis=0) * np.tile([1, -1], 4)[:, None]
    shares = {0.5: 1, 0.8: 2, 0.81: 3, 0.95: 3, 1.0: 4}
    assert {s: PCA(s).fit(x).n_components_ for s in shares} == shares


@pytest.mark.topic("001/2.20")
def test_the_knee_is_where_the_spectrum_flattens():
    assert find_knee(np.append(np.linspace(10.0, 5.0, 50), np.linspace(1.0, 0.8, 150))) == 50
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 50)) @ np.linalg.qr(rng.normal(size=(80, 80)))[0][:50] * 4.0
    assert PCA("knee").fit(x + rng.normal(size=x.shape) * 0.5).n_components_ == 50


def test_rules_find_the_number_of_factors():
    rng = np.random.default_rng(0)
    x = 2.0 * rng.normal(size=(500, 4)) @ rng.normal(size=(4, 20)) + rng.normal(size=(500, 20))
    assert PCA("evidence").fit(x).n_components_ == 4
    assert PCA("parallel", random_state=0).fit(x).n_components_ == 4
    wide = 3.0 * rng.normal(size=(40, 2)) @ rng.normal(size=(2, 90)) + rng.normal(size=(40, 90))
    assert PCA("parallel", random_state=0).fit(wide).n_components_ == 2


def test_noise_is_seldom_taken_for_signal():
    x = np.random.default_rng(0).normal(size=(200, 10)) * np.ones(10)
    assert PCA("parallel", random_state=0).fit(x).n_components_ <= 2


def test_evidence_is_that_of_minka():
    values = np.array([5.0, 4.0, 1.0, 0.9, 0.8])
    theirs = [_assess_dimension(values, k, 300) for k in range(1, 5)]
    np.testing.assert_allclose(log_evidences_of_rank(values, 300), theirs, rtol=1e-12)


# -- streams -------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_chunks_add_up_to_the_whole(offset):
    x = np.round(table(500) * 2.0**20) / 2.0**20 + offset
    whole, parts = PCA(3).fit(x), PCA(3)
    for first in range(0, 500, 70):
        parts.partial_fit(x[first : first + 70])
    np.testing.assert_allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(parts.components_, whole.components_, atol=1e-9)
    np.testing.assert_allclose(parts.mean_, whole.mean_, rtol=1e-14)
    exact = np.linalg.eigvalsh(np.cov((x - offset).T, bias=True))[::-1]
    near = 1e-9 if offset == 0.0 else 1e-6  # 1e8 itself rounds entries to 1e-8
    np.testing.assert_allclose(parts.eigenvalues_, exact, rtol=near)


def test_a_fit_forgets_what_was_streamed():
    x = table()
    streamed = PCA(2).partial_fit(x[:50]).fit(x)
    streamed.partial_fit(x[:50])
    assert streamed.n_samples_ == 50


# -- with Fisher's discriminant ------------------------------------------------------------------


@pytest.mark.topic("002/D10")
def test_components_feed_a_discriminant():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, size=60)
    x = rng.normal(size=(60, 100)) * 0.1
    x[:, :3] += (2 * labels - 1)[:, None] * [2.0, 1.0, 0.5] + 0.3 * rng.normal(size=(60, 3))
    model = make_pipeline(PCA(5), FisherDiscriminant()).fit(x, labels)
    assert model.score(x, labels) == 1.0
