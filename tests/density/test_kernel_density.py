"""Kernel densities against the sum that defines them, and against integrals."""

import re

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity as Peer

from posteriori.density import KernelDensity
from posteriori.density.grid_sums import grid_pays
from posteriori.density.leaf_sums import make_leaves, normal_sums
from posteriori.distributions import MvNormal


def normal_log_density(x, weights, h, at):
    """Return ln Σ w_n N(q | x_n, diag h²)/W, by all pairs."""
    gaps = (at[:, None, :] - x) / h
    terms = -0.5 * (gaps**2).sum(-1) + np.log(weights)
    constant = 0.5 * x.shape[1] * np.log(2 * np.pi) + np.sum(np.log(np.broadcast_to(h, x.shape[1])))
    return logsumexp(terms, axis=1) - np.log(np.sum(weights)) - constant


def laplace(u):
    return np.exp(-np.abs(u).sum(axis=-1)) / 2.0 ** u.shape[-1]


KERNELS = ["gaussian", "cube", "epanechnikov", laplace]


@pytest.mark.parametrize("columns", [1, 2, 3, 6])
def test_log_densities_are_right_everywhere(columns):
    rng = np.random.default_rng(columns)
    x, w = 1e4 + rng.normal(size=(400, columns)) * 3.0, rng.integers(0, 4, 400).astype(float)
    h = np.linspace(0.5, 1.5, columns)
    at = 1e4 + rng.normal(size=(60, columns)) * np.geomspace(0.1, 1e5, 60)[:, None]
    model = KernelDensity(h).fit(x, sample_weight=w)
    expected = normal_log_density(x[w > 0], w[w > 0], h, at)
    np.testing.assert_allclose(model.score_samples(at), expected, rtol=1e-8, atol=1e-6)
    assert expected.min() < -1e8  # far beyond underflow


@pytest.mark.parametrize("columns", [1, 2])
def test_sums_on_a_grid_are_those_of_all_pairs(columns):
    """Millions of pairs in two clusters, an outlier, and points in, between and beyond them."""
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(2000, columns)) * 2.0 + rng.choice([-8.0, 8.0], (2000, 1))
    x[0] = 25.0
    at = rng.uniform(-35, 35, (12_000, columns))
    at[::2] = rng.choice(x, 6000) + rng.normal(size=(6000, columns))
    h = 2.5
    assert grid_pays(x / h, len(at))
    found = KernelDensity(h).fit(x).score_samples(at)[:600]
    expected = normal_log_density(x, np.ones(len(x)), h, at[:600])
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-6)


def test_boxes_pass_over_nothing_that_counts():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(700, 3)) * 5.0, rng.random(700) + 0.1
    leaves, own = make_leaves(x, w), np.arange(700)
    log_sums, squares = normal_sums(leaves, x, leaves.places[own])
    gaps = (x[:, None] - x) ** 2
    terms = np.log(w) - 0.5 * gaps.sum(-1)
    np.fill_diagonal(terms, -np.inf)
    np.testing.assert_allclose(log_sums, logsumexp(terms, axis=1), atol=2e-9)
    share = np.exp(terms - logsumexp(terms, axis=1)[:, None])
    np.testing.assert_allclose(squares, np.einsum("qn,qnd->qd", share, gaps), rtol=1e-7)


@pytest.mark.topic("003/E.4")
def test_the_gaussian_kernel_of_three_rows():
    model = KernelDensity(1.0).fit([[0.0], [1.0], [3.0]])
    assert np.exp(model.score_samples([[0.0]])[0]) == pytest.approx(0.2151149511, abs=5e-11)


@pytest.mark.topic("003/E.4")
def test_the_gaussian_kernel_has_the_normaliser_of_all_columns():
    x, h = np.array([[0.0, 0.0, 0.0]]), 0.5
    model = KernelDensity(h).fit(x)
    assert model.score_samples(x)[0] == pytest.approx(-1.5 * np.log(2 * np.pi * h**2), rel=1e-12)


