"""Numbers of the notes, closed forms, and what is refused."""

import numpy as np
import pytest

from posteriori.kernels import (
    RBF,
    Constant,
    Coregion,
    Features,
    Function,
    InverseMultiquadric,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Radial,
    White,
)
from posteriori.kernels.distances import squared_distances
from tests.kernels.kernel_cases import points


@pytest.mark.topic("000/J6", "002/G4")
def test_map_of_a_quadratic_kernel():
    k = Polynomial(degree=2, offset=1.0)
    x, z = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]])
    assert k(x, z)[0, 0] == 144.0
    r = np.sqrt(2.0)
    expected = [1.0, r * 1.0, r * 2.0, 1.0, r * 1.0 * 2.0, 4.0]
    assert np.allclose(k.features(x)[0], expected)
    assert np.isclose((k.features(x) @ k.features(z).T)[0, 0], 144.0)
    # the printed map, without squares and roots, gives 82
    printed = lambda v: np.array([1.0, *v, v[0] * v[1], *v**2])  # noqa: E731
    assert not np.isclose(printed(x[0]) @ printed(z[0]), 144.0)


@pytest.mark.topic("002/G3")
def test_homogeneous_quadratic_kernel():
    k = Polynomial(degree=2, offset=0.0)
    x, z = points(1, columns=2)[0], points(1, seed=1, columns=2)[0]
    assert np.isclose(k(x[None], z[None])[0, 0], (x @ z) ** 2)
    assert k.features(x[None]).shape == (1, 3)
    assert k.parameter_names == ()


@pytest.mark.topic("000/J4", "000/J5", "000/J7", "002/G7")
def test_the_kernel_of_the_notes():
    theta = (1.5, 2.0, 0.3, 0.7)  # θ₁ is a squared length
    k = theta[0] * RBF(scale=np.sqrt(theta[1])) + theta[2] + theta[3] * Linear()
    x, z = points(4, columns=2), points(3, seed=1, columns=2)
    for n, a in enumerate(x):
        for m, b in enumerate(z):
            gap = (a - b) @ (a - b)
            expected = theta[0] * np.exp(-gap / (2 * theta[1])) + theta[2] + theta[3] * (a @ b)
            assert np.isclose(k(x, z)[n, m], expected, rtol=1e-13)


@pytest.mark.topic("002/G5")
def test_rbf_bandwidth():
    assert np.isclose(RBF(scale=2.0)([[0.0, 0.0]], [[3.0, 4.0]])[0, 0], np.exp(-25.0 / 8.0))


@pytest.mark.topic("002/G6")
def test_what_the_notes_call_inverse_quadratic():
    k = InverseMultiquadric(offset=2.0)
    assert np.isclose(k([[0.0, 0.0]], [[3.0, 4.0]])[0, 0], 1.0 / np.sqrt(29.0))


def test_names_and_text():
    k = 2.0 * RBF(scale=[1.0, 3.0]) + Linear() * Periodic(period=1.0, scale=0.8).on([0]) + RBF()
    assert k.parameter_names == (
        "Constant.value",
        "RBF.scale[0]",
        "RBF.scale[1]",
        "Periodic.period",
        "Periodic.scale",
        "RBF2.scale",
    )
    assert repr(k) == (
        "Constant(value=2) * RBF(scale=[1, 3]) + Linear() * Periodic(period=1, scale=0.8).on([0]) "
        "+ RBF(scale=1)"
    )
    assert (
        repr((RBF() + Linear()) * Constant(2.0)) == "(RBF(scale=1) + Linear()) * Constant(value=2)"
    )
    assert sum([RBF(), Linear()]) == RBF() + Linear()


def test_close_points_far_away():
    x = np.array([[1e8, -3e8], [1e8 + 0.25, -3e8], [0.0, 0.0]])
    exact = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    assert np.allclose(squared_distances(x, x), exact, rtol=1e-9)
    assert squared_distances(x, x)[0, 1] == 0.0625
    assert np.isclose(Matern(nu=0.5)(x)[0, 1], np.exp(-0.25), rtol=1e-14)


