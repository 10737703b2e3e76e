"""Expectations by quadrature and by sums against closed forms, at ordinary and extreme parameters."""

import mpmath
import numpy as np
import pytest
from scipy import special

from posteriori.decision import bayes_error
from posteriori.distributions import (
    Bernoulli,
    Beta,
    BetaBinomial,
    Binomial,
    Cauchy,
    Empirical,
    Exponential,
    Gamma,
    Geometric,
    HalfCauchy,
    HalfNormal,
    InverseGamma,
    Laplace,
    LogNormal,
    Mixture,
    NegativeBinomial,
    Normal,
    Numeric,
    NumericCounts,
    Pareto,
    Poisson,
    StudentT,
    Transformed,
    TruncatedNormal,
    Uniform,
    VonMises,
)
from posteriori.distributions.algebra.expectations import expect
from posteriori.distributions.algebra.integrals import integrate_against
from posteriori.distributions.algebra.maps import AffineMap, ExpMap
from posteriori.distributions.base import has_atoms
from posteriori.information import entropy, kl_divergence
from tests.distributions.families import FAMILIES, UNIVARIATE


def _size(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


def _place(rng, low=-4, high=8):
    return float(rng.choice([-1.0, 1.0])) * _size(rng, low, high)


def _uniform(rng):
    low = _place(rng)
    return Uniform(low, low + _size(rng, -3, 8))


def _truncated(rng):
    low = _place(rng, -2, 3)
    high = low + _size(rng, -2, 3)
    return TruncatedNormal(_place(rng, -2, 3), low, high, variance=_size(rng, -2, 4))


def _normals(rng):
    k = int(rng.integers(2, 6))
    means = [_place(rng, -2, 6) for _ in range(k)]
    spreads = [_size(rng, -4, 8) for _ in range(k)]
    return Mixture(rng.dirichlet(np.ones(k)), Normal(means, variance=spreads))


def _gammas(rng):
    shapes, rates = ([_size(rng, -1, 4) for _ in range(2)] for _ in range(2))
    return Mixture([0.3, 0.7], Gamma(shapes, rates))


#: How to draw an extreme member of each family.
EXTREMES = {
    "Bernoulli": lambda rng: Bernoulli(_size(rng, -12, 0)),
    "Beta": lambda rng: Beta(_size(rng, -3, 9), _size(rng, -3, 9)),
    "BetaBinomial": lambda rng: BetaBinomial(
        int(_size(rng, 0, 4)), _size(rng, -2, 4), _size(rng, -2, 4)
    ),
    "Binomial": lambda rng: Binomial(int(_size(rng, 0, 12)), _size(rng, -8, 0)),
    "Exponential": lambda rng: Exponential(_size(rng, -8, 8)),
    "Gamma": lambda rng: Gamma(_size(rng, -3, 12), _size(rng, -8, 8)),
    "Geometric": lambda rng: Geometric(_size(rng, -12, 0)),
    "HalfNormal": lambda rng: HalfNormal(_size(rng, -8, 8)),
    "InverseGamma": lambda rng: InverseGamma(_size(rng, -1, 9), _size(rng, -8, 8)),
    "Laplace": lambda rng: Laplace(_place(rng), _size(rng, -2, 8)),
    "LogNormal": lambda rng: LogNormal(rng.uniform(-50.0, 50.0), variance=_size(rng, -6, 1.5)),
    "NegativeBinomial": lambda rng: NegativeBinomial(_size(rng, -3, 8), mean=_size(rng, -4, 8)),
    "Normal": lambda rng: Normal(_place(rng), variance=_size(rng, -4, 8)),
    "Pareto": lambda rng: Pareto(_size(rng, -0.5, 6), _size(rng, -8, 8)),
    "Poisson": lambda rng: Poisson(_size(rng, -4, 14)),
    "StudentT": lambda rng: StudentT(_size(rng, -1, 6), _place(rng), scale=_size(rng, -2, 8)),
    "TruncatedNormal": _truncated,
    "Uniform": _uniform,
    "mixture of normals": _normals,
    "mixture of gammas": _gammas,
}

#: E ln x, where it has a closed form.


def _mean_log_of_beta(d):
    """ψ(a) − ψ(a + b), which cancel where b is small beside a."""
    with mpmath.workdps(40):
        a, b = mpmath.mpf(float(d.a)), mpmath.mpf(float(d.b))
        return mpmath.digamma(a) - mpmath.digamma(a + b)


MEAN_LOG = {
    "Beta": _mean_log_of_beta,
    "Exponential": lambda d: special.digamma(1.0) - np.log(d.rate),
    "Gamma": lambda d: special.digamma(d.shape) - np.log(d.rate),
    "InverseGamma": lambda d: np.log(d.scale) - special.digamma(d.shape),
    "Pareto": lambda d: np.log(d.minimum) + 1.0 / d.shape,
}


def _agree(d, f, truth, unit):
    """Return whether E[f] is answered, rightly to six digits, and not refused."""
    try:
        found = float(expect(d, f))
    except ValueError as refused:
        if "could not be integrated" not in str(refused):
            raise
        return False
    if not np.isfinite(truth):
        assert found == truth
        return True
    assert abs(found - truth) <= 1e-6 * max(abs(truth), unit), f"{d!r}: {found}, not {truth}"
    return True


def _check_moments(name, seed, n):
    rng = np.random.default_rng(seed)
    asked = answered = 0
    for _ in range(n):
        d = EXTREMES[name](rng)
        if name == "StudentT" and d.dof <= 1:
            with pytest.raises(ValueError, match="could not be integrated"):
                expect(d, lambda x: x)
            continue
        mean, variance = float(d.mean), float(d.variance)
        questions = [(lambda x: x, mean)]
        if np.isfinite(mean):
            questions.append((lambda x, m=mean: (x - m) ** 2, variance))
        if name in MEAN_LOG:
            questions.append((np.log, float(MEAN_LOG[name](d))))
        for f, truth in questions:
            unit = np.sqrt(variance) if truth == mean and np.isfinite(variance) else 0.0
            answered += _agree(d, f, truth, unit)
            asked += 1
    assert answered >= 0.9 * asked  # refused where numbers are too coarse: E ln x of Gamma(1e-3, 1)


@pytest.mark.parametrize("name", sorted(EXTREMES))
def test_moments_are_right_or_refused(name):
    _check_moments(name, 1, 6)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXTREMES))