@pytest.mark.topic("003/E.3")
def test_the_window_counts_rows_in_a_cube():
    model = KernelDensity(1.0, kernel="cube").fit([[0.0], [1.0], [3.0]])
    np.testing.assert_allclose(
        np.exp(model.score_samples([[0.25], [0.5], [1.75]])), [1 / 3, 2 / 3, 0]
    )
    rng = np.random.default_rng(0)
    x, at, h = rng.normal(size=(300, 3)), rng.normal(size=(50, 3)), np.array([0.8, 1.0, 1.3])
    inside = (np.abs(at[:, None] - x) <= h / 2).all(axis=-1).sum(axis=1)
    found = np.exp(KernelDensity(h, kernel="cube").fit(x).score_samples(at))
    np.testing.assert_allclose(found, inside / (300 * h.prod()), rtol=1e-12)


@pytest.mark.topic("003/E.2")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bounds", [None, (0.0, None), (None, 2.0), (0.0, 2.0)])
def test_densities_of_a_column_integrate_to_one(kernel, bounds):
    x = np.random.default_rng(0).beta(0.7, 0.9, (30, 1)) * 2.0
    model = KernelDensity(0.6, kernel=kernel, bounds=bounds).fit(x)
    ends = bounds or (None, None)
    low, high = (end if end is not None else 30.0 * s for end, s in zip(ends, (-1, 1), strict=True))
    steps = 20_000
    middles = low + (high - low) * (np.arange(steps) + 0.5) / steps
    total = np.exp(model.score_samples(middles[:, None])).sum() * (high - low) / steps
    assert total == pytest.approx(1.0, abs=2e-4 if kernel == "cube" else 1e-5)
    if bounds is not None:
        assert np.isneginf(
            model.score_samples([[low - 1e-9 if bounds[0] is not None else high + 1e-9]])
        )


@pytest.mark.parametrize("kernel", KERNELS)
def test_densities_of_two_columns_integrate_to_one(kernel):
    x = np.random.default_rng(1).random((12, 2)) * [2.0, 5.0]
    model = KernelDensity([0.5, 0.9], kernel=kernel, bounds=[(0, 2), (0, None)]).fit(x)
    a, b = (np.arange(100) + 0.5) / 50, (np.arange(200) + 0.5) * 0.08
    grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    total = np.exp(model.score_samples(grid)).sum() / 50 * 0.08
    assert total == pytest.approx(1.0, abs=5e-2 if kernel == "cube" else 1e-3)


@pytest.mark.parametrize("columns", [1, 2, 3])
def test_the_paraboloid_is_that_of_scikit_learn(columns):
    rng = np.random.default_rng(columns)
    x, at = rng.normal(size=(200, columns)), rng.normal(size=(40, columns)) * 0.5
    expected = Peer(bandwidth=1.3, kernel="epanechnikov").fit(x).score_samples(at)
    found = KernelDensity(1.3, kernel="epanechnikov").fit(x).score_samples(at)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_a_matrix_tilts_the_kernel():
    rng = np.random.default_rng(0)
    x, at, matrix = (
        rng.normal(size=(20, 2)),
        rng.normal(size=(9, 2)) * 9,
        np.array([[2.0, 0.9], [0.9, 0.5]]),
    )
    model = KernelDensity(matrix).fit(x)
    each = [MvNormal(row, cov=matrix).log_prob(at) for row in x]
    expected = logsumexp(each, axis=0) - np.log(20)
    np.testing.assert_allclose(model.score_samples(at), expected, rtol=1e-10)
    np.testing.assert_allclose(model.model_.log_prob(at), expected, rtol=1e-10)
    np.testing.assert_allclose(model.model_.cov, np.cov(x.T, bias=True) + matrix, rtol=1e-10)


