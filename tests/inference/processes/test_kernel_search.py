import numpy as np
import pytest
from scipy.stats import multivariate_normal

from posteriori.inference.processes.kernel_search import maximize_evidence, some_rows
from posteriori.inference.processes.search_bounds import default_bounds
from posteriori.kernels import RBF, Cosine, Kernel, Linear, Matern, Periodic, Polynomial, White
from tests.kernels.kernel_cases import CASES


def _wavy(n=25):
    rng = np.random.default_rng(3)
    X = np.sort(rng.uniform(0.0, 300.0, n))[:, None]
    return X, np.sin(X[:, 0] / 30.0) + 0.1 * rng.standard_normal(n)


def _dense(X, y):
    def objective(kernel):
        gram = kernel(X)
        solved = np.linalg.solve(gram, y)
        W = 0.5 * (np.outer(solved, solved) - np.linalg.inv(gram))
        return multivariate_normal(np.zeros(len(y)), gram).logpdf(y), kernel.gradient(X, W)

    return objective


def test_the_gradient_vanishes_where_the_search_ends():
    X, y = _wavy()
    k = 2.0 * RBF() + White(0.5)
    found = maximize_evidence(_dense(X, y), k, bounds=default_bounds(k, X, y))
    value, gradient = _dense(X, y)(found.kernel)
    assert found.converged
    assert value == found.log_evidence == found.trace[-1]
    assert np.abs(gradient).max() < 1e-2
    assert found.n_iter == len(found.trace)
    assert np.all(np.diff(found.trace) >= 0)


def test_a_scale_in_the_wrong_unit_is_no_trap():
    """RBF(1) at points hundreds apart is flat in its scale: the search begins elsewhere."""
    X, y = _wavy()
    k = RBF(1e-3) + White()
    found = maximize_evidence(_dense(X, y), k, bounds=default_bounds(k, X, y))
    assert 10.0 < found.kernel.members[0].scale < 100.0


def test_fixed_parameters_stay():
    X, y = _wavy()
    X = np.column_stack([X, X[::-1]])
    k = RBF([20.0, 30.0]) + White(0.5)
    bounds = default_bounds(k, X, y)
    found = maximize_evidence(_dense(X, y), k, bounds=bounds, fixed=("RBF.scale",))
    assert found.kernel.members[0].scale == pytest.approx([20.0, 30.0], rel=1e-14)
    assert found.kernel.members[1].variance != 0.5
    found = maximize_evidence(_dense(X, y), k, bounds=bounds, fixed=("RBF.scale[1]",))
    assert found.kernel.members[0].scale[1] == pytest.approx(30.0, rel=1e-14)
    assert found.kernel.members[0].scale[0] != 20.0
    found = maximize_evidence(_dense(X, y), k, bounds=bounds, fixed=k.parameter_names)
    assert found.n_iter == 1
    assert found.converged


def test_a_name_that_does_not_exist_is_refused():
    X, y = _wavy()
    k = RBF() + White()
    with pytest.raises(
        ValueError, match=r"fixed names 'RBF\.length', and the kernel has RBF\.scale"
    ):
        maximize_evidence(_dense(X, y), k, bounds=default_bounds(k, X, y), fixed=["RBF.length"])


def test_several_starts_find_the_higher_top():
    """Two tops in one parameter; the search that begins at the lower one needs another start."""

    def objective(kernel):
        t = kernel.log_parameters
        low, high = np.exp(-0.5 * (t + 1.0) ** 2), 2.0 * np.exp(-0.5 * (t - 4.0) ** 2)
        return float((low + high).sum()), -(t + 1.0) * low - (t - 4.0) * high

    k = White(np.exp(-1.5))
    bounds = default_bounds(k, np.zeros((3, 1)), np.ones(3))
    alone = maximize_evidence(objective, k, bounds=bounds)
    several = maximize_evidence(objective, k, bounds=bounds, n_init=21, rng=0)
    assert alone.log_evidence < 1.1
    assert several.log_evidence == pytest.approx(2.0, abs=1e-3)
    again = maximize_evidence(objective, k, bounds=bounds, n_init=21, rng=0)
    assert again == several


