"""Clusters and mixtures as the notes tell them: each topic's own claims, against slow obvious ways."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

from posteriori import Bernoulli
from posteriori.classification import GaussianDiscriminant
from posteriori.datasets import load_old_faithful, make_mouse
from posteriori.inference import count_partitions
from posteriori.mixture import (
    FamilyMixture,
    GaussianMixture,
    KMeans,
    KMedians,
    KMedoids,
    diagnose_clusters,
    quantize_colors,
)


def groups(sizes, centres, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return np.asarray(centres, float)[labels] + rng.normal(size=(len(labels), 2)), labels


def lloyd(x, centres, steps):
    """Alternate nearest centres and means, with J after each half-step."""
    path = []
    for _ in range(steps):
        squares = ((x[:, None] - centres) ** 2).sum(axis=2)
        labels = squares.argmin(axis=1)
        path.append(squares.min(axis=1).sum())
        centres = np.array([x[labels == k].mean(axis=0) for k in range(len(centres))])
        path.append(((x - centres[labels]) ** 2).sum())
    return centres, labels, path


@pytest.mark.topic("000/I1", "000/I9")
def test_hidden_components_are_summed_out():
    x = np.asarray(load_old_faithful().X)
    g = GaussianMixture(3, random_state=0).fit(x)
    joint = np.stack(
        [
            np.log(w) + multivariate_normal(m, c).logpdf(x)
            for w, m, c in zip(g.weights_, g.means_, g.covariances_, strict=True)
        ],
        axis=1,
    )
    np.testing.assert_allclose(g.score_samples(x), logsumexp(joint, axis=1), rtol=1e-10)
    posterior = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    np.testing.assert_allclose(g.predict_proba(x), posterior, atol=1e-10)
    np.testing.assert_allclose(g.model_.responsibilities(x), posterior, atol=1e-10)


@pytest.mark.topic("000/I2", "002/M1")
def test_every_half_step_of_k_means_lowers_its_objective_and_can_be_looked_at():
    x, _ = groups([40, 40, 40], [[0, 0], [4, 0], [0, 4]])
    start = x[:3]
    model = KMeans(3, init=start, split_merge=False, tol=0, keep_path=True).fit(x)
    steps = [step for step in model.path_ if step.kind != "move"]
    centres, labels, slow = lloyd(x, start, 40)
    values = [step.inertia for step in steps]
    assert np.all(np.diff(values) <= 1e-9)
    assigned = [step for step in steps if step.kind == "assign"]
    np.testing.assert_allclose([s.inertia for s in assigned], slow[::2][: len(assigned)])
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-10)
    np.testing.assert_array_equal(model.labels_, labels)


@pytest.mark.topic("000/I2", "002/M1")
def test_restarts_keep_the_lowest_end():
    x, _ = groups([30] * 6, [[0, 0], [7, 0], [14, 0], [0, 9], [7, 9], [14, 9]])
    ends = [
        KMeans(6, init="random", split_merge=False, random_state=seed).fit(x).inertia_
        for seed in range(8)
    ]
    assert max(ends) > 1.2 * min(ends)  # local minima
    best = KMeans(6, init="random", split_merge=False, n_init=20, random_state=0).fit(x)
    assert best.inertia_ <= min(ends) * (1 + 1e-6)


@pytest.mark.topic("000/I3")
def test_online_k_means_pulls_the_nearest_centre():
    x, _ = groups([50, 50], [[-3, 0], [3, 0]])
    x = np.random.default_rng(1).permutation(x)
    start, eta = np.array([[-1.0, 0.0], [1.0, 0.5]]), 0.05
    model = KMeans(2, init=start, learning_rate=eta).partial_fit(x[:30]).partial_fit(x[30:])
    centres = start.copy()
    for row in x:
        k = ((row - centres) ** 2).sum(axis=1).argmin()
        centres[k] += 2 * eta * (row - centres[k])
    np.testing.assert_allclose(model.cluster_centers_, centres, rtol=1e-12)


@pytest.mark.topic("000/I4")
def test_medoids_are_the_best_rows_of_all():
    x, _ = groups([5, 6], [[0, 0], [5, 1]], seed=3)
    table = np.abs(x[:, None] - x).sum(axis=2)
    best = min(table[:, list(pair)].min(axis=1).sum() for pair in combinations(range(11), 2))
    by_rows = KMedoids(2, metric="manhattan").fit(x)
    by_table = KMedoids(2, metric="precomputed").fit(table)
    assert by_rows.inertia_ == pytest.approx(best)
    assert by_table.inertia_ == pytest.approx(best)
    np.testing.assert_array_equal(by_rows.labels_, by_table.labels_)


@pytest.mark.topic("000/I4", "000/I6")
def test_a_far_row_drags_a_mean_but_not_a_median():
    x, _ = groups([40, 40], [[0, 0], [12, 0]])
    pulled = np.vstack([x, [[45.0, 0.0]]])
    for kind, moved in ((KMeans, True), (KMedians, False)):
        before, after = (
            max(kind(2, random_state=0).fit(rows).cluster_centers_[:, 0]) for rows in (x, pulled)
        )
        assert bool(after - before > 0.5) is moved


@pytest.mark.topic("000/I5")
def test_colours_are_the_means_of_their_pixels_wherever_these_lie():
    rng = np.random.default_rng(0)
    image = rng.integers(0, 256, size=(12, 10, 3)).astype(np.uint8)
    found = quantize_colors(image, 4, rng=0)
    for k, colour in enumerate(found.palette):
        np.testing.assert_array_equal(colour, np.rint(image[found.codes == k].mean(axis=0)))
    np.testing.assert_array_equal(found.image, found.palette[found.codes])
    bits = 12 * 10 * 2 + 4 * 3 * 8  # two bits a pixel, and the palette
    assert found.compression_ratio == pytest.approx(image.size * 8 / bits)
    moved = rng.permutation(image.reshape(-1, 3)).reshape(10, 12, 3)
    np.testing.assert_array_equal(quantize_colors(moved, 4, rng=0).palette, found.palette)


@pytest.mark.topic("000/I6", "002/M7")
def test_normals_follow_long_clusters_that_k_means_cuts():
    x, labels = groups([150, 150], [[0, -2.5], [0, 2.5]])
    x *= [8.0, 1.0]
    cut = KMeans(2, random_state=0).fit_predict(x)
    followed = GaussianMixture(2, random_state=0).fit_predict(x)
    assert adjusted_rand_score(labels, cut) < 0.2
    assert adjusted_rand_score(labels, followed) > 0.9
    words = diagnose_clusters(x, labels)
    assert np.all(words.elongation > 5)
    assert any("as long as wide" in one for one in words.remedies)


@pytest.mark.topic("002/M7", "000/I6")
@pytest.mark.parametrize("seed", range(3))
def test_the_mouse_needs_components_of_different_size(seed):
    mouse = make_mouse(rng=seed)
    means = KMeans(3, random_state=0).fit_predict(mouse.X)
    normals = GaussianMixture(3, random_state=0).fit_predict(mouse.X)
    assert adjusted_rand_score(mouse.y, means) < 0.7
    assert adjusted_rand_score(mouse.y, normals) > 0.95


@pytest.mark.topic("002/M2")
def test_partitions_are_counted_exactly():
    assert f"{count_partitions(100, 5):.4e}" == "6.5738e+67"
    assert isinstance(count_partitions(100, 5), int)
    for n in range(1, 7):
        for k in range(1, n + 1):
            labels = np.indices((k,) * n).reshape(n, -1).T
            used = sum(len(set(row)) == k for row in labels.tolist())
            assert count_partitions(n, k) * int(np.prod(np.arange(1, k + 1))) == used


@pytest.mark.topic("000/S5")
def test_bernoulli_mixtures_find_their_prototypes():
    rng = np.random.default_rng(0)
    prototypes = np.where(rng.random((3, 40)) < 0.5, 0.1, 0.9)
    labels = np.repeat([0, 1, 2], [80, 60, 40])
    x = (rng.random((180, 40)) < prototypes[labels]).astype(float)
    model = FamilyMixture(Bernoulli, 3, random_state=0).fit(x)
    assert np.all(np.diff(model.trace_) >= -1e-10 * np.abs(model.trace_[:-1]))
    assert adjusted_rand_score(labels, model.predict(x)) > 0.97
    np.testing.assert_allclose(model.weights_, [80 / 180, 60 / 180, 40 / 180], atol=0.01)
    shares = model.predict_proba(x)
    np.testing.assert_allclose(model.weights_, shares.mean(axis=0), atol=1e-4)
    means = (shares.T @ x) / shares.sum(axis=0)[:, None]  # μ_ki = Σ r x / Σ r at the maximum
    np.testing.assert_allclose(model.model_.components.mean.T, means, atol=1e-3)


@pytest.mark.topic("000/S5")
def test_one_component_has_the_means_and_many_columns_do_not_underflow():
    rng = np.random.default_rng(1)
    x = (rng.random((50, 3)) < [0.2, 0.5, 0.7]).astype(float)
    one = FamilyMixture(Bernoulli, 1).fit(x)
    np.testing.assert_allclose(np.ravel(one.model_.components.mean), x.mean(axis=0), atol=1e-6)
    wide = (rng.random((30, 3000)) < 0.5).astype(float)
    model = FamilyMixture(Bernoulli, 2, random_state=0).fit(wide)
    assert model.log_likelihood(wide) < -1000  # e to this is 0
    np.testing.assert_allclose(model.predict_proba(wide).sum(axis=1), 1.0)


@pytest.mark.topic("002/M12")
def test_em_needs_no_step_size_but_ends_where_its_start_leads():
    x, _ = groups([50] * 4, [[0, 0], [9, 0], [90, 0], [95, 0]])
    ends = []
    for start in (x[[0, 50, 100]], x[[0, 100, 150]]):  # which pair gets two components
        options = {"means_init": start, "precisions_init": np.array([np.eye(2)] * 3)}
        g = GaussianMixture(3, **options, accelerated=False, max_iter=5000).fit(x)
        assert np.all(np.diff(g.trace_) >= -1e-10 * np.abs(g.trace_[:-1]))
        ends.append(g.log_likelihood_)
    assert ends[0] > ends[1] + 10


@pytest.mark.topic("002/M12", "003/U.2")
def test_gradients_reach_what_em_reaches():
    x = np.asarray(load_old_faithful().X)
    by_steps = GaussianMixture(2, tol=1e-10, random_state=0).fit(x)
    by_gradients = GaussianMixture(2, solver="lbfgs", tol=1e-10, random_state=0).fit(x)
    assert by_gradients.log_likelihood_ == pytest.approx(by_steps.log_likelihood_, abs=1e-4)


@pytest.mark.topic("004/9.1")
def test_classes_that_nobody_names_are_found_as_if_they_had_been():
    x, labels = groups([120, 80], [[0, 0], [6, 2]])
    hidden = GaussianMixture(2, random_state=0).fit(x)
    told = GaussianDiscriminant("full", method="ml").fit(x, labels)
    # the same joint density: with labels seen, each class has the estimates of its rows
    np.testing.assert_allclose(hidden.weights_, [0.6, 0.4], atol=0.01)
    np.testing.assert_allclose(hidden.means_, told.means_, atol=0.1)
    np.testing.assert_allclose(hidden.predict_proba(x), told.predict_proba(x), atol=0.1)
    assert adjusted_rand_score(labels, hidden.predict(x)) > 0.95
