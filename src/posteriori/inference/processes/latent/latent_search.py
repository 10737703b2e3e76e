"""The evidence of a function behind targets as a function of its kernel, and the function that is found."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.latent.latent_likelihoods import LatentLikelihood
from posteriori.inference.processes.latent.latent_process import LatentFit, fit_latent
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["LatentFunction", "LatentObjective"]


class LatentFunction(NamedTuple):
    """What is known of a function that is not seen.

    Attributes
    ----------
    kernel : Kernel
    X : (N, D)
        Rows behind whose targets it is.
    mean : MeanEffects
        Whose columns add to its covariance.
    fit : LatentFit
    """

    kernel: Kernel
    X: Array
    mean: MeanEffects
    fit: LatentFit

    def moments(self, Z: Array) -> tuple[Array, Array]:
        """Return means (S, M) and covariances (S, M, M) of its predictors at points."""
        made = [self._of_block(Z[part]) for part in _parts(len(Z), len(self.X))]
        mean, spread = (np.concatenate(one) for one in zip(*made, strict=True))
        return mean, spread

    def _of_block(self, Z: Array) -> tuple[Array, Array]:
        columns = self.mean.columns(Z)
        cross = self.kernel(self.X, Z) + self.mean.columns(self.X) @ columns.T
        own = self.kernel.diagonal(Z) + np.einsum("np,np->n", columns, columns)
        return self.fit.moments(cross, own)


class LatentObjective:
    """From a kernel to the log evidence of targets, and its gradient in ``kernel.log_parameters``.

    The function that was found last is where the next search for one begins.

    Parameters
    ----------
    X : (N, D)
    likelihood : LatentLikelihood
    mean : MeanEffects
    approximation : {"laplace", "ep", "variational"}
    tol, max_iter
        Of the approximation.
    """

    def __init__(
        self,
        X: Array,
        likelihood: LatentLikelihood,
        mean: MeanEffects,
        approximation: str,
        *,
        tol: float,
        max_iter: int,
    ) -> None:
        self.X, self.likelihood, self.mean, self.approximation = X, likelihood, mean, approximation
        self.tol, self.max_iter = tol, max_iter
        self._last: Array | None = None

    def __call__(self, kernel: Kernel) -> tuple[float, Array]:
        fit = self.at(kernel).fit
        self._last = fit.function
        return fit.log_evidence, kernel.gradient(self.X, fit.kernel_pull())

    def at(self, kernel: Kernel) -> LatentFunction:
        """Return what is known of the function with a kernel."""
        columns = self.mean.columns(self.X)
        gram = kernel(self.X)
        gram += columns @ columns.T
        fit = fit_latent(
            gram,
            self.likelihood,
            self.approximation,
            start=self._last,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return LatentFunction(kernel, self.X, self.mean, fit)


def _parts(count: int, width: int) -> Iterator[slice]:
    """Yield slices of so many points that what is made of them stays small; at least one slice."""
    step = rows_per_block(width, IN_MEMORY)
    for first in range(0, max(count, 1), step):
        yield slice(first, first + step)
