"""Digits: members far from the unit size against the same formula with 60 digits."""

import mpmath
import numpy as np
import pytest
from mpmath import digamma, log, loggamma, pi

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Dirichlet,
    Exponential,
    Gamma,
    InverseGamma,
    MvNormal,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    Poisson,
    Wishart,
)
from tests.distributions.oracles import high_precision

pytestmark = pytest.mark.blas

TWELVE_DIGITS = 1e-12


def normal_log_prob(x, m, v):
    return -(log(2 * pi * v) + (x - m) ** 2 / v) / 2


def normal_kl(m, v, m2, v2):
    return ((m - m2) ** 2 / v2 + v / v2 - 1 - log(v / v2)) / 2


def gamma_log_prob(x, a, b):
    return a * log(b) - loggamma(a) + (a - 1) * log(x) - b * x


def gamma_kl(a, b, a2, b2):
    mean_log, mean = digamma(a) - log(b), a / b
    own = a * log(b) - loggamma(a) + (a - 1) * mean_log - b * mean
    return own - (a2 * log(b2) - loggamma(a2) + (a2 - 1) * mean_log - b2 * mean)


def gamma_entropy(a, b):
    return a - log(b) + loggamma(a) + (1 - a) * digamma(a)


def log_beta(*alpha):
    return sum(map(loggamma, alpha)) - loggamma(sum(alpha))


def beta_log_prob(x, a, b):
    return (a - 1) * log(x) + (b - 1) * log(1 - x) - log_beta(a, b)


