"""What the continuous families, point masses and boxes promise beyond the common laws."""

import pickle

import mpmath
import numpy as np
import pytest
from mpmath import digamma, log, loggamma, pi
from scipy import stats

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.numbers.exponential_distribution import Exponential
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.gaussian_algebra import complete_square
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics import gradient
from tests.distributions.oracles import high_precision

# -- inverse gamma -----------------------------------------------------------------------------


def inverse_gamma_log_prob(x, a, b):
    return a * log(b) - loggamma(a) - (a + 1) * log(x) - b / x


@pytest.mark.parametrize("shape", [0.3, 4.0, 31.0, 1e6, 1e12])
def test_inverse_gamma_log_prob_keeps_its_digits(shape):
    d = InverseGamma(shape, 2.0 * shape)
    for x in 2.0 * (1.0 + np.array([-0.4, -0.01, 0.0, 0.003, 0.5])):
        expected = high_precision(inverse_gamma_log_prob, x, shape, 2.0 * shape)
        np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [0.3, 4.0, 1e6, 1e12])
def test_inverse_gamma_entropy_keeps_its_digits(shape):
    expected = high_precision(
        lambda a, b: a + log(b) + loggamma(a) - (1 + a) * digamma(a), shape, 3.0
    )
    np.testing.assert_allclose(InverseGamma(shape, 3.0).entropy(), expected, rtol=1e-13)


