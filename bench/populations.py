"""Tables whose groups are known: each group is one population of some shape, with a gap between any two."""

from __future__ import annotations

import numpy as np
import pandas as pd

__all__ = ["POPULATIONS", "make_population"]

#: Shapes, and how far the two nearest groups lie apart at least and at most, in standard deviations.
POPULATIONS = {
    "normal": (3.0, 6.0),
    "skewed": (4.0, 7.0),
    "heavy": (4.0, 7.0),
    "curved": (5.0, 8.0),
    "uniform": (4.5, 7.0),
    "unequal": (3.5, 6.0),
    "rounded": (3.0, 6.0),
}


def make_population(
    kind: str, groups: int, columns: int, rows: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a table in random order, and which row is of which group."""
    shares = rng.dirichlet(np.full(groups, 8.0))
    if kind == "unequal":
        shares = np.array([1.0, 0.45, 0.3, 0.2])[:groups]
    shares = np.maximum(shares / shares.sum(), 0.1)
    sizes = np.maximum(np.round(rows * shares / shares.sum()).astype(int), 10)
    scales = rng.uniform(0.5, 2.0, groups) if kind == "unequal" else np.ones(groups)
    centres = rng.normal(size=(groups, columns))
    if groups > 1:
        a, b = np.triu_indices(groups, 1)
        far = np.linalg.norm(centres[a] - centres[b], axis=1) / (0.5 * (scales[a] + scales[b]))
        centres *= rng.uniform(*POPULATIONS[kind]) / far.min()
    parts = [
        centre + scale * _shape(kind, n, columns, rng)
        for centre, scale, n in zip(centres, scales, sizes, strict=True)
    ]
    x, truth = np.concatenate(parts), np.repeat(np.arange(groups), sizes)
    if kind == "rounded":
        x = 0.5 * np.round(2.0 * x)
    order = rng.permutation(len(x))
    units = 10.0 ** rng.integers(-1, 3, columns)
    names = [f"c{d + 1}" for d in range(columns)]
    return pd.DataFrame((x * units)[order], columns=names), truth[order]


def _shape(kind: str, n: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of one group, columns with a variance of about 1."""
    z = rng.normal(size=(n, columns))
    if kind == "skewed":
        x = np.exp(0.7 * z)
        return (x - 1.28) / 1.01
    if kind == "heavy":
        return z / np.sqrt(rng.chisquare(3.0, size=(n, 1)) / 3.0) / np.sqrt(3.0)
    if kind == "uniform":
        return np.sqrt(12.0) * (rng.random((n, columns)) - 0.5)
    if kind == "curved":
        angle = rng.uniform(0.0, 1.1 * np.pi, n) + rng.uniform(0.0, 2.0 * np.pi)
        arc = 1.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        x = 0.25 * z
        x[:, :2] += arc - arc.mean(axis=0)
        return x
    root = np.linalg.cholesky(_correlation(columns, rng))
    return z @ root.T


def _correlation(columns: int, rng: np.random.Generator) -> np.ndarray:
    loading = rng.uniform(-0.8, 0.8, columns)
    return np.outer(loading, loading) + np.diag(1.0 - loading**2)
