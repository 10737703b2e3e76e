"""Families that the package does not have enter the model language from a file of one's own."""

import itertools
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, special

from posteriori import Bernoulli, Beta, Gamma, Input, Model, Normal, Poisson
from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.modeling import free_energy, register_law
from posteriori.modeling.variational.densities.law import LAWS, Law
from posteriori.modeling.variational.nodes.conjugate_node import ConjugateNode
from posteriori.numerics.validation import positive, real
from tests.modeling.variational.models import variational

# -- families of one's own -------------------------------------------------------------------


class Rayleigh(Univariate):
    """p(x) = λ x exp(−λ x²/2) on x > 0, with λ the inverse of the squared scale."""

    _parameters = {"precision": 0}
    _shown = ("precision=",)

    def __new__(cls, precision: Any) -> Any:
        return cls._from(precision=positive("precision", precision))

    def _log_density(self, x: Any) -> Any:
        return np.log(self.precision * x) - 0.5 * self.precision * x**2

    def _outside(self, x: Any) -> Any:
        return x <= 0

    def _sample(self, shape: Any, rng: Any) -> Any:
        return rng.rayleigh(1.0 / np.sqrt(self.precision), shape)


def log_density_of_rayleigh(view: Any) -> Any:
    """Ln λ + ln x − ½ λ x²."""
    logs = view.log("precision") + view.observed(np.log)
    return logs - 0.5 * view.observed(np.square) * view.value("precision")


RAYLEIGH = Law(
    Rayleigh,
    log_density_of_rayleigh,
    priors={"precision": "Gamma"},
    off_support=lambda view, data: data.values <= 0,
)


class InverseGaussian(ExponentialFamily, Univariate):
    """p(x) ∝ x^(p−1) exp(−(a x + b/x)/2) on x > 0: generalised inverse Gaussian."""

    _parameters = {"power": 0, "a": 0, "b": 0}
    _shown = ("power", "a=", "b=")
    _natural_ndims = (0, 0, 0)

    def __new__(cls, power: Any, a: Any, b: Any) -> Any:
        return cls._from(power=real("power", power), a=positive("a", a), b=positive("b", b))

    @cached_property
    def natural(self) -> Any:
        return self.power - 1.0, -0.5 * self.a, -0.5 * self.b

    @classmethod
    def _from_natural(cls, *natural: Any) -> Any:
        exponent, slope, inverse = natural
        return cls._from(power=exponent + 1.0, a=-2.0 * slope, b=-2.0 * inverse)

    @property
    def is_proper(self) -> Any:
        return (self.a > 0) & (self.b > 0)

    @classmethod
    def sufficient(cls, x: Any) -> Any:
        return np.log(x), np.asarray(x), 1.0 / np.asarray(x)

    def _log_normalizer(self) -> Any:
        return np.log(2.0) + self._log_bessel(0.0) + 0.5 * self.power * np.log(self.b / self.a)

    def _log_bessel(self, shift: float) -> Any:
        z = np.sqrt(self.a * self.b)
        return np.log(special.kve(self.power + shift, z)) - z

    @cached_property
    def mean_params(self) -> Any:
        h = 1e-5
        ratio = np.exp(self._log_bessel(1.0) - self._log_bessel(0.0))
        slope = (self._log_bessel(h) - self._log_bessel(-h)) / (2.0 * h)
        root = np.sqrt(self.b / self.a)
        mean_log = 0.5 * np.log(self.b / self.a) + slope
        return mean_log, root * ratio, ratio / root - 2.0 * self.power / self.b

    @cached_property
    def mean(self) -> Any:
        return self.mean_params[1]

    @classmethod
    def _off_support(cls, x: Any) -> Any:
        return x <= 0


INVERSE_GAUSSIAN = Law(InverseGaussian, statistics={"log": 0, "value": 1, "inverse": 2})


@pytest.fixture
def laws() -> Iterator[Callable[[Law], Law]]:
    """Register laws, and take them back."""
    before = dict(LAWS)
    yield register_law
    LAWS.clear()
    LAWS.update(before)


