"""Functions that are kernels, functions that are not, and the points that show it."""

import numpy as np
import pytest

from posteriori.kernels import (
    RBF,
    Function,
    InverseMultiquadric,
    Linear,
    Periodic,
    Polynomial,
    Radial,
    is_mercer,
    mercer,
)
from tests.kernels.kernel_cases import points


def cone(s):
    return np.maximum(1.0 - np.sqrt(s), 0.0)


#: Functions that are no kernels, each with the columns in which that is so.
NOT_KERNELS = {
    "tanh": (Function(lambda X, Z: np.tanh(X @ Z.T + 1.0)), 1),
    "minus squares": (Radial(lambda s: -s), 1),
    "distance": (Radial(np.sqrt), 2),
    "box": (Radial(lambda s: (s < 1.0) * 1.0), 1),
    "epanechnikov": (Radial(lambda s: np.maximum(1.0 - s, 0.0)), 1),
    "exp of the cubed distance": (Radial(lambda s: np.exp(-(s**1.5))), 1),
    "a little beyond the Gaussian": (Radial(lambda s: np.exp(-(s**1.1))), 1),
    "cone in the plane": (Radial(cone), 2),
    "difference": (Function(lambda X, Z: RBF(1.0)(X, Z) - 0.9 * RBF(0.5)(X, Z)), 1),
    "minimum of all numbers": (
        Function(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0])),
        1,
    ),
}
KERNELS = {
    "cone on a line": (Radial(cone), 1),
    "rbf": (RBF(0.7), 3),
    "linear": (Linear(), 2),
    "polynomial": (Polynomial(3, 0.5), 2),
    "periodic": (Periodic(1.3, 0.6), 1),
    "inverse multiquadric": (InverseMultiquadric(), 4),
}


@pytest.mark.blas
@pytest.mark.topic("000/J3", "002/G1")
@pytest.mark.parametrize("name", NOT_KERNELS)
def test_what_is_no_kernel_is_refuted(name):
    kernel, dimension = NOT_KERNELS[name]
    found = is_mercer(kernel, dimension=dimension)
    assert not found
    assert found.points.shape == (len(found.coefficients), dimension)
    total = found.coefficients @ kernel(found.points) @ found.coefficients
    assert total < 0
    assert np.isclose(total, found.eigenvalue, rtol=1e-6)
    again = is_mercer(kernel, found.points)
    assert not again.valid
    assert np.isclose(again.eigenvalue, found.eigenvalue)


@pytest.mark.blas
@pytest.mark.topic("000/J3", "002/G1")
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_a_kernel_stands(name):
    kernel, dimension = KERNELS[name]
    assert is_mercer(kernel, dimension=dimension)


def test_a_descent_finds_what_sets_of_points_miss(monkeypatch):
    # k(x, x) is negative around 2.7 alone, where no set of points has one
    def dented(X, Z):
        left, right = (np.exp(-2.0 * (A[:, 0] - 2.7) ** 2) for A in (X, Z))
        return RBF(1.0)(X, Z) - 1.1 * np.outer(left, right)

    monkeypatch.setattr("posteriori.kernels.mercer._SIZES", np.array([0.7]))
    monkeypatch.setattr("posteriori.kernels.mercer._LATTICE", 3)
    monkeypatch.setattr("posteriori.kernels.mercer._DRAWS", 0)
    sets = list(mercer._point_sets(1, np.random.default_rng(0)))
    assert all(mercer.decide_on_points(Function(dented), p).valid for p in sets)
    assert not is_mercer(Function(dented))


def test_given_points_decide():
    assert is_mercer(Radial(cone), points(20, columns=2)[:2])
    wave = Function(lambda X, Z: np.cos(X[:, :1] - Z[:, 0]) - 0.2)
    found = is_mercer(wave, np.linspace(0, 2 * np.pi, 8, endpoint=False)[:, None])
    assert np.isclose(found.eigenvalue, -0.2 * 8)  # of the constant vector
    assert np.allclose(np.abs(found.coefficients), 8**-0.5)


def test_gram_matrices():
    assert is_mercer([[2.0, -1.0], [-1.0, 2.0]])  # entries may be negative
    assert is_mercer(np.ones((30, 30)))
    assert not is_mercer(np.ones((30, 30)) - 1e-9 * np.eye(30))
    found = is_mercer([[0.0, 1.0], [1.0, 0.0]])
    assert found.points is None
    assert np.isclose(found.eigenvalue, -1.0)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: is_mercer([[1.0, 2.0], [3.0, 1.0]]), r"gram must be symmetric, entries \(0, 1\)"),
        (
            lambda: is_mercer(Function(lambda X, Z: X[:, :1] + 2.0 * Z[:, 0]), points(3)),
            r"Function\(.*\) must be symmetric",
        ),
        (lambda: is_mercer(RBF(), dimension=0), r"dimension must be 1, 2, …, got 0"),
        (lambda: is_mercer(RBF(), np.zeros((0, 2))), "X has no points"),
    ],
)
def test_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()
