import numpy as np
import pytest
from scipy.stats import multivariate_normal

from posteriori.inference.processes.forms.choosing import choose_form
from posteriori.inference.processes.forms.grid_form import GridForm, find_grid
from posteriori.inference.processes.forms.grid_layout import find_layout
from posteriori.inference.processes.forms.process_form import DenseForm
from posteriori.inference.processes.mean_effects import NO_MEAN, mean_effects
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.kernels import RBF, Constant, Linear, Matern, Periodic, RationalQuadratic, White
from tests.inference.processes.dense_oracle import plain_evidence, slopes
from tests.inference.processes.forms.form_laws import assert_same_as_dense

KERNELS = {
    "one scale": RBF(0.8) + White(0.2),
    "scale per column": 1.7 * RBF([0.8, 1.4, 0.6]) + White(0.2),
    "parts of columns": 2.0 * Matern(nu=1.5).on([1]) * RBF(0.7).on([2]) * Periodic(2.0).on([0])
    + White(0.1)
    + White(0.05),
    "columns together": Matern(nu=0.5, scale=[1.0, 2.0]).on([2, 0]) * RBF(0.6).on([1]) + White(0.3),
    "powers": (0.9 * RBF([1.1, 0.9]).on([0, 1])) ** 2 * (Linear().on([2]) + 0.5) + White(0.1),
    "a column unseen": RationalQuadratic(0.7).on([1]) * 1.3 * RBF().on([0]) + White(0.1),
    "noise along an axis": RBF([0.8, 1.4, 0.6])
    + 0.2 * (Linear().on([1]) + 1.0) * White(1.0)
    + White(0.1),
    "scaled noise": RBF([0.8, 1.4, 0.6]) + 0.5 * White(0.2),
}


def _grid(seed=0, shape=(5, 4, 3), gaps=0, outputs=1):
    """Return rows of a grid of uneven points in any order, some of its cells left out."""
    rng = np.random.default_rng(seed)
    axes = [np.sort(rng.uniform(-1.0, 2.0, n)) for n in shape]
    X = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, len(shape))
    X = X[rng.permutation(len(X))[gaps:]]
    y = np.sin(2.0 * X.sum(axis=1))[:, None] * rng.standard_normal(outputs) + 1.0
    return X, y + 0.3 * rng.standard_normal(y.shape)


def _form(kernel, rows, mean=NO_MEAN, absolute=False):
    layout = find_grid(kernel, rows, absolute)
    assert layout is not None
    return GridForm(rows, mean, absolute, layout)


