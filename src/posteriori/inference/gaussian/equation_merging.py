"""Several latents of a linear-Gaussian model as one, member by member.

Where vectors of several latents belong to the same members of a plate, as the means and the slopes
of groups do, their joint distribution is one vector for each member: they are put side by side
before elimination, and all other latents are eliminated as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.gaussian.elimination import solve_gaussian
from posteriori.inference.gaussian.equations import Equation, Latent, Link
from posteriori.numerics.types import Array

__all__ = ["merged_moments"]

#: A name that no variable can have.
_MERGED = " merged"


def merged_moments(
    latents: Sequence[Latent],
    equations: Sequence[Equation],
    owners: Mapping[str, Any],
    members: int,
) -> tuple[Array, Array, dict[str, Any]]:
    """Return mean (G, K) and covariance (G, K, K) of all numbers that each of G members owns.

    Parameters
    ----------
    latents, equations : sequences
        As for :func:`~posteriori.inference.gaussian.elimination.solve_gaussian`. A row sees vectors
        of one member only.
    owners : mapping to (count,) of int
        Of the latents that are asked for: which member owns each vector.
    members : int
        Number G of members; each owns the same number of vectors of a latent.

    Returns
    -------
    mean, cov : arrays
    starts : mapping to (count,) of int
        Where the numbers of each vector start among the K of its member.

    Raises
    ------
    ValueError
        When members own different numbers of vectors.
    """
    shapes = {latent.name: latent for latent in latents}
    starts: dict[str, Any] = {}
    width = 0
    for name, mine in owners.items():
        rank, share = _ranks(name, mine, members)
        starts[name] = width + rank * shapes[name].size
        width += share * shapes[name].size
    rest = [latent for latent in latents if latent.name not in owners]
    merged = Latent(_MERGED, members, width)
    solved = solve_gaussian(
        [*rest, merged], [_merge_links(e, shapes, owners, starts, merged) for e in equations]
    )
    return solved.mean[_MERGED], solved.cov[_MERGED], starts


def _ranks(name: str, owners: Any, members: int) -> tuple[Any, int]:
    """Return the place of each vector among those of its member, and how many a member has."""
    counts = np.bincount(owners, minlength=members)
    if np.any(counts != counts[0]):
        raise ValueError(f"members own from {counts.min()} to {counts.max()} vectors of {name}")
    order = np.argsort(owners, kind="stable")
    rank = np.empty(len(owners), dtype=np.intp)
    rank[order] = np.arange(len(owners)) % max(counts[0], 1)
    return rank, int(counts[0])


def _merge_links(
    equation: Equation,
    shapes: Mapping[str, Latent],
    owners: Mapping[str, Any],
    starts: Mapping[str, Any],
    merged: Latent,
) -> Equation:
    """Write the links to the merged latents as one."""
    kept = tuple(link for link in equation.links if link.name not in owners)
    moved = [link for link in equation.links if link.name in owners]
    if not moved:
        return equation
    rows = len(equation.constant)
    wide = np.zeros((rows, merged.size))
    index = np.zeros(rows, dtype=np.intp)
    for link in moved:
        latent = shapes[link.name]
        vector = np.arange(rows) if link.index is None else np.asarray(link.index)
        if latent.count == 1:
            vector = np.zeros(rows, dtype=np.intp)
        columns = starts[link.name][vector][:, None] + np.arange(latent.size)
        wide[np.arange(rows)[:, None], columns] += link.coefficients
        index = owners[link.name][vector]
    return equation._replace(links=(*kept, Link(merged.name, wide, index)))
