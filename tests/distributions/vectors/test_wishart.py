"""Wishart and inverse Wishart: digits, special cases and refusals."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart, log_gamma_ratio, solve_wishart_dof
from tests.distributions.matrices import V2, V3

pytestmark = pytest.mark.blas


@pytest.mark.parametrize("dof", [2.5, 7.0, 300.0])
def test_scipy_says_the_same_of_wishart_and_its_inverse(dof):
    x = stats.wishart(7, V3).rvs(6, random_state=1) * dof / 7
    ours, peer = Wishart(dof, V3), stats.wishart(dof, V3)
    inverse, inverse_peer = InverseWishart(dof, V3), stats.invwishart(dof, V3)
    assert_allclose(ours.log_prob(x), peer.logpdf(x.transpose(1, 2, 0)), rtol=1e-11)
    y = np.linalg.inv(x) * dof
    assert_allclose(inverse.log_prob(y), inverse_peer.logpdf(y.transpose(1, 2, 0)), rtol=1e-11)
    assert_allclose(ours.mean, peer.mean(), rtol=1e-13)
    assert_allclose(ours.variance, peer.var(), rtol=1e-13)
    assert_allclose(ours.entropy(), peer.entropy(), rtol=1e-11)
    if dof > 4:
        assert_allclose(ours.mode, peer.mode(), rtol=1e-13)
        assert_allclose(inverse.mean, inverse_peer.mean(), rtol=1e-13)
        assert_allclose(inverse.variance, inverse_peer.var(), rtol=1e-13)
    assert_allclose(inverse.mode, inverse_peer.mode(), rtol=1e-13)


@pytest.mark.parametrize("nu", [0.7, 5.0, 400.0])
def test_one_by_one_wisharts_are_gammas(nu):
    v, other_v, x = 1.7, 0.9, np.array([0.2, 3.0, 11.0])
    matrix, number = Wishart(nu, [[v]]), Gamma(nu / 2, 1 / (2 * v))
    other = Wishart(2 * nu, [[other_v]]), Gamma(nu, 1 / (2 * other_v))
    assert_allclose(matrix.log_prob(x[:, None, None]), number.log_prob(x), rtol=1e-12)
    assert_allclose(matrix.mean[0, 0], number.mean, rtol=1e-14)
    assert_allclose(matrix.variance[0, 0], number.variance, rtol=1e-14)
    assert_allclose(matrix.entropy(), number.entropy(), rtol=1e-12)
    assert_allclose(matrix.kl(other[0]), number.kl(other[1]), rtol=1e-12)
    inverse, number = InverseWishart(nu, [[v]]), InverseGamma(nu / 2, v / 2)
    other = InverseWishart(2 * nu, [[other_v]]), InverseGamma(nu, other_v / 2)
    assert_allclose(inverse.log_prob(x[:, None, None]), number.log_prob(x), rtol=1e-12)
    assert_allclose(inverse.mode[0, 0], number.mode, rtol=1e-14)
    assert_allclose(inverse.entropy(), number.entropy(), rtol=1e-12)
    assert_allclose(inverse.kl(other[0]), number.kl(other[1]), rtol=1e-12)


def exact_wishart(dof, scale):
    """Log density and log normalizer of a Wishart with many digits."""
    nu, v, size = mpmath.mpf(dof), mpmath.matrix(scale), len(scale)
    log_gammas = sum(mpmath.loggamma((nu - i) / 2) for i in range(size))
    height = mpmath.mpf(size * (size - 1)) / 4 * mpmath.log(mpmath.pi) + log_gammas
    height += nu / 2 * mpmath.log(mpmath.det(v)) + nu * size / 2 * mpmath.log(2)

    def log_prob(x):
        x = mpmath.matrix(x)
        trace = sum((v**-1 * x)[i, i] for i in range(size))
        return (nu - size - 1) / 2 * mpmath.log(mpmath.det(x)) - trace / 2 - height

    return log_prob, height


def exact_wishart_divergence(p, q):
    (nu, v), (other_nu, other_v) = p, q
    size = len(v)
    nu, other_nu = mpmath.mpf(nu), mpmath.mpf(other_nu)
    gap = exact_wishart(other_nu, other_v)[1] - exact_wishart(nu, v)[1]
    v, other_v = mpmath.matrix(v), mpmath.matrix(other_v)
    log_det = sum(mpmath.digamma((nu - i) / 2) for i in range(size))
    log_det += mpmath.log(mpmath.det(v)) + size * mpmath.log(2)
    trace = sum((other_v**-1 * v - mpmath.eye(size))[i, i] for i in range(size))
    return gap - (other_nu - nu) / 2 * log_det + nu / 2 * trace


@pytest.mark.parametrize("dof", [3.5, 80.0, 1e4, 1e10])
def test_wishart_keeps_its_digits_for_many_degrees_of_freedom(dof):
    d = Wishart(dof, V3)
    x = d.sample(3, rng=4)
    with mpmath.workdps(60):
        log_prob, height = exact_wishart(dof, V3.tolist())
        expected = [float(log_prob(m.tolist())) for m in x]
        near = (dof * (1 + 1e-6), (V3 * 1.001).tolist())
        divergence = float(exact_wishart_divergence((dof, V3.tolist()), near))
        nu, size = mpmath.mpf(dof), 3
        digammas = sum(mpmath.digamma((nu - i) / 2) for i in range(size))
        log_det = digammas + mpmath.log(mpmath.det(mpmath.matrix(V3.tolist()) * 2))
        entropy = float(height - (nu - size - 1) / 2 * log_det + nu * size / 2)
    # the draws themselves are rounded: a relative 1e-16 of ν times their distance of √ν
    assert_allclose(d.log_prob(x), expected, rtol=1e-10 if dof > 1e5 else 1e-12)
    assert_allclose(d.entropy(), entropy, rtol=1e-13)
    assert_allclose(d.kl(Wishart(near[0], near[1])), divergence, rtol=1e-10)


def test_divergence_of_neighbours_is_a_quadratic_form_of_the_fisher_information():
    d = Wishart(1e8, V3)
    other = Wishart(1e8 * (1 + 1e-9), V3)
    step = 0.5 * (other.dof - d.dof)
    expected = 0.5 * step**2 * d.fisher_information()[0, 0]
    # at equal scales only the first natural parameter moves
    assert_allclose(d.kl(other), expected, rtol=1e-6)


def test_matrices_off_the_cone_have_no_density():
    d, inverse = Wishart(4.0, V2), InverseWishart(4.0, V2)
    good = np.eye(2)
    bad = [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.1], [0.0, 1.0]], np.zeros((2, 2)), [[1, 1], [1, 1]]]
    for family in (d, inverse):
        values = family.log_prob(np.stack([good, *map(np.array, bad)]))
        assert np.isfinite(values[0])
        assert np.all(values[1:] == -np.inf)
        assert family.log_prob([[np.inf, 0.0], [0.0, 1.0]]) == -np.inf
        with pytest.raises(ValueError, match="NaN"):
            family.log_prob([[np.nan, 0.0], [0.0, 1.0]])
        with pytest.raises(ValueError, match=r"x must have shape \(\.\.\., 2, 2\)"):
            family.log_prob(np.eye(3))
        # rounding of an inverse is no asymmetry
        assert np.isfinite(family.log_prob(np.linalg.inv([[1.0, 0.3], [0.3 + 1e-15, 2.0]])))


def test_draws_have_the_mean_and_the_variance_of_a_wishart():
    for d in (Wishart(5.5, V3), InverseWishart(11.0, V3)):
        x = d.sample(20_000, rng=3)
        error = np.sqrt(d.variance / len(x))
        assert np.all(np.abs(x.mean(axis=0) - d.mean) <= 5 * error)
        spread = (x - d.mean) ** 2
        error = spread.std(axis=0) / np.sqrt(len(x))
        assert np.all(np.abs(spread.mean(axis=0) - d.variance) <= 5 * error)


def test_sums_of_outer_products_are_wishart():
    rng = np.random.default_rng(0)
    z = MvNormal(np.zeros(3), cov=V3).sample((4000, 5), rng=rng)
    x = np.einsum("snj,snk->sjk", z, z)
    fitted = Wishart.fit(x)
    assert fitted.dof == pytest.approx(5.0, abs=0.25)
    assert_allclose(fitted.scale, V3, atol=0.15)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_degrees_of_freedom_are_found_from_the_mean_log_determinant(size):
    for dof in size - 1 + np.array([1e-3, 0.3, 4.0, 1e3, 1e8]):
        with mpmath.workdps(40):
            nu = mpmath.mpf(dof)
            terms = [mpmath.log(nu / 2) - mpmath.digamma((nu - i) / 2) for i in range(size)]
            gap = float(sum(terms))
        found = solve_wishart_dof(np.float64(gap), size)
        assert found - (size - 1) == pytest.approx(dof - (size - 1), rel=1e-9)


def test_ratio_of_gamma_functions_at_every_size():
    for a in (1e-3, 0.5, 7.0, 1e4, 1e12):
        for step in (0.5, 1.0, 3.5):
            with mpmath.workdps(50):
                exact = float(
                    mpmath.loggamma(mpmath.mpf(a) + step) - mpmath.loggamma(mpmath.mpf(a))
                )
            assert log_gamma_ratio(np.float64(a), step) == pytest.approx(exact, rel=1e-13)


def test_messages_of_wisharts_may_be_improper_in_part_of_a_batch():
    mixed = Wishart.from_natural([1.0, 1.0], np.stack([-np.eye(2), np.eye(2)]))
    assert mixed.is_proper.tolist() == [True, False]
    assert_allclose(mixed.log_normalizer(), [Wishart(5.0, 0.5 * np.eye(2)).log_normalizer(), 0.0])
    assert mixed.log_prob(np.eye(2))[1] == pytest.approx(2.0)
    with pytest.raises(ValueError, match="symmetric"):
        Wishart.from_natural(1.0, [[-1.0, 0.2], [0.0, -1.0]])


def test_moments_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match=r"mean needs dof > D \+ 1 = 3, got 3"):
        _ = InverseWishart(3.0, V2).mean
    with pytest.raises(ValueError, match=r"variance needs dof > D \+ 3 = 5"):
        _ = InverseWishart(4.5, V2).variance
    with pytest.raises(ValueError, match="mode needs dof >= 3"):
        _ = Wishart(2.5, V2).mode


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Wishart(1.0, V2), r"dof must exceed D - 1 = 1 for 2 x 2 matrices, got 1"),
        (lambda: Wishart(3.0, [[1.0, 2.0], [2.0, 1.0]]), "scale must be positive definite"),
        (lambda: InverseWishart(3.0, [[1.0, 2.0], [0.0, 1.0]]), "scale must be symmetric"),
        (lambda: NormalWishart([0.0], 1.0, 3.0, V2), "mean has 1 entries but scale is 2 x 2"),
        (lambda: NormalWishart([0.0, 0.0], -1.0, 3.0, V2), "mean_strength must be positive"),
        (lambda: NormalGamma(0.0, 1.0, 0.0, 1.0), "shape must be positive, got 0"),
        (lambda: NormalInverseGamma(0.0, 1.0, 1.0, -2.0), "scale must be positive, got -2"),
        (
            lambda: NormalInverseGamma([0.0], mean_precision=V2, shape=1.0, scale=1.0),
            "mean has 1 entries but mean_precision is 2 x 2",
        ),
        (lambda: MvStudentT(0.0, [0.0, 0.0], scale=V2), "dof must be positive"),
        (lambda: MvStudentT(1.0, [0.0], scale=V2), "mean has 1 entries"),
    ],
)
def test_bad_parameters_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_one_kind_of_strength_is_asked_for():
    with pytest.raises(TypeError, match="exactly one of mean_strength, mean_precision; got none"):
        NormalInverseGamma(0.0, shape=1.0, scale=1.0)
    with pytest.raises(TypeError, match="got mean_strength and mean_precision"):
        NormalInverseGamma([0.0], 1.0, 1.0, 1.0, mean_precision=[[1.0]])
    with pytest.raises(TypeError, match="needs shape and scale"):
        NormalInverseGamma(0.0, 1.0)
    vector = NormalInverseGamma([0.0, 1.0], mean_precision=V2, shape=2.0, scale=1.0)
    assert type(vector) is VectorNormalInverseGamma
