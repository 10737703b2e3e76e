"""Regressions whose columns are nearly dependent: certified weights (NIST) and exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from posteriori import Gamma, Input, Model, MvNormal, Normal
from tests.regression.certified import PROBLEMS
from tests.regression.test_certified import fewest_digits

pytestmark = pytest.mark.blas

#: Variance of a prior so wide that it moves no certified digit.
WIDE = 2.0**100

#: Right digits of the weights: Filip's powers are rounded before anything is computed.
DIGITS = {"Filip": 6.5}


def design_of(problem):
    return np.column_stack([np.ones(len(problem.y)), problem.X])


def noise_of(problem):
    """Return a power of 2 near the certified variance of the noise, so that fractions stay short."""
    return 2.0 ** round(2.0 * math.log2(problem.residual_std)) if problem.residual_std else 2.0**-10


def known_noise(width, variance):
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(width), cov=WIDE * np.eye(width))
    m.y = Normal(m.X @ m.w, variance=variance)
    return m


def unknown_noise(width):
    m = Model()
    m.X = Input()
    m.tau = Gamma(2.0**-10, 2.0**-10)
    m.w = MvNormal(np.zeros(width), precision=m.tau * np.eye(width) / WIDE)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_weights_with_known_noise(name):
    problem = PROBLEMS[name]
    design = design_of(problem)
    post = known_noise(design.shape[1], noise_of(problem)).infer(X=design, y=problem.y)
    assert fewest_digits(post.w.mean, problem.parameters) >= DIGITS.get(name, 12)


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_weights_with_unknown_noise(name):
    problem = PROBLEMS[name]
    design = design_of(problem)
    post = unknown_noise(design.shape[1]).infer(X=design, y=problem.y)
    assert fewest_digits(post.w.mean, problem.parameters) >= DIGITS.get(name, 12)


@pytest.mark.parametrize("name", ["Longley", "Wampler3", "Filip"])
def test_certified_weights_where_the_noise_is_integrated_out(name):
    problem = PROBLEMS[name]
    design = design_of(problem)
    m = Model()
    m.X = Input()
    m.tau = Gamma(2.0**-10, 2.0**-10)
    m.w = MvNormal(np.zeros(design.shape[1]), cov=WIDE * np.eye(design.shape[1]))
    m.y = Normal(m.X @ m.w, precision=m.tau)
    post = m.infer(X=design, y=problem.y)
    assert fewest_digits(post.w.mean, problem.parameters) >= DIGITS.get(name, 11)


@pytest.mark.parametrize("name", ["Longley", "Filip"])
def test_an_intercept_apart_from_the_weights(name):
    problem = PROBLEMS[name]
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(problem.X.shape[1]), cov=WIDE * np.eye(problem.X.shape[1]))
    m.b = Normal(0.0, variance=WIDE)
    m.y = Normal(m.b + m.X @ m.w, variance=noise_of(problem))
    post = m.infer(X=problem.X, y=problem.y)
    got = np.append(post.b.mean, post.w.mean)
    assert fewest_digits(got, problem.parameters) >= DIGITS.get(name, 12)


# -- exact fractions -------------------------------------------------------------------------


def as_fractions(values):
    return [[Fraction(float(v)) for v in row] for row in np.atleast_2d(values)]


def solve_exactly(a, b):
    """Return A⁻¹B and |A| by Gauss's elimination in fractions."""
    rows = [[*left, *right] for left, right in zip(a, b, strict=True)]
    size, determinant = len(rows), Fraction(1)
    for i in range(size):
        determinant *= rows[i][i]
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for j in range(size):
            if j != i:
                rows[j] = [v - rows[j][i] * w for v, w in zip(rows[j], rows[i], strict=True)]
    return [row[size:] for row in rows], determinant


def log_of(fraction):
    return math.log(fraction.numerator) - math.log(fraction.denominator)


