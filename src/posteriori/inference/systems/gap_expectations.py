"""What is missing of an observation, expected given the rest of it and the states."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains.chain_arguments import check_chain, check_series
from posteriori.inference.chains.linear_gaussian_chain import LinearGaussianChain, smooth_chain
from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.numerics.types import Array

__all__ = ["impute_chain", "noise_gain"]


def noise_gain(noise: Array, seen: Array) -> Array:
    """Return R_ms R_ss⁻¹, by which seen noise tells of that of missing entries, (..., M, P − M)."""
    across = noise[..., ~seen, :][..., seen]
    return np.asarray(across @ np.linalg.pinv(noise[..., seen, :][..., seen], hermitian=True))


def impute_chain(chain: LinearGaussianChain, y: ArrayLike) -> Array:
    """Return series (..., T, P) whose missing entries are their expectations given all seen ones."""
    n_outputs = np.shape(chain.emission)[-2] if np.ndim(chain.emission) >= 2 else 1
    series = check_series(y, n_outputs)
    batch, (n_steps, width) = series.batch_shape, series.values.shape[1:]
    arrays = check_chain(chain, n_steps)
    means = smooth_chain(chain, series.values, pairs=False).mean
    expected = (arrays.emission @ means[..., None])[..., 0] + arrays.emission_offset
    rows, expected = series.values.reshape(-1, width).copy(), expected.reshape(-1, width)
    patterns = gap_patterns(rows)
    ends = zip(patterns.offsets[:-1], patterns.offsets[1:], strict=True)
    for seen, (first, last) in zip(patterns.seen, ends, strict=True):
        mine = patterns.order[first:last]
        step = mine % n_steps if len(arrays.emission_cov) > 1 else np.zeros(1, dtype=np.intp)
        surprise = (rows[mine] - expected[mine])[:, seen]
        told = (noise_gain(arrays.emission_cov[step], seen) @ surprise[..., None])[..., 0]
        rows[np.ix_(mine, ~seen)] = expected[np.ix_(mine, ~seen)] + told
    return rows.reshape(*batch, n_steps, width)
