"""Laws that every kernel keeps: symmetric, positive, gradients, parameters, features."""

from dataclasses import dataclass

import numpy as np
import pytest

from posteriori import kernels
from posteriori.kernels import RBF, Kernel, Linear
from posteriori.numerics.rank import ROUNDING
from tests.kernels.kernel_cases import CASES, WITH_FEATURES, points

EVERY = pytest.mark.parametrize("kernel", CASES.values(), ids=CASES.keys())


def test_every_kernel_has_a_row():
    rows = {type(leaf) for kernel in CASES.values() for leaf in kernel._leaves()}
    public = {getattr(kernels, name) for name in dir(kernels)}
    members = {
        member for member in public if isinstance(member, type) and issubclass(member, Kernel)
    }
    assert members - {Kernel} <= rows


@EVERY
def test_one_pair_at_a_time(kernel):
    x, z = points(5), points(4, seed=1)
    pairs = [[kernel(a[None], b[None])[0, 0] for b in z] for a in x]
    assert np.allclose(kernel(x, z), pairs, rtol=1e-12, atol=1e-14)


@EVERY
def test_symmetric(kernel):
    x, z = points(6), points(5, seed=1)
    assert np.allclose(kernel(x, z), kernel(z, x).T, rtol=1e-13, atol=1e-15)
    gram = kernel(x)
    assert np.allclose(gram, gram.T, rtol=1e-13, atol=1e-15)


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_positive(kernel, seed):
    gram = kernel(points(12, seed))
    eigenvalues = np.linalg.eigvalsh(gram)
    # the error of an eigenvalue of a symmetric matrix is of the size of rounding times the largest
    assert eigenvalues[0] >= -len(gram) * 10 * ROUNDING * eigenvalues[-1]


@EVERY
def test_diagonal(kernel):
    x = points(40)
    assert np.allclose(kernel.diagonal(x), np.diagonal(kernel(x)), rtol=1e-13)
    if not any(isinstance(leaf, kernels.White) for leaf in kernel._leaves()):
        alone = [kernel(row[None], row[None])[0, 0] for row in x]
        assert np.allclose(kernel.diagonal(x), alone, rtol=1e-12)


def differences(kernel, function):
    """Return central differences of a function of a kernel in its log parameters."""
    start, step = kernel.log_parameters, 1e-5
    moves = step * np.eye(len(start))
    ends = [
        [function(kernel.with_log_parameters(start + sign * move)) for sign in (1.0, -1.0)]
        for move in moves
    ]
    return np.array([(up - down) / (2.0 * step) for up, down in ends])


@EVERY
def test_gradient_by_differences(kernel):
    x, z = points(9), points(5, seed=1)
    rng = np.random.default_rng(2)
    square, across = rng.normal(size=(9, 9)), rng.normal(size=(9, 5))
    expected = differences(kernel, lambda k: np.vdot(square, k(x)))
    assert np.allclose(kernel.gradient(x, square), expected, rtol=1e-7, atol=1e-8)
    expected = differences(kernel, lambda k: np.vdot(across, k(x, z)))
    assert np.allclose(kernel.gradient(x, across, z), expected, rtol=1e-7, atol=1e-8)


@EVERY
def test_gradient_adds_blocks_up(kernel, monkeypatch):
    x, w = points(9), np.random.default_rng(2).normal(size=(9, 9))
    whole = kernel.gradient(x, w)
    monkeypatch.setattr("posteriori.kernels.kernel.IN_CACHE", 18)  # two rows at a time
    assert np.allclose(kernel.gradient(x, w), whole, rtol=1e-12, atol=1e-12)


@EVERY
@pytest.mark.parametrize("rows", [1, 8, 9])
def test_a_gram_matrix_from_blocks_below_its_diagonal(kernel, rows, monkeypatch):
    x = points(rows)
    whole = kernel(x, x.copy())
    np.fill_diagonal(whole, kernel.diagonal(x))
    monkeypatch.setattr("posteriori.kernels.kernel.IN_CACHE", 2 * rows)  # two rows at a time
    assert np.allclose(kernel(x), whole, rtol=1e-12, atol=1e-14)