def log_integral(log_f: Callable[[float], float], peak: float, width: float) -> float:
    """Return ln ∫ exp(log_f) over the positive numbers."""
    top = log_f(peak)
    points = [peak, peak + 3.0 * width, max(peak - 3.0 * width, peak / 2.0)]
    inside = (peak / 1e3, peak + 60.0 * width)
    value, _ = integrate.quad(
        lambda t: np.exp(log_f(t) - top), *inside, points=points, limit=400, epsabs=0, epsrel=1e-11
    )
    return top + np.log(value)


# -- a likelihood ----------------------------------------------------------------------------

X = np.array([0.7, 1.4, 2.2, 0.9, 1.1, 3.0])


def rayleigh_model() -> Model:
    m = Model()
    m.tau = Gamma(2.0, rate=1.5)
    m.x = Rayleigh(m.tau).iid("n")
    return m


def test_a_parameter_is_learned_as_quadrature_says(laws: Any) -> None:
    laws(RAYLEIGH)
    post = rayleigh_model().infer(x=X)

    def log_joint(t: float) -> float:
        return float(Gamma(2.0, rate=1.5).log_prob(t) + Rayleigh(t).log_prob(X).sum())

    total = log_integral(log_joint, 0.8, 0.3)
    assert_allclose(float(post.log_evidence), total, rtol=1e-9)  # one group: the bound is tight
    mean = np.exp(log_integral(lambda t: log_joint(t) + np.log(t), 0.8, 0.3) - total)
    assert_allclose(post.tau.mean, mean, rtol=1e-8)


def test_missing_rows_say_nothing(laws: Any) -> None:
    laws(RAYLEIGH)
    gaps = np.array([np.nan, *X, np.nan])
    found, alone = rayleigh_model().infer(x=gaps), rayleigh_model().infer(x=X)
    assert_allclose(found.tau.mean, alone.tau.mean, rtol=1e-12)
    assert_allclose(float(found.log_evidence), float(alone.log_evidence), rtol=1e-12)


def rayleigh_mixture() -> Model:
    m = Model()
    m.p = Beta(2.0, 3.0)
    m.tau = Gamma(2.0, rate=1.0).iid(2)
    m.z = Bernoulli(m.p).iid("n")
    m.x = Rayleigh(m.tau[m.z])
    return m


def test_a_law_stands_behind_an_unknown_index(laws: Any) -> None:
    """Classes of different scales: below the sum over all assignments, and the same by two routes."""
    laws(RAYLEIGH)
    x = np.array([0.2, 0.3, 3.1, 2.7, 0.25])
    m = rayleigh_mixture()
    post = m.infer(x=x, method="vmp")
    result = variational(post)
    assert_allclose(result.problem.slow_bound()[0], result.log_evidence, rtol=1e-11)
    beliefs = {name: post[name] for name in ("p", "tau", "z")}
    assert_allclose(free_energy(m, {"x": x}, beliefs).value, -result.log_evidence, rtol=1e-10)
    logs = []
    for states in itertools.product([0, 1], repeat=len(x)):
        z = np.array(states)
        ones = z.sum()
        total = special.betaln(2.0 + ones, 3.0 + len(x) - ones) - special.betaln(2.0, 3.0)
        for k in (0, 1):
            mine = x[z == k]
            shape, rate = 2.0 + len(mine), 1.0 + 0.5 * np.sum(mine**2)
            total += np.log(mine).sum() + special.gammaln(shape) - shape * np.log(rate)
        logs.append(total)
    exact = special.logsumexp(logs)
    assert exact - 3.0 < result.log_evidence < exact


