r"""Predictive distributions of normal variables, and what solved ones say of their rows.

A normal variable with mean Σ K x + c and noise R has predictive mean Σ K m + c and covariance
Σ K cov K' + R, where the covariances are those of the vectors that each row sees.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.dense import joint_moments
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Switch, Table, seen, shape_of
from posteriori.modeling.binding.places import member_index, same_places
from posteriori.modeling.contract.new_normals import locate_mean
from posteriori.modeling.contract.requests import Anew
from posteriori.modeling.forms.linear_forms import Expectation, Owners, Root
from posteriori.modeling.forms.normal_rows import known_variance
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array, IntArray

if TYPE_CHECKING:
    from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult

__all__ = ["SolvedNormals", "predict_normal"]


def predict_normal(
    anew: Anew, factor: BoundFactor, parents: Iterable[BoundFactor], owners: Owners
) -> Any:
    """Return the predictive distribution of a normal factor with known noise.

    Parameters
    ----------
    anew : Anew
    factor : BoundFactor
    parents : iterable of BoundFactor
        Normal variables that are not solved.
    owners : mapping
        What answers for the solved ones.
    """
    for each in (factor, *parents):
        _require_affine(each, factor.name)
    center, cov = locate_mean(anew, factor, owners, known_variance)
    if factor.family is Normal:
        return Normal(center[()], variance=(cov + known_variance(factor))[()])
    return MvNormal(center, cov=symmetrize(cov + known_variance(factor)))


def _require_affine(factor: BoundFactor, name: str) -> None:
    for key, poly in factor.parameters.items():
        for term in poly.terms:
            names = [access.name for access in term.accesses]
            if key != "mean" and names:
                reason = f"the {key} of {factor.name} depends on {', '.join(names)}"
            elif len(names) > 1:
                reason = f"{factor.name} multiplies {' and '.join(names)}, which are both unknown"
            elif any(isinstance(access, Switch) for access in term.accesses):
                reason = f"{factor.name} switches with {names[0]}"
            else:
                continue
            raise TypeError(f"{name} has no closed-form predictive here: {reason}")


class _Vectors(NamedTuple):
    """The vectors of a variable: axes that count them, and axes of the numbers of each."""

    batch: tuple[Axis, ...]
    dense: tuple[Axis, ...]
    places: tuple[tuple[Any, ...], tuple[Any, ...]]


class SolvedNormals:
    """Variables of one solved block, as the rows of factors see them."""

    def __init__(self, result: GaussianResult) -> None:
        self.result = result
        self.column = Axis("column", sum(v.count * v.size for v in result.latents))

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return E[v], or E[v uᵀ] = m mᵀ + Cov."""
        mean = self.result.posterior.mean
        means = tuple(self._seen(mean[access.name], access) for access in accesses)
        return [means] if len(accesses) == 1 else [means, *self.covariance(*accesses)]

    def root(self, access: Any) -> Root | None:
        """Return what keeps all digits, where all variables are one vector."""
        roots = self.result.posterior.root
        if roots is None:
            return None
        return Root(self._seen(roots[access.name], access, self.column), self.column)

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return the covariance of the vectors that each row sees of two variables."""
        one, two = self._vectors(a), self._vectors(b)
        labels = tuple(
            dict.fromkeys(x for v in (one, two) for place in v.places[0] for x in place.labels)
        )
        i = member_index(one.places[0], one.batch, labels)
        alike = a.name == b.name and same_places(one.places[0], two.places[0])
        j = i if alike else member_index(two.places[0], two.batch, labels)
        values = self._met(a.name, b.name, i, j)
        if values is None:
            values = self._between(a.name, b.name)[i, :, j, :]
        labels = labels if len(values) > 1 else ()
        twins = tuple(Axis("twin", axis.size) for axis in two.dense)
        axes = (*labels, *one.dense, *twins)
        table = seen(Table(values.reshape(shape_of(axes)), axes), one.dense, one.places[1])
        return [(seen(table, twins, two.places[1]),)]

    def _vectors(self, access: Any) -> _Vectors:
        axes, split = self.result.layouts[access.name].axes, self.result.splits[access.name]
        batch, dense = (tuple(axes[i] for i in part) for part in (split.batch, split.dense))
        seen_at = tuple(
            tuple(access.places[i] for i in part) for part in (split.batch, split.dense)
        )
        return _Vectors(batch, dense, (seen_at[0], seen_at[1]))

    def _seen(self, values: Array, access: Any, *more: Axis) -> Table:
        """Return numbers of all vectors as the rows see them."""
        vectors = self._vectors(access)
        axes = (*vectors.batch, *vectors.dense)
        table = Table(values.reshape(shape_of((*axes, *more))), (*axes, *more))
        return seen(table, axes, vectors.places[0] + vectors.places[1])

    def _met(self, a: str, b: str, i: IntArray, j: IntArray) -> Array | None:
        """Return covariances of vectors that meet; None where others are asked for."""
        solved = self.result.posterior
        if a == b:
            return _members(solved.cov[a], i) if i is j or np.array_equal(i, j) else None
        for first, second, x, y in ((a, b, i, j), (b, a, j, i)):
            block, meets = solved.cross.get((first, second), (np.zeros((0, 0, 0)), None))
            count, size = solved.mean[second].shape
            if (block.shape[0], block.shape[-1]) != (len(solved.mean[first]), size):
                continue  # the neighbours were put into one vector
            if count == 1 or (meets is not None and np.array_equal(meets[x], y)):
                picked = _members(block, x)
                return picked if first == a else np.swapaxes(picked, -1, -2)
        return None

    def _between(self, a: str, b: str) -> Array:
        """Return covariances of all vectors of two variables, (count, size, count', size')."""
        cov, slices = self._joint
        sizes = {latent.name: (latent.count, latent.size) for latent in self.result.latents}
        return cov[slices[a], slices[b]].reshape(*sizes[a], *sizes[b])

    @cached_property
    def _joint(self) -> tuple[Array, dict[str, slice]]:
        _, cov, slices = joint_moments(self.result.latents, self.result.equations)
        return cov, slices


def _members(matrices: Array, index: IntArray) -> Array:
    """Return the matrix of each row; one where there is one for all."""
    return matrices if len(matrices) == 1 else matrices[index]
