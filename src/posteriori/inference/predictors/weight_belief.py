"""Normal beliefs about weights: what approximations of a posterior return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.predictors.mode_finding import Mode, laplace_evidence
from posteriori.inference.weighing.approximate_beliefs import BeliefDraws
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Progress",
    "WeighedWeights",
    "WeightBelief",
    "contrast_moments",
    "evidence_at",
    "laplace_belief",
    "row_moments",
]


#: Steps that have not shrunk for so many rounds, and are below this, have come to what sums over nodes
#: can tell.
_PATIENCE, _SMALL = 15, 1e-4

#: Steps that have not shrunk for so many rounds will not.
_MOST_IDLE = 40


class Progress:
    """The steps of an ascent: whether it is at its end, and which part of the way to go next."""

    def __init__(self, tol: float, least: float) -> None:
        self.tol = tol
        self.least = least
        self.damping = 1.0
        self.step = np.inf
        self.n_iter = 0
        self._smallest, self._since = np.inf, 0

    def note(self, step: float) -> None:
        """Note a step in standard deviations: half the way where steps grow, then more again."""
        grows = step > self.step
        self.damping = (
            max(self.least, 0.5 * self.damping) if grows else min(1.0, 1.3 * self.damping)
        )
        self._since = 0 if step < 0.9 * self._smallest else self._since + 1
        self._smallest = min(self._smallest, step)
        self.step = step
        self.n_iter += 1

    @property
    def converged(self) -> bool:
        """Whether the last step is short, or cannot become shorter."""
        return self.step <= self.tol or (self._since >= _PATIENCE and self._smallest <= _SMALL)

    @property
    def stalled(self) -> bool:
        """Whether steps have long ceased to shrink."""
        return self._since >= _MOST_IDLE


class WeightBelief(NamedTuple):
    """A normal approximation of the posterior of weights.

    Attributes
    ----------
    mean : (P,)
        M weight vectors, then numbers that were learned with them.
    cov : (P, P)
        Where ``seen`` is given, of the weights along its directions.
    log_evidence : float
        As the approximation has it.
    n_iter : int
    converged : bool
    step : float
        How far the last step moved the mean, in standard deviations.
    seen : (D, R), optional
        V, orthonormal directions of a weight vector of D that the data have seen; by default all.
    open_variance : float
        Of every other direction.
    """

    mean: Array
    cov: Array
    log_evidence: float
    n_iter: int
    converged: bool
    step: float
    seen: Array | None = None
    open_variance: float = 0.0

    def along(self, x: Array) -> Array:
        """Return rows (N, D) along the directions that the covariance speaks of."""
        return x if self.seen is None else x @ self.seen

    def predictors(self, x: Array) -> tuple[Array, Array]:
        """Return means and variances of the predictors x·w of one weight vector, (N,) each."""
        d, z = x.shape[1], self.along(x)
        r = z.shape[1]
        _, variance = row_moments(z, np.zeros(r), self.cov[:r, :r])
        return x @ self.mean[:d], variance + self._outside(x, z)

    def several_predictors(self, x: Array, size: int) -> tuple[Array, Array]:
        """Return means (N, M) and covariances (N, M, M) of the predictors of M weight vectors."""
        z = self.along(x)
        _, spread = contrast_moments(z, np.zeros(size * z.shape[1]), self.cov, size)
        spread += self._outside(x, z)[:, None, None] * np.eye(size)
        return x @ self.mean.reshape(size, -1).T, spread

    def draw(self, size: int, rng: np.random.Generator) -> Array:
        """Draw weights, (S, P)."""
        if self.seen is None:
            return np.asarray(MvNormal(self.mean, cov=self.cov).sample(size, rng=rng))
        d, r = self.seen.shape
        m = len(self.mean) // d
        steps = np.asarray(MvNormal(np.zeros(len(self.cov)), cov=self.cov).sample(size, rng=rng))
        free = np.sqrt(self.open_variance) * rng.standard_normal((size, m, d))
        inside = steps[:, : m * r].reshape(size, m, r) - free @ self.seen
        vectors = (free + inside @ self.seen.T).reshape(size, m * d)
        return self.mean + np.concatenate([vectors, steps[:, m * r :]], axis=1)

    def dense(self) -> WeightBelief:
        """Return the same with the covariance of all weights, (P, P)."""
        if self.seen is None:
            return self
        d, r = self.seen.shape
        m, others = divmod(len(self.mean), d)
        spread = np.zeros((len(self.mean), len(self.cov)))  # V for each vector, 1 for the others
        for k in range(m):
            spread[k * d : (k + 1) * d, k * r : (k + 1) * r] = self.seen
        spread[m * d :, m * r :] = np.eye(others)
        cov = spread @ self.cov @ spread.T
        unseen = self.open_variance * (np.eye(d) - self.seen @ self.seen.T)
        for k in range(m):
            cov[k * d : (k + 1) * d, k * d : (k + 1) * d] += unseen
        return self._replace(cov=cov, seen=None, open_variance=0.0)

    def _outside(self, x: Array, z: Array) -> Array:
        """Return what directions that no data have seen add to the variances of predictors, (N,)."""
        if self.seen is None:
            return np.zeros(len(x))
        squares = np.einsum("nd,nd->n", x, x) - np.einsum("nr,nr->n", z, z)
        return self.open_variance * np.maximum(squares, 0.0)


class WeighedWeights(NamedTuple):
    r"""A normal belief in the place of a posterior, weighed by likelihood and prior.

    .. math:: \ln p(y, w\mid X) = \sum_n f_n \ln p(y_n\mid w) - \tfrac12\sum_p α_p (w_p - m_p)^2 + \text{const}.

    Attributes
    ----------
    belief : WeightBelief
    prior_mean, prior_precision : (P,)
    draw : callable
        From a size and a generator, draws of the belief (S, P).
    log_likelihood : callable
        From draws, ln p(y | w) of all rows together, (S,).
    named : callable
        From draws, parameters by name as they are stated.
    """

    belief: WeightBelief
    prior_mean: Array
    prior_precision: Array
    draw: Callable[[int, np.random.Generator], Array]
    log_likelihood: Callable[[Array], Array]
    named: Callable[[Array], Mapping[str, Array]]

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from the belief."""
        drawn = self.draw(size, rng)
        density = MvNormal(self.belief.mean, cov=self.belief.cov).log_prob(drawn)
        return BeliefDraws(self.named(drawn), np.asarray(density), drawn)

    def log_joint(self, drawn: BeliefDraws) -> Array:
        """Return ln p(y, w | X), up to a constant."""
        squares = (drawn.inner - self.prior_mean) ** 2 @ self.prior_precision
        return np.asarray(self.log_likelihood(drawn.inner) - 0.5 * squares)

    def too_narrow(self) -> tuple[str, ...]:
        """Return nothing: a normal in the place of one peak may be off to either side."""
        return ()