def test_bounds_are_the_sum_of_all_reflections():
    x, at, h = np.array([[0.1], [0.7]]), np.linspace(0, 1, 21)[:, None], 0.8
    images = [s * at + 2.0 * k for k in range(-40, 41) for s in (1, -1)]
    expected = logsumexp([normal_log_density(x, np.ones(2), h, one) for one in images], axis=0)
    model = KernelDensity(h, bounds=(0, 1)).fit(x)
    np.testing.assert_allclose(model.score_samples(at), expected, atol=1e-8)
    far = KernelDensity(0.01, bounds=(0, 1)).fit([[1.0]])  # twice a kernel, hundreds of nats away
    assert far.score_samples([[0.0]])[0] == pytest.approx(
        np.log(4.0) + normal_log_density(np.ones((1, 1)), np.ones(1), 0.01, np.zeros((1, 1)))[0]
    )


# -- bandwidths ----------------------------------------------------------------------------------


def left_out(x, w, h):
    """Return the leave-one-out likelihood by all pairs; equal rows are left out together."""
    gaps = (x[:, None] - x) / h
    with np.errstate(divide="ignore"):
        terms = np.where((gaps == 0).all(-1), -np.inf, np.log(w) - 0.5 * (gaps**2).sum(-1))
    equal = (gaps == 0).all(-1) @ w
    scale = 0.5 * x.shape[1] * np.log(2 * np.pi) + np.log(h).sum()
    return w @ (logsumexp(terms, axis=1) - scale - np.log(w.sum() - equal))


@pytest.mark.parametrize("columns", [1, 2])
def test_the_likelihood_of_rows_that_are_left_out_is_largest(columns):
    rng = np.random.default_rng(columns)
    x = np.round(rng.normal(size=(80, columns)) * np.array([1.0, 50.0])[:columns], 1)
    x[40:] += 8.0  # two clusters: rules take them for one wide one
    x[:5] = x[5]
    w = rng.integers(1, 4, 80).astype(float)
    model = KernelDensity().fit(x, sample_weight=w)
    best = minimize(
        lambda t: -left_out(x, w, np.exp(t)), np.log(model.bandwidth_) + 0.3, method="Nelder-Mead"
    )
    assert left_out(x, w, model.bandwidth_) >= -best.fun - 1e-5
    np.testing.assert_allclose(model.bandwidth_, np.exp(best.x), rtol=1e-2)


@pytest.mark.parametrize("kernel", ["cube", "epanechnikov", laplace])
def test_other_kernels_are_as_wide_as_rows_predict_one_another(kernel):
    x = np.random.default_rng(3).normal(size=(20, 1))
    model = KernelDensity(kernel=kernel).fit(x)

    def likelihood(h):
        rest = [np.delete(x, n, axis=0) for n in range(len(x))]
        fits = (KernelDensity(h, kernel=kernel).fit(r) for r in rest)
        return sum(f.score_samples(x[n : n + 1])[0] for n, f in enumerate(fits))

    found = likelihood(model.bandwidth_)
    assert np.isfinite(found)
    for factor in (0.7, 1.5):
        assert likelihood(model.bandwidth_ * factor) < found


def test_bounds_count_when_bandwidths_are_chosen():
    """Uniform numbers: with both bounds known, the widest kernel is the best."""
    x = np.random.default_rng(0).random((200, 1))
    free, bounded = KernelDensity().fit(x), KernelDensity(bounds=(0, 1)).fit(x)
    assert free.bandwidth_ < 0.1
    assert bounded.bandwidth_ > 3 * free.bandwidth_
    assert free.score_samples([[0.0]]) < -0.4  # almost half of the mass at the bound is lost
    assert bounded.score_samples([[0.0]]) > -0.2


@pytest.mark.parametrize("rule", ["scott", "silverman", "likelihood"])
def test_rules_scale_with_the_spread_of_the_data(rule):
    x = np.random.default_rng(0).normal(size=(150, 2))
    unit = np.array([1e-3, 40.0])
    small, large = KernelDensity(rule).fit(x), KernelDensity(rule).fit(x * unit + 7.0)
    np.testing.assert_allclose(large.bandwidth_, small.bandwidth_ * unit, rtol=1e-4)


