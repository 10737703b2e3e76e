r"""Linear regression with effects of levels, integrated out: statistics of the remaining weights.

Given spreads :math:`\rho_c` in units of the noise variance the rows have the covariance
:math:`\sigma^2V,\ V = H^{-1} + ZPZ^T`, with indicators Z of levels (and a column of ones), their
prior variances P and the weights H of rows. With :math:`M = Z^THZ + P^{-1}` and the effects
:math:`\hat U = M^{-1}Z^THT` that columns T = (X, y) would have,

.. math:: T^TV^{-1}T = (T - Z\hat U)^TH(T - Z\hat U) + \hat U^TP^{-1}\hat U,\qquad
          \ln|V| = \ln|M| + \ln|P| - \ln|H|,

a sum of squares, in which nothing cancels. Rows that agree in all levels, a cell, differ from their
mean by what no effect explains: they are read once, and every further ρ costs as much as the cells.

Reference: D. Harville, "Maximum likelihood approaches to variance component estimation", 1977.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posteriori.inference.effects.bordered import Bordered, BorderedFactor
from posteriori.inference.effects.effect_layout import EffectLayout, effect_gram, level_sums
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.least_squares.regression_statistics import (
    RegressionStatistics,
    regression_statistics,
    triangle,
    triangle_of,
)
from posteriori.numerics.least_squares.safe_gram import INDEPENDENT, SafeGram
from posteriori.numerics.types import Array

__all__ = ["CellSums", "EffectSolution", "likely_ratios", "solve_effects", "sum_cells"]

#: Squares of fewer numbers are added up with care: it costs next to nothing.
_FEW = 1 << 14

#: What a difference of squares leaves of them has enough digits from this share on.
_LEFT = 1e-5

#: No category begins the search with a smaller or larger variance, in units of the noise variance.
_LEAST_RATIO, _LARGEST_RATIO = 1e-2, 1e4


#: Copies of a block that are made while it is centred and factorised.
_COPIES = 4


@dataclass(frozen=True)
class CellSums:
    """Rows summed by cells.

    Attributes
    ----------
    layout : EffectLayout
        A plain coordinate stands for the intercept, if there is one.
    codes : (G, C)
        Levels of the cells.
    weight : (G,)
        Σ f/v over each.
    total : RegressionStatistics
        Of all rows about the means of the columns (x, y), or about 0 without an intercept.
    mean : (G, D + 1)
        Of the cells, less these means.
    within : (D + 1, D + 1)
        Triangular factor of rows about the means of their cells.
    gram : Bordered
        ZᵀHZ.
    sums : (K + L, D + 1)
        ZᵀHT.
    """

    layout: EffectLayout
    codes: Array
    weight: Array
    total: RegressionStatistics
    mean: Array
    within: Array
    gram: Bordered
    sums: Array

    def measured(self, level: float, scales: Array) -> CellSums:
        """Return the sums of inputs divided by ``scales``, and of targets less a level."""
        shift, unit = np.zeros(len(scales) + 1), np.append(scales, 1.0)
        shift[-1] = level - self.total.mean[-1]
        moved, squared = np.sqrt(self.weight.sum()) * shift, self.total.squared
        if isinstance(squared, SafeGram):
            gram = (squared.gram + moved[:, None] * moved) / unit / unit[:, None]
            squared = SafeGram(gram, squared.left / unit**2)
        else:
            squared = triangle(np.concatenate([squared, moved[None]])) / unit
        return replace(
            self,
            total=replace(self.total, mean=np.zeros(len(unit)), squared=squared),
            mean=(self.mean - shift) / unit,
            within=self.within / unit,
            sums=(self.sums - self.gram.diagonal[:, None] * shift) / unit,
        )


@dataclass(frozen=True)
class EffectSolution:
    """What is known of effects given their spreads, up to the weights.

    Attributes
    ----------
    factor : BorderedFactor
        Of M, the precision of effects given the weights in units of the noise precision.
    fitted : (K + L, D + 1)
        Û, effects that the columns would have.
    statistics : RegressionStatistics
        Of the columns with all effects integrated out.
    """

    factor: BorderedFactor
    fitted: Array
    statistics: RegressionStatistics


def sum_cells(
    x: Array,
    y: Array,
    codes: Array,
    sizes: tuple[int, ...],
    *,
    frequency: Array | None = None,
    variance: Array | None = None,
    intercept: bool = True,
) -> CellSums:
    """Sum rows by cells.

    Parameters
    ----------
    x : (N, D)
        It is read block by block, at most twice.
    y : (N,)
    codes : (N, C)
        Level of each row in every category.
    sizes : tuple of int
        Levels of the categories.
    frequency, variance : (N,), optional
        How often each row counts, and its noise variance relative to the common one.
    intercept : bool

    Notes
    -----
    Costs O(N D²).
    """
    cell, cells = _find_cells(codes, sizes)
    each = np.ones(len(x)) if frequency is None else frequency
    each = each if variance is None else each / variance
    weight = np.bincount(cell, each, len(cells))
    mean, total = np.zeros((len(cells), x.shape[1] + 1)), None
    for rows, block in _blocks(x, len(cells)):
        total = regression_statistics(
            block,
            y[rows, None],
            frequency=None if frequency is None else frequency[rows],
            variance=None if variance is None else variance[rows],
            centre=intercept,
            earlier=total,
        )
        mean[:, :-1] += level_sums(block, cell[rows], len(cells), each[rows])
    assert total is not None  # there is at least one row
    mean[:, -1] = np.bincount(cell, each * y, len(cells))
    mean /= weight[:, None]
    within = _within_by_difference(total, mean, weight)
    if within is None:
        about = (
            (np.column_stack([block, y[rows]]) - mean[cell[rows]]) * np.sqrt(each[rows, None])
            for rows, block in _blocks(x)
        )
        within = triangle_of(about, x.shape[1] + 1)
    layout, ones = EffectLayout(int(intercept), sizes), np.ones((len(cells), int(intercept)))
    gram = effect_gram(ones, cells, weight, layout)
    mean -= total.mean
    sums = _sums(cells, weight, mean, layout)
    return CellSums(layout, cells, weight, total, mean, within, gram, sums)


def _blocks(x: Any, least: int = 1) -> Iterator[tuple[slice, Array]]:
    """Yield rows block by block, each of a moderate size, but of so many rows at least."""
    step = max(rows_per_block(x.shape[1] + 1, IN_MEMORY // _COPIES), least)
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        yield rows, x[rows]


def solve_effects(cells: CellSums, ratios: Array, intercept_precision: float) -> EffectSolution:
    """Integrate effects out whose prior variances, in units of the noise variance, are ``ratios``.

    Parameters
    ----------
    cells : CellSums
        With targets measured from where the prior of the intercept has its mean.
    ratios : (C,)
    intercept_precision : float
        In units of the noise precision.
    """
    layout, total = cells.layout, cells.total
    prior = layout.spread_out(np.full(layout.plain, intercept_precision), 1.0 / ratios)
    factor = cells.gram.plus(prior).factorize()
    fitted = factor.solve(cells.sums)
    squared: SafeGram | Array | None = _difference(total, cells.sums.T @ fitted, fitted.size)
    if squared is None:
        left = cells.mean - layout.values(fitted, cells.codes)
        left -= fitted[: layout.plain].sum(axis=0)
        left *= np.sqrt(cells.weight)[:, None]
        squared = triangle(np.concatenate([cells.within, left, np.sqrt(prior)[:, None] * fitted]))
    log_variance = total.log_variance + factor.log_det - float(np.log(prior).sum())
    statistics = replace(total, log_variance=log_variance, squared=squared, centred=False)
    return EffectSolution(factor, fitted, statistics)


def likely_ratios(cells: CellSums) -> Array:
    """Return prior variances of the categories, in units of the noise variance, by moments, (C,).

    Of what the columns leave of the targets within cells, the squares between the levels of a
    category are compared with those within.
    """
    d, layout = cells.total.n_inputs, cells.layout
    weights = np.append(
        -np.linalg.lstsq(cells.within[:, :d], cells.within[:, d], rcond=1e-6)[0], 1.0
    )
    rows, squares = float(cells.weight.sum()), float(((cells.total.factor @ weights) ** 2).sum())
    sums, counts, found = cells.sums @ weights, cells.gram.diagonal, []
    for place in layout.places:
        n = counts[place]
        between = float((sums[place] ** 2 / n).sum())
        noise = (squares - between) / max(rows - len(n), 1.0)
        spare = rows - float((n**2).sum()) / rows
        ratio = (between / noise - len(n) + 1) / spare if noise > 0 < spare else 1.0
        found.append(np.clip(ratio, _LEAST_RATIO, _LARGEST_RATIO))
    return np.array(found)


def _within_by_difference(total: RegressionStatistics, mean: Array, weight: Array) -> Array | None:
    """Return the factor of rows about their cells' means where it is safe as a difference."""
    between = np.sqrt(weight)[:, None] * (mean - total.mean)
    safe = _difference(total, between.T @ between, between.size)
    return None if safe is None else np.linalg.cholesky(safe.gram).T


