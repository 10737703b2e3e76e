r"""Energies and entropy of smoothed chains, from the noise that the data suggest.

With roots :math:`P_0 = L_0L_0^\top, Q_t = L_tL_t^\top`, states are made of standard normal numbers,
:math:`s_1 = m_0 + E_0c + L_0e_1` and :math:`s_t = A_ts_{t-1} + b_t + E_tc + L_te_t`. The smoother
of :math:`(e_t, s_t, c)` tells the moments of :math:`e_t` without differences of neighbouring states,
which would cancel. Where the noise is singular, L has empty columns: densities and entropies are
then those of the numbers of a state that have noise of their own; the others follow from them.
Entropies come from the identity H[z | y] = H[z] + H[y | z] − H[y] for jointly normal z and y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posteriori.inference.chains.linear_gaussian_chain import (
    LinearGaussianChain,
    filter_chain,
    smooth_chain,
)
from posteriori.inference.chains.semidefinite import factor_semidefinite
from posteriori.inference.gaussian.energy import RowEnergies
from posteriori.inference.gaussian.equations import design_matrix, log_heights
from posteriori.modeling.exact.chain.chain_matrices import join_parts
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.gaussian.normal_result import in_layout_order
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.chain.chain_result import ChainResult

__all__ = ["chain_rows"]


def chain_rows(result: ChainResult) -> tuple[list[tuple[str, RowEnergies]], float]:
    """Return the parts of the energy of each factor, and the entropy of states and constants."""
    block, width = result.block, result.block.columns.n_states
    first = factor_semidefinite("initial_cov", join_parts(block.first_parts()).noise)
    steps = join_parts(block.step_parts())
    root = factor_semidefinite("transition_cov", steps.noise)
    wider = _with_noise(result.smoothed, first[0], steps.solver @ root, width)
    post = smooth_chain(wider, result.y, pairs=False)
    later = np.broadcast_to(root, (block.time.size - 1, width, width))
    heights = np.diagonal(np.concatenate([first, later]), axis1=-2, axis2=-1)  # (T, D)
    square = np.diagonal(post.cov, axis1=-2, axis2=-1)
    rows, entropy = [], 0.0
    for name, place in block.columns.states.items():
        there = heights[:, place] > 0
        made = _standard(there, heights[:, place], post.mean[:, place], square[:, place])
        rows.append((name, made))
        entropy += 0.5 * made.numbers - made.log_height
    mean, cov = result.moments.mean, result.moments.cov
    for factor in block.emissions:
        part = block.part_of(factor)
        left = block.data(factor) - (part.sees @ mean[..., None])[..., 0] - part.offset
        around = part.sees @ cov @ np.swapaxes(part.sees, -1, -2)
        for made in _by_pattern(factor.name, left, around, part.noise):
            rows.append((factor.name, made))
            entropy -= made.log_height  # that of y given z, less the half of each number
    if block.constants:
        rows += _constant_rows(result, mean[-1, width:], cov[-1, width:, width:])
        prior = np.asarray(result.smoothed.initial_cov)[width:, width:]
        entropy += 0.5 * (len(prior) * (1.0 + LOG_2PI) + float(np.linalg.slogdet(prior)[1]))
    return rows, entropy + _log_height(result)


def _with_noise(
    chain: LinearGaussianChain, first: Array, root: Array, width: int
) -> LinearGaussianChain:
    """Return the chain of (e_t, s_t, c), where s_t is made of the noise e_t through a root."""
    transition, noise = np.asarray(chain.transition), np.asarray(chain.transition_cov)
    offset, emission = np.asarray(chain.transition_offset), np.asarray(chain.emission)
    size = transition.shape[-1]
    below = ((0, 0), (0, size - width), (0, 0))
    lead = ((0, 0), (width, 0), (width, 0))
    wide = np.pad(noise, lead) + np.eye(width + size) * (np.arange(width + size) < width)
    across = np.pad(root, below)  # Cov(z_t, e_t) = L
    if len(across) > len(wide):
        wide = np.repeat(wide, len(across), axis=0)
    wide[:, width:, :width] = across
    wide[:, :width, width:] = np.swapaxes(across, -1, -2)
    start = np.pad(np.asarray(chain.initial_cov), ((width, 0), (width, 0)))
    start[:width, :width] = np.eye(width)
    start[width : 2 * width, :width] = first
    start[:width, width : 2 * width] = first.T
    return LinearGaussianChain(
        np.concatenate([np.zeros(width), np.asarray(chain.initial_mean)]),
        start,
        np.pad(transition, lead),
        np.pad(offset, ((0, 0), (width, 0))),
        wide,
        np.pad(emission, ((0, 0), (0, 0), (width, 0))),
        chain.emission_offset,
        chain.emission_cov,
    )


def _log_height(result: ChainResult) -> float:
    """Return the log density of the data at its peak, −½ Σ ln det 2πS_t."""
    chain = result.smoothed
    level = chain._replace(
        initial_mean=np.zeros_like(chain.initial_mean), transition_offset=0.0, emission_offset=0.0
    )
    return float(filter_chain(level, 0.0 * result.y).log_evidence)


def _standard(there: Array, heights: Array, mean: Array, variance: Array) -> RowEnergies:
    """Return the parts for standard normal numbers that were scaled by ``heights``."""
    numbers = int(there.sum())
    height = -0.5 * numbers * LOG_2PI - float(np.log(heights[there]).sum())
    return RowEnergies(numbers, height, mean[there] ** 2, variance[there])


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


def _by_pattern(name: str, left: Array, around: Array, noise: Array) -> list[RowEnergies]:
    """Treat the steps that miss the same entries together."""
    there = ~np.isnan(left)
    full = np.broadcast_to(noise, (len(left), *noise.shape[1:]))
    found = []
    for pattern in np.unique(there, axis=0):
        steps, kept = np.flatnonzero((there == pattern).all(axis=1)), np.flatnonzero(pattern)
        if len(kept):
            square = np.ix_(steps, kept, kept)
            found.append(_energies(name, left[np.ix_(steps, kept)], around[square], full[square]))
    return found


def _energies(name: str, left: Array, around: Array, noise: Array) -> RowEnergies:
    """Return the parts for residuals (T, E) with covariances (T, E, E) under noise (T, E, E)."""
    root = factor_semidefinite("noise", noise)
    scale = np.diagonal(root, axis1=-2, axis2=-1)
    if not np.all(scale > 0):
        raise TypeError(
            f"{name} sees the chain without noise in some direction, so it has no density given "
            "the states, and no energy; give it a small variance to explain the evidence"
        )
    height = -0.5 * left.size * LOG_2PI - float(np.log(scale).sum())
    misfit = np.linalg.solve(root, left[..., None])[..., 0] ** 2
    half = np.linalg.solve(root, around)
    spread = np.linalg.solve(root, np.swapaxes(half, -1, -2))
    return RowEnergies(left.size, height, misfit.sum(axis=-1), np.trace(spread, axis1=-2, axis2=-1))
