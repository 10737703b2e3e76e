"""Medoids by any metric, images in few colours, and what is said of clusters."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from posteriori.datasets import make_elongated
from posteriori.mixture import KMeans, KMedians, KMedoids, diagnose_clusters, quantize_colors
from tests.inference.clusters import slow_clusters as slow

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(size=(20, 2)), RNG.normal(size=(20, 2)) + 12.0])


@pytest.mark.topic("000/I4")
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
def test_medoids_are_the_best_of_all_pairs_of_rows(metric):
    distances = pairwise_distances(X, metric=metric)
    given = KMedoids(2, metric="precomputed").fit(distances)
    model = KMedoids(2, metric=metric).fit(X)
    best = slow.best_medoids(distances, np.ones(40), 2)
    assert model.inertia_ == pytest.approx(best, rel=1e-6)
    assert given.inertia_ == pytest.approx(best)
    np.testing.assert_array_equal(model.cluster_centers_, X[model.medoid_indices_])
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(given.predict(distances), given.labels_)


def test_medoids_may_be_told_any_dissimilarity():
    def farther_up(a, b):
        return abs(a[0] - b[0]) + 5.0 * abs(a[1] - b[1])

    expected = pairwise_distances(X, metric=farther_up)
    model = KMedoids(2, metric=farther_up).fit(X)
    assert model.inertia_ == pytest.approx(slow.best_medoids(expected, np.ones(40), 2))


def test_medoids_of_weighted_rows_are_those_of_repeated_rows():
    times = RNG.integers(0, 4, size=40)
    repeated = np.repeat(X, times, axis=0)[RNG.permutation(times.sum())]
    weighed, copied = KMedoids(3).fit(X, sample_weight=times), KMedoids(3).fit(repeated)
    np.testing.assert_allclose(weighed.cluster_centers_, copied.cluster_centers_)
    assert weighed.inertia_ == pytest.approx(copied.inertia_)
    assert (times[weighed.medoid_indices_] > 0).all()


def test_medoids_of_rows_with_gaps():
    x = X.copy()
    x[::7, 0] = np.nan
    model = KMedoids(2, metric="nan_euclidean").fit(x)
    assert len({tuple(model.labels_[:20]), tuple(model.labels_[20:])}) == 2
    assert np.ptp(model.labels_[:20]) == np.ptp(model.labels_[20:]) == 0


@pytest.mark.topic("000/I4", "000/I6")
def test_an_outlier_drags_no_medoid():
    x = np.concatenate([X[:20], [[1e4, 0.0]]])
    assert np.abs(KMedoids(1).fit(x).cluster_centers_).max() < 1.0


@pytest.mark.parametrize(
    ("model", "rows", "words"),
    [
        (
            KMedoids(2, metric="precomputed"),
            np.zeros((3, 2)),
            r"all pairs, \(N, N\).*got shape \(3, 2\)",
        ),
        (KMedoids(4, metric="precomputed"), np.zeros((3, 3)), r"n_clusters=4 needs as many rows"),
        (KMedoids(2), [[1.0], [1.0]], r"n_clusters=2 needs as many distinct rows .* X has 1"),
        (KMedoids(2), [[1.0], [np.nan]], r"NaN in column 0, row 1"),
        (KMedoids(0), X, r"n_clusters must be a whole number >= 1, got 0"),
        (KMedoids(2, metric="no such"), X, r"no such"),
    ],
)
def test_what_has_no_medoids_is_named(model, rows, words):
    with pytest.raises(ValueError, match=words):
        model.fit(rows)


# -- colours -------------------------------------------------------------------------------------


def photograph(dtype=np.uint8):
    rng = np.random.default_rng(1)
    places = np.array([[200, 30, 30], [30, 200, 30], [30, 30, 200], [120, 120, 120]])
    noisy = places[rng.integers(4, size=(40, 30))] + rng.integers(-9, 10, size=(40, 30, 3))
    return noisy.astype(dtype)


@pytest.mark.topic("000/I5")
def test_pixels_take_the_mean_color_of_their_cluster():
    image = photograph()
    found = quantize_colors(image, 4, rng=0)
    assert found.image.dtype == found.palette.dtype == np.uint8
    assert found.image.shape == image.shape
    assert found.codes.shape == (40, 30)
    np.testing.assert_array_equal(found.image, found.palette[found.codes])
    flat = image.reshape(-1, 3) * 1.0
    for k in range(4):
        mean = flat[found.codes.ravel() == k].mean(axis=0)
        assert np.abs(found.palette[k] - mean).max() <= 0.5
    counts = np.bincount(found.codes.ravel())
    assert (np.diff(counts) <= 0).all()
    assert found.inertia == pytest.approx(((found.image - image * 1.0) ** 2).sum())
    # 24 bits a pixel become 2, and there are 4 colours of 24 bits.
    assert found.compression_ratio == pytest.approx(1200 * 24 / (1200 * 2 + 4 * 24))


@pytest.mark.topic("000/I5")
def test_more_colors_are_nearer_and_all_of_them_lossless():
    image = photograph()[:6, :6]
    errors = [quantize_colors(image, k, rng=0).inertia for k in (1, 2, 4, 16)]
    assert (np.diff(errors) < 0).all()
    exact = quantize_colors(image, 1000, rng=0)
    np.testing.assert_array_equal(exact.image, image)
    assert len(exact.palette) == len(np.unique(image.reshape(-1, 3), axis=0))


def test_images_of_one_channel_and_of_real_numbers():
    gray = photograph()[..., 0]
    assert quantize_colors(gray, 2, rng=0).image.shape == gray.shape
    real = photograph(float) / 255.0
    found = quantize_colors(real, 4, rng=0)
    assert found.image.dtype == np.float64
    assert np.abs(found.image - real).max() < 0.1
    one = quantize_colors(np.zeros((2, 2)), 1)
    assert one.codes.max() == 0


@pytest.mark.parametrize(
    ("image", "k", "words"),
    [
        (np.zeros(3), 2, r"image must have the shape \(H, W\) or \(H, W, C\), got \(3,\)"),
        (np.zeros((2, 2), dtype=str), 2, "image must hold numbers"),
        (np.full((2, 2), np.nan), 2, "image must be finite"),
        (np.zeros((2, 2)), 0, "k must be a whole number >= 1, got 0"),
    ],
)
def test_images_without_colors_are_refused(image, k, words):
    with pytest.raises(ValueError, match=words):
        quantize_colors(image, k)


# -- diagnosis -----------------------------------------------------------------------------------


@pytest.mark.topic("000/I6")
def test_long_clusters_are_told_from_round_ones():
    data = make_elongated(600, rng=0)
    found = diagnose_clusters(data.X, data.y)
    # Variances 9 and 0.1: the ratio of standard deviations is √90, with 300 rows each.
    np.testing.assert_allclose(found.elongation, np.sqrt(90.0), rtol=0.25)
    assert any("as long as wide" in words for words in found.remedies)
    cut = diagnose_clusters(data.X, KMeans(2, random_state=0).fit(data.X).labels_)
    assert any("as long as wide" in words for words in cut.remedies)


@pytest.mark.topic("000/I6")
def test_round_clusters_of_one_size_need_no_remedy():
    rng = np.random.default_rng(2)
    x = np.repeat([[0.0, 0.0], [9.0, 9.0]], 200, axis=0) + rng.normal(size=(400, 2))
    found = diagnose_clusters(x, np.repeat(["a", "b"], 200))
    assert found.remedies == ()
    assert found.outliers.size == 0
    np.testing.assert_allclose(found.spread, 1.0, rtol=0.15)
    np.testing.assert_allclose(found.elongation, 1.0, atol=0.3)
    assert list(found.clusters) == ["a", "b"]


@pytest.mark.topic("000/I6")
def test_scales_spreads_sizes_and_outliers_are_named():
    rng = np.random.default_rng(3)
    wide = 20.0 * rng.normal(size=(500, 2))
    narrow = rng.normal(size=(50, 2)) + 200.0
    x = np.concatenate([wide, narrow, [[200.0, 260.0]]]) * [1.0, 1.0]
    found = diagnose_clusters(x, np.r_[np.zeros(500, int), np.ones(51, int)])
    assert list(found.outliers) == [550]
    np.testing.assert_allclose(found.scales, x.std(axis=0))
    words = " ".join(found.remedies)
    assert "KMedians" in words
    assert "500 rows, another 51" in words
    scaled = diagnose_clusters(wide * [1.0, 1000.0], np.zeros(500))
    assert any(w.startswith("column 1 varies") and "standardise" in w for w in scaled.remedies)
    uneven = diagnose_clusters(np.concatenate([wide[:60], narrow]), np.repeat([0, 1], [60, 50]))
    assert any("times as wide" in w for w in uneven.remedies)


def test_a_row_alone_among_large_clusters_is_an_outlier():
    x = np.concatenate([X, [[500.0, 0.0]]])
    labels = np.r_[np.repeat([0, 1], 20), 2]
    assert 40 not in diagnose_clusters(x, labels).outliers  # among clusters of some 14 rows
    large = np.concatenate([np.random.default_rng(4).normal(size=(400, 2)), [[500.0, 0.0]]])
    assert list(diagnose_clusters(large, np.r_[np.zeros(400), 1]).outliers) == [400]


def test_bad_clusters_are_refused():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        diagnose_clusters(X, np.zeros(3))
    with pytest.raises(ValueError, match="NaN"):
        diagnose_clusters([[np.nan], [1.0]], [0, 1])


def test_medians_and_medoids_agree_on_rows_apart():
    medians, medoids = KMedians(2, random_state=0).fit(X), KMedoids(2).fit(X)
    np.testing.assert_array_equal(
        medians.labels_ == medians.labels_[0], medoids.labels_ == medoids.labels_[0]
    )
