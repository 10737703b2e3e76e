"""Densities of neighbours: counts in balls, and what their masses are distributed as."""

import numpy as np
import pytest
from scipy.stats import binom, norm

from posteriori.classification import KNeighborsClassifier
from posteriori.density import NearestNeighborDensity, ball_volume, local_density


@pytest.mark.topic("003/E.1")
def test_the_count_in_a_region_is_binomial():
    """E[K] = N P, and K/(N V) is the mean density of the region."""
    rng, n, draws = np.random.default_rng(0), 50, 4000
    low, high = 0.3, 0.5
    p = norm.cdf(high) - norm.cdf(low)
    x = rng.normal(size=(draws, n))
    counts = ((x >= low) & (x < high)).sum(axis=1)
    assert counts.mean() == pytest.approx(n * p, abs=5 * np.sqrt(n * p * (1 - p) / draws))
    share = np.bincount(counts, minlength=8)[:8] / draws
    expected = binom.pmf(np.arange(8), n, p)
    assert (np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / draws)).all()
    density = local_density(counts, n, high - low).mean()
    assert density == pytest.approx(p / (high - low), rel=5 / np.sqrt(n * p * draws))


@pytest.mark.topic("003/E.1")
def test_volumes_of_balls_are_counted():
    np.testing.assert_allclose(
        ball_volume([1, 2, 3, 4], 2.0), [4.0, 4 * np.pi, 32 / 3 * np.pi, 8 * np.pi**2]
    )
    u = np.random.default_rng(0).uniform(-1, 1, (100_000, 5))
    share = ((u**2).sum(axis=1) <= 1).mean()
    assert ball_volume(5, 1.0) == pytest.approx(32 * share, abs=32 * 5 * np.sqrt(share / 100_000))
    assert ball_volume(3, 0.0) == 0.0


@pytest.mark.topic("003/E.5")
def test_the_ball_around_a_row_of_three():
    model = NearestNeighborDensity(2).fit([[0.0], [1.0], [3.0]])
    assert np.exp(model.score_samples([[0.0]])[0]) == pytest.approx(1 / 3, rel=1e-12)


def test_the_smallest_ball_that_holds_them():
    rng = np.random.default_rng(1)
    x, at = rng.normal(size=(60, 3)) + 1e6, rng.normal(size=(8, 3)) + 1e6
    radius = np.sort(np.linalg.norm(at[:, None] - x, axis=-1), axis=1)[:, 6]
    found = NearestNeighborDensity(7).fit(x).score_samples(at)
    np.testing.assert_allclose(
        np.exp(found), local_density(7, 60, ball_volume(3, radius)), rtol=1e-7
    )


@pytest.mark.parametrize("k", [1, 4, 20])
def test_intervals_cover_the_mean_density_of_the_ball(k):
    """Whatever the density: here exponential numbers, whose mass in the ball is known."""
    rng, n, trials = np.random.default_rng(k), 20, 600
    inside = 0
    for _ in range(trials):
        x, at = rng.exponential(size=(n, 1)), rng.exponential(size=(1, 1))
        low, high = NearestNeighborDensity(k).fit(x).interval(at, 0.8)
        r = np.sort(np.abs(x[:, 0] - at[0, 0]))[k - 1]
        mass = np.exp(-max(at[0, 0] - r, 0.0)) - np.exp(-(at[0, 0] + r))
        inside += low[0] <= mass / (2 * r) <= high[0]
    assert inside / trials == pytest.approx(0.8, abs=5 * np.sqrt(0.16 / trials))


def test_it_does_not_integrate_to_one_and_says_so():
    model = NearestNeighborDensity(1).fit([[0.0], [1.0]])
    ends = np.array([10.0, 1e3, 1e5])
    # 1/(2 · 2 |x − 1|) to the right: every hundredfold adds the same
    at = np.geomspace(2, 1e5, 4001)
    density = np.exp(model.score_samples(at[:, None]))
    total = np.concatenate(([0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(at))))
    grown = np.interp(ends, at, total)
    assert grown[2] - grown[1] == pytest.approx(np.log(100) / 4, rel=2e-3)
    assert "not integrate to 1" in NearestNeighborDensity.__doc__
    assert not hasattr(model, "sample")
    assert not hasattr(model, "score")
    with pytest.raises(AttributeError, match="does not integrate to 1"):
        _ = model.sample


def test_equal_rows_are_infinitely_dense():
    model = NearestNeighborDensity(2).fit([[1.0], [1.0], [4.0]])
    assert model.score_samples([[1.0]])[0] == np.inf
    assert (np.array(model.interval([[1.0]])) == np.inf).all()


@pytest.mark.topic("003/E.6")
def test_the_quotient_of_bayes_is_the_share_of_neighbours():
    """{K_k/(N_k V)} {N_k/N} / {K/(N V)} = K_k/K."""
    rng, k = np.random.default_rng(2), 7
    x, y, at = rng.normal(size=(90, 2)), rng.integers(0, 3, 90), rng.normal(size=(25, 2))
    model = KNeighborsClassifier(k, concentration=0).fit(x, y)
    order = np.argsort(np.linalg.norm(at[:, None] - x, axis=-1), axis=1)[:, :k]
    radius = np.linalg.norm(at - x[order[:, -1]], axis=1)
    volume = ball_volume(2, radius)
    counts = np.stack([(y[order] == c).sum(axis=1) for c in range(3)], axis=1)
    sizes = np.bincount(y)
    likelihood = local_density(counts, sizes, volume[:, None])
    quotient = likelihood * (sizes / 90) / local_density(k, 90, volume)[:, None]
    found = model.predict_proba(at)
    np.testing.assert_allclose(found, quotient, rtol=1e-12)
    np.testing.assert_array_equal(found, counts / k)
    with pytest.raises(ValueError, match="concentration=0 is no prior"):
        model.posterior(at)
    with pytest.raises(ValueError, match="concentration must be a finite number >= 0"):
        KNeighborsClassifier(k, concentration=-1).fit(x, y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: local_density(4, 3, 1.0), "count must not exceed n"),
        (lambda: local_density(1, 3, 0.0), "volume must be positive"),
        (lambda: ball_volume(0, 1.0), "d must be at least 1"),
        (lambda: ball_volume(2.5, 1.0), "d must be a whole number"),
        (lambda: ball_volume(2, -1.0), "r must not be negative"),
        (lambda: NearestNeighborDensity(3).fit([[1.0], [2.0]]), "n_neighbors=3 must not exceed"),
        (lambda: NearestNeighborDensity(0).fit([[1.0]]), "n_neighbors must be a whole number >= 1"),
        (lambda: NearestNeighborDensity(1).fit([[np.nan]]), "NaN in column 0, row 0"),
    ],
)
def test_refusals_name_the_argument(call, words):
    with pytest.raises(ValueError, match=words):
        call()
