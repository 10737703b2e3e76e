"""Wishart families, joint families of a mean and a spread, and the multivariate t."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from posteriori.distributions.gamma import Gamma
from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.inverse_wishart import InverseWishart
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.distributions.normal_gamma import NormalGamma
from posteriori.distributions.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.normal_wishart import NormalWishart
from posteriori.distributions.student_t import StudentT
from posteriori.distributions.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.wishart import Wishart, log_gamma_ratio, solve_wishart_dof

V2 = np.array([[0.4, 0.1], [0.1, 0.3]])
V3 = np.array([[2.0, 0.5, -0.3], [0.5, 1.0, 0.2], [-0.3, 0.2, 1.5]])
M3 = np.array([1.0, -2.0, 0.5])


def random_matrix(rng, size, spread=1.0):
    root = rng.standard_normal((size, size + 2))
    return spread * root @ root.T


# -- Wishart and inverse Wishart ---------------------------------------------------------------


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


# -- joint families ----------------------------------------------------------------------------


def members(centre=0.0):
    """Pairs of members of each joint family whose means lie near ``centre``."""
    m = centre + np.array([0.5, -0.25, 1.0])
    other = centre + np.array([0.0, 0.75, 0.5])
    k, k_other = V3 + np.eye(3), np.diag([2.0, 1.0, 0.5])
    return [
        (NormalGamma(m[0], 2.0, 3.0, 4.0), NormalGamma(other[0], 0.5, 2.5, 1.0)),
        (NormalInverseGamma(m[0], 2.0, 3.0, 4.0), NormalInverseGamma(other[0], 0.5, 2.5, 1.0)),
        (
            VectorNormalInverseGamma(m, mean_precision=k, shape=3.0, scale=4.0),
            VectorNormalInverseGamma(other, mean_precision=k_other, shape=2.5, scale=1.0),
        ),
        (NormalWishart(m, 2.0, 5.0, V3), NormalWishart(other, 0.5, 4.5, np.eye(3))),
        (NormalInverseWishart(m, 2.0, 5.0, V3), NormalInverseWishart(other, 0.5, 4.5, np.eye(3))),
    ]


JOINT = [pytest.param(i, id=type(p).__name__) for i, (p, _) in enumerate(members())]


@pytest.mark.parametrize("i", JOINT)
def test_a_joint_density_is_spread_times_mean_given_spread(i):
    d, _ = members()[i]
    mean, spread = x = d.sample(5, rng=1)
    kind = x._fields[1]
    marginal = getattr(d, f"marginal_{kind}")()
    if isinstance(d, VectorNormalInverseGamma):
        cov = spread[:, None, None] * np.linalg.inv(d.mean_precision)
        given = [MvNormal(d.location, cov=c).log_prob(m) for c, m in zip(cov, mean, strict=True)]
    elif kind == "cov":
        given = MvNormal(d.location, cov=spread / d.mean_strength).log_prob(mean)
    elif kind == "variance":
        given = Normal(d.location, variance=spread / d.mean_strength).log_prob(mean)
    elif spread.ndim == 1:
        given = Normal(d.location, precision=spread * d.mean_strength).log_prob(mean)
    else:
        given = MvNormal(d.location, precision=spread * d.mean_strength).log_prob(mean)
    assert_allclose(d.log_prob(x), marginal.log_prob(spread) + given, rtol=1e-12)


@pytest.mark.parametrize("i", JOINT)
def test_a_mean_far_from_zero_costs_no_digits(i):
    far = float(2**27)  # numbers near it keep their quarters exactly
    (p, q), (p_far, q_far) = members()[i], members(far)[i]
    x = p.mode._replace(mean=p.mode.mean + 0.375)
    x_far = x._replace(mean=x.mean + far)
    assert_allclose(p_far.log_prob(x_far), p.log_prob(x), rtol=1e-12)
    assert_allclose(p_far.entropy(), p.entropy(), rtol=1e-12)
    assert_allclose(p_far.kl(q_far), p.kl(q), rtol=1e-12)
    assert_allclose((p_far * q_far).log_prob(x_far), (p * q).log_prob(x), rtol=1e-7)
    for near, moved in (
        (p * q, p_far * q_far),
        (p * q / q, p_far * q_far / q_far),
        (p**2.5, p_far**2.5),
    ):
        assert_allclose(moved.location - far, near.location, atol=1e-6)
        assert_allclose(moved._spread.natural[0], near._spread.natural[0], rtol=1e-12)
        assert_allclose(moved._spread.natural[1], near._spread.natural[1], rtol=1e-6)
    assert_allclose(p_far.product(q_far).log_scale, p.product(q).log_scale, rtol=1e-6)


@pytest.mark.parametrize("i", JOINT)
def test_products_quotients_and_powers_agree_with_natural_parameters(i):
    p, q = members()[i]
    for made, expected in (
        (p * q, [a + b for a, b in zip(p.natural, q.natural, strict=True)]),
        (p / q, [a - b for a, b in zip(p.natural, q.natural, strict=True)]),
        (q / p, [b - a for a, b in zip(p.natural, q.natural, strict=True)]),
        (p / p, [0.0 * a for a in p.natural]),
        (p**0.25, [0.25 * a for a in p.natural]),
        (p**-1.0, [-a for a in p.natural]),
    ):
        for part, wanted in zip(made.natural, expected, strict=True):
            assert_allclose(part, wanted, atol=1e-12)


def test_product_of_normal_gammas_in_moment_form():
    p, q = NormalGamma(1.0, 2.0, 3.0, 4.0), NormalGamma(-1.0, 6.0, 2.0, 1.0)
    d = p * q
    assert_allclose([d.mean_strength, d.location, d.shape], [8.0, -0.5, 4.5])
    assert_allclose(d.rate, 4.0 + 1.0 + 0.5 * (2 * 6 / 8) * 4.0)
    inverse = NormalInverseGamma(1.0, 2.0, 3.0, 4.0) * NormalInverseGamma(-1.0, 6.0, 2.0, 1.0)
    assert_allclose([inverse.shape, inverse.scale], [6.5, d.rate])


@pytest.mark.topic("000/M7")
def test_data_are_a_message_to_the_normal_gamma():
    x = np.array([1.2, 0.4, 2.3, 1.9, 0.7])
    prior = NormalGamma(0.0, 1.0, 1.0, 1.0)
    data = NormalGamma.from_natural(2.5, -0.5 * (x * x).sum(), x.sum(), -2.5)
    posterior = prior * data
    assert_allclose(posterior.location, 1.08333, atol=5e-6)
    assert_allclose([posterior.mean_strength, posterior.shape], [6.0, 3.5], rtol=1e-14)
    assert_allclose(posterior.rate, 2.97416667, atol=5e-9)
    theta = (0.3, 1.7)
    likelihood = Normal(theta[0], precision=theta[1]).log_prob(x).sum()
    evidence = likelihood + prior.log_prob(theta) - posterior.log_prob(theta)
    assert_allclose(evidence, -8.10447241, atol=5e-9)


@pytest.mark.topic("000/M8")
def test_the_marginal_of_the_mean_is_a_student_t():
    d = NormalGamma(0.5, 2.0, 1.5, 4.0)
    for mu in (-3.0, 0.5, 2.0):
        total, _ = integrate.quad(
            lambda tau, mu=mu: np.exp(d.log_prob((mu, tau))), 0, np.inf, epsabs=1e-13
        )
        assert_allclose(np.exp(d.marginal_mean().log_prob(mu)), total, rtol=1e-9)
    # λ = aκ/b is not the inverse variance, which is λ(ν − 2)/ν
    t = d.marginal_mean()
    assert_allclose(1 / t.variance, (1.5 * 2.0 / 4.0) * (3.0 - 2.0) / 3.0)
    same = NormalInverseGamma(0.5, 2.0, 1.5, 4.0)
    assert same.marginal_mean() == t


@pytest.mark.parametrize("i", JOINT[2:])
def test_marginals_of_vectors_have_the_moments_of_draws(i):
    d = [
        VectorNormalInverseGamma(M3, mean_precision=V3, shape=6.0, scale=4.0),
        NormalWishart(M3, 2.0, 12.0, V3),
        NormalInverseWishart(M3, 2.0, 14.0, V3),
    ][i - 2]
    x = d.sample(20_000, rng=8)
    for part, mean, variance in zip(x, d.mean, d.variance, strict=True):
        assert np.all(np.abs(part.mean(axis=0) - mean) <= 5 * np.sqrt(variance / len(part)))
        squares = (part - mean) ** 2
        error = squares.std(axis=0) / np.sqrt(len(part))
        assert np.all(np.abs(squares.mean(axis=0) - variance) <= 5 * error)
    t = d.marginal_mean()
    inside = ((x.mean - t.location) @ np.linalg.inv(t.scale) * (x.mean - t.location)).sum(axis=1)
    # δ²/D follows an F distribution
    assert stats.kstest(inside / 3, stats.f(3, t.dof).cdf).pvalue > 1e-4


def test_one_dimensional_matrices_and_vectors_are_numbers():
    mu, s = np.array([0.2, 1.4]), np.array([0.7, 2.2])
    m, k, nu, v = 0.5, 2.0, 6.0, 1.7
    vector = (mu[:, None], s[:, None, None])
    pairs = [
        (NormalWishart([m], k, nu, [[v]]), NormalGamma(m, k, nu / 2, 1 / (2 * v)), vector),
        (
            NormalInverseWishart([m], k, nu, [[v]]),
            NormalInverseGamma(m, k, nu / 2, v / 2),
            vector,
        ),
        (
            NormalInverseGamma([m], mean_precision=[[k]], shape=3.0, scale=v),
            NormalInverseGamma(m, k, 3.0, v),
            (mu[:, None], s),
        ),
    ]
    for matrix, number, x in pairs:
        assert_allclose(matrix.log_prob(x), number.log_prob((mu, s)), rtol=1e-12)
        assert_allclose(matrix.entropy(), number.entropy(), rtol=1e-12)
        assert_allclose(
            matrix.marginal_mean().log_prob(mu[:, None]), number.marginal_mean().log_prob(mu)
        )
        assert_allclose(np.ravel(matrix.mode[1]), number.mode[1], rtol=1e-14)
        assert_allclose(
            (matrix**2).kl(matrix), (number**2).kl(number), rtol=1e-10, err_msg=repr(matrix)
        )


def test_precision_and_covariance_views_differ_by_the_jacobian():
    direct, inverse = (
        NormalWishart(M3, 2.0, 5.0, V3),
        NormalInverseWishart(M3, 2.0, 5.0, np.linalg.inv(V3)),
    )
    mean, precision = x = direct.sample(4, rng=2)
    cov = np.linalg.inv(precision)
    jacobian = 4.0 * np.linalg.slogdet(precision)[1]
    assert_allclose(inverse.log_prob((mean, cov)), direct.log_prob(x) + jacobian, rtol=1e-10)


def test_events_are_pairs():
    d = NormalWishart(M3, 2.0, 5.0, V3)
    assert d.sample(4, rng=0)._fields == ("mean", "precision")
    assert NormalInverseWishart(M3, 2.0, 5.0, V3).mode._fields == ("mean", "cov")
    with pytest.raises(ValueError, match=r"x must be a pair \(mean, precision\)"):
        d.log_prob(np.zeros(3))
    with pytest.raises(ValueError, match=r"mean must have shape \(\.\.\., 3\)"):
        d.log_prob((np.zeros(2), np.eye(3)))
    with pytest.raises(ValueError, match=r"precision must have shape \(\.\.\., 3, 3\)"):
        d.log_prob((np.zeros(3), np.eye(2)))
    with pytest.raises(ValueError, match="NaN"):
        d.log_prob((np.full(3, np.nan), np.eye(3)))
    assert d.log_prob((np.array([np.inf, 0.0, 0.0]), np.eye(3))) == -np.inf
    assert NormalGamma(0.0, 1.0, 2.0, 1.0).log_prob((np.inf, 1.0)) == -np.inf


def test_means_that_do_not_exist():
    assert NormalInverseGamma(0.0, 1.0, 0.8, 1.0).mean.variance == np.inf
    with pytest.raises(ValueError, match="dof > 1"):
        _ = NormalGamma(0.0, 1.0, 0.4, 1.0).mean
    with pytest.raises(ValueError, match="dof > D"):
        _ = NormalInverseWishart([0.0, 0.0], 1.0, 2.5, V2).mean
    # the density itself is fine
    assert np.isfinite(NormalInverseGamma(0.0, 1.0, 0.3, 1.0).log_prob((0.0, 1.0)))
    assert NormalInverseGamma(0.0, 1.0, 0.3, 1.0).log_prob((0.0, -1.0)) == -np.inf


def test_large_shapes_keep_their_digits_in_joint_densities():
    d = NormalInverseGamma(3.0, 5.0, 1e10, 2e10)
    x = (np.float64(3.1), np.float64(2.00001))
    with mpmath.workdps(60):
        mu, v, a, b = (mpmath.mpf(float(z)) for z in (*x, 1e10, 2e10))
        spread = a * mpmath.log(b) - mpmath.loggamma(a) - (a + 1) * mpmath.log(v) - b / v
        given = mpmath.log(5 / (2 * mpmath.pi * v)) / 2 - 5 * (mu - 3) ** 2 / (2 * v)
        expected = float(spread + given)
    assert_allclose(d.log_prob(x), expected, rtol=1e-10)


# -- multivariate t ----------------------------------------------------------------------------


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