def test_the_callback_and_ctrl_c_keep_the_best():
    X, y = _wavy()
    k = 2.0 * RBF(30.0) + White(0.5)
    told = []

    def stop(n, value):
        told.append((n, value))
        return n == 4

    found = maximize_evidence(_dense(X, y), k, bounds=default_bounds(k, X, y), callback=stop)
    assert [n for n, _ in told] == [1, 2, 3, 4]
    assert found.log_evidence == told[-1][1] == _dense(X, y)(found.kernel)[0]
    assert not found.converged

    def interrupt(n, value):
        if n == 3:
            raise KeyboardInterrupt

    found = maximize_evidence(_dense(X, y), k, bounds=default_bounds(k, X, y), callback=interrupt)
    assert found.n_iter == 3
    assert not found.converged


@pytest.mark.parametrize("name", CASES)
def test_bounds_hold_what_the_kernel_says(name):
    k = CASES[name]
    rng = np.random.default_rng(0)
    bounds = default_bounds(k, rng.standard_normal((9, 3)), rng.standard_normal(9))
    assert bounds.low.shape == bounds.high.shape == bounds.center.shape == k.log_parameters.shape
    assert np.all(bounds.low < bounds.high)
    assert np.all((bounds.low <= k.log_parameters) & (k.log_parameters <= bounds.high))
    assert np.all((bounds.low <= bounds.center) & (bounds.center <= bounds.high))


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * RBF([1.0, 2.0]) + White(),
        3.0 * Linear() + Matern().on([1]) * Periodic(),
        (2.0 * Linear()) ** 2 + Cosine().warped(lambda x: 2.0 * x),
    ],
)
def test_bounds_follow_units(kernel: Kernel):
    """Inputs in other units move lengths, targets in other units move sizes."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((20, 2)), rng.standard_normal(20)
    here = default_bounds(kernel, X, y).center
    there = default_bounds(kernel, 100.0 * X, 10.0 * y).center
    lengths = np.array(["scale" in n or "period" in n for n in kernel.parameter_names])
    lengths &= np.array(["Periodic.scale" not in n for n in kernel.parameter_names])
    assert there[lengths] == pytest.approx(here[lengths] + np.log(100.0))


def test_targets_that_are_zero_or_missing_leave_bounds():
    k = 2.0 * RBF() + White()
    X = np.zeros((3, 1))
    for y in (np.zeros(3), np.full(3, np.nan)):
        assert np.isfinite(np.array(default_bounds(k, X, y))).all()


def test_small_gains_end_a_search():
    X, y = _wavy()
    k = 2.0 * RBF() + White(0.5)
    bounds = default_bounds(k, X, y)
    whole = maximize_evidence(_dense(X, y), k, bounds=bounds)
    early = maximize_evidence(_dense(X, y), k, bounds=bounds, tol=0.1)
    assert early.converged
    assert early.n_iter < whole.n_iter
    assert whole.log_evidence - 0.5 < early.log_evidence <= whole.log_evidence + 1e-9


def test_some_rows_are_at_equal_steps_and_no_more_than_asked_for():
    for count, most in ((10, 4), (10, 10), (10, 11), (1, 5), (1001, 500)):
        some = np.arange(count)[some_rows(count, most)]
        assert len(some) <= most
        assert len(set(np.diff(some))) <= 1
    assert len(np.arange(7)[some_rows(7, None)]) == 7


def test_bounds_of_weighted_rows_are_those_of_repeated_rows():
    rng = np.random.default_rng(4)
    X, y, times = rng.standard_normal((9, 2)), rng.standard_normal(9), rng.integers(1, 4, 9)
    k = 2.0 * RBF([1.0, 2.0]) * Polynomial(2, 1.0) + Periodic(1.0) + White()
    weighted = default_bounds(k, X, y, times.astype(float))
    repeated = default_bounds(k, np.repeat(X, times, axis=0), np.repeat(y, times))
    assert np.allclose(weighted, repeated, rtol=1e-12)
    assert not np.allclose(weighted, default_bounds(k, X, y))
