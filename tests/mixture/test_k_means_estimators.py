"""k-means and k-medians as estimators: laws, special cases, streams."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import softmax
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from posteriori.distributions import Mixture, Normal
from posteriori.mixture import KMeans, KMedians
from posteriori.selection import cross_validation
from tests.inference.clusters import slow_clusters as slow

X, TRUTH = make_blobs(300, n_features=3, centers=4, random_state=0)


def by_place(model):
    """Return the centres in an order of their own."""
    return model.cluster_centers_[np.lexsort(model.cluster_centers_.T)]


@pytest.mark.topic("000/I2", "002/M1")
@pytest.mark.parametrize("seed", range(4))
def test_no_partition_of_a_few_rows_is_better(seed):
    x = np.random.default_rng(seed).normal(size=(8, 2))
    model = KMeans(3, tol=0.0, n_init=5, random_state=0).fit(x)
    assert model.inertia_ == pytest.approx(slow.best_partition(x, np.ones(8), 3))
    centers = slow.means(x, np.ones(8), model.labels_, 3)
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-12)


@pytest.mark.topic("000/I2", "002/M1")
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_path_shows_every_half_step(gaps):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(X.shape) < gaps, np.nan, X)
    x = x[~np.isnan(x).all(axis=1)]
    start = np.nan_to_num(x[:4])
    model = KMeans(4, init=start, keep_path=True, split_merge=False, tol=0.0).fit(x)
    kinds = [step.kind for step in model.path_]
    assert kinds == ["assign", "update"] * (len(kinds) // 2) + ["assign"]
    centers = start
    for step in model.path_:
        if step.kind == "assign":
            np.testing.assert_array_equal(step.labels, slow.squares(x, centers).argmin(axis=1))
        centers = step.centers
        assert step.inertia == pytest.approx(slow.cost(x, np.ones(len(x)), centers, step.labels))
    steps = [step.inertia for step in model.path_]
    assert (np.diff(steps) <= 1e-10 * steps[0]).all()
    assert not hasattr(KMeans(4).fit(X), "path_")


@pytest.mark.parametrize("model", [KMeans(4, random_state=1), KMedians(4, random_state=1)])
@pytest.mark.parametrize("gaps", [0.0, 0.15])
def test_weights_are_repeated_rows_in_any_order(model, gaps):
    rng = np.random.default_rng(1)
    x = np.where(rng.random(X.shape) < gaps, np.nan, X)
    x = x[~np.isnan(x).all(axis=1)]
    times = rng.integers(0, 4, size=len(x))
    model.fit(x, sample_weight=times)
    centers, inertia, labels = model.cluster_centers_, model.inertia_, model.labels_
    order = rng.permutation(times.sum())
    again = model.fit(np.repeat(x, times, axis=0)[order])
    np.testing.assert_allclose(again.cluster_centers_, centers, rtol=1e-9)
    assert again.inertia_ == pytest.approx(inertia, rel=1e-9)
    np.testing.assert_array_equal(again.labels_, np.repeat(labels, times)[order])


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_shifted_and_turned_rows_have_shifted_and_turned_centers(offset):
    q = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    model = KMeans(4, random_state=0).fit(X)
    moved = KMeans(4, random_state=0).fit(3.0 * X @ q + offset)
    assert adjusted_rand_score(model.labels_, moved.labels_) == 1.0
    assert moved.inertia_ == pytest.approx(9.0 * model.inertia_, rel=1e-6)
    turned = 3.0 * model.cluster_centers_ @ q + offset
    order = turned[np.lexsort(turned.T)]
    np.testing.assert_allclose(by_place(moved), order, rtol=1e-12, atol=1e-6)


def test_predictions_distances_and_score_are_those_of_loops():
    model = KMeans(4, random_state=0).fit(X)
    new = np.random.default_rng(3).normal(size=(50, 3)) * 5.0
    new[::3, 1] = np.nan
    squares = slow.squares(new, model.cluster_centers_)
    np.testing.assert_array_equal(model.predict(new), squares.argmin(axis=1))
    np.testing.assert_allclose(model.transform(new) ** 2, squares)
    assert model.score(new) == pytest.approx(-squares.min(axis=1).sum())
    w = np.arange(50.0)
    assert model.score(new, sample_weight=w) == pytest.approx(-w @ squares.min(axis=1))
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    np.testing.assert_allclose(model.counts_, np.bincount(model.labels_))
    assert model.score(X) == pytest.approx(-model.inertia_)
    assert list(model.get_feature_names_out()) == [f"kmeans{k}" for k in range(4)]


@pytest.mark.topic("000/I3")
@pytest.mark.parametrize("rate", [None, 0.1])
def test_a_stream_moves_the_nearest_center_to_each_row(rate):
    rng = np.random.default_rng(4)
    x, w = rng.normal(size=(60, 2)), rng.integers(1, 3, size=60)
    start = x[:3].copy()
    model = KMeans(3, init=start, learning_rate=rate)
    for part in np.array_split(np.arange(60), 4):
        model.partial_fit(x[part], sample_weight=w[part])
    centers, counts = start.copy(), np.zeros(3)
    for row in np.repeat(x, w, axis=0):
        k = np.argmin(((row - centers) ** 2).sum(axis=1))
        counts[k] += 1
        eta = 0.5 / counts[k] if rate is None else rate
        centers[k] += 2.0 * eta * (row - centers[k])
    np.testing.assert_allclose(model.counts_, counts)
    np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-10)
    np.testing.assert_array_equal(model.labels_, model.predict(x[part]))


@pytest.mark.topic("000/I3")
def test_a_stream_begins_with_a_batch_and_finds_the_clusters():
    model = KMeans(4, random_state=0).partial_fit(X[:100])
    batch = KMeans(4, random_state=0).fit(X[:100])
    np.testing.assert_array_equal(model.cluster_centers_, batch.cluster_centers_)
    model.partial_fit(X[100:200]).partial_fit(X[200:])
    whole = KMeans(4, random_state=0).fit(X)
    assert adjusted_rand_score(model.predict(X), whole.labels_) > 0.9
    model = KMeans(4, random_state=0).fit(X)
    before = model.counts_.sum()
    assert model.partial_fit(X[:10]).counts_.sum() == before + 10


def test_a_long_table_is_not_learned_as_a_stream(monkeypatch):
    monkeypatch.setattr(cross_validation, "_FIT_PART", 50)
    monkeypatch.setattr(KMeans, "merge", lambda self, other: self, raising=False)
    pipeline = make_pipeline(StandardScaler(), KMeans(4, random_state=0))
    whole = KMeans(4, random_state=0).fit(StandardScaler().fit_transform(X))
    read = cross_validation.fit_in_parts(pipeline, X, TRUTH * 1.0)
    np.testing.assert_allclose(read[-1].cluster_centers_, whole.cluster_centers_)
    assert read[-1].labels_.shape == (300,)


@pytest.mark.topic("000/I4", "000/I6")
def test_an_outlier_drags_a_mean_and_no_median():
    x = np.concatenate([np.random.default_rng(6).normal(size=(50, 2)), [[1e4, 0.0]]])
    assert KMeans(1).fit(x).cluster_centers_[0, 0] > 150.0
    assert abs(KMedians(1).fit(x).cluster_centers_[0, 0]) < 0.5


@pytest.mark.topic("000/I4")
def test_medians_minimise_absolute_differences():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(8, 2))
    model = KMedians(2, n_init=30, tol=0.0, random_state=0).fit(x)
    costs = []
    for z in slow.partitions(8, 2):
        medians = np.stack([np.median(x[z == k], axis=0) for k in range(2)])
        costs.append(np.abs(x - medians[z]).sum())
    assert model.inertia_ == pytest.approx(min(costs))
    np.testing.assert_allclose(model.transform(x).min(axis=1).sum(), model.inertia_)


@pytest.mark.topic("002/M6", "003/U.6")
def test_a_mixture_of_ever_narrower_normals_becomes_k_means():
    """EM of means alone, with covariances εI and equal weights: its steps are Lloyd's as ε → 0."""
    start = X[:4].copy()
    model = KMeans(4, init=start, split_merge=False, keep_path=True, tol=0.0).fit(X)
    updates = [step.centers for step in model.path_ if step.kind == "update"]
    apart = []
    for epsilon in (1.0, 0.1, 1e-6):
        means, off = start, 0.0
        for expected in updates:
            shares = softmax(-0.5 * slow.squares(X, means) / epsilon, axis=1)
            means = shares.T @ X / shares.sum(axis=0)[:, None]
            off = max(off, np.abs(means - expected).max())
        apart.append(off)
    assert apart[0] > apart[1] > apart[2]
    assert apart[2] < 1e-9
    np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)


