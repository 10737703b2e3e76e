"""Components, as mixtures, hidden chains and classifiers have them: a row for each, with rows that they emit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from posteriori import bayes
from posteriori.classification import GaussianDiscriminant, NaiveBayes
from posteriori.distributions import (
    Categorical,
    Dirichlet,
    Gamma,
    MvNormal,
    Normal,
    NormalInverseGamma,
    NormalWishart,
    Poisson,
    StudentT,
)
from posteriori.mixture import (
    BayesianGaussianMixture,
    FamilyMixture,
    GaussianMixture,
    LatentClasses,
)
from posteriori.sequence import HiddenMarkovModel

__all__ = ["CASES", "BELIEVED", "Component", "chain_of", "fitted_chain", "fitted_mixture", "groups"]

#: Rows of each group: two groups, the second smaller.
SIZES = (24, 16)

NIG, GAMMA = NormalInverseGamma(1.0, 0.5, 2.0, 1.5), Gamma(2.0, rate=0.5)
CODES = Dirichlet(np.array([1.0, 0.5, 2.0]))


def groups() -> np.ndarray:
    """Return the group of each row."""
    return np.repeat([0, 1], SIZES)


def _numbers(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    at = np.array([[0.0, 1.0], [5.0, -3.0]])[groups()]
    noise = rng.normal(size=at.shape) @ np.array([[1.0, 0.4], [0.0, 0.8]])
    return at + noise


def _codes() -> np.ndarray:
    rng = np.random.default_rng(1)
    p = np.array([[0.8, 0.15, 0.05], [0.1, 0.1, 0.8]])[groups()]
    draws = [(rng.random((len(p), 1)) > p.cumsum(axis=1)[:, :2]).sum(axis=1) for _ in range(4)]
    return np.column_stack(draws).astype(float)


def _counts() -> np.ndarray:
    rng = np.random.default_rng(2)
    return rng.poisson(np.array([[2.0, 9.0], [14.0, 1.0]])[groups()]).astype(float)


class Component(NamedTuple):
    """What a group emits.

    Attributes
    ----------
    x : (N, D)
    emission : dict
        Of a hidden Markov model.
    mixture : callable
        From a number of components and options, a mixture with beliefs, or None.
    likely : callable
        The same, most likely.
    classifier : callable or None
        To one that learns the same from labels.
    alone : callable or None
        From rows, ln p of them all, if they are one group.
    gaps : bool
        Whether entries may be missing.
    """

    x: np.ndarray
    emission: dict[str, Any]
    mixture: Callable[..., Any] | None = None
    likely: Callable[..., Any] | None = None
    classifier: Callable[[], Any] | None = None
    alone: Callable[[np.ndarray], float] | None = None
    gaps: bool = True


def _each(prior: Any, family: Any) -> Callable[[np.ndarray], float]:
    """Return the evidence of independent columns, by Bayes' rule one by one."""

    def of(x: np.ndarray) -> float:
        columns = (column[~np.isnan(column)] for column in x.T)
        return sum(float(bayes(prior, family, column).log_evidence) for column in columns)

    return of


def _classes(columns: Any, priors: Any = None, method: str = "bayes") -> Callable[..., Any]:
    return partial(LatentClasses, columns=columns, priors=priors, method=method)


WISHART = NormalWishart(np.array([1.0, 0.0]), 0.5, 5.0, np.eye(2) / 4.0)

#: Columns of numbers, of codes and of counts beside one another.
_MIXED = np.column_stack([_numbers()[:, 0], _codes()[:, 0], _counts()[:, 1]])
_KINDS = ("normal", "categorical", "poisson")
_PRIORS = dict(zip(_KINDS, (NIG, CODES, GAMMA), strict=True))


def _mixed_alone(x: np.ndarray) -> float:
    parts = zip(x.T, (NIG, CODES, GAMMA), (Normal, Categorical, Poisson), strict=True)
    return sum(_each(prior, family)(column[:, None]) for column, prior, family in parts)