def test_inverse_gamma_is_the_law_of_one_over_a_gamma():
    d, g = InverseGamma(3.5, 2.0), Gamma(3.5, 2.0)
    x = np.array([0.1, 0.7, 3.0])
    np.testing.assert_allclose(d.log_prob(x), g.log_prob(1 / x) - 2 * np.log(x), rtol=1e-13)
    np.testing.assert_allclose(d.cdf(x), 1 - g.cdf(1 / x), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(d.quantile(0.2), 1 / g.quantile(0.8), rtol=1e-13)
    np.testing.assert_allclose(d.kl(InverseGamma(2.0, 5.0)), g.kl(Gamma(2.0, 5.0)), rtol=1e-13)


def test_inverse_gamma_moments_are_infinite_where_they_do_not_exist():
    d = InverseGamma([0.5, 1.0, 1.5, 2.0, 3.0], 2.0)
    np.testing.assert_array_equal(d.mean, [np.inf, np.inf, 4.0, 2.0, 1.0])
    np.testing.assert_array_equal(d.variance, [np.inf, np.inf, np.inf, np.inf, 1.0])
    np.testing.assert_allclose(d.mode, 2.0 / (d.shape + 1.0))


def test_inverse_gamma_at_the_ends():
    for d in (InverseGamma(3.0, 4.0), InverseGamma(300.0, 4.0)):
        np.testing.assert_array_equal(d.log_prob([0.0, -1.0, np.inf, 1e-320]), [-np.inf] * 4)
        np.testing.assert_array_equal(d.cdf([-1.0, 0.0, np.inf]), [0.0, 0.0, 1.0])
        np.testing.assert_array_equal(d.quantile([0.0, 1.0]), [0.0, np.inf])


# -- exponential -------------------------------------------------------------------------------


def test_exponential_is_the_gamma_of_shape_one():
    d, g = Exponential(2.5), Gamma(1.0, 2.5)
    x = np.array([0.0, 0.3, 2.0])
    np.testing.assert_allclose(d.log_prob(x), g.log_prob(x), rtol=1e-14)
    np.testing.assert_allclose(d.cdf(x), g.cdf(x), rtol=1e-14)
    np.testing.assert_allclose(d.entropy(), g.entropy(), rtol=1e-14)
    np.testing.assert_allclose(d.kl(Exponential(0.3)), g.kl(Gamma(1.0, 0.3)), rtol=1e-13)
    np.testing.assert_allclose(d.median, g.median, rtol=1e-14)


def test_exponential_has_no_memory():
    d = Exponential(0.7)
    late = 1.0 - d.cdf(np.array([1.0, 3.0, 4.0]))
    np.testing.assert_allclose(late[2], late[0] * late[1], rtol=1e-14)


def test_exponential_fit_is_one_over_the_mean():
    np.testing.assert_allclose(Exponential.fit([1.0, 2.0, 6.0]).rate, 1 / 3)
    np.testing.assert_allclose(Exponential.fit([1.0, 4.0], weights=[3, 1]).rate, 4 / 7)
    with pytest.raises(ValueError, match="mean of the data"):
        Exponential.fit([0.0, 0.0])
    with pytest.raises(ValueError, match="support of Exponential"):
        Exponential.fit([1.0, -2.0])


def test_exponential_tails_and_quantiles_are_exact():
    d = Exponential(1.0)
    np.testing.assert_allclose(d.cdf(1e-300), 1e-300, rtol=1e-15)
    np.testing.assert_allclose(d.quantile(1e-300), 1e-300, rtol=1e-15)
    assert d.quantile(1.0) == np.inf


# -- Student's t -------------------------------------------------------------------------------


@pytest.mark.topic("000/M8")
def test_student_t_of_a_normal_with_gamma_precision():
    a, b, mu = 2.0, 3.0, 1.0
    d = StudentT(2 * a, mu, scale=np.sqrt(b / a))
    np.testing.assert_allclose(np.exp(d.log_prob(2.2)), 0.1788263142, rtol=1e-9)
    rng = np.random.default_rng(3)
    tau = Gamma(a, b).sample(200_000, rng=rng)
    mixed = np.exp(Normal(mu, precision=tau).log_prob(2.2))
    assert abs(mixed.mean() - 0.1788263142) < 5 * mixed.std() / np.sqrt(len(mixed))


@pytest.mark.topic("000/M8")
def test_student_t_tail_is_a_power_and_its_scale_is_no_deviation():
    d = StudentT(3.0, scale=2.0)
    far = d.log_prob(np.array([1e6, 2e6]))
    np.testing.assert_allclose(far[1] - far[0], -4.0 * np.log(2.0), rtol=1e-9)
    np.testing.assert_allclose(d.variance, 4.0 * 3.0)
    np.testing.assert_allclose(d.log_prob(1e200), far[0] - 4.0 * 194 * np.log(10.0), rtol=1e-9)


@pytest.mark.topic("000/M8")
def test_student_t_becomes_normal():
    x = np.array([-6.0, -1.0, 0.0, 0.5, 4.0])
    t, n = StudentT(1e12, 0.3, scale=1.7), Normal(0.3, scale=1.7)
    np.testing.assert_allclose(t.log_prob(x), n.log_prob(x), rtol=1e-9)
    np.testing.assert_allclose(t.entropy(), n.entropy(), rtol=1e-11)
    np.testing.assert_allclose(t.cdf(x), n.cdf(x), rtol=1e-8)
    np.testing.assert_allclose(t.quantile(0.1), n.quantile(0.1), rtol=1e-11)


def student_log_prob(x, nu):
    gammas = loggamma((nu + 1) / 2) - loggamma(nu / 2) - log(nu * pi) / 2
    return gammas - (nu + 1) / 2 * log(1 + x * x / nu)


def student_entropy(nu):
    step = digamma((nu + 1) / 2) - digamma(nu / 2)
    log_beta = loggamma(nu / 2) + loggamma(mpmath.mpf(1) / 2) - loggamma((nu + 1) / 2)
    return (nu + 1) / 2 * step + log(nu) / 2 + log_beta


@pytest.mark.parametrize("dof", [0.05, 1.0, 3.5, 50.0, 1e4, 1e8, 1e12])
def test_student_t_keeps_its_digits(dof):
    d = StudentT(dof, scale=1.0)
    for x in (0.0, 0.7, 12.0, 1e6):
        np.testing.assert_allclose(
            d.log_prob(x), high_precision(student_log_prob, x, dof), rtol=1e-13
        )
    np.testing.assert_allclose(d.entropy(), high_precision(student_entropy, dof), rtol=1e-13)


def test_student_t_says_which_moments_exist():
    cauchy = StudentT(1.0, 2.0, scale=3.0)
    for name in ("mean", "variance", "std"):
        with pytest.raises(ValueError, match="dof > 1"):
            getattr(cauchy, name)
    assert cauchy.mode == cauchy.median == cauchy.location == 2.0
    assert repr(cauchy) == "StudentT(1, 2, scale=3)"
    assert pickle.loads(pickle.dumps(cauchy)) == cauchy
    np.testing.assert_allclose(cauchy.cdf(5.0), 0.75)
    assert StudentT(1.5, 2.0, scale=3.0).mean == 2.0
    assert StudentT(1.5, scale=3.0).variance == np.inf
    assert StudentT(2.0, scale=3.0).variance == np.inf


@pytest.mark.topic("000/M8")
def test_student_t_fit_stays_with_the_bulk():
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(0.0, 1.0, 60), [15.0, 18.0, 20.0, 25.0]])
    gaussian = Normal.fit(x)
    for robust in (StudentT.fit(x), StudentT.fit(x, dof=3.0)):
        assert abs(robust.location - np.median(x)) < 0.3
        assert gaussian.mean - robust.location > 0.8
        assert robust.scale < 0.5 * gaussian.scale
    assert StudentT.fit(x).log_prob(x).sum() > gaussian.log_prob(x).sum()


