"""All latents of a linear-Gaussian model as one dense normal vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.inference.gaussian.dense import DenseSystem
from posteriori.inference.gaussian.equations import Equation, Latent
from posteriori.inference.gaussian.ordering import densify
from posteriori.numerics.types import Array

__all__ = ["joint_moments"]

#: Coefficients that are written out: 400 MB.
_DENSE_LIMIT = 50_000_000


def joint_moments(
    latents: Sequence[Latent], equations: Sequence[Equation]
) -> tuple[Array, Array, dict[str, slice]]:
    """Return mean, covariance and places of all latents as one dense vector.

    Raises
    ------
    ValueError
        When the equations are too many to write out densely.
    """
    shapes = {latent.name: latent for latent in latents}
    numbers = sum(latent.count * latent.size for latent in latents)
    rows = sum(len(e.constant) for e in equations)
    if rows * numbers > _DENSE_LIMIT:
        raise ValueError(
            f"a joint distribution of {numbers} numbers under {rows} equations is too large to "
            "write out; ask for variables that meet in one equation"
        )
    several = {latent.name for latent in latents if latent.count > 1}
    whole = [Latent(v.name, 1, v.count * v.size) for v in latents]
    system = DenseSystem(whole, [densify(e, several, shapes) for e in equations])
    means, _ = system.best_means()
    return np.concatenate([means[v.name][0] for v in whole]), system.cov(), system.places
