"""The same decision on every machine: a few units in the last place of the inputs, by which other
processors round in another way, change no answer about what is proper, singular or of which rank.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori import (
    InverseWishart,
    Model,
    MvNormal,
    MvStudentT,
    Normal,
    Wishart,
    bayes,
)
from posteriori.classification import GaussianDiscriminant
from posteriori.distributions import LinearMap, VectorNormalGamma, complete_square
from posteriori.inference import Equation, Latent, Link, message
from posteriori.inference.gaussian.dense import DenseSystem
from posteriori.inference.gaussian.elimination import _Elimination
from posteriori.inference.gaussian.sparse import SparseSystem
from posteriori.inference.messages.row_messages import NormalRows, QuadraticRows
from posteriori.numerics.rank import is_definite, is_invertible, numerical_rank
from posteriori.regression import BayesianLinearRegressor, LinearRegressor

pytestmark = pytest.mark.blas

ULP = np.finfo(float).eps

#: How often each decision is taken anew.
DRAWS = 20


class Decision(NamedTuple):
    """What is decided about arrays that carry rounding errors, and the answer of exact arithmetic."""

    arrays: tuple[Any, ...]
    decide: Callable[..., Any]
    answer: Any


def jolted(rng: np.random.Generator, a: Any) -> Any:
    """Return an array of which every entry is off by up to four units; symmetric ones stay so."""
    a = np.asarray(a, dtype=float)
    units = rng.integers(-4, 5, size=a.shape)
    if a.ndim > 1 and np.array_equal(a, np.swapaxes(a, -1, -2)):
        units = np.tril(units) + np.swapaxes(np.tril(units, -1), -1, -2)
    return a * (1.0 + ULP * units)


def turned(*values: float) -> Any:
    """Return a matrix with given eigenvalues whose axes point nowhere in particular."""
    size = len(values)
    q = np.linalg.qr(np.random.default_rng(size).normal(size=(size, size)))[0]
    a = (q * np.array(values)) @ q.T
    return 0.5 * (a + a.T)


def refuses(call: Callable[[], Any]) -> bool:
    """Tell whether a call is refused with a reason."""
    try:
        call()
    except ValueError:
        return True
    return False


RNG = np.random.default_rng(7)
PLANE = turned(2.0, 1.0, 0.0)
REGULAR = turned(2.0, 1.0, 1e-6)
WIDE = RNG.normal(size=(2, 3))
DEPENDENT = np.array([[0.1, 0.2, 0.3], [0.3, 0.1, 0.4], [0.4, 0.3, 0.7]])  # the last: both others
LINE = np.array([0.6, 0.8])
ZERO = np.zeros(3)


def improper(w: Any) -> MvNormal:
    return MvNormal.from_natural(np.zeros(len(w)), w)


FAMILIES = {
    "covariance without density": Decision(
        (PLANE,), lambda v: refuses(lambda: MvNormal(ZERO, cov=v).log_prob(ZERO)), True
    ),
    "covariance with density": Decision(
        (REGULAR,), lambda v: refuses(lambda: MvNormal(ZERO, cov=v).log_prob(ZERO)), False
    ),
    "singular precision": Decision(
        (PLANE,), lambda w: refuses(lambda: MvNormal(ZERO, precision=w)), True
    ),
    "message of a plane": Decision((PLANE,), lambda w: bool(improper(w).is_proper), False),
    "proper message": Decision((REGULAR,), lambda w: bool(improper(w).is_proper), True),
    "what a division leaves of all": Decision(
        (REGULAR, REGULAR),
        lambda a, b: bool((MvNormal(ZERO, precision=a) / MvNormal(ZERO, precision=b)).is_proper),
        False,
    ),
    "what a division leaves of a direction": Decision(
        (turned(3.0, 2.0, 1.0), turned(2.0, 1.0, 1.0)),
        lambda a, b: bool((MvNormal(ZERO, precision=a) / MvNormal(ZERO, precision=b)).is_proper),
        False,
    ),
    "what a division leaves of numbers": Decision(
        (0.1, 0.3),
        lambda a, b: bool((Normal(0, precision=3.0 * a) / Normal(0, precision=b)).is_proper),
        False,
    ),
    "image on a line": Decision(
        (turned(2.0, 1.0), np.array([[1.0, 2.0], [0.1, 0.2]])),
        lambda v, a: refuses(lambda: MvNormal(np.zeros(2), cov=v).affine(a).log_prob([0.0, 0.0])),
        True,
    ),
    "image on a point": Decision(
        (np.outer(LINE, LINE), np.array([[0.8, -0.6]])),
        lambda v, a: float(MvNormal(np.zeros(2), cov=v).affine(a).variance[0]),
        0.0,
    ),
    "image of a Student": Decision(
        (turned(2.0, 1.0), np.array([[1.0, 2.0], [0.1, 0.2]])),
        lambda v, a: refuses(lambda: MvStudentT(3.0, np.zeros(2), scale=v).affine(a)),
        True,
    ),
    "Wishart scale": Decision((PLANE,), lambda v: refuses(lambda: Wishart(5.0, v)), True),
    "Wishart message": Decision(
        (PLANE,), lambda v: bool(Wishart.from_natural(1.0, -0.5 * v).is_proper), False
    ),
    "inverse Wishart message": Decision(
        (PLANE,), lambda v: bool(InverseWishart.from_natural(-4.0, -0.5 * v).is_proper), False
    ),
    "matrix on the edge of the cone": Decision(
        (PLANE,), lambda x: float(Wishart(5.0, np.eye(3)).log_prob(x)), -np.inf
    ),
    "precision of weights": Decision(
        (PLANE,),
        lambda k: refuses(lambda: VectorNormalGamma(ZERO, mean_precision=k, shape=2.0, rate=1.0)),
        True,
    ),
    "noise of several data": Decision(
        (turned(1.0, 0.0),),
        lambda v: refuses(
            lambda: (
                bayes(
                    MvNormal([0, 0], cov=np.eye(2)),
                    lambda mu: MvNormal(mu, cov=v),
                    [[0.1, 0.2], [0.3, 0.1]],
                ).log_evidence
            )
        ),
        True,
    ),
    "map without inverse": Decision((DEPENDENT,), lambda a: refuses(lambda: LinearMap(a)), True),
    "square without centre": Decision(
        (PLANE,), lambda a: refuses(lambda: complete_square(a, ZERO)), True
    ),
}

MATRICES = {
    "definite": Decision((REGULAR,), lambda a: bool(is_definite(a)), True),
    "semi-definite": Decision((PLANE,), lambda a: bool(is_definite(a)), False),
    "rank": Decision((DEPENDENT,), lambda a: int(numerical_rank(a)), 2),
    "invertible": Decision((DEPENDENT,), lambda a: bool(is_invertible(a)), False),
}


def row_precision(gain: Any, *told: Any) -> int:
    """Return the rank of what rows with noise say of their first vector."""
    gains = tuple(np.asarray(k)[None] for k in gain)
    rule = NormalRows(np.zeros((1, len(gain[0]))), np.ones((1, len(gain[0]))), gains)
    incoming = [(np.zeros((1, len(w))), np.asarray(w)[None]) for w in told]
    return int(numerical_rank(rule.send(np.array([0]), 0, incoming)[1][0]))


def path_precision(gain_in: Any, gain_out: Any, told: Any) -> int:
    """Return the rank of what the only row of a path sends, as compiled loops find it."""
    gains = tuple(np.asarray(k)[None] for k in (gain_in, gain_out))
    rule = NormalRows(np.zeros((1, len(gain_in))), np.ones((1, len(gain_in))), gains)
    base = np.zeros((1, 1, len(told))), np.asarray(told)[None, None]
    return int(numerical_rank(rule.sweep(np.zeros((1, 1), dtype=int), 1, base)[1][0, 0]))


MESSAGES = {
    "forgetting what is flat": Decision(
        (np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[1.0, -1.0]])),
        lambda w, a: refuses(lambda: message("gain", "y", x=improper(w), matrix=a)),
        True,
    ),
    "forgetting what is flat, turned": Decision(
        (PLANE, np.linalg.eigh(PLANE)[1][:, 1:].T),
        lambda w, a: refuses(lambda: message("gain", "y", x=improper(w), matrix=a)),
        True,
    ),
    "forgetting what is known": Decision(
        (PLANE, WIDE[:1]),
        lambda w, a: refuses(lambda: message("gain", "y", x=improper(w), matrix=a)),
        False,
    ),
    "what is left is flat": Decision(
        (np.outer(LINE, LINE),),
        lambda w: bool(message("gain", "y", x=improper(w), matrix=[[1.0, 0.0]]).is_proper),
        False,
    ),
    "forward through dependent rows": Decision(
        (PLANE, DEPENDENT),
        lambda w, a: refuses(lambda: message("gain", "y", x=improper(w), matrix=a)),
        True,
    ),
    "backward along a direction that is not seen": Decision(
        (np.outer(LINE, LINE), np.array([[0.8], [-0.6]])),
        lambda w, a: bool(message("gain", "x", y=improper(w), matrix=a).is_proper),
        False,
    ),
    "a known image of dependent columns": Decision(
        (DEPENDENT,), lambda a: refuses(lambda: message("gain", "x", y=ZERO, matrix=a)), True
    ),
    "sum of messages about other directions": Decision(
        (np.outer(LINE, LINE), np.outer([0.8, -0.6], [0.8, -0.6])),
        lambda a, b: float(
            np.abs(message("addition", "z", x=improper(a), y=improper(b)).precision).max()
        ),
        0.0,
    ),
    "two certainties": Decision(
        (PLANE, PLANE),
        lambda a, b: refuses(
            lambda: message("equality", "z", x=MvNormal(ZERO, cov=a), y=MvNormal(ZERO, cov=b))
        ),
        True,
    ),
    "growth as fast as the fall": Decision(
        (np.outer(LINE, LINE), -np.outer(LINE, LINE)),
        lambda v, w: refuses(
            lambda: message("equality", "z", x=MvNormal([0, 0], cov=v), y=improper(w))
        ),
        True,
    ),
    "row that hears nothing along one direction": Decision(
        (np.eye(2), np.eye(2), np.outer(LINE, LINE)),
        lambda out, into, told: row_precision((out, into), told),
        1,
    ),
    "row that hears of all": Decision(
        (np.eye(2), np.eye(2), turned(1.0, 1e-6)),
        lambda out, into, told: row_precision((out, into), told),
        2,
    ),
    "row that asks for what it did not hear": Decision(
        (np.array([[0.8], [-0.6]]), np.eye(2), np.outer(LINE, LINE)),
        lambda out, into, told: row_precision((out, into), told),
        0,
    ),
    "path that hears nothing along one direction": Decision(
        (np.eye(2), np.eye(2), np.outer(LINE, LINE)), path_precision, 1
    ),
    "path that hears of all": Decision(
        (np.eye(2), np.eye(2), turned(1.0, 1e-6)), path_precision, 2
    ),
    "path that asks for what it did not hear": Decision(
        (np.eye(2), np.array([[0.8], [-0.6]]), np.outer(LINE, LINE)), path_precision, 0
    ),
    "quadratic factor of a difference": Decision(
        (np.kron([[1.0, -1.0], [-1.0, 1.0]], np.outer(LINE, LINE)), np.zeros((2, 2))),
        lambda j, told: int(
            numerical_rank(
                QuadraticRows(np.zeros((1, 4)), j[None], 2).send(
                    np.array([0]), 0, [(np.zeros((1, 2)), told[None])]
                )[1][0]
            )
        ),
        0,
    ),
}


def seen(system: Any) -> Callable[..., bool]:
    """Return whether a system refuses numbers that equations with given coefficients tell of."""

    def decide(k: Any) -> bool:
        latents = [Latent("a", 1, 1), Latent("b", 1, 1), Latent("c", 1, 1)]
        links = tuple(Link(v.name, k[:, [i]], np.zeros(3, int)) for i, v in enumerate(latents))
        return refuses(lambda: system(latents, [Equation(np.zeros(3), np.ones(3), links)]))

    return decide


def eliminated(latents: Any, equations: Any) -> Any:
    return _Elimination({v.name: v for v in latents}, equations)


def known_covariance(v: Any) -> bool:
    """Return whether a model refuses a known covariance."""
    m = Model()
    m.mu = MvNormal(ZERO, cov=np.eye(3))
    m.x = MvNormal(m.mu, cov=v).iid("n")
    return refuses(lambda: m.infer(x=np.zeros((4, 3))))


BLOCKS = {
    **{
        f"{name}, {what}": Decision((k,), seen(system), answer)
        for name, system in (
            ("elimination", eliminated), ("dense", DenseSystem), ("sparse", SparseSystem)
        )
        for what, k, answer in (
            ("undetermined", DEPENDENT, True), ("determined", DEPENDENT + np.eye(3), False)
        )
    },
    "covariance of a model": Decision((PLANE,), known_covariance, True),
    "regular covariance of a model": Decision((REGULAR,), known_covariance, False),
}  # fmt: skip

TABLE = RNG.normal(size=(40, 2)) @ np.array([[1.0, 0.0, 0.3], [0.0, 1.0, 0.7]])
TARGETS = RNG.normal(size=40)


def least_squares_rank(x: Any) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.RankWarning)
        return int(LinearRegressor().fit(x, TARGETS).rank_)


ESTIMATORS = {
    "least squares": Decision((TABLE,), least_squares_rank, 2),
    "flat prior": Decision(
        (TABLE,),
        lambda x: refuses(
            lambda: BayesianLinearRegressor(0.0, noise_precision=1.0).fit(x, TARGETS)
        ),
        True,
    ),
    "prior of a plane": Decision(
        (TABLE, np.outer([0.3, 0.7, -1.0], [0.3, 0.7, -1.0])),
        lambda x, w: refuses(
            lambda: BayesianLinearRegressor(w, noise_precision=1.0).fit(x, TARGETS)
        ),
        False,
    ),
    "covariance of classes": Decision(
        (TABLE,),
        lambda x: refuses(lambda: GaussianDiscriminant(method="ml").fit(x, TARGETS > 0)),
        True,
    ),
}

ALL = {**MATRICES, **FAMILIES, **MESSAGES, **BLOCKS, **ESTIMATORS}


@pytest.mark.parametrize("case", ALL.values(), ids=ALL)
def test_a_few_units_in_the_last_place_do_not_change_a_decision(case):
    rng = np.random.default_rng(0)
    assert case.decide(*case.arrays) == case.answer
    for _ in range(DRAWS):
        assert case.decide(*(jolted(rng, a) for a in case.arrays)) == case.answer