def test_a_law_stands_in_a_hierarchy(laws: Any) -> None:
    """A rate above the rate: each belief is the best one given the other."""
    laws(RAYLEIGH)
    m = Model()
    m.b = Gamma(3.0, rate=2.0)
    m.tau = Gamma(2.0, rate=m.b).iid(3)
    m.group = Input("n")
    m.x = Rayleigh(m.tau[m.group])
    groups = np.array([0, 0, 1, 1, 2, 2])
    post = m.infer(x=X, group=groups)
    rates = post.b.mean + 0.5 * np.bincount(groups, X**2)
    assert_allclose(post.tau.rate, rates, rtol=1e-6)
    assert_allclose(post.b.rate, 2.0 + post.tau.mean.sum(), rtol=1e-6)


# -- an unknown ------------------------------------------------------------------------------

COUNTS = np.array([2.0, 5.0, 3.0, 1.0])
Y = np.array([0.3, -1.2, 0.8, 2.1, -0.4])


def poisson_counts(m: Model) -> tuple[dict[str, Any], Callable[[float], float]]:
    m.y = Poisson(m.s).iid("n")
    return {"y": COUNTS}, lambda t: float(Poisson(t).log_prob(COUNTS).sum())


def normal_precision(m: Model) -> tuple[dict[str, Any], Callable[[float], float]]:
    m.y = Normal(0.5, precision=m.s).iid("n")
    return {"y": Y}, lambda t: float(Normal(0.5, precision=t).log_prob(Y).sum())


def normal_variance(m: Model) -> tuple[dict[str, Any], Callable[[float], float]]:
    m.y = Normal(0.5, variance=m.s).iid("n")
    return {"y": Y}, lambda t: float(Normal(0.5, variance=t).log_prob(Y).sum())


def scaled_variance(m: Model) -> tuple[dict[str, Any], Callable[[float], float]]:
    m.y = Normal(0.5, variance=3.0 * m.s).iid("n")
    return {"y": Y}, lambda t: float(Normal(0.5, variance=3.0 * t).log_prob(Y).sum())


@pytest.mark.parametrize(
    "likelihood", [poisson_counts, normal_precision, normal_variance, scaled_variance]
)
def test_an_unknown_is_believed_in_as_quadrature_says(likelihood: Any, laws: Any) -> None:
    laws(INVERSE_GAUSSIAN)
    m = Model()
    m.s = InverseGaussian(0.7, a=1.2, b=0.9)
    data, log_likelihood = likelihood(m)
    post = m.infer(data)
    prior = InverseGaussian(0.7, a=1.2, b=0.9)

    def log_joint(t: float) -> float:
        return float(prior.log_prob(t)) + log_likelihood(t)

    peak, width = float(post.s.mean), 0.5 * float(post.s.mean)
    total = log_integral(log_joint, peak, width)
    assert_allclose(float(post.log_evidence), total, rtol=1e-7)
    mean = np.exp(log_integral(lambda t: log_joint(t) + np.log(t), peak, width) - total)
    assert_allclose(post.s.mean, mean, rtol=1e-7)


def test_an_unknown_of_a_family_of_ones_own_meets_other_unknowns(laws: Any) -> None:
    """μ and its precision are believed in apart: each belief is the best one given the other."""
    laws(INVERSE_GAUSSIAN)
    m = Model()
    m.s = InverseGaussian(0.7, a=1.2, b=0.9)
    m.mu = Normal(0.0, variance=4.0)
    m.y = Normal(m.mu, precision=m.s).iid("n")
    post = m.infer(y=Y, tol=1e-10)
    squares = np.sum((Y - post.mu.mean) ** 2 + post.mu.variance)
    assert_allclose(post.s.a, 1.2 + squares, rtol=1e-6)
    assert_allclose(post.s.power, 0.7 + 0.5 * len(Y), rtol=1e-12)
    assert_allclose(post.s.b, 0.9, rtol=1e-12)
    assert_allclose(1.0 / post.mu.variance, 0.25 + len(Y) * post.s.mean, rtol=1e-6)


def test_a_law_may_bring_its_own_node(laws: Any) -> None:
    class Watched(ConjugateNode):
        updates = 0

        def update(self, messages: Any) -> None:
            Watched.updates += 1
            super().update(messages)

    laws(Law(InverseGaussian, statistics={"log": 0, "value": 1}, node=Watched))
    m = Model()
    m.s = InverseGaussian(0.7, a=1.2, b=0.9)
    m.y = Poisson(m.s).iid("n")
    m.infer(y=COUNTS)
    assert Watched.updates > 1


