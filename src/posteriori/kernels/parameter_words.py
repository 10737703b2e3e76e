"""Words of other libraries for parameters of kernels, as ``RBF(length_scale=2)``."""

from __future__ import annotations

from posteriori.numerics.telling.parameter_words import OtherWords

__all__ = ["OTHER_WORDS"]

_MULTIPLIED = ("multiply by it, as in 4.0 * RBF()",)

#: What scikit-learn, GPflow, GPyTorch and textbooks call parameters.
OTHER_WORDS: OtherWords = {
    "alpha": ("mixing",),
    "amplitude": ("multiply by its square, as in 4.0 * RBF()",),
    "bandwidth": ("scale",),
    "bias": ("offset",),
    "c": ("offset",),
    "coef0": ("offset",),
    "constant": ("value", "offset"),
    "constant_value": ("value",),
    "d": ("degree",),
    "ell": ("scale",),
    "gamma": ("scale=1/√(2·gamma)",),
    "l": ("scale",),
    "length_scale": ("scale",),
    "lengthscale": ("scale",),
    "lengthscales": ("scale",),
    "ls": ("scale",),
    "noise": ("variance",),
    "noise_level": ("variance",),
    "order": ("degree",),
    "outputscale": _MULTIPLIED,
    "p": ("period", "degree"),
    "period_length": ("period",),
    "periodicity": ("period",),
    "sigma": ("scale",),
    "variance": _MULTIPLIED,
}
