"""Words of other libraries for parameters of families, as ``Normal(0, sigma=2)`` and ``Gamma(2, scale=3)``."""

from __future__ import annotations

from posteriori.numerics.telling.parameter_words import OtherWords

__all__ = ["OTHER_WORDS", "words_for"]

_REPEAT = (".iid(3) repeats a distribution",)

#: What SciPy, PyMC, Stan, PyTorch and textbooks call a parameter, and what it may be here: the first that a
#: family has. After "=" stands how the number changes.
OTHER_WORDS: OtherWords = {
    "N": ("trials",),
    "Sigma": ("cov",),
    "V": ("scale",),
    "a": ("shape", "low", "concentration"),
    "alpha": ("shape", "a", "concentration", "count"),
    "b": ("rate", "scale", "high"),
    "beta": ("rate", "b", "scale"),
    "cov": ("scale",),
    "covariance": ("cov", "scale"),
    "covariance_matrix": ("cov", "scale"),
    "df": ("dof",),
    "degrees_of_freedom": ("dof",),
    "dims": _REPEAT,
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
    "observed": ("data are given to infer(…) by the name of the variable",),
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
    "shape": _REPEAT,
    "sigma": ("scale", "cov"),
    "sigma2": ("variance",),
    "size": _REPEAT,
    "std": ("scale", "cov"),
    "stddev": ("scale", "cov"),
    "tau": ("precision", "scale"),
    "theta": ("probability", "rate=1/theta"),
    "total_count": ("trials", "count"),
    "upper": ("high",),
    "var": ("variance",),
    "variance": ("scale=√variance", "cov"),
}

#: Where a word means another parameter than in other families.
_OWN: dict[str, OtherWords] = {
    "InverseGamma": {"rate": ("scale",)},
    "MvNormal": {"scale": ("cov",)},
}


def words_for(family: str) -> OtherWords:
    """Return what others call the parameters of a family, by its name."""
    return {**OTHER_WORDS, **_OWN.get(family, {})}
