"""Jointly normal variables as a graph on which messages pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posteriori.inference.gaussian.equations import Equation
from posteriori.inference.messages.forest_order import RowFactor, View
from posteriori.inference.messages.row_messages import NormalRows
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.forms.message_graph import BlockGraph, missing_numbers
from posteriori.modeling.forms.normal_rows import noise_cov
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock

__all__ = ["normal_graph"]


def normal_graph(block: GaussianBlock) -> BlockGraph:
    """Return the graph of jointly normal variables: a node for each vector that is solved for."""
    bound = block.bound
    latents, equations, splits = block.without_gaps().system()
    graph = BlockGraph()
    for latent in latents:
        name, size = latent.name, latent.size
        layout = bound.layouts[name]
        members = tuple(layout.shape[i] for i in splits[name].batch)
        graph.add_normal(name, members, size, is_number=size == 1 and not layout.events)
    for factor, equation in zip(block.factors, equations, strict=True):
        child = None if factor.name in bound.observed else 0
        made, rule = _normal_rows(factor, equation, bound)
        if len(made.views) == 1 and graph.variables[made.views[0].variable].count == 1:
            made = made._replace(sums=rule.total)
        graph.add_factor(factor, factor.rows, made, child)
    return graph


def _normal_rows(
    factor: BoundFactor, equation: Equation, bound: Bound
) -> tuple[RowFactor, NormalRows]:
    """Return the rows of a factor; missing numbers say nothing."""
    width = factor.events[0].size if factor.events else 1
    count = len(equation.constant) // width
    views, gains = [], []
    for link in equation.links:
        index = None if link.index is None else link.index.reshape(count, width)[:, 0]
        views.append(View(link.name, index))
        gains.append(link.coefficients.reshape(count, width, -1))
    constant = equation.constant.reshape(count, width)
    weight = equation.weight.reshape(count, width)
    missing = missing_numbers(factor, bound)
    if missing.any() and factor.events:
        roots = _roots_without(factor, missing)
        constant = np.einsum("ref,rf->re", roots, constant)
        gains = [roots @ gain for gain in gains]
    elif missing.any():
        weight = np.where(missing, 0.0, weight)
    rule = NormalRows(constant, weight, tuple(gains))
    return RowFactor(factor.name, count, tuple(views), rule.send, rule.sweep), rule


def _roots_without(factor: BoundFactor, missing: Array) -> Array:
    """Return B L of every row: from L⁻¹ r, noise of all numbers, to B r, noise of those there.

    L Lᵀ is the covariance, and BᵀB the inverse of its part that is there, with zeros around.
    """
    table = noise_cov(factor)
    size = missing.shape[1]
    full = table.over((*factor.rows, *table.axes[-2:])).reshape(-1, size, size)
    roots = np.zeros(full.shape)
    for pattern in np.unique(missing, axis=0):
        rows, there = np.flatnonzero((missing == pattern).all(axis=1)), np.flatnonzero(~pattern)
        if len(there):
            part = np.ix_(rows, there, there)
            # that of a triangle would load SciPy
            roots[part] = explicit_inverse(np.linalg.cholesky(full[part]))
    return roots @ np.linalg.cholesky(full)
