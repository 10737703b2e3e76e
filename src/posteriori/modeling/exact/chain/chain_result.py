"""Smoothed chains and their constants, read by the axes of the variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.chains.linear_gaussian_chain import (
    ChainPosterior,
    LinearGaussianChain,
    sample_chain_posterior,
)
from posteriori.inference.gaussian.energy import RowEnergies
from posteriori.modeling.binding.labelled import shape_of
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.chain.chain_account import chain_rows
from posteriori.modeling.exact.chain.chain_prediction import predict_along
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.gaussian.normal_graph import normal_graph
from posteriori.modeling.exact.gaussian.normal_result import (
    NormalResult,
    Solution,
    System,
    in_layout_order,
)
from posteriori.modeling.forms.message_graph import PassedMessages, pass_inside
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock

__all__ = ["ChainResult"]


class ChainResult(NormalResult):
    """Smoothed chains and their constants.

    Attributes
    ----------
    moments : ChainPosterior
        Of the states of all chains side by side, then the constants, (T, D + M).
    places : mapping to slices
        Where each variable lies among these.
    smoothed : LinearGaussianChain
        What was smoothed: states, then constants that do not move.
    y : array (T, P)
        All observations.
    block : GaussianChainBlock
        What was solved.
    """

    def __init__(
        self,
        log_evidence: float,
        moments: ChainPosterior,
        smoothed: LinearGaussianChain,
        y: Array,
        block: GaussianChainBlock,
    ) -> None:
        self.names = block.names
        self.layouts = {name: block.bound.layouts[name] for name in block.names}
        self.log_evidence = log_evidence
        self.moments = moments
        self.places = block.places
        self.smoothed = smoothed
        self.y = y
        self.block = block

    @property
    def mean(self) -> dict[str, Array]:
        """Means of each variable: (T, D) for chains, (M,) for constants, flattened."""
        mean = self.moments.mean
        return {name: mean[self._steps(name), place] for name, place in self.places.items()}

    @property
    def chain(self) -> ChainResult:
        """The block itself."""
        return self

    @property
    def dense(self) -> GaussianBlock:
        """The same as one dense system, for questions about several variables."""
        return GaussianBlock(self.block.bound, self.block.names, self.block.factors)

    def system(self) -> System:
        """Return the equations of the dense system."""
        return self.dense.system()

    def dense_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return mean and covariance; the smoother alone can do with singular noise."""
        try:
            return super().dense_moments(names)
        except ValueError as error:
            raise ValueError(
                f"the joint distribution of {' and '.join(names)} has no density: {error}. Marginals "
                f"have one, as post[{names[0]!r}], and post.sample(...) draws whole paths"
            ) from None

    def solution(self) -> Solution:
        """Return the dense equations with the smoothed means."""
        dense = self.dense
        latents, equations, splits = dense.system()
        means = {}
        for latent in latents:
            flat = np.empty(latent.count * latent.size)
            order = in_layout_order(self.layouts[latent.name], splits[latent.name])
            flat[order] = np.ravel(self.mean[latent.name])
            means[latent.name] = flat.reshape(latent.count, latent.size)
        return dense.sources, equations, means

    def row_energies(self) -> tuple[list[tuple[str, RowEnergies]], float]:
        """Return the parts of the energy of each factor, and the entropy."""
        return chain_rows(self)

    def predict(self, solved: Solved, request: Request) -> Distribution | None:
        """Predict at the times of the chain, and after its end."""
        return predict_along(self, solved, request)

    def messages(self) -> Iterator[PassedMessages]:
        """Pass messages between members of the chains."""
        yield pass_inside(normal_graph(self.dense))

    def marginal(self, name: str) -> Distribution:
        """Return the marginal of a variable, a batch over its plates and integer axes."""
        layout, steps, place = self.layouts[name], self._steps(name), self.places[name]
        mean, cov = self.moments.mean[steps, place], self.moments.cov[steps, place, place]
        if not layout.events:
            variance = np.diagonal(cov, axis1=-2, axis2=-1)
            shape = layout.shape
            return Normal(mean.reshape(shape)[()], variance=variance.reshape(shape)[()])
        batch = shape_of(layout.lead)
        size = layout.events[0].size
        if cov.shape[-1] != size:
            count = int(np.prod(batch))
            square = cov.reshape(count, size, count, size)
            cov = np.stack([square[i, :, i, :] for i in range(count)])
        cov = np.ascontiguousarray(cov.reshape(*batch, size, size))
        return MvNormal._from(mean=mean.reshape(*batch, size), cov=cov)

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw whole trajectories with their constants, (size, *shape) each."""
        paths = sample_chain_posterior(self.smoothed, self.y, size, rng=rng)
        return {
            name: paths[:, self._steps(name), self.places[name]].reshape(
                size, *self.layouts[name].shape
            )
            for name in self.names
        }

    def _steps(self, name: str) -> Any:
        """Every step of a chain; the last of a constant, which is the same at all."""
        return slice(None) if name in self.block.chains else -1