# -- refusals --------------------------------------------------------------------------------


def test_without_a_law_there_is_no_method() -> None:
    with pytest.raises(TypeError, match="no method for tau"):
        rayleigh_model().infer(x=X)
    m = Model()
    m.s = InverseGaussian(0.7, a=1.2, b=0.9)
    m.y = Poisson(m.s).iid("n")
    with pytest.raises(TypeError, match="no method for s"):
        m.infer(y=COUNTS)


def test_a_family_has_one_law(laws: Any) -> None:
    assert laws(RAYLEIGH) is RAYLEIGH
    with pytest.raises(ValueError, match="Rayleigh has a law already"):
        register_law(RAYLEIGH)
    with pytest.raises(ValueError, match="Gamma has a law already"):
        register_law(Law(Gamma, statistics={"value": 1}))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: register_law(Rayleigh), TypeError, "takes a Law, got <class"),
        (lambda: Law("Rayleigh", abs), TypeError, "family must be a class of distributions"),
        (lambda: Law(int, abs), TypeError, "family must be a class of distributions"),
        (lambda: Law(Rayleigh), ValueError, "the law of Rayleigh states nothing: give log_density"),
        (lambda: Law(Rayleigh, 3), TypeError, "log_density must be a function, got 3"),
        (lambda: Law(Rayleigh, abs, node="a"), TypeError, "node must be a function, got 'a'"),
        (
            lambda: Law(Rayleigh, statistics={"value": 0}),
            TypeError,
            "statistics are of exponential families; Rayleigh is none",
        ),
        (
            lambda: Law(InverseGaussian, statistics={"square": 0}),
            ValueError,
            "statistics names 'square'; laws ask for 'value', 'log'",
        ),
        (
            lambda: Law(InverseGaussian, statistics={"value": 3}),
            ValueError,
            r"one of the 3 entries of T\(x\) of InverseGaussian, 0 to 2, got 3",
        ),
        (
            lambda: Law(Rayleigh, abs, priors={"rate": "Gamma"}),
            ValueError,
            "priors names 'rate'; the parameters of Rayleigh are precision",
        ),
    ],
)
def test_what_is_no_law_is_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


def test_a_law_must_return_a_formula(laws: Any) -> None:
    laws(Law(Rayleigh, lambda view: 0.0))
    with pytest.raises(ValueError, match=r"law of Rayleigh must return a formula .* got 0\.0"):
        rayleigh_model().infer(x=X)


def test_a_law_recommends_priors(laws: Any) -> None:
    laws(RAYLEIGH)
    m = Model()
    m.mean = Normal(1.0, variance=1.0)
    m.tau = Normal(m.mean, variance=1.0)
    m.x = Rayleigh(m.tau).iid("n")
    with pytest.raises(TypeError, match="give tau a prior of family Gamma"):
        m.infer(x=X)


def test_data_off_the_support_are_refused(laws: Any) -> None:
    laws(RAYLEIGH)
    with pytest.raises(ValueError, match="x: data must lie in the support of Rayleigh: index 1"):
        rayleigh_model().infer(x=[1.0, -2.0])


def test_only_what_is_known_can_be_mapped(laws: Any) -> None:
    laws(Law(Rayleigh, lambda view: view.value("precision").map(np.log)))
    with pytest.raises(ValueError, match="only what is known can be mapped"):
        rayleigh_model().infer(x=X)


def test_an_unknown_child_of_a_likelihood_is_refused(laws: Any) -> None:
    laws(RAYLEIGH)
    m = Model()
    m.tau = Gamma(2.0, rate=1.5)
    m.x = Rayleigh(m.tau)
    m.y = Normal(m.x, variance=1.0)
    with pytest.raises(TypeError, match="x"):
        m.infer(y=1.0)
