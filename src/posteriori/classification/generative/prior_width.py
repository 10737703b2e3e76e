"""The same prior, wider or narrower: worth 1/s² as many rows where it is s times as wide."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.validation import width_factor

__all__ = ["has_width", "widened"]

#: The parameters of each family with their powers of s.
_POWERS: Mapping[type, Mapping[str, int]] = {
    Beta: {"a": -2, "b": -2},
    Dirichlet: {"concentration": -2},
    Gamma: {"shape": -2, "rate": -2},
    InverseGamma: {"shape": -2, "scale": -2},
    Normal: {"mean": 0, "variance": 2},
    MvNormal: {"mean": 0, "cov": 2},
    NormalGamma: {"location": 0, "mean_strength": -2, "shape": 0, "rate": 0},
    NormalInverseGamma: {"location": 0, "mean_strength": -2, "shape": 0, "scale": 0},
    NormalInverseWishart: {"location": 0, "mean_strength": -2, "dof": 0, "scale": 0},
    NormalWishart: {"location": 0, "mean_strength": -2, "dof": 0, "scale": 0},
}


def has_width(prior: Any) -> bool:
    """Tell whether :func:`widened` knows the prior's family."""
    return type(prior) in _POWERS


def widened(prior: Any, factor: float) -> Any:
    """Return a prior ``factor`` times as wide.

    Means have standard deviations that many times as large, given the spread of the rows, whose own
    prior stays; pseudo-counts of a Beta, Dirichlet, Gamma or InverseGamma are divided by the square.

    Examples
    --------
    >>> widened(Beta(2.0, 6.0), 2.0)
    Beta(0.5, 1.5)
    """
    factor = width_factor(factor)
    family = type(prior)
    return family._from(
        **{name: getattr(prior, name) * factor**p for name, p in _POWERS[family].items()}
    )