def test_moments_are_right_or_refused_at_many_members(name):
    _check_moments(name, 2, 300)


@pytest.mark.parametrize("case", UNIVARIATE)
def test_moments_of_every_family(case):
    for d in (case.one(), case.two()):
        if case.id in ("Cauchy", "HalfCauchy"):
            assert expect(d, np.abs) == np.inf
            continue
        if case.id == "VonMises":  # its mean is a direction
            assert expect(d, np.cos) == pytest.approx(
                np.cos(d.mean) * special.ive(1, d.concentration) / special.ive(0, d.concentration)
            )
            continue
        assert expect(d, lambda x: x) == pytest.approx(d.mean, rel=1e-10, abs=1e-12)
        mean = float(d.mean)
        assert expect(d, lambda x, m=mean: (x - m) ** 2) == pytest.approx(d.variance, rel=1e-9)


@pytest.mark.parametrize("case", FAMILIES)
def test_families_know_whether_points_have_probability(case):
    assert has_atoms(case.one()) == case.discrete


@pytest.mark.parametrize(
    ("d", "f", "truth"),
    [
        (Poisson(1e8), np.square, 1e16 + 1e8),
        (Poisson(1e16), lambda x: (x - 1e16) ** 2, 1e16),
        (Beta(0.1, 0.1), lambda x: x, 0.5),
        (Beta(1e-3, 1e-3), lambda x: x, 0.5),
        (Gamma(1e-3, 1.0), lambda x: x, 1e-3),
        (Gamma(1e12, 1.0), lambda x: x, 1e12),
        (Mixture([0.5, 0.5], Normal([0.0, 1e3], variance=[1.0, 1.0])), lambda x: x, 500.0),
        (Mixture([0.5, 0.5], Normal([0.0, 1e12], variance=[1.0, 1.0])), lambda x: x, 5e11),
        (Normal(1e17, variance=1.0), lambda x: x, 1e17),  # numbers lie 16 apart
        (Normal(0.0, variance=1.0), lambda x: np.exp(10.0 * x), np.exp(50.0)),
        (Normal(0.0, variance=1.0), lambda x: 1.0 * (x > 0.3), special.ndtr(-0.3)),
        (Cauchy(0.0, 1.0), lambda x: np.log1p(x * x), np.log(4.0)),
        (HalfCauchy(1.0), np.sqrt, np.sqrt(2.0)),  # ∫ 2√x/π(1 + x²) dx
        (StudentT(2.1, 0.0, scale=1.0), np.square, 21.0),
        (NegativeBinomial(1e-3, mean=1e6), lambda x: x, 1e6),
        (Geometric(1e-12), lambda x: x, 1e12 - 1.0),
        (Transformed(Poisson(3.0), AffineMap(0.5, 1.0)), lambda x: x, 2.5),
        (Empirical([1.0, 1.0, 4.0]), lambda x: x, 2.0),  # a point that is listed twice
        (NumericCounts(2, [1, 2, 1]), lambda x: x, 3.0),
        (Numeric([0.0, 1.0, 2.0], [0.0, 1.0, 0.0]), np.square, 1.0 + 1.0 / 6.0),
        (VonMises(0.5, 1e8), np.sin, np.sin(0.5) * (1.0 - 0.5e-8)),
    ],
)
def test_expectations_that_are_easily_missed(d, f, truth):
    assert expect(d, f) == pytest.approx(truth, rel=1e-8)