def test_a_long_gram_matrix_is_made_in_parts():
    x = points(700)
    assert np.allclose(RBF(0.7)(x)[::97], RBF(0.7)(x[::97], x), rtol=1e-13)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: RBF(scale=0.0), "scale must be positive"),
        (lambda: RBF(scale=[1.0, -1.0]), "scale must be positive"),
        (lambda: RBF(scale=[[1.0]]), "scale must be a number or one number for each column"),
        (lambda: Matern(nu=1.0), r"nu must be 0\.5, 1\.5 or 2\.5, got 1\.0"),
        (lambda: Polynomial(degree=0), r"degree must be 1, 2, …, got 0"),
        (lambda: Polynomial(offset=-1.0), "offset must not be negative"),
        (lambda: RBF() ** 0, r"power of a kernel must be 1, 2, …, got 0"),
        (lambda: -1.0 * RBF(), "a number beside a kernel must be positive"),
        (lambda: RBF().on([]), "columns must be one or more places"),
        (lambda: RBF().on([3])(points(2)), "column 3 does not exist: points have 3 columns"),
        (lambda: RBF(scale=[1.0, 2.0])(points(2)), "2 scales and points have 3 columns"),
        (
            lambda: RBF()([1.0, 2.0]),
            r"X must be a table \(N, D\), got shape \(2,\); use X\[:, None\]",
        ),
        (lambda: RBF()([[np.nan]]), "X must be finite, got nan in row 0, column 0"),
        (lambda: RBF()(points(2), points(2, columns=2)), "Z has 2 columns and X has 3"),
        (lambda: RBF().gradient(points(2), np.ones((3, 3))), r"W must have shape \(2, 2\)"),
        (lambda: Function(lambda X, Z: X)(points(2)), r"must return values of shape \(2, 2\)"),
        (
            lambda: Radial(lambda s: s / 0.0 if False else np.full(s.shape, np.nan))(points(2)),
            "finite",
        ),
        (
            lambda: Function(lambda X, Z: np.where(Z[:, 0] > 2.0, np.nan, X @ Z.T))(
                [[1.0, 0.5], [2.5, 3.0]], [[1.0, 0.0], [2.5, 3.0]]
            ),
            r"finite values, got nan for the points \[1\.  0\.5\] and \[2\.5 3\. \]",
        ),
        (lambda: Function(lambda X, Z: X @ Z.T * 1j)(points(2)), "real numbers, got .* complex"),
        (lambda: Function(lambda X, Z: [["a"] * len(Z)] * len(X))(points(2)), "real numbers"),
        (lambda: Features(lambda X: X[:1])(points(2)), "a row for each of 2 points, got 1 rows"),
        (lambda: RBF().warped(lambda X: X[:1])(points(2)), "a row for each of 2 points, got 1"),
        (lambda: White(0.0), "variance must be positive"),
        (
            lambda: Function(lambda X, Z: X[:, :1] + 2.0 * Z[:, 0])(points(3)),
            r"Function.* must be symmetric, got .* for points \d and \d",
        ),
        (
            lambda: Features(lambda X: X, cov=[[1.0, 2.0], [2.0, 1.0]]),
            "cov must be positive semi-definite, its smallest eigenvalue is -1",
        ),
    ],
)
def test_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()


def test_too_large_is_refused_before_memory_is_taken():
    x = np.zeros((4_000_000, 1))
    with pytest.raises(
        MemoryError, match=r"a kernel matrix of 4000000 × 4000000 values needs .* GiB"
    ):
        RBF()(x)


def test_outputs_that_go_together():
    """B = WWᵀ + diag(κ), there and back; loadings of 0 are independent outputs."""
    W, kappa = np.array([[1.0, 0.5], [-2.0, 0.3], [0.0, 0.0]]), np.array([0.2, 1.0, 3.0])
    k = Coregion.from_factors(W, kappa)
    assert np.allclose(k.cov, W @ W.T + np.diag(kappa))
    assert np.allclose(k.correlation, k.cov / np.sqrt(np.outer(np.diag(k.cov), np.diag(k.cov))))
    assert np.allclose(k([[0], [2], [1]]), k.cov[np.ix_([0, 2, 1], [0, 2, 1])])
    assert k.parameter_names[2:5] == (
        "Coregion.variance[2]",
        "Coregion.loadings[0, 0]",
        "Coregion.loadings[0, 1]",
    )
    assert np.allclose(Coregion([1.0, 4.0], np.zeros((2, 0))).cov, np.diag([1.0, 4.0]))


def test_noise_of_categories():
    k = White([0.1, 0.4]).on([1])
    assert np.allclose(k([[7.0, 1], [8.0, 0], [7.0, 1]]), np.diag([0.4, 0.1, 0.4]))


def test_outputs_and_codes_that_are_refused():
    k = Coregion(np.ones(2), np.ones((2, 1)))
    with pytest.raises(ValueError, match=r"knows the codes 0 to 1, got 2 in row 1"):
        k([[0], [2]])
    with pytest.raises(ValueError, match=r"got 0\.5 in row 0"):
        k([[0.5]])
    with pytest.raises(ValueError, match=r"sees one column of codes, got 2 columns"):
        White([1.0, 2.0])([[0, 1]])
    with pytest.raises(ValueError, match="two or more outputs"):
        Coregion([1.0], [[1.0]])
    with pytest.raises(ValueError, match=r"loadings must have shape \(2, R\)"):
        Coregion([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(ValueError, match=r"weights must have shape \(Q, R\)"):
        Coregion.from_factors([[1.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="variance must be a number or one number for each"):
        White([[1.0]])
