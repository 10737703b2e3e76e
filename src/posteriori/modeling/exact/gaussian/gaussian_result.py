"""The posterior of a Gaussian block, read by the axes of its variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.elimination import GaussianPosterior, sample_gaussian
from posteriori.inference.gaussian.energy import RowEnergies, equation_energies
from posteriori.inference.gaussian.equations import Equation, Latent
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.exact.gaussian.normal_graph import normal_graph
from posteriori.modeling.exact.gaussian.normal_predictive import SolvedNormals
from posteriori.modeling.exact.gaussian.normal_result import (
    NormalResult,
    Solution,
    System,
    in_layout_order,
)
from posteriori.modeling.forms.linear_forms import SeenMoments
from posteriori.modeling.forms.links import Split
from posteriori.modeling.forms.message_graph import PassedMessages, pass_inside
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

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
        return dict.fromkeys(names, SolvedNormals(self))

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

    def marginal(self, name: str) -> Any:
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
