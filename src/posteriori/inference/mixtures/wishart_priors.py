"""Normal–Wishart beliefs about components: the default prior, and any in the units of the rows and back."""

from __future__ import annotations

import numpy as np

from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.inference.mixtures.normal_beliefs import NormalBelief
from posteriori.inference.mixtures.normal_maximum import NormalPrior
from posteriori.inference.mixtures.normal_units import Units
from posteriori.numerics.types import Array

__all__ = ["belief_in_rows", "default_prior", "has_names", "prior_in_units"]

#: Rows that the default prior of the means is worth, as in ``GaussianDiscriminant``.
_MEAN_STRENGTH = 0.1


def default_prior(mean: Array, variance: Array) -> NormalWishart:
    """Return the belief that E[Σ] = diag(v), with D + 2 degrees of freedom."""
    return NormalWishart(mean, _MEAN_STRENGTH, len(mean) + 2.0, np.diag(1.0 / variance))


def has_names(prior: NormalWishart) -> bool:
    """Tell whether components have priors of their own."""
    return bool(prior.batch_shape)


def prior_in_units(prior: NormalWishart, units: Units, k: int) -> NormalPrior:
    """Return the priors of k components, of z in the place of x.

    Raises
    ------
    ValueError
        When the prior is for other columns or another number of components.
    """
    d = len(units.centre)
    if not isinstance(prior, NormalWishart):
        raise TypeError(f"prior must be a NormalWishart, got {prior!r}")
    if prior.location.shape[-1] != d or prior.batch_shape not in ((), (k,)):
        raise ValueError(
            f"prior must be of {d} columns, one for all or a batch of {k}; got a batch of shape "
            f"{prior.batch_shape} of {prior.location.shape[-1]} columns"
        )
    return NormalPrior(
        np.broadcast_to(units.means_of(prior.location), (k, d)),
        np.broadcast_to(prior.mean_strength, (k,)),
        np.broadcast_to(prior.dof, (k,)),
        np.broadcast_to(units.covs_of(prior.inverse_scale), (k, d, d)),
    )


def belief_in_rows(belief: NormalBelief, units: Units) -> NormalWishart:
    """Return beliefs about components of z as such about components of x."""
    to_z = np.swapaxes(units.inverse, 0, 1)  # V = L⁻ᵀ V_z L⁻¹
    scale = to_z @ belief.scale @ to_z.T
    scale = 0.5 * (scale + np.swapaxes(scale, 1, 2))
    return NormalWishart(units.raw_means(belief.means), belief.strength, belief.dof, scale)
