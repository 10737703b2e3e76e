"""Every conjugate pair that is no conjugate block, written as a model, against `bayes`.

Pairs with one unknown that is not a normal mean have their rows in ``conjugate_models``.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori import Gamma, InverseGamma, MvNormal, Normal, NormalGamma, bayes
from posteriori.distributions import (
    InverseWishart,
    LogNormal,
    NormalInverseGamma,
    NormalInverseWishart,
    NormalWishart,
    Wishart,
)
from posteriori.distributions.conjugate.pair import list_pairs
from posteriori.modeling import Input, Model, dot
from tests.modeling.conjugate_models import CASES as CONJUGATE

RNG = np.random.default_rng(17)
N = 9
GROUP = np.array([0, 2, 1, 2, 0, 1, 2, 0, 2])
REAL = RNG.normal(size=N)
VECTORS = RNG.normal(size=(N, 2))
X = RNG.normal(size=(N, 2))
V = np.array([[0.6, 0.1], [0.1, 0.4]])
C = np.array([[1.0, 0.3], [0.5, -1.0]])

#: Take a variable for all rows, or the one of each row's group.
At = Callable[[Any], Any]


class Case(NamedTuple):
    """A pair for `bayes` and the same as a model.

    Attributes
    ----------
    prior : distribution
    likelihood : callable
        From the rows that are there to the likelihood.
    declare : callable
        Declares the unknowns of a model, ``each`` of them repeated.
    child : callable
        From the model and how rows see unknowns to the distribution of the data.
    unknowns : tuple of str
    data : array
    """

    prior: Any
    likelihood: Callable[[Any], Any]
    declare: Callable[[Model, At], None]
    child: Callable[[Model, At], Any]
    unknowns: tuple[str, ...]
    data: Any


def unknown_mean(prior: Any) -> Callable[[Model, At], None]:
    def declare(m: Model, each: At) -> None:
        m.mu = each(prior)

    return declare


def mean_and(spread: Any, mean: Callable[[Any], Any]) -> Callable[[Model, At], None]:
    def declare(m: Model, each: At) -> None:
        m.s = each(spread)
        m.mu = mean(m.s)

    return declare


WIDE = Normal(0.3, variance=2.0)
WEIGHTS = MvNormal([0.1, -0.2], cov=V)
CASES = {
    "NormalMeanVariance": Case(
        WIDE,
        lambda rows: lambda mu: Normal(mu, variance=0.7),
        unknown_mean(WIDE),
        lambda m, at: Normal(at(m.mu), variance=0.7),
        ("mu",),
        REAL,
    ),
    "NormalMeanScale": Case(
        WIDE,
        lambda rows: lambda mu: Normal(mu, scale=0.7),
        unknown_mean(WIDE),
        lambda m, at: Normal(at(m.mu), scale=0.7),
        ("mu",),
        REAL,
    ),
    "NormalMeanPrecision": Case(
        WIDE,
        lambda rows: lambda mu: Normal(mu, precision=0.7),
        unknown_mean(WIDE),
        lambda m, at: Normal(at(m.mu), precision=0.7),
        ("mu",),
        REAL,
    ),
    "WeightsVariance": Case(
        WEIGHTS,
        lambda rows: lambda w: Normal(X[rows] @ w, variance=0.7),
        unknown_mean(WEIGHTS),
        lambda m, at: Normal(dot(m.X, at(m.mu)), variance=0.7),
        ("mu",),
        REAL,
    ),
    "LinearGaussianCovariance": Case(
        WEIGHTS,
        lambda rows: lambda mu: MvNormal(C @ mu, cov=V),
        unknown_mean(WEIGHTS),
        lambda m, at: MvNormal(C @ at(m.mu), cov=V),
        ("mu",),
        VECTORS,
    ),
    "LinearGaussianPrecision": Case(
        WEIGHTS,
        lambda rows: lambda mu: MvNormal(C @ mu, precision=V),
        unknown_mean(WEIGHTS),
        lambda m, at: MvNormal(C @ at(m.mu), precision=V),
        ("mu",),
        VECTORS,
    ),
    "NormalGammaPair": Case(
        NormalGamma(0.3, 0.5, 2.0, 1.5),
        lambda rows: Normal,
        mean_and(Gamma(2.0, 1.5), lambda s: Normal(0.3, precision=0.5 * s)),
        lambda m, at: Normal(at(m.mu), precision=at(m.s)),
        ("mu", "s"),
        REAL,
    ),
    "NormalInverseGammaPair": Case(
        NormalInverseGamma(0.3, 0.5, 2.0, 1.5),
        lambda rows: Normal,
        mean_and(InverseGamma(2.0, 1.5), lambda s: Normal(0.3, variance=2.0 * s)),
        lambda m, at: Normal(at(m.mu), variance=at(m.s)),
        ("mu", "s"),
        REAL,
    ),
    "VectorNormalInverseGammaRegression": Case(
        NormalInverseGamma([0.1, -0.2], mean_precision=V, shape=2.0, scale=1.5),
        lambda rows: lambda w, v: Normal(X[rows] @ w, variance=v),
        mean_and(InverseGamma(2.0, 1.5), lambda s: MvNormal([0.1, -0.2], cov=np.linalg.inv(V) * s)),
        lambda m, at: Normal(dot(m.X, at(m.mu)), variance=at(m.s)),
        ("mu", "s"),
        REAL,
    ),
    "NormalWishartPair": Case(
        NormalWishart([0.1, 0.2], 0.5, 4.0, V),
        lambda rows: MvNormal,
        mean_and(Wishart(4.0, V), lambda s: MvNormal([0.1, 0.2], precision=0.5 * s)),
        lambda m, at: MvNormal(at(m.mu), precision=at(m.s)),
        ("mu", "s"),
        VECTORS,
    ),
    "NormalInverseWishartPair": Case(
        NormalInverseWishart([0.1, 0.2], 0.5, 4.0, V),
        lambda rows: MvNormal,
        mean_and(InverseWishart(4.0, V), lambda s: MvNormal([0.1, 0.2], cov=2.0 * s)),
        lambda m, at: MvNormal(at(m.mu), cov=at(m.s)),
        ("mu", "s"),
        VECTORS,
    ),
    "NormalGammaLog": Case(
        NormalGamma(0.3, 0.5, 2.0, 1.5),
        lambda rows: LogNormal,
        mean_and(Gamma(2.0, 1.5), lambda s: Normal(0.3, precision=0.5 * s)),
        lambda m, at: LogNormal(at(m.mu), precision=at(m.s)),
        ("mu", "s"),
        np.exp(REAL),
    ),
    "NormalInverseGammaLog": Case(
        NormalInverseGamma(0.3, 0.5, 2.0, 1.5),
        lambda rows: LogNormal,
        mean_and(InverseGamma(2.0, 1.5), lambda s: Normal(0.3, variance=2.0 * s)),
        lambda m, at: LogNormal(at(m.mu), variance=at(m.s)),
        ("mu", "s"),
        np.exp(REAL),
    ),
}
ALL = np.arange(N)


def one_for_all(case: Case) -> Model:
    m = Model()
    m.X = Input("n")
    case.declare(m, lambda prior: prior)
    m.y = case.child(m, lambda unknown: unknown).iid("n")
    return m


def one_for_each_group(case: Case) -> Model:
    m = Model()
    m.X, m.g = Input("n"), Input("n")
    case.declare(m, lambda prior: prior.iid(3))
    m.y = case.child(m, lambda unknown: unknown[m.g])
    return m


def assert_same(post: Any, case: Case, expected: Any, at: Any = ()) -> None:
    """Compare natural parameters; ``at`` picks a member of the batch."""
    d = post.joint(*case.unknowns) if len(case.unknowns) > 1 else post[case.unknowns[0]]
    assert type(d) is type(expected)
    for mine, theirs in zip(d.natural, expected.natural, strict=True):
        np.testing.assert_allclose(np.asarray(mine)[at], theirs, rtol=1e-9, atol=1e-11)


def test_every_pair_is_a_model() -> None:
    assert {p.__name__ for p in list_pairs()} == CASES.keys() | CONJUGATE.keys()
    assert not CASES.keys() & CONJUGATE.keys()


@pytest.mark.parametrize("name", CASES)
def test_one_unknown_for_all_rows_is_bayes_rule(name: str) -> None:
    case = CASES[name]
    post = one_for_all(case).infer(X=X, y=case.data)
    exact = bayes(case.prior, case.likelihood(ALL), case.data)
    assert_same(post, case, exact.posterior)
    assert float(post.log_evidence) == pytest.approx(exact.log_evidence.value, rel=1e-11)
    assert post.explain().log_evidence == pytest.approx(exact.log_evidence.value, rel=1e-9)


#: A matrix times a number for each group takes a plate, as in ``test_common_precision``.
INDEXED = [name for name in CASES if name != "VectorNormalInverseGammaRegression"]


@pytest.mark.parametrize("name", INDEXED)
def test_a_known_index_is_one_fit_for_each_group(name: str) -> None:
    case = CASES[name]
    data = case.data.copy()
    data[[1, 4]] = np.nan
    post = one_for_each_group(case).infer(X=X, g=GROUP, y=data)
    total = 0.0
    for j in range(3):
        rows = np.array([i for i in range(N) if GROUP[i] == j and i not in (1, 4)])
        exact = bayes(case.prior, case.likelihood(rows), case.data[rows])
        assert_same(post, case, exact.posterior, j)
        total += float(exact.log_evidence.value)
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-11)
    assert post.explain().log_evidence == pytest.approx(total, rel=1e-9)


def test_log_normal_data_must_be_positive() -> None:
    with pytest.raises(ValueError, match="y is log-normal and must be positive, got 0 in row 1"):
        one_for_all(CASES["NormalGammaLog"]).infer(X=X[:2], y=[1.0, 0.0])
