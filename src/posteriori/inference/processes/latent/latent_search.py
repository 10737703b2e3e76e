"""The evidence of a function behind targets as a function of its kernel, and the function that is found.

Parameters of the targets' family stand beside those of the kernel: one search, one integral over both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.predictors.site_predictors import Sites
from posteriori.inference.processes.dense_process import Moments
from posteriori.inference.processes.latent.function_mode import (
    covariance_of,
    find_function,
    score_function,
)
from posteriori.inference.processes.latent.latent_likelihoods import LatentLikelihood, SingleLatent
from posteriori.inference.processes.latent.latent_process import LatentFit, fit_latent
from posteriori.inference.processes.latent.target_families import TargetFamily
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.noise_parts import summands
from posteriori.inference.processes.search_bounds import SearchBounds, default_bounds
from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RBF
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array

__all__ = [
    "LatentFunction",
    "TargetModel",
    "LatentObjective",
    "ShapedObjective",
    "latent_bounds",
    "usual_latent_kernel",
]

#: Parameters of families move by this to both sides for slopes.
_STEP = 1e-4


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
        own = self.kernel.diagonal(Z) + np.einsum("np,np->n", columns, columns)
        return self.fit.moments(self._cross(Z), own)

    def _cross(self, Z: Array) -> Array:
        return self.kernel(self.X, Z) + self.mean.columns(self.X) @ self.mean.columns(Z).T

    # -- one predictor, as other processes have it -----------------------------------------

    @property
    def log_evidence(self) -> float:
        """Ln p(y)."""
        return self.fit.log_evidence

    @property
    def jitter(self) -> float:
        """What was added to the diagonal of the covariance."""
        return self.fit.jitter

    def predict(self, X: Array) -> Moments:
        """Return means (S, M) and variances (S,) of predictors, each about its level."""
        mean, spread = self.moments(X)
        return Moments(self.mean.center + mean, spread[:, 0, 0])

    def covariance(self, X: Array) -> Array:
        """Return the covariance of values at points, (M S, M S), predictor by predictor."""
        columns = self.mean.columns(X)
        cov = self.fit.covariance(self._cross(X), self.kernel(X, X) + columns @ columns.T)
        return 0.5 * (cov + cov.T)

    def effects(self, X: Array, turn: Array | None = None) -> list[Moments]:
        """Return moments of the mean, if there is one, and of each summand of the kernel.

        Parameters
        ----------
        X : (S, D)
        turn : (K, M), optional
            What is asked of M predictors: means and variances (S, K) of these sums; (S, 1) and (S,) of the
            only predictor without it.
        """
        columns = self.mean.columns(X)
        found = []
        if columns.shape[1]:
            cross = self.mean.columns(self.X) @ columns.T
            mean, spread = self.fit.moments(cross, np.einsum("np,np->n", columns, columns))
            found.append((self.mean.center + mean, spread))
        for part in summands(self.kernel):
            found.append(self.fit.moments(part(self.X, X), part.diagonal(X)))
        if turn is None:
            return [Moments(mean, spread[:, 0, 0]) for mean, spread in found]
        return [
            Moments(mean @ turn.T, np.einsum("kc,scd,kd->sk", turn, spread, turn))
            for mean, spread in found
        ]


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
        self._pull: Array | None = None
        self._sites: Sites | None = None

    def __call__(self, kernel: Kernel) -> tuple[float, Array]:
        alone = isinstance(self.likelihood, SingleLatent) and self.likelihood.log_concave
        if self.approximation == "laplace" and alone:
            return self._score_mode(kernel)
        return self.score(self.at(kernel))

    def _score_mode(self, kernel: Kernel) -> tuple[float, Array]:
        """Return Laplace's evidence and its gradient from the mode alone."""
        assert isinstance(self.likelihood, SingleLatent)
        gram = covariance_of(kernel, self.X, self.mean)
        mode = find_function(
            gram, self.likelihood, self._pull, tol=self.tol, max_iter=self.max_iter
        )
        self._pull, self._last = mode.a, mode.function[:, None]
        return mode.log_evidence, score_function(mode, gram, kernel, self.X, self.likelihood)

    def score(self, function: LatentFunction) -> tuple[float, Array]:
        """Return the log evidence and its gradient, and begin there the next time."""
        fit = function.fit
        self._last = fit.function
        if self.approximation == "ep" and fit.converged:
            self._sites = fit.sites(self.likelihood.frequency)
        return fit.log_evidence, function.kernel.gradient(self.X, fit.kernel_pull())

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
            sites=self._sites,
            tol=self.tol,
            max_iter=self.max_iter,
        )
        return LatentFunction(kernel, self.X, self.mean, fit)


