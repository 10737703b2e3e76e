r"""Joint distributions of normal variables and their common precision.

Given the precision, the numbers x that one member of it owns follow :math:`N(m, C/\tau)`, and τ
has a gamma distribution: a normal-gamma distribution. Without τ it is a Student t. Vectors under a
common matrix are the rows of a table :math:`X\mid\Lambda \sim N(M, C\otimes\Lambda^{-1})`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.joint.matrix_normal_wishart import MatrixNormalWishart
from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.joint.vector_normal_gamma import VectorNormalGamma
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.inference.gaussian.equation_merging import merged_moments
from posteriori.modeling.exact.gaussian.normal_result import in_layout_order
from posteriori.modeling.exact.scaled.scaled_factors import MATRICES
from posteriori.modeling.exact.scaled.student import student
from posteriori.numerics.linalg import explicit_inverse, symmetrize
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.scaled.scaled_result import CommonPrecisionResult

__all__ = ["joint_of_scaled"]


class Owned(NamedTuple):
    """The numbers that each of G members of the precision owns, at unit precision.

    Attributes
    ----------
    mean, cov : (G, K), (G, K, K)
        Variables one after another, each in the order of its own axes.
    """

    mean: Array
    cov: Array


def joint_of_scaled(result: CommonPrecisionResult, names: Sequence[str]) -> Any:
    """Return the joint distribution of normal variables, with or without their precision.

    It is a batch over the members of the precision, which are independent of each other.
    """
    normal = [n for n in names if n != result.spread]
    if not normal:
        return result.belief
    owned = _owned(result, normal)
    if isinstance(result.belief, MATRICES):
        return _matrix_joint(result, normal, owned, result.spread in names)
    if result.spread not in names:
        batch = result.belief.batch_shape
        mean = owned.mean.reshape(*batch, -1)
        cov = owned.cov.reshape(*batch, *owned.cov.shape[1:])
        members = np.arange(len(owned.mean)).reshape(batch)
        return student(MvNormal(mean, cov=cov), result.belief, members)
    shapes = [result.layouts[n].shape for n in normal]
    one_each = shapes == [result.belief.batch_shape]
    return (_number_joint if one_each else _vector_joint)(result.belief, owned)


def _number_joint(belief: Any, owned: Owned) -> Any:
    """Return the law of one number for each member with its precision or variance."""
    mean = owned.mean.reshape(belief.batch_shape)[()]
    strength = (1.0 / owned.cov).reshape(belief.batch_shape)[()]
    if isinstance(belief, Gamma):
        return NormalGamma(mean, strength, belief.shape, belief.rate)
    return NormalInverseGamma(mean, strength, belief.shape, belief.scale)


def _vector_joint(belief: Any, owned: Owned) -> Any:
    """Return the law of several numbers for each member with their precision or variance."""
    batch = belief.batch_shape
    mean = owned.mean.reshape(*batch, -1)
    strength = symmetrize(explicit_inverse(owned.cov)).reshape(*batch, *owned.cov.shape[1:])
    if isinstance(belief, InverseGamma):
        return VectorNormalInverseGamma(
            mean, mean_precision=strength, shape=belief.shape, scale=belief.scale
        )
    return VectorNormalGamma(mean, mean_precision=strength, shape=belief.shape, rate=belief.rate)


def _matrix_joint(
    result: CommonPrecisionResult, names: Sequence[str], owned: Owned, with_matrix: bool
) -> Any:
    """Return the law of vectors, the rows of a table, with their precision or covariance matrix."""
    belief = result.belief
    batch, size = belief.batch_shape, belief.event_shape[-1]
    table = owned.mean.reshape(*batch, -1, size)
    rows = owned.cov[:, ::size, ::size]  # the entries are alike
    rows = rows.reshape(*batch, *rows.shape[1:])
    if table.shape[-2] > 1:
        if not with_matrix or not isinstance(belief, Wishart):
            raise TypeError(
                f"the joint distribution of {table.shape[-2]} vectors of {' and '.join(names)} "
                f"has no family here; ask for each alone, or together with a Wishart precision"
            )
        return MatrixNormalWishart(
            table, symmetrize(explicit_inverse(rows)), belief.dof, belief.scale
        )
    mean, variance = table[..., 0, :], rows[..., 0, 0]
    if with_matrix:
        family = NormalWishart if isinstance(belief, Wishart) else NormalInverseWishart
        return family(mean, 1.0 / variance, belief.dof, belief.scale)
    unit = Normal(mean, variance=np.broadcast_to(variance[..., None], mean.shape))
    return student(unit, belief, np.arange(len(owned.mean)).reshape(batch))


# -- moments ---------------------------------------------------------------------------------


def _owned(result: CommonPrecisionResult, names: Sequence[str]) -> Owned:
    """Return the moments of what each member owns."""
    latents, equations, splits = result.gaussian.system()
    shapes = {latent.name: latent for latent in latents}
    members = int(np.prod(result.belief.batch_shape))
    numbers, vectors, orders = {}, {}, {}
    for name in names:
        orders[name] = in_layout_order(result.layouts[name], splits[name])
        numbers[name] = _owner_of_numbers(result, name)
        held = np.empty(len(orders[name]), dtype=np.intp)
        held[orders[name]] = numbers[name]
        vectors[name] = held.reshape(shapes[name].count, -1)[:, 0]
    try:
        mean, cov, starts = merged_moments(latents, equations, vectors, members)
    except ValueError as error:
        raise TypeError(
            f"the joint distribution of {' and '.join(names)} has no family: {error}"
        ) from None
    columns = []
    for name in names:
        vector, entry = np.divmod(orders[name], shapes[name].size)
        own = starts[name][vector] + entry
        columns.append(own[np.argsort(numbers[name], kind="stable")].reshape(members, -1))
    picked = np.concatenate(columns, axis=1)
    row = np.arange(members)[:, None]
    return Owned(mean[row, picked], cov[row[..., None], picked[:, :, None], picked[:, None, :]])


def _owner_of_numbers(result: CommonPrecisionResult, name: str) -> Any:
    """Return which member of the precision owns each number of a variable."""
    owners = np.asarray(result.owners[name])
    shape = result.layouts[name].shape
    wide = owners.reshape(owners.shape + (1,) * (len(shape) - owners.ndim))
    return np.broadcast_to(wide, shape).ravel()