def test_rules_are_those_of_their_names():
    x, w = np.random.default_rng(0).normal(size=(50, 3)), np.arange(50) % 3
    n, repeated = w.sum(), np.repeat(x, w, axis=0)
    scott = KernelDensity("scott").fit(x, sample_weight=w).bandwidth_
    np.testing.assert_allclose(scott, repeated.std(axis=0) * n ** (-1 / 7), rtol=1e-12)
    silverman = KernelDensity("silverman").fit(repeated).bandwidth_
    np.testing.assert_allclose(
        silverman, repeated.std(axis=0) * (n * 5 / 4) ** (-1 / 7), rtol=1e-12
    )


def test_many_rows_are_as_wide_as_a_draw_of_them_suggests():
    """6000 normal rows: the best bandwidth for them is Silverman's, to a few digits of ln h."""
    x = np.random.default_rng(0).normal(size=(6000, 1))
    ratio = KernelDensity().fit(x).bandwidth_ / KernelDensity("silverman").fit(x).bandwidth_
    assert 0.5 < ratio < 1.6


# -- weights, draws, refusals ---------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["gaussian", "cube", "epanechnikov"])
def test_weights_are_repeated_rows(kernel):
    rng = np.random.default_rng(0)
    x, w, at = rng.normal(size=(40, 2)), rng.integers(0, 4, 40), rng.normal(size=(9, 2))
    weighted = KernelDensity(kernel=kernel).fit(x, sample_weight=w)
    repeated = KernelDensity(kernel=kernel).fit(np.repeat(x, w, axis=0)[::-1])
    np.testing.assert_allclose(weighted.bandwidth_, repeated.bandwidth_, rtol=1e-6)
    np.testing.assert_allclose(weighted.score_samples(at), repeated.score_samples(at), rtol=1e-6)


@pytest.mark.parametrize("kernel", ["gaussian", "cube", "epanechnikov"])
@pytest.mark.parametrize("bounds", [None, [(0, 1), (None, 2.0)]])
def test_draws_follow_the_density(kernel, bounds):
    x = np.array([[0.05, 1.9], [0.6, 1.0], [0.9, 1.5]])
    model = KernelDensity([0.4, 0.7], kernel=kernel, bounds=bounds).fit(x, sample_weight=[3, 1, 1])
    drawn = model.sample(20_000, rng=0)
    np.testing.assert_array_equal(drawn, model.sample(20_000, rng=0))
    assert np.isfinite(model.score_samples(drawn)).all()
    a, b = np.linspace(-3, 4, 281), np.linspace(-4, 6, 401)
    middles = np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(model.score_samples(middles)) * (a[1] - a[0]) * (b[1] - b[0])
    for test in (
        lambda z: z[:, 0] < 0.5125,
        lambda z: z[:, 1] < 1.5125,
        lambda z: z.sum(axis=1) < 1.81,
    ):
        p = mass[test(middles)].sum() / mass.sum()
        error = np.sqrt(p * (1 - p) / len(drawn))
        assert test(drawn).mean() == pytest.approx(p, abs=5 * error + 0.006)  # the grid is coarse


def test_a_matrix_tilts_draws():
    matrix = np.array([[2.0, 0.9], [0.9, 0.5]])
    drawn = KernelDensity(matrix).fit([[1.0, 2.0]]).sample(40_000, rng=0)
    np.testing.assert_allclose(np.cov(drawn.T), matrix, rtol=5 * np.sqrt(2 / 40_000))
    np.testing.assert_allclose(drawn.mean(axis=0), [1.0, 2.0], atol=5 * np.sqrt(2 / 40_000))