@pytest.mark.topic("000/I1")
def test_what_is_not_seen_is_summed_out():
    p, means = np.array([0.2, 0.8]), np.array([-1.0, 2.0])
    x = np.linspace(-4.0, 5.0, 7)
    given = np.exp(Normal(means, variance=0.5).log_prob(x[:, None]))  # p(x|z)
    marginal = Mixture(p, Normal(means, variance=0.5)).log_prob(x)
    np.testing.assert_allclose(np.exp(marginal), given @ p)


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_tables_are_read_by_their_names(frame):
    table = frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = KMeans(4, random_state=0).fit(table)
    np.testing.assert_array_equal(model.labels_, KMeans(4, random_state=0).fit(X).labels_)
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_rows_are_read_from_a_file(tmp_path):
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        KMeans(4, random_state=0).fit(mapped).labels_, KMeans(4, random_state=0).fit(X).labels_
    )


# -- bad input -----------------------------------------------------------------------------------

BAD_ROWS = [
    ([[1.0], [1.0], [1.0]], r"n_clusters=2 needs as many distinct rows .* X has 1 \(n_samples=3\)"),
    ([[1.0]], r"n_clusters=2 needs as many distinct rows .* X has 1 \(n_samples=1\)"),
    ([[1.0], [np.inf], [2.0]], r"infinity \(inf\) in column 0, row 1"),
    ([[1.0, 2.0], [np.nan, np.nan], [2.0, 3.0]], r"row 1 of X holds only NaN.*leave it out"),
    ([[1.0, np.nan], [3.0, np.nan]], r"column 1 of X holds only NaN; leave it out"),
    ([[1e200], [0.0]], r"X must lie within ±1e\+150, got 1e\+200"),
]