@pytest.mark.parametrize(
    ("d", "f"),
    [
        (Cauchy(0.0, 1.0), lambda x: x),  # undefined
        (Gamma(0.5, 1.0), np.reciprocal),
        (Gamma(1e-3, 1.0), np.log),  # half of its probability lies below 1e-308
        (Beta(1e-3, 1e-3), lambda x: np.log1p(-x)),
        (Normal(0.0, variance=1.0), lambda x: np.exp(26.0 * x)),  # f overflows where p counts
    ],
)
def test_what_is_infinite_or_not_resolved_is_refused(d, f):
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="could not be integrated"):
        expect(d, f)


@pytest.mark.parametrize(
    ("d", "f"),
    [
        (Cauchy(0.0, 1.0), np.square),
        (HalfCauchy(2.0), lambda x: x),
        (InverseGamma(0.9, 1.0), lambda x: x),
        (Pareto(1.5, 1.0), np.square),
        (StudentT(3.0, 1.0, scale=1.0), lambda x: x**4),
    ],
)
def test_heavy_tails_have_infinite_expectations(d, f):
    assert expect(d, f) == np.inf


def test_exponentials_of_heavy_tails_are_infinite_and_those_of_light_ones_are_not():
    heavy = Transformed(StudentT([42.0, 3.0], 0.1, scale=0.1), ExpMap())
    assert np.all(heavy.mean == np.inf)
    assert np.all(heavy.variance == np.inf)
    light = Transformed(Normal(0.0, variance=400.0), ExpMap())
    assert light.mean == pytest.approx(np.exp(200.0), rel=1e-10)


def test_entropies_of_separated_parts():
    gap = Mixture([0.5, 0.5], Normal([0.0, 1e6], variance=[1.0, 1.0]))
    assert entropy(gap) == pytest.approx(0.5 * np.log(2 * np.pi * np.e) + np.log(2.0), rel=1e-10)
    needle = Mixture([0.5, 0.5], Normal([0.0, 7.0], variance=[1.0, 1e-12]))
    with mpmath.workdps(30):
        density = lambda x: (  # noqa: E731
            (mpmath.npdf(x, 0, 1) + mpmath.npdf(x, 7, mpmath.mpf(10) ** -6)) / 2
        )
        near = [7 + k * mpmath.mpf(10) ** -6 for k in (-12, -6, -2, 0, 2, 6, 12)]
        parts = [-30, -10, -5, 0, 5, 6.99, *near, 7.01, 10, 30]
        truth = mpmath.quad(lambda x: -density(x) * mpmath.log(density(x)), parts)
    assert entropy(needle) == pytest.approx(float(truth), rel=1e-9)


def test_divergence_from_a_mixture_with_a_needle():
    p, q = Normal(0.0, variance=1.0), Normal([0.0, 0.3], variance=[1.0, 1e-10])
    mixed = Mixture([0.5, 0.5], q)
    with mpmath.workdps(30):
        ratio = lambda x: mpmath.log(  # noqa: E731
            mpmath.npdf(x, 0, 1)
            / ((mpmath.npdf(x, 0, 1) + mpmath.npdf(x, mpmath.mpf(0.3), mpmath.mpf(10) ** -5)) / 2)
        )
        near = [mpmath.mpf(0.3) + k * mpmath.mpf(10) ** -5 for k in (-9, -6, -3, 0, 3, 6, 9)]
        parts = [-12, -4, 0, *near, 1, 4, 12]
        truth = mpmath.quad(lambda x: mpmath.npdf(x, 0, 1) * ratio(x), parts)
    assert kl_divergence(p, mixed) == pytest.approx(float(truth), rel=1e-8)


def test_errors_between_large_counts():
    assert bayes_error([Poisson(1e8), Poisson(1e8)]) == pytest.approx(0.5, rel=1e-10)
    near = bayes_error([Poisson(1e8), Poisson(1.0001e8)])  # one standard deviation apart
    assert near == pytest.approx(special.ndtr(-0.5), rel=1e-3)


@pytest.mark.parametrize("d", [Gamma(0.02, 3.0), Beta(0.3, 1e4), StudentT(1.2, 5.0, scale=2.0)])
def test_the_error_is_not_smaller_than_it_is(d):
    for f in (lambda x: 0 * x + 1, lambda x: np.where(x > 1.0, 1.0, 0.0)):
        found = integrate_against(d, f)
        truth = 1.0 if f(np.zeros(1))[0] else 1.0 - float(d.cdf(1.0))
        assert abs(found.value - truth) <= found.error + 1e-13
        assert found.size == pytest.approx(found.value)
