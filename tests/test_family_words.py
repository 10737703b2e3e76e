"""What the reference says that SciPy writes for a family has the same density."""

import re

import numpy as np
import pytest
from scipy import stats

import posteriori.distributions as rooms
from tests.test_docs import ROOT, load

WORDS = load(ROOT / "docs" / "_ext" / "family_words.py")

#: Parameters of a member of each family that SciPy has.
MEMBERS = {
    "Bernoulli": {"probability": 0.3},
    "Beta": {"a": 2.0, "b": 3.5},
    "BetaBinomial": {"trials": 7, "a": 2.0, "b": 3.5},
    "Binomial": {"trials": 7, "probability": 0.3},
    "Cauchy": {"location": 0.5, "scale": 2.0},
    "Dirichlet": {"concentration": [1.5, 2.0, 4.0]},
    "DirichletMultinomial": {"trials": 5, "concentration": [1.5, 2.0, 4.0]},
    "Exponential": {"rate": 3.0},
    "Gamma": {"shape": 2.5, "rate": 3.0},
    "Geometric": {"probability": 0.3, "start": 0},
    "HalfCauchy": {"scale": 2.0},
    "HalfNormal": {"scale": 2.0},
    "InverseGamma": {"shape": 2.5, "scale": 3.0},
    "InverseWishart": {"dof": 4.5, "scale": [[2.0, 0.5], [0.5, 1.0]]},
    "Laplace": {"mean": 0.5, "scale": 2.0},
    "LogNormal": {"mean": 0.5, "scale": 0.7},
    "MatrixNormal": {
        "mean": [[1.0, 2.0, 3.0], [0.0, 1.0, 0.5]],
        "row_cov": [[2.0, 0.5], [0.5, 1.0]],
        "col_cov": [[1.0, 0.3, 0.0], [0.3, 2.0, 0.1], [0.0, 0.1, 0.5]],
    },
    "Multinomial": {"trials": 5, "probabilities": [0.2, 0.3, 0.5]},
    "MvNormal": {"mean": [1.0, -1.0], "cov": [[2.0, 0.5], [0.5, 1.0]]},
    "MvStudentT": {"dof": 3.5, "mean": [1.0, -1.0], "scale": [[2.0, 0.5], [0.5, 1.0]]},
    "NegativeBinomial": {"count": 2.5, "probability": 0.3},
    "Normal": {"mean": 0.5, "scale": 2.0},
    "NormalInverseGamma": {"mean": 0.5, "mean_strength": 2.0, "shape": 2.5, "scale": 3.0},
    "Pareto": {"shape": 2.5, "minimum": 3.0},
    "Poisson": {"rate": 3.0},
    "StudentT": {"dof": 3.5, "mean": 0.5, "scale": 2.0},
    "TruncatedNormal": {"mean": 0.5, "lower": -1.0, "upper": 2.0, "scale": 2.0},
    "Uniform": {"low": -1.0, "high": 2.0},
    "VonMises": {"mean": 0.5, "concentration": 2.0},
    "Wishart": {"dof": 4.5, "scale": [[2.0, 0.5], [0.5, 1.0]]},
}


def test_every_family_has_a_row_and_every_call_of_scipy_a_member():
    assert set(WORDS.ELSEWHERE) == {family.__name__ for family in WORDS.list_families()}
    assert set(MEMBERS) == {name for name, there in WORDS.ELSEWHERE.items() if there.scipy}


@pytest.mark.parametrize("name", MEMBERS)
def test_scipy_has_the_same_density(name):
    given = MEMBERS[name]
    here = getattr(rooms, name)(**given)
    there = eval(WORDS.ELSEWHERE[name].scipy, vars(stats) | given | {"exp": np.exp})
    log_prob = getattr(there, "logpmf" if hasattr(there, "logpmf") else "logpdf")
    for seed in range(4):
        draw = here.sample(rng=seed)
        parts = draw if isinstance(draw, tuple) else (draw,)
        np.testing.assert_allclose(log_prob(*parts), here.log_prob(draw), rtol=1e-9)


@pytest.mark.parametrize("name", WORDS.ELSEWHERE)
def test_calls_use_parameters_of_the_family(name):
    known = {word.rstrip("=") for word in WORDS.list_parameters(getattr(rooms, name))}
    for call in WORDS.ELSEWHERE[name]:
        used = {word for value in re.findall(r"=([^=,]+)", call) for word in words_of(value)}
        assert used - {"exp"} <= known


def words_of(value: str) -> list[str]:
    return re.findall(r"[a-z_]\w*", value)


def test_parameters_that_are_given_by_name_say_so():
    assert WORDS.list_parameters(rooms.MvNormal) == ["mean", "cov=", "precision="]
    assert WORDS.list_parameters(rooms.Gamma) == ["shape", "rate"]