def dirichlet_kl(*both):
    alpha, other = both[: len(both) // 2], both[len(both) // 2 :]
    total = digamma(sum(alpha))
    gap = sum((p - q) * (digamma(p) - total) for p, q in zip(alpha, other, strict=True))
    return log_beta(*other) - log_beta(*alpha) + gap


def dirichlet_entropy(*alpha):
    total = digamma(sum(alpha))
    return log_beta(*alpha) - sum((a - 1) * (digamma(a) - total) for a in alpha)


@pytest.mark.parametrize(
    ("m", "v", "x"),
    [
        (1e8, 1.0, 1e8 + 0.75),
        (1e8, 1.0, 1e8 - 3.5),
        (-1e12, 4.0, -1e12 + 1.0),
        (1e8, 1e-6, 1e8 + 2**-10),
        (0.0, 1e-12, 3e-7),
        (5.0, 1e12, -2e6),
    ],
)
def test_normal_log_prob(m, v, x):
    expected = high_precision(normal_log_prob, x, m, v)
    assert Normal(m, variance=v).log_prob(x) == pytest.approx(expected, rel=TWELVE_DIGITS)
    wide = MvNormal([m, 0.0], cov=[[v, 0.0], [0.0, 1.0]]).log_prob([x, 0.5])
    beside = high_precision(normal_log_prob, 0.5, 0.0, 1.0)
    assert wide == pytest.approx(expected + beside, rel=TWELVE_DIGITS)


@pytest.mark.parametrize(
    ("m", "v", "m2", "v2"),
    [
        (1e8, 1.0, 1e8 + 0.5, 2.0),
        (1e8, 1.0, 1e8, 1.0 + 1e-7),
        (1e12, 3.0, 1e12 + 1.0, 3.0),
        (0.0, 1e12, 1.0, 1e-12),
        (0.0, 1e-12, 1.0, 1e12),
        (0.3, 1.0, 0.3 + 1e-9, 1.0 + 1e-9),
    ],
)
def test_normal_kl(m, v, m2, v2):
    expected = high_precision(normal_kl, m, v, m2, v2)
    kl = Normal(m, variance=v).kl(Normal(m2, variance=v2))
    assert kl == pytest.approx(expected, rel=TWELVE_DIGITS)


def test_normal_product_far_from_the_origin():
    p, q = Normal(1e8, variance=4.0), Normal(1e8 + 1.0, variance=1.0)
    assert (p * q).mean - 1e8 == pytest.approx(
        0.8, rel=1e-7
    )  # one unit in the last place is 1.5e-8
    assert (p * q).variance == pytest.approx(0.8, rel=TWELVE_DIGITS)
    expected = high_precision(normal_log_prob, 1.0, 0.0, 5.0)
    assert p.product(q).log_scale == pytest.approx(expected, rel=1e-8)
    assert (p * q / q).mean == pytest.approx(1e8, abs=2 * np.spacing(1e8))
    assert (p * q / q).variance == pytest.approx(4.0, rel=TWELVE_DIGITS)


@pytest.mark.parametrize("offset", [0.0, 1e8, -1e12])
def test_normal_fit_keeps_the_variance_of_data_far_from_the_origin(offset):
    data = offset + np.array([-1.5, 0.0, 0.5, 1.0, 2.0])  # exact in binary
    ulp = np.spacing(abs(offset))
    rounding = ulp * ulp  # a mean that is off by δ adds δ²
    assert Normal.fit(data).variance == pytest.approx(1.34, rel=TWELVE_DIGITS, abs=rounding)
    stream = Normal.fit(iter([data[:2], data[2:]]))  # the means of the chunks are 23/12 apart
    assert stream.variance == pytest.approx(1.34, rel=TWELVE_DIGITS, abs=2 * 23 / 12 * ulp)
    both = MvNormal.fit(np.stack([data, -2.0 * data], axis=-1))
    expected = [[1.34, -2.68], [-2.68, 5.36]]
    np.testing.assert_allclose(both.cov, expected, rtol=TWELVE_DIGITS, atol=4 * rounding)


GAMMAS = [
    (1e12, 1.0),
    (1e12, 1e-12),
    (1e6, 3.0),
    (35.0, 2.0),
    (29.0, 2.0),
    (0.5, 1e12),
    (1e-3, 1.0),
]


@pytest.mark.parametrize(("a", "b"), GAMMAS)
@pytest.mark.parametrize("deviations", [-2.5, -0.125, 0.0, 1.0, 6.0])
def test_gamma_log_prob(a, b, deviations):
    x = max(a + deviations * a**0.5, 0.1 * a) / b
    expected = high_precision(gamma_log_prob, x, a, b)
    condition = abs(a - 1 - b * x) * np.finfo(float).eps  # what the rounding of b x costs
    assert Gamma(a, b).log_prob(x) == pytest.approx(expected, rel=TWELVE_DIGITS, abs=condition)


@pytest.mark.parametrize(
    ("a", "b", "a2", "b2"),
    [
        (1e12, 1.0, 1e12 + 1e6, 1.0),
        (1e12, 1.0, 1e12, 1.0 + 1e-7),
        (1e12, 1.0, 2e12, 2.0),
        (1e12, 1.0, 1e12 + 1.0, 1.0),
        (1e12, 1.0, 3.0, 1e-3),
        (3.0, 2.0, 1e9, 1e9),
        (2.0, 3.0, 2.5, 3.5),
        (1e-3, 1.0, 2e-3, 1.0),
        (1e-12, 1.0, 1e3, 1.0),
        (2.0, 1e12, 3.0, 1e-12),
    ],
)
def test_gamma_kl(a, b, a2, b2):
    expected = high_precision(gamma_kl, a, b, a2, b2)
    assert Gamma(a, b).kl(Gamma(a2, b2)) == pytest.approx(expected, rel=TWELVE_DIGITS)


@pytest.mark.parametrize(("a", "b"), GAMMAS)
def test_gamma_entropy(a, b):
    expected = high_precision(gamma_entropy, a, b)
    assert Gamma(a, b).entropy() == pytest.approx(expected, rel=TWELVE_DIGITS)


BETAS = [(1e9, 2e9), (1e12, 1e12), (1e12, 3.0), (20.0, 11.0), (2.5, 0.5), (1e4, 1e9)]


@pytest.mark.parametrize(("a", "b"), BETAS)
@pytest.mark.parametrize("deviations", [-2.0, 0.0, 0.5, 4.0])
def test_beta_log_prob(a, b, deviations):
    mean = a / (a + b)
    spread = (mean * (1 - mean) / (a + b + 1)) ** 0.5
    x = float(np.clip(mean + deviations * spread, 0.2 * mean, 0.8 + 0.2 * mean))
    expected = high_precision(beta_log_prob, x, a, b)
    # x near 1 is itself known to an absolute rounding only
    condition = abs((b - 1) / (1 - x)) * np.spacing(x) + abs((a - 1) / x) * np.spacing(x)
    value = Beta(a, b).log_prob(x)
    assert value == pytest.approx(expected, rel=TWELVE_DIGITS, abs=condition)
    two = Dirichlet([a, b]).log_prob([x, 1 - x])
    assert two == pytest.approx(expected, rel=TWELVE_DIGITS, abs=condition)


DIRICHLET_PAIRS = [
    ([1e9, 2e9], [1e9 + 1e5, 2e9]),
    ([1e12, 1e12], [1e12, 1e12 + 1e6]),
    ([1e12, 1e12, 5e11], [1e12 + 1e6, 1e12 - 1e6, 5e11]),
    ([1e9, 2e9, 3e9], [2e9, 4e9, 6e9]),
    ([1e12, 3.0], [1e12 + 1e5, 3.5]),
    ([2.0, 3.0, 4.0], [1e9, 1e9, 2e9]),
    ([1.5, 2.5, 0.5], [1.0, 2.0, 3.0]),
]


@pytest.mark.parametrize(("alpha", "other"), DIRICHLET_PAIRS)
def test_dirichlet_kl(alpha, other):
    expected = high_precision(dirichlet_kl, *alpha, *other)
    kl = Dirichlet(alpha).kl(Dirichlet(other))
    assert kl == pytest.approx(expected, rel=TWELVE_DIGITS)
    if len(alpha) == 2:
        assert Beta(*alpha).kl(Beta(*other)) == pytest.approx(expected, rel=TWELVE_DIGITS)


@pytest.mark.parametrize("alpha", [pair[0] for pair in DIRICHLET_PAIRS] + [[1e9, 1e9, 1e9]])
def test_dirichlet_entropy(alpha):
    expected = high_precision(dirichlet_entropy, *alpha)
    assert Dirichlet(alpha).entropy() == pytest.approx(expected, rel=TWELVE_DIGITS)


def test_dirichlet_log_prob():
    alpha = np.array([1e9, 2e9, 5e9])
    x = np.array([0.125 + 2**-16, 0.25 - 2**-16, 0.625])  # sums to 1 exactly

    def exact(*both):
        a, p = both[:3], both[3:]
        return sum((ai - 1) * log(pi) for ai, pi in zip(a, p, strict=True)) - log_beta(*a)

    expected = high_precision(exact, *alpha, *x)
    assert Dirichlet(alpha).log_prob(x) == pytest.approx(expected, rel=TWELVE_DIGITS)


def test_poisson_kl_and_exponential_kl():
    for a, b in [(1e12, 1e12 + 1e6), (1e12, 1.0), (1e-12, 1e12), (3.0, 3.0 + 1e-7), (1e12, 1e-12)]:
        expected = high_precision(lambda a, b: a * log(a / b) - a + b, a, b)
        assert Poisson(a).kl(Poisson(b)) == pytest.approx(expected, rel=TWELVE_DIGITS)
        expected = high_precision(lambda a, b: log(a / b) + b / a - 1, a, b)
        assert Exponential(a).kl(Exponential(b)) == pytest.approx(expected, rel=TWELVE_DIGITS)


def test_bernoulli_and_binomial_kl():
    def exact(p, q):
        return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))

    for p, q in [(0.3, 0.3 + 2**-30), (1e-12, 0.5), (0.5, 1e-12), (1e-9, 2e-9), (0.5, 0.75)]:
        expected = high_precision(exact, p, q)
        assert Bernoulli(p).kl(Bernoulli(q)) == pytest.approx(expected, rel=TWELVE_DIGITS)
        many = Binomial(10**9, p).kl(Binomial(10**9, q))
        assert many == pytest.approx(1e9 * expected, rel=TWELVE_DIGITS)