class Exact:
    """The posterior of weights in units of the noise: precision XᵀX + λI."""

    def __init__(self, design, y, share):
        x, self.share = as_fractions(design), Fraction(share)
        self.x, self.size, self.rows = x, len(x[0]), len(x)
        target = [Fraction(float(v)) for v in y]
        precision = [
            [sum(row[i] * row[j] for row in x) + (i == j) * self.share for j in range(self.size)]
            for i in range(self.size)
        ]
        h = [sum(row[i] * t for row, t in zip(x, target, strict=True)) for i in range(self.size)]
        right = [[h[i], *(Fraction(i == j) for j in range(self.size))] for i in range(self.size)]
        solved, self.determinant = solve_exactly(precision, right)
        self.mean = [row[0] for row in solved]
        self.cov = [row[1:] for row in solved]
        self.misfit = sum(t * t for t in target) - sum(
            a * b for a, b in zip(h, self.mean, strict=True)
        )

    def leverage(self, n):
        row = self.x[n]
        seen = [sum(c * v for c, v in zip(line, row, strict=True)) for line in self.cov]
        return float(sum(a * b for a, b in zip(seen, row, strict=True)))

    @property
    def log_occam(self):
        return 0.5 * (self.size * log_of(self.share) - log_of(self.determinant))


@pytest.fixture(scope="module", params=["Longley", "Filip"])
def case(request):
    problem = PROBLEMS[request.param]
    design, noise = design_of(problem), noise_of(problem)
    digits = 6.5 if request.param == "Filip" else 11
    return design, problem.y, noise, digits


def test_posterior_and_evidence_with_known_noise(case):
    design, y, noise, digits = case
    exact = Exact(design, y, Fraction(noise) / Fraction(WIDE))
    post = known_noise(design.shape[1], noise).infer(X=design, y=y)
    assert fewest_digits(post.w.mean, [float(v) for v in exact.mean]) >= digits
    stds = [math.sqrt(float(exact.cov[i][i]) * noise) for i in range(exact.size)]
    assert fewest_digits(post.w.std, stds) >= digits
    constant = exact.rows * math.log(2.0 * math.pi * noise)
    log_evidence = exact.log_occam - 0.5 * (constant + float(exact.misfit) / noise)
    assert float(post.log_evidence) == pytest.approx(log_evidence, rel=1e-8)


def test_predictions_have_the_leverage_of_their_rows(case):
    design, y, noise, digits = case
    exact = Exact(design, y, Fraction(noise) / Fraction(WIDE))
    predicted = known_noise(design.shape[1], noise).infer(X=design, y=y).predict("y", X=design)
    leverages = [exact.leverage(n) for n in range(exact.rows)]
    np.testing.assert_allclose(predicted.variance / noise - 1.0, leverages, atol=10.0**-digits)


def test_posterior_and_evidence_with_unknown_noise(case):
    design, y, _, digits = case
    exact = Exact(design, y, 1 / Fraction(WIDE))
    post = unknown_noise(design.shape[1]).infer(X=design, y=y)
    assert fewest_digits(post.w.mean, [float(v) for v in exact.mean]) >= digits
    shape, rate = 2.0**-10 + 0.5 * exact.rows, 2.0**-10 + 0.5 * float(exact.misfit)
    assert post.tau.mean == pytest.approx(shape / rate, rel=1e-8)
    log_evidence = exact.log_occam - 0.5 * exact.rows * math.log(2.0 * math.pi)
    log_evidence += 2.0**-10 * math.log(2.0**-10) - shape * math.log(rate)
    log_evidence += math.lgamma(shape) - math.lgamma(2.0**-10)
    assert float(post.log_evidence) == pytest.approx(log_evidence, rel=1e-8)


def test_draws_and_joint_beliefs_of_nearly_dependent_weights():
    problem = PROBLEMS["Filip"]
    design = design_of(problem)
    post = known_noise(design.shape[1], noise_of(problem)).infer(X=design, y=problem.y)
    draws = post.sample(4000, rng=0)["w"]
    error = 5.0 * post.w.std / np.sqrt(4000)
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - post.w.mean), error)
    np.testing.assert_allclose(draws.std(axis=0), post.w.std, rtol=5.0 / np.sqrt(8000))


def test_what_no_data_and_no_prior_tell_is_refused():
    x = np.random.default_rng(0).normal(size=(20, 2))
    design = np.column_stack([x, x.sum(axis=1)])
    with pytest.raises(ValueError, match="w is improper, or nearer to that than rounding"):
        known_noise(3, 1.0).infer(X=design, y=x[:, 0])