def _difference(total: RegressionStatistics, explained: Array, numbers: int) -> SafeGram | None:
    """Return the squares less those that are explained, None where the difference loses digits."""
    if numbers < _FEW or not isinstance(total.squared, SafeGram):
        return None
    whole = total.squared.gram
    gram = whole - 0.5 * (explained + explained.T)
    try:
        left = np.diagonal(np.linalg.cholesky(gram)) ** 2
    except np.linalg.LinAlgError:
        return None
    safe = np.all(left >= _LEFT * np.diagonal(whole)) and np.all(
        left >= INDEPENDENT * np.diagonal(gram)
    )
    return SafeGram(gram, left) if safe else None


def _find_cells(codes: Array, sizes: tuple[int, ...]) -> tuple[Array, Array]:
    """Return which cell each row is in, and the levels of the cells (G, C)."""
    cell = codes[:, 0]
    if len(sizes) == 1:
        return cell, np.arange(sizes[0])[:, None]
    for c in range(1, len(sizes)):
        cell = np.unique(cell * sizes[c] + codes[:, c], return_inverse=True)[1]
    _, first, cell = np.unique(cell, return_index=True, return_inverse=True)
    return cell, codes[first]


def _sums(codes: Array, weight: Array, mean: Array, layout: EffectLayout) -> Array:
    sums = np.empty((layout.size, mean.shape[1]))
    sums[: layout.plain] = weight @ mean
    for c, place in enumerate(layout.places):
        sums[place] = level_sums(mean, codes[:, c], layout.sizes[c], weight)
    return sums