CASES: dict[str, Component] = {
    "normal columns": Component(
        _numbers(),
        {"emission": "normal", "emission_prior": NIG},
        _classes("normal", {"normal": NIG}),
        partial(GaussianMixture, covariance="diagonal"),
        partial(NaiveBayes, "normal", priors={"normal": NIG}),
        _each(NIG, Normal),
    ),
    "normal rows": Component(
        _numbers(),
        {"emission": "mvnormal", "emission_prior": WISHART},
        partial(BayesianGaussianMixture, prior=WISHART),
        partial(GaussianMixture, covariance="full"),
        None,
        lambda x: float(bayes(WISHART, MvNormal, x).log_evidence),
    ),
    "default normal rows": Component(
        _numbers(3),
        {"emission": "mvnormal"},
        BayesianGaussianMixture,
        partial(GaussianMixture, covariance="full"),
        partial(GaussianDiscriminant, "full"),
    ),
    "default normal columns": Component(
        _numbers(3),
        {"emission": "normal"},
        _classes("normal"),
        None,
        partial(GaussianDiscriminant, "diagonal"),
    ),
    "spherical rows": Component(
        _numbers(),
        {"emission": "mvnormal", "covariance": "spherical"},
        None,
        partial(GaussianMixture, covariance="spherical"),
    ),
    "shared rows": Component(
        _numbers(),
        {"emission": "mvnormal", "covariance": "shared"},
        None,
        partial(GaussianMixture, covariance="shared"),
        partial(GaussianDiscriminant, "shared"),
    ),
    "codes": Component(
        _codes(),
        {"emission": "categorical", "emission_prior": [CODES] * 4},
        _classes("categorical", {"categorical": CODES}),
        None,
        partial(NaiveBayes, "categorical", priors={"categorical": CODES}),
        _each(CODES, Categorical),
    ),
    "counts": Component(
        _counts(),
        {"emission": "poisson", "emission_prior": GAMMA},
        partial(FamilyMixture, Poisson, prior=GAMMA),
        partial(FamilyMixture, Poisson),
        partial(NaiveBayes, "poisson", priors={"poisson": GAMMA}),
        _each(GAMMA, Poisson),
    ),
    "kinds of columns": Component(
        _MIXED,
        {
            "emission": dict(enumerate(_KINDS)),
            "emission_prior": {**_PRIORS, "categorical": CODES},
        },
        _classes(_KINDS, _PRIORS),
        None,
        partial(NaiveBayes, _KINDS, priors=_PRIORS),
        _mixed_alone,
    ),
    "Student columns": Component(
        _numbers(),
        {"emission": "student-t"},
        None,
        partial(FamilyMixture, StudentT, split_merge=False, n_init=3),
    ),
}

#: Those with conjugate beliefs in mixtures and chains alike.
BELIEVED = [name for name, case in CASES.items() if case.mixture is not None]

#: Nats of the last step: evidences are compared to 1e-9.
TOL = 1e-13


def chain_of(case: Component, k: int = 2, **options: Any) -> HiddenMarkovModel:
    """Return a hidden Markov model that emits the component."""
    emission = dict(case.emission)
    if options.get("method", "variational") in ("em", "viterbi"):
        emission.pop("emission_prior", None)
    return HiddenMarkovModel(k, **emission, **{"random_state": 0, "tol": TOL} | options)


@cache
def fitted_mixture(name: str, k: int = 2, likely: bool = False, concentration: Any = 1.0) -> Any:
    """Return a mixture of the rows of a case."""
    case = CASES[name]
    make: Any = case.likely if likely else case.mixture
    options = {} if likely else {"weight_concentration_prior": concentration}
    return make(n_components=k, tol=TOL, random_state=0, **options).fit(case.x)


@cache
def fitted_chain(name: str, k: int = 2, method: str = "variational", **options: Any) -> Any:
    """Return a chain of sequences of one row each: a mixture."""
    case = CASES[name]
    ones = np.ones(len(case.x), dtype=int)
    return chain_of(case, k, method=method, **options).fit(case.x, lengths=ones)
