r"""Where the search for spreads begins: as if the log likelihood were the parabola that it touches at a mode.

With the curvature A = G + Λ₀ and the offsets :math:`o = \hat v - m_0` of a mode, other prior precisions Λ
have, of that parabola,

.. math:: (A + \Lambda - \Lambda_0)\,\delta = (\Lambda_0 - \Lambda)\,o,\qquad
          F = o^T\Lambda_0\delta - \tfrac12\delta^TG\delta - \tfrac12(o + \delta)^T\Lambda(o + \delta)
          + \tfrac12\ln|\Lambda| - \tfrac12\ln|G + \Lambda|,

so that no row is read again.

Reference: N. Breslow & D. Clayton, "Approximate inference in generalized linear mixed models", 1993.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.effects.spread_search import maximise_spreads
from posteriori.inference.predictors.mode_finding import Mode
from posteriori.numerics.types import Array

__all__ = ["SpreadStart", "likely_spreads", "with_spreads"]

#: Spreads to begin at are found to so many standard deviations.
_ROUGHLY = 0.1

#: At least this share of the effects counts as determined.
_LEAST_DETERMINED = 0.1


class SpreadStart(NamedTuple):
    """Where to begin.

    Attributes
    ----------
    log_spreads : (C,)
    determined : (C,)
        How many effects of each block the data determine: Σγ² of their shares γ.
    """

    log_spreads: Array
    determined: Array


def with_spreads(precision: Array, blocks: Sequence[slice], log_spreads: Array) -> Array:
    """Return prior precisions with those of blocks of coordinates changed."""
    changed = precision.copy()
    for block, t in zip(blocks, log_spreads, strict=True):
        changed[block] = np.exp(-2.0 * t)
    return changed


def likely_spreads(
    precision: Array, prior_mean: Array, mode: Mode, blocks: Sequence[slice], unit: float
) -> SpreadStart:
    """Return the spreads of highest evidence of the parabola at a mode.

    Parameters
    ----------
    precision, prior_mean : (P,)
        Of the prior under which the mode was found.
    mode : Mode
        With a curvature that has a corner.
    blocks : sequence of slice
        Coordinates that share a spread.
    unit : float
        In which predictors are measured.

    Raises
    ------
    numpy.linalg.LinAlgError
        When the curvature is not positive definite under some spreads.
    """
    offset, bend, sizes = (
        mode.point - prior_mean,
        mode.precision,
        [precision[b].size for b in blocks],
    )

    def solve(log_spreads: Array) -> tuple[Any, Array, Array]:
        other = with_spreads(precision, blocks, log_spreads)
        factor = bend.plus(other - precision).factorize()
        return factor, other, factor.solve((precision - other) * offset)

    def evidence(log_spreads: Array) -> tuple[float, Array]:
        factor, other, step = solve(log_spreads)
        moved, pull = offset + step, (precision - other) * offset
        value = step @ (precision * offset) - 0.5 * (step @ pull - step @ (other * step))
        value += 0.5 * (float(np.log(other).sum()) - moved @ (other * moved) - factor.log_det)
        each = other * (moved**2 + factor.variances) - 1.0
        return float(value), np.array([each[block].sum() for block in blocks])

    start = np.array([-0.5 * np.log(precision[block.start]) for block in blocks])
    found = maximise_spreads(evidence, start, sizes, unit, _ROUGHLY).log_spreads
    factor, other, _ = solve(found)
    shares = 1.0 - other * factor.variances
    determined = [shares[block] @ shares[block] for block in blocks]
    return SpreadStart(found, np.maximum(determined, _LEAST_DETERMINED * np.array(sizes)))
