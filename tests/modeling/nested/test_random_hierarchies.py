"""Hierarchies drawn at random, against integrals over their spread that know no lattice."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from posteriori import Exponential, Gamma, InverseGamma, Model, Normal
from posteriori.distributions import HalfCauchy, HalfNormal, HalfStudentT, LogNormal, Uniform

#: Priors of the spread, and the density of it that each states through its parameter.
PRIORS = {
    "half-Cauchy scale": (lambda: HalfCauchy(scale=2.0), "scale"),
    "half-normal scale": (lambda: HalfNormal(scale=1.5), "scale"),
    "half-t scale": (lambda: HalfStudentT(4.0, scale=1.0), "scale"),
    "uniform scale": (lambda: Uniform(0.0, 6.0), "scale"),
    "exponential variance": (lambda: Exponential(0.7), "variance"),
    "log-normal scale": (lambda: LogNormal(0.0, variance=0.8), "scale"),
    "gamma precision": (lambda: Gamma(2.0, 1.0), "precision"),
    "inverse-gamma variance": (lambda: InverseGamma(2.0, 1.0), "variance"),
}
_VARIANCE = {"scale": lambda v: v**2, "variance": lambda v: v, "precision": lambda v: 1.0 / v}


def hierarchy(prior, key, groups, rows, noise):
    m = Model()
    m.spread = prior()
    m.mean = Normal(0.0, scale=3.0)
    m.effect = Normal(m.mean, **{key: m.spread}).iid(groups)
    m.y = Normal(m.effect, scale=noise).iid(rows)
    return m


def log_likelihood(y, variance, noise):
    """Ln p(y | spread): means of groups are normal, and the rest of each group is noise."""
    rows, groups = y.shape
    means, around = y.mean(axis=0), ((y - y.mean(axis=0)) ** 2).sum()
    cov = (variance + noise**2 / rows) * np.eye(groups) + 9.0
    told = stats.multivariate_normal(np.zeros(groups), cov).logpdf(means)
    spare = groups * (rows - 1)
    rest = -0.5 * spare * np.log(2 * np.pi * noise**2) - 0.5 * around / noise**2
    return told + rest - 0.5 * groups * np.log(rows)


@given(
    name=st.sampled_from(sorted(PRIORS)),
    groups=st.integers(2, 7),
    rows=st.integers(1, 4),
    spread=st.floats(0.0, 4.0),
    noise=st.floats(0.3, 2.0),
    seed=st.integers(0, 10**6),
)
def test_evidence_and_spread_of_random_hierarchies(name, groups, rows, spread, noise, seed):
    prior, key = PRIORS[name]
    rng = np.random.default_rng(seed)
    y = 1.0 + spread * rng.normal(size=groups) + noise * rng.normal(size=(rows, groups))
    post = hierarchy(prior, key, groups, rows, noise).infer(y=y)
    assert post.log_evidence.kind == "quadrature"
    top = log_likelihood(y, y.mean(axis=0).var() + 0.1, noise)
    density = prior()

    def weighed(u, power):
        v = np.exp(u)
        height = log_likelihood(y, _VARIANCE[key](v), noise) - top
        return v**power * np.exp(height + float(density.log_prob(v)) + u)

    ends = (-25.0, np.log(6.0) if name == "uniform scale" else 12.0)
    total, mean = (
        integrate.quad(weighed, *ends, args=(power,), limit=400, epsabs=0.0)[0]
        for power in (0, 0.5)
    )
    assert float(post.log_evidence) == pytest.approx(top + np.log(total), abs=4e-3)
    nodes = post.spread.nodes
    root = np.trapezoid(np.sqrt(nodes) * np.exp(post.spread.log_prob(nodes)), nodes)
    assert root == pytest.approx(mean / total, rel=0.01)


def test_eight_schools_to_many_digits():
    """Half-Cauchy spread, normal mean: ∫ p(y | τ) p(τ) dτ by mpmath."""
    y = np.array([28.0, 8, -3, 7, -1, 1, 18, 12])
    s = np.array([15.0, 10, 16, 11, 9, 11, 10, 18])
    m = Model()
    m.tau = HalfCauchy(scale=5.0)
    m.mu = Normal(0, scale=5.0)
    m.theta = Normal(m.mu, scale=m.tau).iid(8)
    m.y = Normal(m.theta, scale=s)
    post = m.infer(y=y)

    def likelihood(tau):
        # one common mean: precisions add, and ln p = Σ ln N(y_j) − what the mean explains
        v = [mpmath.mpf(x) ** 2 + tau**2 for x in s]
        total = 1 / mpmath.mpf(25) + sum(1 / w for w in v)
        pull = sum(a / w for a, w in zip(y, v, strict=True))
        square = sum(a**2 / w for a, w in zip(y, v, strict=True)) - pull**2 / total
        log_det = sum(mpmath.log(w) for w in v) + mpmath.log(25) + mpmath.log(total)
        prior = 2 / (mpmath.pi * 5 * (1 + (tau / 5) ** 2))
        return prior * mpmath.exp(-(square + log_det + 8 * mpmath.log(2 * mpmath.pi)) / 2)

    evidence = mpmath.quad(likelihood, [0, 5, 20, 100, mpmath.inf])
    assert float(post.log_evidence) == pytest.approx(float(mpmath.log(evidence)), abs=2e-3)
    assert abs(float(post.log_evidence) - float(mpmath.log(evidence))) <= post.log_evidence.error