class TargetModel(NamedTuple):
    """A kernel and the parameters of a family of targets, which are looked for together.

    Attributes
    ----------
    kernel : Kernel
    family : TargetFamily
    phi : (P,)
        Parameters of the family, as it learns them.
    """

    kernel: Kernel
    family: TargetFamily
    phi: Array

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of all that is learned."""
        return *self.kernel.parameter_names, *self.family.names

    @property
    def log_parameters(self) -> Array:
        """Logarithms of the kernel's parameters, then φ."""
        return np.append(self.kernel.log_parameters, self.phi)

    def with_log_parameters(self, values: Array) -> TargetModel:
        """Return the same with other parameters."""
        first, rest = np.split(np.asarray(values), [len(self.kernel.log_parameters)])
        return self._replace(kernel=self.kernel.with_log_parameters(first), phi=rest)

    def bounds(self, X: Array) -> SearchBounds:
        """Return where its parameters are looked for."""
        of_kernel = latent_bounds(self.kernel, X, self.family.unit, self.family.most)
        both = zip(of_kernel, self.family.bounds, strict=True)
        low, high, center, spread = (np.append(a, b) for a, b in both)
        own = self.log_parameters
        return SearchBounds(np.minimum(low, own), np.maximum(high, own), center, spread)


class ShapedObjective:
    """From a :class:`TargetModel` to the log evidence of targets, and its gradient in all parameters.

    Parameters
    ----------
    X : (N, D)
    family : TargetFamily
    mean : MeanEffects
        Whose centre is the level of the function.
    approximation : {"laplace", "ep", "variational"}
    tol, max_iter
        Of the approximation.
    """

    def __init__(
        self,
        X: Array,
        family: TargetFamily,
        mean: MeanEffects,
        approximation: str,
        *,
        tol: float,
        max_iter: int,
    ) -> None:
        self.family, self.level = family, float(np.ravel(mean.center)[0])
        start = family.likelihood(family.bounds.center, self.level)
        self.engine = LatentObjective(X, start, mean, approximation, tol=tol, max_iter=max_iter)

    def __call__(self, model: TargetModel) -> tuple[float, Array]:
        if not model.phi.size:
            return self.engine(model.kernel)
        function = self.at(model)
        value, slope = self.engine.score(function)
        return value, np.append(slope, self._slopes(function.fit, model.phi))

    def at(self, model: TargetModel) -> LatentFunction:
        """Return what is known of the function with a kernel and parameters of the family."""
        self.engine.likelihood = self.family.likelihood(model.phi, self.level)
        return self.engine.at(model.kernel)

    def _slopes(self, fit: LatentFit, phi: Array) -> Array:
        """Return the slopes in φ: the belief stands, the likelihood moves."""

        def stationary(at: Array) -> float:
            likelihood = self.family.likelihood(at, self.level)
            return fit.stationary_evidence(likelihood, self.engine.approximation)

        ups, downs = (
            np.array([stationary(phi + s * step) for step in _STEP * np.eye(len(phi))])
            for s in (1.0, -1.0)
        )
        return (ups - downs) / (2.0 * _STEP)


def latent_bounds(kernel: Kernel, X: Array, unit: float, most: float) -> SearchBounds:
    """Return where parameters of a kernel are looked for, from the size of functions.

    Parameters
    ----------
    kernel : Kernel
    X : (N, D)
    unit : float
        How far functions usually are from 0.
    most : float
        Variances are at most so many times what is usual: targets that a function tells apart surely
        want it without end.
    """
    bounds = default_bounds(kernel, X, np.full(len(X), unit))
    size = np.array([name.endswith(".value") for name in kernel.parameter_names], dtype=bool)
    high = np.minimum(bounds.high, np.where(size, bounds.center + np.log(most), np.inf))
    return bounds._replace(high=np.maximum(high, kernel.log_parameters))


def usual_latent_kernel(X: Array, unit: float) -> Kernel:
    """Return a smooth kernel with a scale for each column, and what is usual as parameters."""
    smooth = 1.0 * RBF(np.ones(X.shape[1]))
    return smooth.with_log_parameters(latent_bounds(smooth, X, unit, np.inf).center)


def _parts(count: int, width: int) -> Iterator[slice]:
    """Yield slices of so many points that what is made of them stays small; at least one slice."""
    step = rows_per_block(width, IN_MEMORY)
    for first in range(0, max(count, 1), step):
        yield slice(first, first + step)
