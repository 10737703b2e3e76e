"""Words of other libraries for parameters: an argument that a family does not know names the one that is meant.

``Normal(0, sigma=2)`` is refused with "say scale=", and ``Gamma(2, scale=3)`` with "say rate=1/scale".
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import Any

__all__ = ["OTHER_WORDS", "naming_parameters"]

#: What SciPy, PyMC, Stan, PyTorch and textbooks call a parameter, and what it may be here: the first that a
#: family has. After "=" stands how the number changes.
OTHER_WORDS: dict[str, tuple[str, ...]] = {
    "N": ("trials",),
    "Sigma": ("cov",),
    "a": ("shape", "low", "concentration"),
    "alpha": ("shape", "a", "concentration", "count"),
    "b": ("rate", "scale", "high"),
    "beta": ("rate", "b", "scale"),
    "cov": ("scale",),
    "covariance": ("cov", "scale"),
    "covariance_matrix": ("cov", "scale"),
    "df": ("dof",),
    "degrees_of_freedom": ("dof",),
    "k": ("shape", "trials"),
    "kappa": ("concentration",),
    "lam": ("rate", "precision"),
    "lambda_": ("rate", "precision"),
    "loc": ("mean", "location", "low"),
    "location": ("mean",),
    "lower": ("low",),
    "m": ("minimum", "mean"),
    "mean": ("location",),
    "mu": ("mean", "rate", "location"),
    "n": ("trials", "count"),
    "nu": ("dof",),
    "p": ("probability", "probabilities"),
    "precision_matrix": ("precision",),
    "prob": ("probability", "probabilities"),
    "probability": ("probabilities",),
    "probs": ("probabilities", "probability"),
    "r": ("count",),
    "rate": ("scale=1/rate",),
    "scale": ("rate=1/scale", "cov"),
    "scale_matrix": ("scale",),
    "scale_tril": ("cov",),
    "sd": ("scale", "cov"),
    "sigma": ("scale", "cov"),
    "sigma2": ("variance",),
    "std": ("scale", "cov"),
    "stddev": ("scale", "cov"),
    "tau": ("precision", "scale"),
    "theta": ("probability", "rate=1/theta"),
    "total_count": ("trials", "count"),
    "upper": ("high",),
    "var": ("variance",),
    "variance": ("scale=√variance", "cov"),
}
#: Parameters that mean the same number, although another rule would turn it round.
_SAME = {("InverseGamma", "rate"): "scale", ("MvNormal", "scale"): "cov"}


def naming_parameters(new: Callable[..., Any]) -> Callable[..., Any]:
    """Let a constructor say which of its parameters is meant by a word that it does not know."""
    known = inspect.signature(new).parameters

    @wraps(new)
    def made(cls: Any, *args: Any, **named: Any) -> Any:
        try:
            return new(cls, *args, **named)
        except TypeError:
            strange = [word for word in named if word not in known]
            if not strange:
                raise
            raise TypeError(_refusal(cls.__name__, strange, list(known)[1:])) from None

    return made


def _refusal(family: str, strange: list[str], parameters: list[str]) -> str:
    """Return what to say instead of words that the family does not know."""
    mine = [name for name in parameters if name != "args"]
    meant = [_meant(family, word, mine) for word in strange]
    hint = f"say {', '.join(meant)}" if all(meant) else f"it has {', '.join(mine)}"
    words = ", ".join(map(repr, strange))
    return f"{family} has no parameter {words}: {hint}"


def _meant(family: str, word: str, parameters: list[str]) -> str:
    """Return the argument to give instead, empty where none is known."""
    options = (_SAME[family, word],) if (family, word) in _SAME else OTHER_WORDS.get(word, ())
    for option in (*options, *get_close_matches(word, parameters, 1)):
        name, _, value = option.partition("=")
        if name in parameters:
            return f"{name}={value}"
    return ""