@pytest.mark.parametrize(
    ("a", "b", "a2", "b2"),
    [(1e12, 1.0, 1e12 + 1e6, 1.0), (3.0, 1e12, 2.0, 1e-12), (1e-12, 1.0, 1e3, 1.0)],
)
def test_inverse_gamma_kl(a, b, a2, b2):
    expected = high_precision(gamma_kl, a, b, a2, b2)
    assert InverseGamma(a, b).kl(InverseGamma(a2, b2)) == pytest.approx(expected, rel=TWELVE_DIGITS)


@pytest.mark.parametrize("family", [NormalGamma, NormalInverseGamma])
@pytest.mark.parametrize(
    ("p", "q"),
    [
        ((1e8, 2.0, 3.0, 4.0), (1e8 + 0.5, 1.0, 2.5, 4.5)),
        ((0.0, 1e12, 3.0, 4.0), (0.0, 1e-12, 3.0, 4.0)),
        ((0.0, 1e-12, 3.0, 4.0), (1e-3, 1e12, 3.0, 4.0)),
        ((1e8, 2.0, 1e12, 1e12), (1e8 + 2**-10, 2.0 + 2**-20, 1e12 + 1e6, 1e12)),
    ],
)
def test_kl_of_a_mean_with_its_spread(family, p, q):
    def exact(m, k, a, b, m2, k2, a2, b2):
        given = (k2 * (m - m2) ** 2 * a / b + k2 / k - 1 - log(k2 / k)) / 2
        return gamma_kl(a, b, a2, b2) + given

    expected = high_precision(exact, *p, *q)
    assert family(*p).kl(family(*q)) == pytest.approx(expected, rel=TWELVE_DIGITS)


