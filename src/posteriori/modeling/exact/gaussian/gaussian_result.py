"""The posterior of a Gaussian block, read by the axes of its variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.dense import joint_moments
from posteriori.inference.gaussian.elimination import GaussianPosterior, sample_gaussian
from posteriori.inference.gaussian.energy import RowEnergies, equation_energies
from posteriori.inference.gaussian.equations import Equation, Latent
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Table, seen, shape_of
from posteriori.modeling.binding.places import member_index, same_places
from posteriori.modeling.contract.linear_forms import Expectation, Root, SeenMoments
from posteriori.modeling.exact.gaussian.normal_graph import normal_graph
from posteriori.modeling.exact.gaussian.normal_result import (
    NormalResult,
    Solution,
    System,
    in_layout_order,
)
from posteriori.modeling.forms.message_graph import PassedMessages, pass_inside
from posteriori.modeling.forms.normal_rows import Split
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed

if TYPE_CHECKING:
    from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock

__all__ = ["GaussianResult"]


class GaussianResult(NormalResult):
    """A solved block, with what is needed to read it."""

    def __init__(
        self,
        posterior: GaussianPosterior,
        splits: Mapping[str, Split],
        layouts: Mapping[str, Layout],
        latents: tuple[Latent, ...],
        equations: tuple[Equation, ...],
        block: GaussianBlock,
    ) -> None:
        self.names = tuple(splits)
        self.log_evidence = posterior.log_evidence
        self.log_volume = posterior.log_volume
        self.posterior = posterior
        self.splits = splits
        self.layouts = layouts
        self.latents = latents
        self.equations = equations
        self.block = block

    def answers(self, names: Iterable[str]) -> dict[str, SeenMoments]:
        """Return what is known of all variables together."""
        return dict.fromkeys(names, self._solved)

    @cached_property
    def _solved(self) -> _SolvedNormals:
        return _SolvedNormals(self)

    def system(self) -> System:
        """Return what was solved, for questions about several variables at once."""
        return self.latents, self.equations, self.splits

    def solution(self) -> Solution:
        """Return the equations with the means that were found."""
        return self.block.sources, self.equations, self.posterior.mean

    def row_energies(self) -> tuple[list[tuple[str, RowEnergies]], float]:
        """Return the parts of the energy of each equation, and the entropy."""
        parts, entropy = equation_energies(self.latents, self.equations, self.posterior.mean)
        return list(zip(self.block.sources, parts, strict=True)), entropy

    def messages(self) -> Iterator[PassedMessages]:
        """Pass messages between the rows of the factors and the vectors of the variables."""
        yield pass_inside(normal_graph(self.block))

    def marginal(self, name: str) -> Distribution:
        """Return the marginal of a variable, a batch over its plates and integer axes."""
        layout, split = self.layouts[name], self.splits[name]
        mean, cov = self._arrays(name)
        event = len(layout.events)
        if not event:
            variance = np.diagonal(cov, axis1=-2, axis2=-1).reshape(mean.shape)
            order = np.argsort(split.batch + split.dense)
            return Normal(
                _clean(np.transpose(mean, order)), variance=_clean(np.transpose(variance, order))
            )
        sizes = tuple(layout.axes[i].size for i in split.dense)
        keep = [i for i, axis in enumerate(split.dense) if axis >= len(layout.axes) - event]
        if len(keep) != len(split.dense):
            mean, cov = _pull_out(mean, cov, sizes, keep)
            batch = split.batch + tuple(a for i, a in enumerate(split.dense) if i not in keep)
            order = np.argsort(batch)
            mean = np.transpose(mean, (*order, len(batch)))
            cov = np.transpose(cov, (*order, len(batch), len(batch) + 1))
        return MvNormal._from(mean=np.ascontiguousarray(mean), cov=np.ascontiguousarray(cov))

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw all variables together, (size, *shape) each."""
        generator = as_generator(rng)
        means = self.posterior.mean
        draws = sample_gaussian(self.latents, self.equations, means, size, rng=generator)
        found = {}
        for name in self.names:
            layout = self.layouts[name]
            flat = draws[name].reshape(size, -1)[:, in_layout_order(layout, self.splits[name])]
            found[name] = flat.reshape(size, *layout.shape)
        return found

    def _arrays(self, name: str) -> tuple[Array, Array]:
        layout, split = self.layouts[name], self.splits[name]
        batch = tuple(layout.axes[i].size for i in split.batch)
        dense = tuple(layout.axes[i].size for i in split.dense)
        mean, cov = self.posterior.mean[name], self.posterior.cov[name]
        size = mean.shape[-1]
        if not layout.events:
            return mean.reshape(batch + dense), cov.reshape(*batch, size, size)
        return mean.reshape(*batch, size), cov.reshape(*batch, size, size)


def _pull_out(
    mean: Array, cov: Array, sizes: tuple[int, ...], keep: list[int]
) -> tuple[Array, Array]:
    """Turn dense axes that are no event axes into batch axes, keeping the diagonal blocks."""
    lead = mean.ndim - 1
    full = mean.reshape(*mean.shape[:-1], *sizes)
    moved = [i for i in range(len(sizes)) if i not in keep]
    full = np.transpose(full, (*range(lead), *(lead + i for i in moved), *(lead + i for i in keep)))
    size = int(np.prod([sizes[i] for i in keep]))
    out_mean = full.reshape(*full.shape[: lead + len(moved)], size)
    square = cov.reshape(*cov.shape[:-2], *sizes, *sizes)
    for n, i in enumerate(moved):
        a = lead + n + (i - n)
        b = a + len(sizes) - n
        square = np.moveaxis(np.diagonal(square, axis1=a, axis2=b), -1, lead + n)
    return out_mean, square.reshape(*out_mean.shape, size)


def _clean(array: Array) -> Array:
    return np.ascontiguousarray(array)[()] if np.ndim(array) else np.float64(array)  # type: ignore[return-value]


# -- as the rows of factors see it --------------------------------------------------------------


class _Vectors(NamedTuple):
    """The vectors of a variable: axes that count them, and axes of the numbers of each."""

    batch: tuple[Axis, ...]
    dense: tuple[Axis, ...]
    places: tuple[tuple[Any, ...], tuple[Any, ...]]


class _SolvedNormals:
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
