"""The multivariate t: limits, parts, moments and its fit."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from tests.distributions.matrices import M3, V3

pytestmark = pytest.mark.blas


def random_matrix(rng, size, spread=1.0):
    root = rng.standard_normal((size, size + 2))
    return spread * root @ root.T


@pytest.mark.parametrize("dof", [0.8, 4.0, 250.0])
def test_scipy_says_the_same_of_the_multivariate_t(dof):
    d, peer = MvStudentT(dof, M3, scale=V3), stats.multivariate_t(M3, V3, dof)
    x = d.sample(20, rng=1)
    assert_allclose(d.log_prob(x), peer.logpdf(x), rtol=1e-12)
    assert_allclose([d.log_prob(row) for row in x], peer.logpdf(x), rtol=1e-12)
    assert_allclose(d.entropy(), peer.entropy(), rtol=1e-11)
    assert d.log_prob(np.array([np.inf, 0.0, 0.0])) == -np.inf
    with pytest.raises(ValueError, match="NaN"):
        d.log_prob(np.array([np.nan, 0.0, 0.0]))


@pytest.mark.topic("000/M8")
def test_the_t_becomes_normal_as_the_degrees_of_freedom_grow():
    x = M3 + np.array([0.5, 1.0, -2.0])
    normal = MvNormal(M3, cov=V3)
    for dof, near in ((1e6, 1e-4), (1e10, 1e-8), (1e14, 1e-12)):
        d = MvStudentT(dof, M3, scale=V3)
        assert_allclose(d.log_prob(x), normal.log_prob(x), rtol=near)
        assert_allclose(d.entropy(), normal.entropy(), rtol=near)
    with mpmath.workdps(50):
        nu, distance = mpmath.mpf(1e10), mpmath.mpf(float(normal._squared_distance(x)))
        exact = mpmath.loggamma((nu + 3) / 2) - mpmath.loggamma(nu / 2)
        exact -= mpmath.mpf(3) / 2 * mpmath.log(nu * mpmath.pi)
        exact -= mpmath.log(mpmath.mpf(float(np.linalg.det(V3)))) / 2
        exact -= (nu + 3) / 2 * mpmath.log1p(distance / nu)
    assert_allclose(MvStudentT(1e10, M3, scale=V3).log_prob(x), float(exact), rtol=1e-13)


def test_a_t_of_one_dimension_is_students():
    x = np.array([-3.0, 0.2, 5.0])
    d, number = MvStudentT(2.5, [1.0], scale=[[4.0]]), StudentT(2.5, 1.0, scale=2.0)
    assert_allclose(d.log_prob(x[:, None]), number.log_prob(x), rtol=1e-13)
    assert_allclose(d.entropy(), number.entropy(), rtol=1e-13)
    assert_allclose(d.variance, [number.variance])


def test_parts_of_a_t_factorise():
    d = MvStudentT(3.5, M3, scale=V3)
    x = np.array([0.4, -3.0, 2.0])
    known = d.marginal([2, 0])
    rest = d.condition([2, 0], x[[2, 0]])
    assert rest.dof == 5.5
    assert_allclose(known.log_prob(x[[2, 0]]) + rest.log_prob(x[[1]]), d.log_prob(x), rtol=1e-12)
    a, b = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0], [1.0, 0.0, 3.0]]), np.array([1.0, 0.0, 2.0])
    image = d.affine(a, b)
    jacobian = np.linalg.slogdet(a)[1]
    assert_allclose(image.log_prob(a @ x + b) + jacobian, d.log_prob(x), rtol=1e-12)
    with pytest.raises(ValueError, match="rows of matrix are linearly dependent"):
        d.affine([[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]])
    batch = MvStudentT([3.5, 9.0], np.stack([M3, -M3]), scale=V3)
    together = batch.condition([0], [0.5])
    for member, dof, m in zip((0, 1), (3.5, 9.0), (M3, -M3), strict=True):
        alone = MvStudentT(dof, m, scale=V3).condition([0], [0.5])
        assert_allclose(together.scale[member], alone.scale, rtol=1e-13)
        assert_allclose(together.location[member], alone.location, rtol=1e-13)


def test_moments_of_the_t_that_do_not_exist():
    with pytest.raises(ValueError, match="mean needs dof > 1, got 1"):
        _ = MvStudentT(1.0, M3, scale=V3).mean
    with pytest.raises(ValueError, match="covariance needs dof > 2"):
        _ = MvStudentT(2.0, M3, scale=V3).cov
    assert np.all(MvStudentT(1.5, M3, scale=V3).variance == np.inf)
    assert_allclose(MvStudentT(1.0, M3, scale=V3).mode, M3)


def test_fitting_a_t_maximises_the_likelihood():
    x = MvStudentT(4.0, M3, scale=V3).sample(200, rng=6)
    fitted = MvStudentT.fit(x, dof=4.0)
    # at a maximum the latent precisions reproduce location, scale and their own mean of 1
    centred = x - fitted.location
    distance = np.einsum("ni,ij,nj->n", centred, np.linalg.inv(fitted.scale), centred)
    pull = (4.0 + 3) / (4.0 + distance)
    assert_allclose(pull.mean(), 1.0, rtol=1e-9)
    assert_allclose((pull[:, None] * centred).mean(axis=0), 0.0, atol=1e-9)
    assert_allclose((pull[:, None] * centred).T @ centred / 200, fitted.scale, rtol=1e-9)
    top = fitted.log_prob(x).sum()
    rng = np.random.default_rng(0)
    for _ in range(20):
        step = 1e-2 * random_matrix(rng, 3)
        assert MvStudentT(4.0, fitted.location, scale=fitted.scale + step).log_prob(x).sum() < top
        moved = fitted.location + 1e-2 * rng.standard_normal(3)
        assert MvStudentT(4.0, moved, scale=fitted.scale).log_prob(x).sum() < top


def test_fitting_a_t_with_weights_streams_and_batches():
    x = MvStudentT(4.0, M3, scale=V3).sample(40, rng=6)
    times = np.arange(40) % 3
    weighted = MvStudentT.fit(x, weights=times, dof=3.0)
    repeated = MvStudentT.fit(np.repeat(x, times, axis=0), dof=3.0)
    assert_allclose(weighted.scale, repeated.scale, rtol=1e-9)
    stream = MvStudentT.fit(iter([x[:7], x[7:]]), dof=3.0)
    whole = MvStudentT.fit(x, dof=3.0)
    assert_allclose(stream.scale, whole.scale, rtol=1e-12)
    both = MvStudentT.fit(np.stack([x, 2 * x], axis=1), dof=3.0)
    assert both.batch_shape == (2,)
    assert_allclose(both.scale, np.stack([whole.scale, 4 * whole.scale]), rtol=1e-8)
    normal = MvStudentT.fit(x, dof=1e10)
    assert_allclose(normal.location, x.mean(axis=0), rtol=1e-7)
    assert_allclose(normal.scale, np.cov(x.T, bias=True), rtol=1e-7)


def test_outliers_hardly_move_a_fitted_t():
    x = MvNormal([0.0, 0.0], cov=np.eye(2)).sample(100, rng=3)
    spoiled = np.concatenate([x, np.full((5, 2), 1e4)])
    clean, robust = MvStudentT.fit(x, dof=3.0), MvStudentT.fit(spoiled, dof=3.0)
    assert np.max(np.abs(robust.location - clean.location)) < 0.2
    assert np.max(np.abs(spoiled.mean(axis=0))) > 400


def test_fitting_a_t_refuses_flat_data_and_bad_weights():
    line = np.outer(np.arange(5.0), [1.0, 2.0])
    with pytest.raises(ValueError, match="data lie on a plane"):
        MvStudentT.fit(line, dof=3.0)
    for bad in ([1.0], -np.ones(5), np.zeros(5)):
        with pytest.raises(ValueError, match="weights"):
            MvStudentT.fit(line, weights=bad, dof=3.0)


def test_draws_of_the_t_follow_its_distances():
    for dof in (1.5, 6.0):
        d = MvStudentT(dof, M3, scale=V3)
        x = d.sample(20_000, rng=9)
        centred = x - M3
        distance = np.einsum("ni,ij,nj->n", centred, np.linalg.inv(V3), centred)
        assert stats.kstest(distance / 3, stats.f(3, dof).cdf).pvalue > 1e-4