@pytest.mark.parametrize("kind", [KMeans, KMedians])
@pytest.mark.parametrize(("rows", "words"), BAD_ROWS)
def test_rows_that_cannot_be_clustered_are_named(kind, rows, words):
    with pytest.raises(ValueError, match=words):
        kind(2).fit(rows)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_clusters": 0}, r"n_clusters must be a whole number >= 1, got 0"),
        ({"n_clusters": -3}, r"n_clusters must be a whole number >= 1, got -3"),
        ({"n_clusters": 2.5}, r"n_clusters must be a whole number >= 1, got 2.5"),
        ({"max_iter": 0}, r"max_iter must be a whole number >= 1, got 0"),
        ({"n_init": 0}, r"n_init must be a whole number >= 1, got 0"),
        ({"tol": -1.0}, r"tol must be a finite number >= 0, got -1.0"),
        ({"init": "nowhere"}, r"init must be 'k-means\+\+', 'random' or centres of shape \(4, 3\)"),
        ({"init": np.zeros((3, 3))}, r"init must have the shape .*\(4, 3\), got \(3, 3\)"),
        ({"init": np.full((4, 3), np.nan)}, r"init must be finite, got nan"),
    ],
)
@pytest.mark.parametrize("kind", [KMeans, KMedians])
def test_parameters_are_named(kind, options, words):
    with pytest.raises(ValueError, match=words):
        kind(**{"n_clusters": 4, **options}).fit(X)


@pytest.mark.parametrize("rate", [0.0, 0.6, "fast"])
def test_learning_rates_stay_below_a_half(rate):
    with pytest.raises(ValueError, match=r"learning_rate must be a positive number up to 0\.5"):
        KMeans(2, learning_rate=rate).partial_fit(X)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        (
            np.r_[-1.0, np.ones(299)],
            r"sample_weight must be finite and not negative, got -1 in row 0",
        ),
        (np.r_[np.ones(299), np.nan], r"not negative, got nan in row 299"),
        (np.ones(7), r"sample_weight must hold one number per row \(300\), got shape \(7,\)"),
        (np.zeros(300), r"sample_weight is zero for every row"),
    ],
)
def test_weights_are_named(weights, words):
    with pytest.raises(ValueError, match=words):
        KMeans(4).fit(X, sample_weight=weights)


def test_one_row_is_one_cluster():
    model = KMeans(1).fit([[3.0, np.nan], [3.0, 4.0]])
    np.testing.assert_allclose(model.cluster_centers_, [[3.0, 4.0]])
    assert KMeans(1).fit([[3.0, 4.0]]).inertia_ == 0.0
    assert KMedians(1).fit([[3.0, 4.0]]).inertia_ == 0.0
