"""Random members of every family of numbers, also absurd ones, asked for everything.

The outcome is a number, an infinity, or an error that names what is wrong: never NaN in silence,
never another exception, never a warning of NumPy.
"""

import warnings

import numpy as np
import pytest

from posteriori import distributions as families
from posteriori.distributions.base import Univariate
from tests.distributions.families import UNIVARIATE

#: Values that parameters are tried with: most are legal, some absurd.
VALUES = (
    *(1e-300, 1e-30, 1e-8, 0.01, 0.3, 0.5, 0.9, 1.0, 2.0, 3.7, 50.0, 1e4, 1e8, 1e30, 1e300),
    *(-0.7, -1e8, 0.0, 7, 10**6, np.nan, np.inf, -np.inf, None, "a", 10**309),
)

#: How each family is made of so many values.
FAMILIES = {
    "Bernoulli": (families.Bernoulli, 1),
    "Beta": (families.Beta, 2),
    "Binomial": (families.Binomial, 2),
    "Cauchy": (families.Cauchy, 2),
    "Exponential": (families.Exponential, 1),
    "Gamma": (families.Gamma, 2),
    "Geometric": (families.Geometric, 1),
    "HalfCauchy": (families.HalfCauchy, 1),
    "HalfNormal": (families.HalfNormal, 1),
    "HalfStudentT": (families.HalfStudentT, 2),
    "InverseGamma": (families.InverseGamma, 2),
    "Laplace": (families.Laplace, 2),
    "LogNormal": (lambda a, b: families.LogNormal(a, variance=b), 2),
    "NegativeBinomial": (lambda a, b: families.NegativeBinomial(a, mean=b), 2),
    "Normal": (lambda a, b: families.Normal(a, variance=b), 2),
    "Pareto": (families.Pareto, 2),
    "Poisson": (families.Poisson, 1),
    "PolyaGamma": (families.PolyaGamma, 2),
    "StudentT": (lambda a, b, c: families.StudentT(a, b, scale=c), 3),
    "TruncatedNormal": (
        lambda a, b, c, v: families.TruncatedNormal(a, b, c, variance=v),
        4,
    ),
    "Uniform": (families.Uniform, 2),
    "VonMises": (families.VonMises, 2),
}

QUESTIONS = {
    "mean": lambda d, x, q: d.mean,
    "variance": lambda d, x, q: d.variance,
    "std": lambda d, x, q: d.std,
    "mode": lambda d, x, q: d.mode,
    "median": lambda d, x, q: d.median,
    "entropy": lambda d, x, q: d.entropy(),
    "log_prob": lambda d, x, q: d.log_prob(x),
    "cdf": lambda d, x, q: d.cdf(x),
    "quantile": lambda d, x, q: d.quantile(q),
    "sample": lambda d, x, q: d.sample(3, rng=0),
    "interval": lambda d, x, q: d.interval(0.9),
    "kl": lambda d, x, q: d.kl(d),
}


def ask(question):
    """Return what an answer is, or the refusal; anything else is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return question()
        except (ValueError, TypeError):
            return None
        except AttributeError as refused:
            if " has no " not in str(refused):
                raise
    return None


def faults(name, seed, n):
    """Return descriptions of all answers that are none, for ``n`` random members."""
    rng = np.random.default_rng(seed)
    make, arity = FAMILIES[name]
    found = []
    for _ in range(n):
        values = [VALUES[i] for i in rng.integers(len(VALUES), size=arity)]
        try:
            d = ask(lambda values=values: make(*values))
        except Exception as error:
            found.append(f"{name}{values}: {error!r}")
            continue
        if d is None:
            continue
        x = float(rng.choice([0.0, 1.0, 1e-300, -2.5, 7.0, 1e12, -1e300, np.inf]))
        q = float(rng.choice([0.0, 1e-300, 1e-9, 0.2, 0.5, 1.0 - 1e-12, 1.0]))
        for asked, question in QUESTIONS.items():
            try:
                answer = ask(lambda: question(d, x, q))  # noqa: B023
            except Exception as error:
                found.append(f"{name}{values}.{asked} (x={x}, q={q}): {error!r}")
                continue
            if answer is not None and np.any(np.isnan(np.asarray(answer, dtype=float))):
                found.append(f"{name}{values}.{asked} (x={x}, q={q}) is {answer}")
    return found


def test_every_family_of_numbers_has_a_row():
    composites = {"Numeric", "NumericCounts", "BetaBinomial"}  # made of tables
    names = {p.values[0].id for p in UNIVARIATE if not p.values[0].id.startswith("Univariate")}
    assert {n for n in names if issubclass(getattr(families, n), Univariate)} <= (
        FAMILIES.keys() | composites
    )


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_hostile_members(name):
    assert not faults(name, 0, 12)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_many_hostile_members(name):
    assert not faults(name, 1, 400)  # about 10⁵ questions in all