@EVERY
def test_parameters_go_there_and_back(kernel):
    start = kernel.log_parameters
    assert len(kernel.parameter_names) == len(set(kernel.parameter_names)) == len(start)
    again = kernel.with_log_parameters(start)
    assert np.allclose(again.log_parameters, start, rtol=1e-14)
    assert again.parameter_names == kernel.parameter_names
    moved = kernel.with_log_parameters(start + 0.1)
    assert np.allclose(moved.log_parameters, start + 0.1, rtol=1e-14)
    if len(start):
        assert moved != kernel
        with pytest.raises(ValueError, match=r"log_parameters must have shape"):
            kernel.with_log_parameters(np.zeros(len(start) + 1))


@EVERY
def test_algebra(kernel):
    x, z = points(6), points(4, seed=1)
    other = CASES["rational quadratic"]
    for arguments in ((x,), (x, z)):
        k, o = kernel(*arguments), other(*arguments)
        assert np.allclose((kernel + other)(*arguments), k + o, rtol=1e-13)
        assert np.allclose((kernel * other)(*arguments), k * o, rtol=1e-13)
        assert np.allclose((3.0 * kernel)(*arguments), 3.0 * k, rtol=1e-13)
        assert np.allclose((kernel + 3.0)(*arguments), k + 3.0, rtol=1e-13)
        assert np.allclose((kernel**2)(*arguments), k * k, rtol=1e-13)


@pytest.mark.parametrize("kernel", WITH_FEATURES.values(), ids=WITH_FEATURES.keys())
def test_features(kernel):
    x, z = points(6), points(4, seed=1)
    assert np.allclose(
        kernel.features(x) @ kernel.features(z).T, kernel(x, z), rtol=1e-11, atol=1e-12
    )


@pytest.mark.parametrize("kernel", WITH_FEATURES.values(), ids=WITH_FEATURES.keys())
def test_features_move_with_parameters_as_differences_say(kernel):
    X, logs = points(5), kernel.log_parameters
    traced = kernel.traced_features(X)
    np.testing.assert_array_equal(traced.value, kernel.features(X))
    W = np.random.default_rng(1).normal(size=traced.value.shape)
    step = 1e-5
    expected = [
        np.vdot(W, kernel.with_log_parameters(logs + e).features(X))
        - np.vdot(W, kernel.with_log_parameters(logs - e).features(X))
        for e in step * np.eye(len(logs))
    ]
    np.testing.assert_allclose(
        traced.pull(W), np.array(expected) / (2.0 * step), rtol=1e-6, atol=1e-8
    )


def test_a_kernel_that_does_not_state_how_its_features_move_says_so():
    @dataclass(frozen=True, eq=False, repr=False)
    class Scaled(Linear):
        _learned = ("size",)
        size: float = 2.0

        def features(self, X):
            return self.size * super().features(X)

    with pytest.raises(TypeError, match="features move"):
        Scaled().traced_features(points(3))


@pytest.mark.parametrize("name", ["rbf", "matern 3/2", "periodic", "white", "noisy", "overlap"])
def test_no_features(name):
    with pytest.raises(
        TypeError, match=r"no finite feature map; posteriori\.regression\.KernelBasis"
    ):
        CASES[name].features(points(3))


@EVERY
def test_a_value(kernel):
    assert kernel == kernel.with_log_parameters(kernel.log_parameters) or len(kernel.log_parameters)
    assert hash(kernel) == hash(kernel)
    assert kernel != CASES["cosine"] * CASES["cosine"]
    assert repr(kernel)


def test_parameters_too_small_for_a_number_are_refused() -> None:
    """What a search makes is not checked one by one, but e^x can be 0."""
    with pytest.raises(ValueError, match=r"scale must be positive, got 0"):
        (2.0 * RBF(1.0)).with_log_parameters([0.0, -800.0])
