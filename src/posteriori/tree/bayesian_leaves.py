r"""Leaves that are integrated out: what their rows add up to, and what they predict.

Numbers are normal with a normal-gamma belief, :math:`\tau\sim\mathrm{Gamma}(a, b)` and
:math:`\mu\mid\tau\sim N(m, 1/(\kappa\tau))`; counts are Poisson with a gamma belief; classes have a
Dirichlet belief.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.estimators.target_unit import TargetUnit, learn_unit
from posteriori.inference.trees.grower.profiles import Sums
from posteriori.inference.trees.growing import class_sums, moment_sums
from posteriori.inference.trees.scores import (
    EVIDENCE_OF_CLASSES,
    EVIDENCE_OF_COUNTS,
    EVIDENCE_OF_NUMBERS,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = [
    "Leaves",
    "leaves_of_classes",
    "leaves_of_counts",
    "leaves_of_numbers",
    "predict_normal_gamma",
]


class Leaves(NamedTuple):
    """How leaves learn from rows.

    Attributes
    ----------
    criterion : int
        The evidence.
    prior : (P,)
    by_row : (N, S)
        What each row adds to its leaf.
    sums : Sums
        The same, for growing.
    log_constant : float
        What the log evidence has beside that of the leaves.
    """

    criterion: int
    prior: Array
    by_row: Array
    sums: Sums
    log_constant: float


def leaves_of_classes(codes: Any, size: int, weight: Array, concentration: float) -> Leaves:
    """Return leaves with a Dirichlet belief about ``size`` classes."""
    by_row = np.zeros((len(codes), size))
    by_row[np.arange(len(codes)), codes] = weight
    prior = np.array([float(concentration)])
    return Leaves(EVIDENCE_OF_CLASSES, prior, by_row, class_sums(codes, weight), 0.0)


def leaves_of_numbers(
    y: Array, weight: Array, prior: NormalGamma | None
) -> tuple[Leaves, NormalGamma, TargetUnit]:
    """Return leaves with a normal-gamma belief, that belief, and the unit of the sums."""
    unit = learn_unit(y, weight)
    z = (y - unit.centre) / unit.size
    if prior is None:
        variance = unit.size**2 * float(np.average(z**2, weights=weight))
        prior = NormalGamma(unit.centre, 0.5, 2.0, variance or unit.centre**2 or 1.0)
    inside = [
        (prior.location - unit.centre) / unit.size,
        prior.mean_strength,
        prior.shape,
        prior.rate / unit.size / unit.size,
    ]
    by_row = np.stack([weight, weight * z, weight * z * z], axis=1)
    log_unit = -float(weight.sum()) * np.log(unit.size)  # p(y) = p(z)/unit
    sums = moment_sums(z, weight)
    leaves = Leaves(EVIDENCE_OF_NUMBERS, np.array(inside, dtype=float), by_row, sums, log_unit)
    return leaves, prior, unit


def leaves_of_counts(y: Array, weight: Array, prior: Gamma | None) -> tuple[Leaves, Gamma]:
    """Return leaves with a gamma belief about their rate, and that belief."""
    if prior is None:
        mean = float(np.average(y, weights=weight))
        prior = Gamma(1.0, rate=1.0 / mean if mean > 0 else 1.0)
    by_row = np.stack([weight, weight * y, weight * y * y], axis=1)
    inside = np.array([float(prior.shape), float(prior.rate)])
    carrier = -float(weight @ special.gammaln(y + 1.0))  # −Σ ln y!
    return Leaves(EVIDENCE_OF_COUNTS, inside, by_row, moment_sums(y, weight), carrier), prior


def predict_normal_gamma(prior: Array, sums: Array, unit: TargetUnit) -> StudentT:
    """Return what leaves with sums (M, 3) in a unit predict, a batch."""
    m, kappa, a, b = prior
    n, total, squares = sums.T
    mean = total / n
    kappa_n, a_n = kappa + n, a + 0.5 * n
    m_n = (kappa * m + total) / kappa_n
    b_n = b + 0.5 * np.maximum(squares - total * mean, 0.0)
    b_n += 0.5 * kappa * n * (mean - m) ** 2 / kappa_n
    scale = unit.size * np.sqrt(b_n * (kappa_n + 1.0) / (a_n * kappa_n))
    return StudentT(2.0 * a_n, unit.centre + unit.size * m_n, scale=scale)