def test_student_t_fit_is_a_stationary_point():
    x = StudentT(4.0, 5.0, scale=2.0).sample(500, rng=1)
    w = np.linspace(0.0, 2.0, 500)
    for known in (None, 7.0):
        best = StudentT.fit(x, weights=w, dof=known)

        def log_likelihood(theta, known=known):
            dof = np.exp(theta[2]) if known is None else known
            return w @ StudentT(dof, theta[0], scale=np.exp(theta[1])).log_prob(x)

        theta = np.array([best.location, np.log(best.scale), np.log(best.dof)])
        slope = gradient(log_likelihood, theta)
        assert np.all(np.abs(slope[: 3 if known is None else 2]) < 1e-5)


def test_student_t_fit_of_columns_weights_and_streams():
    rng = np.random.default_rng(4)
    x = rng.standard_t(3.0, size=(80, 2)) * [1.0, 5.0] + [0.0, 100.0]
    both = StudentT.fit(x)
    assert both.batch_shape == (2,)
    for j in range(2):
        one = StudentT.fit(x[:, j])
        np.testing.assert_allclose(both.location[j], one.location, rtol=1e-8)
        np.testing.assert_allclose(both.scale[j], one.scale, rtol=1e-8)
        np.testing.assert_allclose(both.dof[j], one.dof, rtol=1e-7)
    times = rng.integers(0, 3, 80)
    weighted = StudentT.fit(x[:, 0], weights=times)
    repeated = StudentT.fit(np.repeat(x[:, 0], times))
    np.testing.assert_allclose(weighted.dof, repeated.dof, rtol=1e-7)
    stream = StudentT.fit(iter([x[:30, 0], x[30:, 0]]), dof=3.0)
    np.testing.assert_allclose(stream.scale, StudentT.fit(x[:, 0], dof=3.0).scale, rtol=1e-12)


def test_student_t_fit_agrees_with_a_general_optimiser():
    x = StudentT(5.0, -1.0, scale=0.5).sample(300, rng=6)
    ours, theirs = StudentT.fit(x), stats.t.fit(x)
    peer = stats.t(*theirs).logpdf(x).sum()
    assert ours.log_prob(x).sum() >= peer - 1e-9
    np.testing.assert_allclose([ours.dof, ours.location, ours.scale], theirs, rtol=0.02)


