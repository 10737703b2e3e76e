"""Spreads of the effects of levels that have the highest evidence by Laplace's method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.effects.spread_search import Spreads, maximise_spreads
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.grouped.grouped_softmax import GroupedSoftmax
from posteriori.inference.predictors.grouped.spread_start import (
    SpreadStart,
    likely_spreads,
    with_spreads,
)
from posteriori.inference.predictors.grouped_contrasts import GroupedContrasts
from posteriori.inference.predictors.grouped_weights import GroupedWeights
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.inference.predictors.pairs.grouped_pair import GroupedPair
from posteriori.inference.predictors.pairs.paired_weights import PairedWeights
from posteriori.inference.predictors.weight_belief import evidence_at
from posteriori.numerics.types import Array

__all__ = ["GroupedDensity", "GroupedFit", "learn_spreads"]

#: Modes on the way to the best spreads are found to so many standard deviations.
_ROUGHLY = 1e-5

#: The mode from which the search begins.
_NEAR = 0.1

#: Spreads are found to so many standard deviations; slopes at a known shape have fewer digits.
_FLAT, _NEARLY_FLAT = 5e-3, 0.01

#: A log posterior of weights and effects: of one predictor, of two, or of one for each contrast of classes.
GroupedDensity: TypeAlias = GroupedPredictor | GroupedSoftmax | GroupedPair

#: From a log posterior, a mode that is near or None, and a tolerance, to its mode.
Ascend: TypeAlias = Callable[[Any, Mode | None, float], Mode]


@dataclass(frozen=True)
class GroupedFit:
    """What was learned of weights, effects and spreads.

    Attributes
    ----------
    density : GroupedPredictor, GroupedSoftmax or GroupedPair
        With the spreads that were chosen.
    mode : Mode
    spreads : Spreads
        Of the blocks that were asked for.
    log_evidence : float
    """

    density: GroupedDensity
    mode: Mode
    spreads: Spreads
    log_evidence: float

    @property
    def belief(self) -> GroupedWeights | GroupedContrasts | PairedWeights:
        """The normal belief at the mode."""
        return self.density.belief(self.mode)


def learn_spreads(
    density: GroupedDensity,
    blocks: Sequence[slice],
    unit: float,
    tol: float,
    ascend: Ascend,
    *,
    known_shape: bool = False,
    half_cauchy: ArrayLike = False,
) -> GroupedFit:
    """Choose the spreads of blocks of coordinates by Laplace's evidence, and a prior if they have one.

    Parameters
    ----------
    density : GroupedPredictor, GroupedSoftmax or GroupedPair
        With the spreads to begin at.
    blocks : sequence of slice
        Coordinates that share a spread, such as the levels of a category.
    unit : float
        In which predictors are measured.
    tol : float
        To which the last mode is found.
    ascend : callable
    known_shape : bool
        Whether modes are those of a log shape with all others integrated out: then the evidence does
        not change with it, and its slopes are those at the shape that was found.
    half_cauchy : bool, or (C,) of bool
        Which spreads have a prior, see :func:`maximise_spreads`.
    """
    last: tuple[GroupedDensity, Mode] | None = None

    def at(log_spreads: Array, tol: float) -> tuple[GroupedDensity, Mode]:
        nonlocal last
        precision, near = with_spreads(density.precision, blocks, log_spreads), None
        here: GroupedDensity = replace(density, precision=precision)
        if last is not None:
            before, mode = last
            bend: Any = mode.precision
            near = mode._replace(precision=bend.plus(precision - before.precision))
        last = here, ascend(here, near, tol)
        return last

    def evidence(log_spreads: Array) -> tuple[float, Array]:
        here, mode = at(log_spreads, _ROUGHLY)
        value = evidence_at(mode, here.precision)
        if not known_shape:
            return value, here.slopes(mode, blocks)
        assert isinstance(here, GroupedPredictor)  # classes have no shape
        given, mode = here.at_known_shape(mode)
        return value, given.slopes(mode, given.blocks)

    start = _begin(*at(_log_spreads(density, blocks), _NEAR), blocks, unit)
    flat = _NEARLY_FLAT if known_shape else _FLAT
    spreads = maximise_spreads(
        evidence, start.log_spreads, start.determined, unit, flat, half_cauchy=half_cauchy
    )
    final, mode = at(spreads.log_spreads, tol)
    return GroupedFit(final, mode, spreads, evidence_at(mode, final.precision))


def _begin(
    density: GroupedDensity, mode: Mode, blocks: Sequence[slice], unit: float
) -> SpreadStart:
    """Return the likely spreads of a mode that is nearly found, or those it has."""
    try:
        return likely_spreads(density.precision, density.prior_mean, mode, blocks, unit)
    except np.linalg.LinAlgError:
        sizes = np.array([density.precision[block].size for block in blocks], dtype=np.float64)
        return SpreadStart(_log_spreads(density, blocks), sizes)


def _log_spreads(density: GroupedDensity, blocks: Sequence[slice]) -> Array:
    return np.array([-0.5 * np.log(density.precision[block.start]) for block in blocks])
