"""Energies and entropy of a smoothed chain, from the moments of neighbouring states."""

from __future__ import annotations

import numpy as np

from posteriori.inference.gaussian_energy import RowEnergies
from posteriori.inference.gaussian_equations import design_matrix, log_heights
from posteriori.inference.linear_gaussian_chain import smooth_chain
from posteriori.modeling.gaussian import GaussianBlock
from posteriori.modeling.gaussian_chain import ChainResult
from posteriori.modeling.gaussian_result import in_layout_order
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["chain_rows"]


def chain_rows(result: ChainResult) -> tuple[list[tuple[str, RowEnergies]], float]:
    """Return the parts of the energy of each factor, and the entropy of states and constants."""
    block = result.block
    start, step, seen = block.parts()
    post = smooth_chain(result.smoothed, result.y)
    mean, cov, cross = post.mean, post.cov, post.cross_cov
    assert cross is not None
    d = start.offset.shape[-1]
    ahead = cross[:, :d]  # cov(s_{t+1}, z_t), where z holds the constants too
    first = np.concatenate([np.eye(d), -start.constants[0]], axis=1)
    rows = [
        (
            block.chain,
            _energies(
                (first @ mean[0] - start.offset[0])[None],
                (first @ cov[0] @ first.T)[None],
                start.noise,
            ),
        )
    ]
    gain = step.gain
    left = mean[1:, :d] - (gain @ mean[:-1, :, None])[..., 0] - step.offset
    both = ahead @ _t(gain)
    around = cov[1:, :d, :d] + gain @ cov[:-1] @ _t(gain) - both - _t(both)
    rows.append((block.chain, _energies(left, around, step.noise)))
    for factor, part in zip(block.emissions, seen, strict=True):
        sees = part.gain
        left = block.data(factor) - (sees @ mean[..., None])[..., 0] - part.offset
        rows += [(factor.name, e) for e in _by_pattern(left, sees @ cov @ _t(sees), part.noise)]
    if block.constants:
        rows += _constant_rows(result, mean[-1, d:], cov[-1, d:, d:])
    conditional = cov[1:, :d, :d] - ahead @ np.linalg.solve(cov[:-1], _t(ahead))
    return rows, _entropy(cov[:1]) + _entropy(conditional)


def _constant_rows(result: ChainResult, mean: Array, cov: Array) -> list[tuple[str, RowEnergies]]:
    """Return the parts of the factors that see constants alone."""
    block = result.block
    priors = GaussianBlock(block.bound, block.constants, block.priors)
    latents, equations, splits = priors.system()
    shapes = {latent.name: latent for latent in latents}
    width, start, places = len(mean), 0, {}
    order = np.empty(width, dtype=np.intp)  # from the layout of the constants to that of latents
    for name in block.constants:
        own = in_layout_order(block.bound.layouts[name], splits[name])
        places[name] = slice(start, start + len(own))
        order[start + own] = np.arange(start, start + len(own))
        start += len(own)
    found = []
    for source, equation in zip(priors.sources, equations, strict=True):
        design = design_matrix(equation, shapes, places, width)
        left = equation.constant - design @ mean[order]
        variance = np.einsum("ri,ij,rj->r", design, cov[np.ix_(order, order)], design)
        height = 0.5 * log_heights(equation) + equation.log_scale
        w = equation.weight
        found.append((source, RowEnergies(len(left), height, w * left**2, w * variance)))
    return found


def _by_pattern(left: Array, around: Array, noise: Array) -> list[RowEnergies]:
    """Treat the steps that miss the same entries together."""
    there = ~np.isnan(left)
    full = np.broadcast_to(noise, (len(left), *noise.shape[1:]))
    found = []
    for pattern in np.unique(there, axis=0):
        steps, kept = np.flatnonzero((there == pattern).all(axis=1)), np.flatnonzero(pattern)
        if len(kept):
            square = np.ix_(steps, kept, kept)
            found.append(_energies(left[np.ix_(steps, kept)], around[square], full[square]))
    return found


def _energies(left: Array, around: Array, noise: Array) -> RowEnergies:
    """Return the parts for residuals (T, E) with covariances (T, E, E) under noise (1 or T, E, E)."""
    sign, log_det = np.linalg.slogdet(noise)
    if not np.all(sign > 0):
        raise TypeError("a chain with noise-free directions has no finite energies")
    steps, width = left.shape
    heights = np.broadcast_to(width * LOG_2PI + log_det, (steps,))
    misfit = np.einsum("te,te->t", left, np.linalg.solve(noise, left[..., None])[..., 0])
    spread = np.trace(np.linalg.solve(noise, around), axis1=-2, axis2=-1)
    return RowEnergies(steps * width, -0.5 * float(heights.sum()), misfit, spread)


def _entropy(cov: Array) -> float:
    return 0.5 * float(np.sum(cov.shape[-1] * (1.0 + LOG_2PI) + np.linalg.slogdet(cov)[1]))


def _t(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)