def test_joint_log_prob_far_from_the_origin():
    def exact(m, t, m0, k, a, b):
        return normal_log_prob(m, m0, 1 / (k * t)) + gamma_log_prob(t, a, b)

    at, known = (1e8 + 0.25, 1.5), (1e8, 2.0, 3.0, 4.0)
    expected = high_precision(exact, *at, *known)
    assert NormalGamma(*known).log_prob(at) == pytest.approx(expected, rel=TWELVE_DIGITS)


@pytest.mark.parametrize(
    ("nu", "nu2"), [(5.0, 7.5), (1e10, 1.5e10), (1e12, 3e12), (3.0, 1e6), (1e12, 3.0)]
)
def test_wishart_kl_and_entropy(nu, nu2):
    v, v2 = (0.5, 0.25), (0.75, 0.125)

    def log_gamma_2(a):
        return log(pi) / 2 + loggamma(a) + loggamma(a - mpmath.mpf("0.5"))

    def digamma_2(a):
        return digamma(a) + digamma(a - mpmath.mpf("0.5"))

    def exact_kl(n, n2, *scales):
        ratios = [scales[0] / scales[2], scales[1] / scales[3]]
        fit = (n * sum(r - 1 for r in ratios) - n2 * sum(map(log, ratios))) / 2
        return fit + log_gamma_2(n2 / 2) - log_gamma_2(n / 2) + (n - n2) / 2 * digamma_2(n / 2)

    def exact_entropy(n, *scales):
        log_det = log(scales[0] * scales[1])
        core = log_gamma_2(n / 2) - (n - 3) / 2 * digamma_2(n / 2) + n
        return core + (log_det + 2 * log(2)) * 3 / 2

    p, q = Wishart(nu, np.diag(v)), Wishart(nu2, np.diag(v2))
    expected = high_precision(exact_kl, nu, nu2, *v, *v2)
    assert p.kl(q) == pytest.approx(expected, rel=TWELVE_DIGITS)
    expected = high_precision(exact_entropy, nu, *v)
    assert p.entropy() == pytest.approx(expected, rel=TWELVE_DIGITS)


def test_wishart_in_one_dimension_is_a_gamma():
    for nu in (3.0, 2e12):
        p, q = Wishart(nu, [[0.5]]), Gamma(0.5 * nu, 1.0)
        x = 0.5 * nu * (1 + 1e-6)
        condition = 4 * abs(0.5 * nu - x) * np.finfo(float).eps
        expected = high_precision(gamma_log_prob, x, 0.5 * nu, 1.0)
        assert p.log_prob([[x]]) == pytest.approx(expected, rel=TWELVE_DIGITS, abs=condition)
        assert p.entropy() == pytest.approx(q.entropy(), rel=TWELVE_DIGITS)


def test_the_oracle_itself_knows_a_closed_form():
    assert high_precision(gamma_log_prob, 2.0, 1.0, 3.0) == pytest.approx(float(log(3) - 6))
    assert high_precision(lambda x: mpmath.exp(log_beta(x, 2)), 2.0) == pytest.approx(1 / 6)