@pytest.mark.topic("003/E.2")
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_given_kernels_must_integrate_to_one(columns):
    x = np.random.default_rng(0).normal(size=(5, columns))
    KernelDensity(1.0, kernel=laplace).fit(x)
    with pytest.raises(ValueError, match=r"its integral is (2;|2\.00|1\.99)"):
        KernelDensity(1.0, kernel=lambda u: 2.0 * laplace(u)).fit(x)
    with pytest.raises(ValueError, match=r"kernel must be finite and >= 0, got -"):
        KernelDensity(1.0, kernel=lambda u: laplace(u) - 0.1).fit(x)
    with pytest.raises(ValueError, match="one number for each vector"):
        KernelDensity(1.0, kernel=lambda u: u).fit(x)


@pytest.mark.parametrize(
    ("x", "options", "words"),
    [
        ([[1.0], [2.0]], {"bandwidth": 0.0}, "bandwidth must be positive"),
        ([[1.0], [2.0]], {"bandwidth": -1.0}, "bandwidth must be positive"),
        ([[1.0], [2.0]], {"bandwidth": np.nan}, "bandwidth"),
        ([[1.0], [2.0]], {"bandwidth": [1.0, 2.0]}, "one for each of the 1 columns"),
        ([[1.0], [2.0]], {"bandwidth": np.eye(2)}, "1 x 1 matrix"),
        ([[1.0, 0.0]], {"bandwidth": [[1.0, 2.0], [2.0, 1.0]]}, "bandwidth"),
        ([[1.0], [2.0]], {"bandwidth": "normal"}, "'likelihood', 'scott', 'silverman'"),
        ([[1.0], [2.0]], {"kernel": "tophat"}, "'gaussian', 'cube', 'epanechnikov'"),
        ([[1.0, 5.0], [2.0, 5.0]], {}, "column 1 of X is constant"),
        ([[1.0, 5.0], [2.0, 5.0]], {"bandwidth": "scott"}, "column 1 of X is constant"),
        ([[1.0]], {}, "n_samples=1"),
        ([[1.0], [np.nan]], {}, "NaN in column 0, row 1"),
        ([[1.0], [np.inf]], {}, "infinity"),
        ([[1.0], [-2.5]], {"bounds": (0, None)}, "X holds -2.5 in column 0, row 1, outside bounds"),
        ([[1.0], [2.0]], {"bounds": (3, 1)}, "bounds must be in order"),
        ([[1.0, 2.0]], {"bounds": (0, 1)}, "for each of the 2 columns"),
    ],
)
def test_what_has_no_density_is_named(x, options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        KernelDensity(**options).fit(x)


def test_names_of_columns_are_told():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"size": [1.0, 2.0, 3.0], "price": [-1.0, 2.0, 3.0]})
    with pytest.raises(ValueError, match=r"-1 in price, row 0, outside bounds \(0, inf\)"):
        KernelDensity(bounds=[None, (0, None)]).fit(table)


def test_one_row_has_the_kernel_that_is_given():
    model = KernelDensity(2.0).fit([[3.0]])
    assert model.score_samples([[3.0]])[0] == pytest.approx(-0.5 * np.log(2 * np.pi * 4.0))


def test_a_mixture_and_draws_exist_where_they_can():
    x = [[0.0], [1.0], [3.0]]
    assert KernelDensity(1.0).fit(x).model_.n_components == 3
    for options in ({"kernel": "cube"}, {"bounds": (0, 4)}):
        assert not hasattr(KernelDensity(1.0, **options).fit(x), "model_")
    with pytest.raises(TypeError, match="cannot be drawn from"):
        KernelDensity(1.0, kernel=laplace).fit(x).sample(3)


def test_kernels_too_narrow_for_numbers_have_density_zero_between_rows():
    model = KernelDensity(1e-200).fit([[1.0], [2.0]])
    found = model.score_samples([[1.5], [2.0]])
    assert found[0] == -np.inf
    assert found[1] == pytest.approx(np.log(0.5) - 0.5 * np.log(2 * np.pi) + 200 * np.log(10))
