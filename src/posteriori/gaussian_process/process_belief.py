r"""What is believed of a function: one process, or some of them weighed where parameters are integrated.

.. math:: p(f\mid y) = \sum_k w_k\,p(f\mid y, \theta_k)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.processes.dense_process import Moments, noise_variances
from posteriori.inference.processes.noise_parts import summands
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.linalg import cholesky_jittered
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["Effect", "ProcessBelief"]

#: Variances below this share of the prior's are rounding errors of 0.
_ROUNDING = 1e-14

#: Targets up to here, and from its inverse, have variances whose shares that a search tries are numbers.
LARGEST_TARGET = 1e120


class Effect(NamedTuple):
    """What is believed of one summand of a function.

    Attributes
    ----------
    kernel : Kernel or None
        Of the summand; None is the mean.
    belief : Normal or Mixture
        Of its values, a batch of points.
    """

    kernel: Kernel | None
    belief: Any


class ProcessBelief(NamedTuple):
    """Processes with their weights.

    Attributes
    ----------
    kernels : tuple of Kernel
    processes : tuple
        What is known with each, such as a SolvedProcess.
    weights : (K,)
    absolute : bool
        Whether targets have noise of their own, and the kernel none.
    flat : bool
        Whether there is one output, given as (N,).
    """

    kernels: tuple[Kernel, ...]
    processes: tuple[Any, ...]
    weights: Array
    absolute: bool
    flat: bool

    def mean(self, X: Array) -> Array:
        """Return expected values, (M,) or (M, Q)."""
        means = [process.predict(X).mean for process in self.processes]
        mean: Array = np.tensordot(self.weights, np.array(means), axes=1)
        return mean[:, 0] if self.flat else mean

    def predict(self, X: Array, level: Array | float | None) -> Any:
        """Return the distributions of values at points, with so many times the noise; None is without."""
        made = []
        for kernel, process in zip(self.kernels, self.processes, strict=True):
            mean, variance = process.predict(X)
            floor = _ROUNDING * np.maximum(kernel.diagonal(X), np.finfo(float).tiny / _ROUNDING)
            made.append(Moments(mean, np.maximum(variance + self._noise(kernel, X, level), floor)))
        return self._mixed(made)

    def predict_jointly(self, X: Array, level: Array | float | None) -> Any:
        """Return the distribution of all values together."""
        if not self.flat:
            raise ValueError("joint=True is offered for one output; ask each output by itself")
        means, covs = [], []
        for kernel, process in zip(self.kernels, self.processes, strict=True):
            cov = process.covariance(X)
            cov[np.diag_indices(len(X))] += self._noise(kernel, X, level)
            means.append(process.predict(X).mean[:, 0])
            covs.append(cov)
        if len(means) == 1:
            return MvNormal(means[0], cov=covs[0])
        return Mixture(self.weights, MvNormal(np.array(means), cov=np.array(covs)))

    def _noise(self, kernel: Kernel, X: Array, level: Array | float | None) -> Any:
        if level is None:
            # noise of their own is told of given targets only
            return 0.0 if self.absolute else noise_variances(kernel, X, False)
        return level * noise_variances(kernel, X, self.absolute) if np.any(level) else 0.0

    def _mixed(self, moments: list[Moments]) -> Any:
        means = np.stack([one.mean for one in moments], axis=-1)  # (M, Q, K)
        variances = np.stack([one.variance for one in moments], axis=-1)
        if variances.ndim < 3:  # one for all outputs
            variances = variances[:, None, :]
        if self.flat:
            means, variances = means[:, 0], variances[:, 0]
        if len(moments) == 1:
            return Normal(means[..., 0], variance=variances[..., 0])
        return Mixture(self.weights, Normal(means, variance=variances))

    def effects(self, X: Array, *asked: Any) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand.

        Further arguments say what of these each process is asked for.
        """
        each = [process.effects(X, *asked) for process in self.processes]
        own = summands(self.kernels[0])
        parts: list[Kernel | None] = [*[None] * (len(each[0]) - len(own)), *own]
        tiny = np.finfo(float).tiny
        found = []
        for part, moments in zip(parts, zip(*each, strict=True), strict=True):
            above = [Moments(mean, np.maximum(variance, tiny)) for mean, variance in moments]
            found.append(Effect(part, self._mixed(above)))
        return found

    def sample(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """Return values of functions at points, (S, M), or (S, M, Q) of several outputs."""
        chosen = rng.choice(len(self.weights), size=size, p=self.weights)
        drawn = None
        for k, process in enumerate(self.processes):
            places = np.flatnonzero(chosen == k)
            mean = process.predict(X).mean
            if drawn is None:
                drawn = np.empty((size, *mean.shape))
            if not len(places):
                continue
            root = cholesky_jittered(process.covariance(X)).lower
            noise = rng.standard_normal((len(places), *mean.shape))
            drawn[places] = mean + np.einsum("mk,skq->smq", root, noise)
        assert drawn is not None
        return drawn[..., 0] if self.flat else drawn

    def sample_targets(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """Return targets at points, noise included, of the shape of :meth:`sample`."""
        chosen = rng.choice(len(self.weights), size=size, p=self.weights)
        drawn = np.concatenate(
            [
                self.alone(k)._with_noise(X, int((chosen == k).sum()), rng)
                for k in range(len(self.weights))
            ]
        )
        return drawn[rng.permutation(size)] if len(self.weights) > 1 else drawn

    def alone(self, k: int) -> ProcessBelief:
        """Return the belief of one of the processes."""
        return self._replace(
            kernels=(self.kernels[k],), processes=(self.processes[k],), weights=np.ones(1)
        )

    def _with_noise(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        values = self.sample(X, size, rng)
        spread = np.sqrt(np.broadcast_to(self._noise(self.kernels[0], X, None), len(X)))
        noise = rng.standard_normal(values.shape)
        return values + (spread if self.flat else spread[:, None]) * noise

    def left_out_log_density(self, rows: ProcessRows, y: Array, share: Array) -> Array:
        """Return ln p(yₙ | all other targets) of given rows, (M,).

        Parameters
        ----------
        rows : ProcessRows
            Distinct inputs.
        y : (M, Q)
            Targets as they were given.
        share : (M,)
            1/v of each.
        """
        logs = []
        for kernel, process in zip(self.kernels, self.processes, strict=True):
            noise = noise_variances(kernel, rows.X, self.absolute)
            logs.append(_left_out(process.left_out(), noise, rows, y, share))
        return self.weigh_left_out(logs)

    def weigh_left_out(self, logs: list[Array]) -> Array:
        """Return ln p(yₙ | all other targets) from that of each process, (N,): 1/p = Σ w_k/p_k."""
        return -np.asarray(log_sum_exp(np.log(self.weights)[:, None] - np.array(logs), axis=0))


def _left_out(apart: Moments, noise: Array, rows: ProcessRows, y: Array, share: Array) -> Array:
    """Return ln p(yₙ | all others) under one process: others at the same input are put back.

    Parameters
    ----------
    apart : Moments
        Of the mean target at each input, given other inputs, noise n/w included.
    noise : (N,)
    rows, y, share
        As of :meth:`ProcessBelief.left_out_log_density`.
    """
    at = rows.place
    n, w = noise[at], rows.weight[at]
    variance = np.maximum(apart.variance[at] - n / w, 0.0)  # of the function
    rest = np.where(rows.count[at] > 1, w - share, 0.0)
    others = np.zeros_like(y)
    several = rest > 0
    weighed = (w[:, None] * rows.y[at] - share[:, None] * y)[several]
    others[several] = weighed / rest[several, None]
    pull = np.zeros_like(n)
    pull[several] = (rest / n)[several] * variance[several]
    mean = (apart.mean[at] + pull[:, None] * others) / (1.0 + pull)[:, None]
    spread = variance / (1.0 + pull) + n / share
    squares = ((y - mean) ** 2).sum(axis=1) / spread
    return -0.5 * (y.shape[1] * (LOG_2PI + np.log(spread)) + squares)