@pytest.mark.parametrize("gaps", [0, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_a_grid_says_what_a_matrix_says(name, gaps):
    X, y = _grid(gaps=gaps)
    form = _form(KERNELS[name], merge_rows(X, y), mean_effects("constant", X, y))
    assert len(form.layout.gaps) == gaps
    assert_same_as_dense(form, KERNELS[name], np.vstack([X[:2], [[0.3, -0.2, 4.0]]]))


@pytest.mark.parametrize("kind", ["zero", "linear"])
def test_means_and_several_outputs(kind):
    X, y = _grid(shape=(6, 7), gaps=5, outputs=2)
    kernel = 1.3 * RBF([0.5, 0.9]) + White(0.1)
    assert_same_as_dense(_form(kernel, merge_rows(X, y), mean_effects(kind, X, y)), kernel, X[:4])


def test_evidence_and_slopes_by_plain_algebra():
    X, y = _grid(shape=(5, 6), gaps=4)
    kernel = 1.3 * RBF([0.5, 0.9]) + White(0.1)
    value, gradient = _form(kernel, merge_rows(X, y)).score(kernel)

    def plain(k):
        return plain_evidence(k, X, y, NO_MEAN)

    assert value == pytest.approx(plain(kernel), rel=1e-10)
    assert gradient == pytest.approx(slopes(plain, kernel), rel=1e-6, abs=1e-6)


def test_every_cell_seen_twice_and_noise_of_the_targets():
    X, y = _grid(shape=(5, 6), gaps=3)
    rng = np.random.default_rng(1)
    twice, targets = np.vstack([X, X]), np.vstack([y, y + 0.1 * rng.standard_normal(y.shape)])
    kernel = RBF([0.5, 0.9]) + White(0.1)
    assert_same_as_dense(_form(kernel, merge_rows(twice, targets)), kernel, X[:3])
    own = merge_rows(X, y, None, np.full(len(X), 0.3))
    assert_same_as_dense(_form(RBF([0.5, 0.9]), own, absolute=True), RBF([0.5, 0.9]), X[:3])


def test_stations_are_one_axis_and_times_another():
    rng = np.random.default_rng(2)
    stations, times = rng.uniform(0.0, 3.0, (6, 2)), np.arange(5.0)
    X = np.hstack([np.repeat(stations, 5, axis=0), np.tile(times, 6)[:, None]])[:-2]
    y = np.sin(X.sum(axis=1))[:, None]
    kernel = 0.8 * RBF([1.0, 2.0, 1.5]) + White(0.1)
    form = _form(kernel, merge_rows(X, y))
    assert form.layout.columns == ((0, 1), (2,))
    assert form.layout.shape == (6, 5)
    assert_same_as_dense(form, kernel, X[:3])


def test_points_that_are_no_grid():
    X, y = _grid(shape=(5, 6))
    product = RBF([0.5, 0.9]) + White(0.1)
    assert find_layout(np.arange(6.0)[:, None].repeat(2, axis=1), [], 6) is None  # a diagonal
    assert find_grid(product, merge_rows(X[:20], y[:20]), False) is None  # too many gaps
    assert find_grid(product + Constant(), merge_rows(X, y), False) is None  # a sum of functions
    assert find_grid(RBF([0.5, 0.9]), merge_rows(X, y), False) is None  # no noise
    assert find_grid(Matern() + White(), merge_rows(X, y), False) is None  # both columns at once
    noisy = RBF([0.5, 0.9]) + Linear() * White(0.1)  # noise that both columns make
    assert find_grid(noisy, merge_rows(X, y), False) is None
    other = np.linspace(1.0, 2.0, len(X))
    assert find_grid(product, merge_rows(X, y, None, other), False) is None  # noise of rows
    with pytest.raises(ValueError, match="column 2 does not exist"):
        find_grid(RBF().on([2]) + White(), merge_rows(X, y), False)


def test_chosen_by_itself_and_said():
    X, y = _grid(shape=(17, 16), gaps=3)
    product = RBF([0.5, 0.9]) + White(0.1)
    form = choose_form(product, merge_rows(X, y), NO_MEAN, False)
    assert isinstance(form, GridForm)
    assert form.account == (
        "Kronecker factors of a grid of 17 × 16 inputs, 3 of its cells are gaps, O(N Σ n)"
    )
    small = merge_rows(X[:16], y[:16])
    assert isinstance(choose_form(product, small, NO_MEAN, False), DenseForm)


def test_less_noise_than_rounding_is_said():
    X, y = _grid(shape=(8, 8))
    kernel = RBF([3.0, 3.0]) + White(1e-18)
    solved = _form(kernel, merge_rows(X, y)).solve(kernel)
    assert 0.0 < solved.jitter < 1e-10
    assert solved.predict(X).mean == pytest.approx(y, abs=2.0)


def test_a_large_grid_adds_up_what_its_gaps_say():
    X, y = _grid(shape=(100, 100))
    kernel, mean = RBF([0.4, 0.6]) + White(0.1), mean_effects("constant", X, y)
    whole, some = (
        choose_form(kernel, merge_rows(*rows), mean, False) for rows in ((X, y), (X[60:], y[60:]))
    )
    assert isinstance(whole, GridForm)
    assert isinstance(some, GridForm)
    value, gradient = some.score(kernel)
    solved = some.solve(kernel)
    cov = solved.covariance(X[:60]) + 0.1 * np.eye(60)
    rest = multivariate_normal(solved.predict(X[:60]).mean[:, 0], cov).logpdf(y[:60, 0])
    assert whole.solve(kernel).log_evidence == pytest.approx(value + rest, rel=1e-9)
    step = 1e-4 * np.array([1.0, -0.5, 0.7])
    moved = (kernel.with_log_parameters(kernel.log_parameters + s) for s in (step, -step))
    up, down = (some.solve(one).log_evidence for one in moved)
    assert gradient @ step == pytest.approx((up - down) / 2.0, rel=1e-5)
