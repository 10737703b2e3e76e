"""Probabilistic machine learning: posterior, evidence and predictions from one call.

Every room of the package (``posteriori.distributions``, ``posteriori.datasets``, …) and every name
listed here is loaded on first use, so that ``import posteriori`` costs next to nothing.

Examples
--------
>>> from posteriori import Beta, Bernoulli, bayes
>>> bayes(Beta(1, 1), Bernoulli, [1, 0, 1, 1, 0, 0, 1]).posterior
Beta(5, 4)
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING

__version__ = "0.1.0"

_ROOMS = (
    "analysis",
    "classification",
    "cli",
    "datasets",
    "decision",
    "distributions",
    "factors",
    "inference",
    "modeling",
    "numerics",
    "plotting",
    "regression",
    "selection",
)

_ROOM_OF = {
    "Bernoulli": "distributions",
    "Beta": "distributions",
    "Binomial": "distributions",
    "Categorical": "distributions",
    "Chain": "modeling",
    "Dirichlet": "distributions",
    "Exponential": "distributions",
    "Gamma": "distributions",
    "Input": "modeling",
    "InverseGamma": "distributions",
    "InverseWishart": "distributions",
    "LogEvidence": "numerics",
    "Model": "modeling",
    "Multinomial": "distributions",
    "MvNormal": "distributions",
    "MvStudentT": "distributions",
    "Normal": "distributions",
    "NormalGamma": "distributions",
    "NormalInverseGamma": "distributions",
    "NormalInverseWishart": "distributions",
    "NormalWishart": "distributions",
    "PointMass": "distributions",
    "Poisson": "distributions",
    "StudentT": "distributions",
    "Wishart": "distributions",
    "analyze": "analysis",
    "bayes": "distributions",
    "compare": "selection",
    "dot": "modeling",
    "plot": "plotting",
    "take": "modeling",
}

__all__ = [*_ROOM_OF]

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori import analysis as analysis
    from posteriori import classification as classification
    from posteriori import cli as cli
    from posteriori import datasets as datasets
    from posteriori import decision as decision
    from posteriori import distributions as distributions
    from posteriori import factors as factors
    from posteriori import inference as inference
    from posteriori import modeling as modeling
    from posteriori import numerics as numerics
    from posteriori import plotting as plotting
    from posteriori import regression as regression
    from posteriori import selection as selection
    from posteriori.analysis import analyze as analyze
    from posteriori.distributions import Bernoulli as Bernoulli
    from posteriori.distributions import Beta as Beta
    from posteriori.distributions import Binomial as Binomial
    from posteriori.distributions import Categorical as Categorical
    from posteriori.distributions import Dirichlet as Dirichlet
    from posteriori.distributions import Exponential as Exponential
    from posteriori.distributions import Gamma as Gamma
    from posteriori.distributions import InverseGamma as InverseGamma
    from posteriori.distributions import InverseWishart as InverseWishart
    from posteriori.distributions import Multinomial as Multinomial
    from posteriori.distributions import MvNormal as MvNormal
    from posteriori.distributions import MvStudentT as MvStudentT
    from posteriori.distributions import Normal as Normal
    from posteriori.distributions import NormalGamma as NormalGamma
    from posteriori.distributions import NormalInverseGamma as NormalInverseGamma
    from posteriori.distributions import NormalInverseWishart as NormalInverseWishart
    from posteriori.distributions import NormalWishart as NormalWishart
    from posteriori.distributions import PointMass as PointMass
    from posteriori.distributions import Poisson as Poisson
    from posteriori.distributions import StudentT as StudentT
    from posteriori.distributions import Wishart as Wishart
    from posteriori.distributions import bayes as bayes
    from posteriori.modeling import Chain as Chain
    from posteriori.modeling import Input as Input
    from posteriori.modeling import Model as Model
    from posteriori.modeling import dot as dot
    from posteriori.modeling import take as take
    from posteriori.numerics import LogEvidence as LogEvidence
    from posteriori.plotting import plot as plot
    from posteriori.selection import compare as compare


def __getattr__(name: str) -> object:
    if name in _ROOMS:
        return _import_module(f"posteriori.{name}")
    if name in _ROOM_OF:
        value = getattr(_import_module(f"posteriori.{_ROOM_OF[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'posteriori' has no attribute {name!r}{_hint(name)}", name=name)


def __dir__() -> list[str]:
    return sorted({*_ROOMS, *_ROOM_OF, "__version__", "__all__", "__doc__"})


def _hint(name: str) -> str:
    """Name the public name nearest to a misspelt one, if any is near."""
    if name.startswith("__"):  # probed by tools: not a misspelling
        return ""
    from difflib import get_close_matches

    spelling = {public.lower(): public for public in (*_ROOMS, *_ROOM_OF)}
    near = get_close_matches(name.lower(), spelling, n=1)
    return f"; did you mean {spelling[near[0]]!r}?" if near else ""