def test_student_t_fit_of_light_tails_is_a_normal():
    x = np.linspace(-1.0, 1.0, 41)
    best = StudentT.fit(x)
    assert best.dof > 1e5
    np.testing.assert_allclose(best.scale, Normal.fit(x).scale, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: StudentT.fit([1.0, 1.0]), "do not vary"),
        (lambda: StudentT.fit([1.0, 1.0, 1.0, 1.0, 2.0]), "coincide"),
        (lambda: StudentT.fit([1.0, np.nan]), "row 1"),
        (lambda: StudentT.fit([]), "empty"),
        (lambda: StudentT.fit([1.0, 2.0], weights=[1.0]), "weights"),
        (lambda: StudentT.fit([1.0, 2.0], weights=[0.0, 0.0]), "weights"),
        (lambda: StudentT.fit([1.0, 2.0], dof=-1.0), "dof must be positive"),
        (lambda: StudentT(0.0, scale=1.0), "dof must be positive"),
        (lambda: StudentT(3.0, scale=0.0), "scale must be positive"),
        (lambda: StudentT(3.0, np.inf, scale=1.0), "mean must be finite"),
        (lambda: InverseGamma(-1.0, 1.0), "shape must be positive"),
        (lambda: Exponential(0.0), "rate must be positive"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- point masses ------------------------------------------------------------------------------


def test_point_mass_clamps_any_density():
    p = Normal([0.0, 3.0], variance=1.0)
    clamped, log_scale = PointMass(1.0).product(p)
    np.testing.assert_array_equal(clamped.location, [1.0, 1.0])
    np.testing.assert_allclose(log_scale, p.log_prob(1.0))
    assert PointMass(1.0) * StudentT(3.0, scale=1.0) == PointMass(1.0)
    joint = MvNormal([0.0, 0.0], cov=np.eye(2))
    at, log_scale = PointMass([1.0, 2.0], event_ndim=1).product(joint)
    assert at == PointMass([1.0, 2.0], event_ndim=1)
    np.testing.assert_allclose(log_scale, joint.log_prob([1.0, 2.0]))
    with pytest.raises(ValueError, match="0 everywhere"):
        PointMass(-1.0) * Gamma(2.0, 1.0)
    with pytest.raises(TypeError):
        PointMass(1.0) * 2.0
    with pytest.raises(TypeError, match="another distribution"):
        PointMass(1.0).product(2.0)


def test_point_mass_of_vectors_and_matrices():
    d = PointMass([[1.0, 2.0], [3.0, 4.0]], event_ndim=1)
    assert (d.batch_shape, d.event_shape) == ((2,), (2,))
    np.testing.assert_array_equal(d.log_prob([1.0, 2.0]), [0.0, -np.inf])
    assert d.sample((3,), rng=0).shape == (3, 2, 2)
    assert d.iid(4).batch_shape == (4, 2)
    assert d != PointMass([[1.0, 2.0], [3.0, 4.0]])
    assert pickle.loads(pickle.dumps(d)) == d
    assert eval(repr(d)) == d
    matrix = PointMass(np.eye(2), event_ndim=2)
    assert matrix.log_prob(np.eye(2)) == 0.0
    assert matrix.entropy() == 0.0
    np.testing.assert_array_equal(matrix.variance, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="shape"):
        d.log_prob([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="NaN"):
        d.log_prob([1.0, np.nan])
    with pytest.raises(ValueError, match="event_ndim"):
        PointMass(1.0, event_ndim=1)


# -- sums of normals, squares, boxes -----------------------------------------------------------


@pytest.mark.topic("004/1.12", "004/4.5")
def test_sums_and_affine_maps_of_normals():
    x, y = Normal(2.0, variance=1.0), Normal(2.0, variance=0.25)
    assert x + y == Normal(4.0, variance=1.25)
    z = (x - y).affine(3.0, 1.0)
    np.testing.assert_allclose([z.mean, z.variance], [1.0, 9.0 * 1.25])
    for d, mean in ((x + 1.5, 3.5), (1.5 + x, 3.5), (x - 1.5, 0.5), (1.5 - x, -0.5)):
        np.testing.assert_allclose([d.mean, d.variance], [mean, 1.0])
    assert (x + np.array([1.0, 2.0])).batch_shape == (2,)
    with pytest.raises(ValueError, match="gain must not be 0"):
        x.affine(0.0)
    for wrong in (lambda: x + Gamma(1.0, 1.0), lambda: x - Gamma(1.0, 1.0)):
        with pytest.raises(TypeError):
            wrong()


@pytest.mark.topic("004/4.6")
def test_completed_squares_equal_the_quadratic():
    h, a, k = complete_square(-2.0, 3.0, 0.5)
    x = np.linspace(-2.0, 2.0, 5)
    np.testing.assert_allclose(a * (x - h) ** 2 + k, -2.0 * x**2 + 3.0 * x + 0.5)
    np.testing.assert_allclose(k, 0.5 - 3.0**2 / (4 * -2.0))
    matrix, b = np.array([[2.0, 1.0], [1.0, -3.0]]), np.array([1.0, 2.0])
    h, a, k = complete_square(matrix, b, 0.5)
    for v in np.random.default_rng(0).normal(size=(4, 2)):
        np.testing.assert_allclose((v - h) @ a @ (v - h) + k, v @ matrix @ v + b @ v + 0.5)
    for call, message in (
        (lambda: complete_square(0.0, 1.0), "must not be 0"),
        (lambda: complete_square(np.ones((2, 2)), b), "singular"),
        (lambda: complete_square([[1.0, 2.0], [0.0, 1.0]], b), "symmetric"),
        (lambda: complete_square(matrix, [1.0]), "2 entries"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def rectangle(low, high, rho):
    """Integrate the density over a rectangle with many digits, in pieces around the ridge."""
    with mpmath.workdps(30):
        spread = mpmath.sqrt(1 - mpmath.mpf(rho) ** 2)

        def phi(t):
            return mpmath.erfc(-t / mpmath.sqrt(2)) / 2

        def slice_at(z):
            ends = ((bound - rho * z) / spread for bound in (high[1], low[1]))
            upper, lower = map(phi, ends)
            return mpmath.npdf(z) * (upper - lower)

        cuts = {low[0], high[0]}
        for c in (low[1], high[1]):
            for k in (-8, -3, -1, 0, 1, 3, 8):
                cut = (c + k * float(spread)) / rho
                cuts |= {cut} if low[0] < cut < high[0] else set()
        return float(mpmath.quad(slice_at, sorted(cuts)))


@pytest.mark.parametrize("rho", [1e-3, 0.3, -0.7, 0.95, -0.999])
@pytest.mark.parametrize(
    ("low", "high"),
    [((-1.0, -0.5), (1.0, 2.0)), ((2.0, 1.0), (4.0, 3.0)), ((0.5, 0.5), (0.51, 0.6))],
)
def test_rectangles_are_exact_to_rounding(rho, low, high):
    d = MvNormal([0.0, 0.0], cov=[[1.0, rho], [rho, 1.0]])
    expected = rectangle(low, high, rho)
    np.testing.assert_allclose(d.box_probability(low, high), expected, rtol=1e-11, atol=1e-16)


@pytest.mark.topic("004/4.15")
def test_boxes_in_one_two_and_three_dimensions():
    d = MvNormal([0.0, 1.0], cov=[[0.8, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(d.box_probability([0, 1], [2, 2]), 0.20823322, atol=5e-9)
    assert d.box_probability(-np.inf, np.inf) == pytest.approx(1.0, abs=1e-14)
    halves = MvNormal([0.0, 0.0], cov=[[1.0, 0.5], [0.5, 1.0]])
    np.testing.assert_allclose(
        halves.box_probability(0.0, np.inf), 1 / 3, rtol=1e-14
    )  # ¼ + asin ρ/2π
    line = MvNormal([[0.0], [1.0]], cov=[[[1.0]], [[4.0]]])
    np.testing.assert_allclose(
        line.box_probability([10.0], [11.0]),
        [stats.norm.sf(10.0) - stats.norm.sf(11.0), stats.norm.sf(4.5) - stats.norm.sf(5.0)],
        rtol=1e-12,
    )
    np.testing.assert_allclose(
        line.box_probability([10.0], [10.0 + 1e-9])[0], 1e-9 * stats.norm.pdf(10.0), rtol=1e-7
    )
    cube = MvNormal(np.zeros(3), cov=np.eye(3)).box_probability(
        [-1.0, -1.0, -1.0], [1.0, 1.0, np.inf]
    )
    expected = (2 * stats.norm.cdf(1.0) - 1) ** 2 * stats.norm.cdf(1.0)
    np.testing.assert_allclose(cube, expected, atol=1e-5)


def test_boxes_of_singular_normals():
    ridge = MvNormal([0.0, 0.0], cov=[[1.0, -1.0], [-1.0, 1.0]])
    expected = stats.norm.cdf(1.0) - 0.5
    np.testing.assert_allclose(ridge.box_probability([-1.0, 0.0], [3.0, 1.0]), expected, rtol=1e-7)
    assert ridge.box_probability([1.0, 1.0], [2.0, 2.0]) == 0.0
    known = MvNormal([0.0, 5.0], cov=[[1.0, 0.0], [0.0, 0.0]])
    np.testing.assert_allclose(known.box_probability([0.0, 4.0], [np.inf, 5.0]), 0.5)
    assert known.box_probability([0.0, 5.1], [np.inf, 6.0]) == 0.0


def test_boxes_refuse_bad_bounds():
    d = MvNormal([0.0, 0.0], cov=np.eye(2))
    for low, high, message in (
        ([0.0, 3.0], [1.0, 2.0], "must not exceed"),
        ([0.0, np.nan], [1.0, 2.0], "NaN"),
        ([0.0, 0.0, 0.0], [1.0, 1.0, 1.0], "2 entries"),
    ):
        with pytest.raises(ValueError, match=message):
            d.box_probability(low, high)