def laplace_belief(mode: Mode, prior_precision: Array) -> WeightBelief:
    """Return N(mode, A⁻¹) with Laplace's evidence, for independent normal priors."""
    return WeightBelief(
        mode.point,
        inverse_from_factor(mode.factor),
        evidence_at(mode, prior_precision),
        mode.n_iter,
        mode.converged,
        mode.gradient_norm,
    )


def evidence_at(mode: Mode, prior_precision: Array) -> float:
    """Return Laplace's log evidence for independent normal priors."""
    return laplace_evidence(mode) + 0.5 * float((np.log(prior_precision) - LOG_2PI).sum())


def row_moments(x: Array, mean: Array, cov: Array) -> tuple[Array, Array]:
    """Return means and variances of the predictors x·w, (N,) each."""
    variance = np.empty(len(x))
    step = rows_per_block(x.shape[1])
    for first in range(0, len(x), step):
        block = x[first : first + step]
        variance[first : first + step] = np.einsum("nd,nd->n", block @ cov, block)
    return x @ mean, np.maximum(variance, 1e-300)


def contrast_moments(x: Array, mean: Array, cov: Array, size: int) -> tuple[Array, Array]:
    """Return means (N, M) and covariances (N, M, M) of predictors of M weight vectors of equal length.

    Parameters
    ----------
    x : (N, P)
    mean : (M P,)
    cov : (M P, M P)
    size : int
        M.
    """
    p = x.shape[1]
    blocks = cov.reshape(size, p, size, p)
    spread = np.empty((len(x), size, size))
    step = rows_per_block(p)
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        for i in range(size):
            for j in range(i + 1):
                spread[rows, i, j] = np.einsum("nd,nd->n", x[rows] @ blocks[i, :, j], x[rows])
                spread[rows, j, i] = spread[rows, i, j]
    return x @ mean.reshape(size, p).T, spread
