r"""What is believed about a linear function: normal weights, known or learned noise, or a mixture.

Given the noise variance :math:`\sigma^2`, member g of the mixture holds

.. math:: w \sim N\Bigl(m_g,\ \sigma^2 B\,\mathrm{diag}(1/e_g)B^T\Bigr),\qquad
          c \sim N(c_0, \sigma^2/\kappa),\qquad f(x) = c + (x - \bar x)^Tw,

independent of each other. One set of directions B serves all members, so that predictions of a
whole grid of hyper-parameters cost one product with the inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_reach
from posteriori.regression.bayesian.open_directions import OpenDirections, OpenParts

__all__ = ["LinearBelief", "Pull", "join_beliefs"]

_NO_DENSITY = (
    "posterior_ has no density: some weights are fixed, by an infinite prior_precision, where a set leaves "
    "columns out, or where columns that are apart have no share; coef_, predict_dist and sample_weights are "
    "available"
)


class Pull(NamedTuple):
    """What keeps a function near a level in some rows: c + τ(f − c) in place of f.

    Attributes
    ----------
    level : float
        c.
    share : (N,)
        τ of each row, from 0 to 1.
    """

    level: float
    share: Array

    def of(self, values: Array) -> Array:
        """Return pulled values (N, ...)."""
        share = self.share.reshape(-1, *np.ones(values.ndim - 1, dtype=int))
        return np.where(share < 1.0, self.level + share * (values - self.level), values)


@dataclass(frozen=True)
class LinearBelief:
    """Posterior of a linear function.

    Attributes
    ----------
    probabilities : (G,)
        Of the members of the mixture.
    mean : (G, D)
        Weights.
    directions : (D, K)
        B.
    precisions : (G, K)
        e, in units of the noise precision.
    centre : (D,)
        x̄, where the intercept is independent of the weights.
    level : float
        c₀, the expected value at the centre.
    level_precision : float or None
        κ in units of the noise precision; None without an intercept.
    shape : (G,) or None
        Of the inverse-gamma noise variance; None where the noise is known.
    scale : (G,)
        Its scale, or the known noise variance.
    unseen : OpenDirections or OpenParts, optional
        What is believed beside B, where fewer rows than columns have seen K < D directions alone;
        by default weights do not vary there.
    """

    probabilities: Array
    mean: Array
    directions: Array
    precisions: Array
    centre: Array
    level: float
    level_precision: float | None
    shape: Array | None
    scale: Array
    unseen: OpenDirections | OpenParts | None

    @property
    def coef(self) -> Array:
        """Expected weights (D,)."""
        return self.probabilities @ self.mean

    @property
    def intercept(self) -> float:
        """Expected value at x = 0."""
        return float(self.level - self.centre @ self.coef)

    @property
    def noise_variances(self) -> Array:
        """Expected noise variance of each member (G,), infinite where it has no mean."""
        if self.shape is None:
            return self.scale
        spare = self.shape - 1.0
        return np.where(spare > 0, self.scale / np.where(spare > 0, spare, 1.0), np.inf)

    @property
    def noise_variance(self) -> float:
        """Expected noise variance."""
        return float(self.probabilities @ self.noise_variances)

    def on_columns(self, columns: Any) -> LinearBelief:
        """Return the belief about some columns, where all others have weights of exactly 0."""
        return replace(
            self,
            mean=self.mean[:, columns],
            directions=self.directions[columns],
            centre=self.centre[columns],
        )

    # -- functions -------------------------------------------------------------------------

    def values(self, x: Array) -> Array:
        """Return the expected function of each member: (N, G)."""
        return self.level + (x - self.centre) @ self.mean.T

    def spread(self, x: Array) -> Array:
        """Return the variance of f(x) in units of the noise variance: (N, G)."""
        return self.weights_spread(x - self.centre) + self._level_spread

    def co_spread(self, x: Array, other: Array) -> Array:
        """Return the covariance of f(x) and f(x') in units of the noise variance: (G, N, N')."""
        return self.weights_co_spread(x - self.centre, other - self.centre) + self._level_spread

    def covariance(self, x: Array, other: Array) -> Array:
        """Return the covariance of f(x) and f(x') within members and between them: (N, N')."""
        within = np.einsum(
            "g,gnm->nm", self.probabilities * self.noise_variances, self.co_spread(x, other)
        )
        if len(self.probabilities) == 1:
            return within
        values, others = self.values(x), self.values(other)
        centred = values - (values @ self.probabilities)[:, None]
        return within + (centred * self.probabilities) @ others.T

    def weights_spread(self, offset: Array) -> Array:
        """Return the variance of offset·w in units of the noise variance: (N, G)."""
        z = offset @ self.directions
        spread = z**2 @ (1.0 / self.precisions).T
        return spread if self.unseen is None else spread + self.unseen.spread(offset, z)

    def weights_co_spread(self, offset: Array, other: Array) -> Array:
        """Return the covariance of offset·w and other·w in units of the noise variance: (G, N, N')."""
        left, right = offset @ self.directions, other @ self.directions
        spread = (left / self.precisions[:, None, :]) @ right.T
        if self.unseen is None:
            return spread
        return spread + self.unseen.co_spread(offset, other, left, right)

    @property
    def _level_spread(self) -> float:
        return 0.0 if self.level_precision is None else 1.0 / self.level_precision

    def _scale_squared(self) -> Array:
        """Return the noise variance, or b/a: the squared scale of a Student t."""
        return self.scale if self.shape is None else self.scale / self.shape

    def mean_variance(self, x: Array, noise: Array | float) -> tuple[Array, Array]:
        """Return the mean and variance of targets of relative noise variance ``noise``: (N,)."""
        means, spread = self.values(x), self.spread(x) + np.asarray(noise)[..., None]
        mean = means @ self.probabilities
        between = (means - mean[:, None]) ** 2 @ self.probabilities
        return mean, spread * self.noise_variances @ self.probabilities + between

    def predict(self, x: Array, noise: Array | float, pull: Pull | None = None) -> Any:
        """Return the distribution of targets at each row of x, with functions pulled if so asked."""
        means, spread = self.values(x), self.spread(x)
        if pull is not None:
            means, spread = pull.of(means), pull.share[:, None] ** 2 * spread
        with np.errstate(over="ignore"):
            squared = self._scale_squared() * (spread + np.asarray(noise)[..., None])
        require_reach(squared)
        if len(self.probabilities) == 1:
            return self._univariate(means[:, 0], squared[:, 0], slice(0, 1))
        return Mixture(self.probabilities, self._univariate(means, squared, slice(None)))

    def predict_jointly(self, x: Array, noise: Array | float) -> Any:
        """Return the joint distribution of targets at all rows of x."""
        squared = self._scale_squared()[:, None, None]
        diagonal = np.eye(len(x)) * np.asarray(noise)
        cov = squared * (self.co_spread(x, x) + diagonal)
        return self._vectors(self.values(x).T, cov)

    def posterior(self) -> Any:
        """Return the distribution of the weights, the intercept last if there is one."""
        if self.shape is not None and len(self.probabilities) == 1:
            return self._weights_and_noise()
        inverse = (self.directions / self.precisions[:, None, :]) @ self.directions.T
        if self.unseen is not None:
            inverse += self.unseen.covariance(self.directions)
        if (np.diagonal(inverse, axis1=1, axis2=2) == 0.0).any():
            raise AttributeError(_NO_DENSITY)
        cov, mean = self._with_intercept(inverse)
        return self._vectors(mean, self._scale_squared()[:, None, None] * cov)

    # -- draws -----------------------------------------------------------------------------

    def sample(self, size: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """Draw weights (S, D), intercepts (S,) and noise variances (S,)."""
        member = rng.choice(len(self.probabilities), size=size, p=self.probabilities)
        variance = self.scale[member]
        if self.shape is not None:
            variance = variance / rng.standard_gamma(self.shape[member])
        noise = rng.standard_normal((size, self.directions.shape[1] + 1))
        std = np.sqrt(variance)[:, None]
        steps = noise[:, :-1] / np.sqrt(self.precisions[member])
        weights = self.mean[member] + std * (steps @ self.directions.T)
        if self.unseen is not None:
            weights += std * self.unseen.draw(self.directions, member, rng)
        level = self.level + std[:, 0] * noise[:, -1] * np.sqrt(self._level_spread)
        return weights, level - weights @ self.centre, variance

    def sample_values(self, x: Array, size: int, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw functions and return their values at x (S, N), with noise variances (S,)."""
        weights, intercepts, variance = self.sample(size, rng)
        return weights @ x.T + intercepts[:, None], variance

    # -- forms of the answer ---------------------------------------------------------------

    def _univariate(self, means: Array, squared: Array, members: slice) -> Any:
        if self.shape is None:
            return Normal(means, variance=squared)
        dof = 2.0 * self.shape[members]
        dof = dof[0] if squared.ndim == 1 else np.broadcast_to(dof, squared.shape)
        return StudentT(dof, means, scale=np.sqrt(squared))

    def _vectors(self, means: Array, covs: Array) -> Any:
        single = len(self.probabilities) == 1
        mean, cov = (means[0], covs[0]) if single else (means, covs)
        if self.shape is None:
            members: Any = MvNormal(mean, cov=cov)
        else:
            dof = 2.0 * self.shape
            members = MvStudentT(dof[0] if single else dof, mean, scale=cov)
        return members if single else Mixture(self.probabilities, members)

    def _with_intercept(self, inverse: Array) -> tuple[Array, Array]:
        """Return covariance (G, P, P) and mean (G, P) of (w, b) with b = c − x̄ᵀw."""
        if self.level_precision is None:
            return inverse, self.mean
        cross = -inverse @ self.centre
        corner = self._level_spread - cross @ self.centre
        top = np.concatenate([inverse, cross[..., None]], axis=-1)
        bottom = np.concatenate([cross, corner[..., None]], axis=-1)
        cov = np.concatenate([top, bottom[:, None, :]], axis=1)
        return cov, np.column_stack([self.mean, self.level - self.mean @ self.centre])

    def _weights_and_noise(self) -> VectorNormalInverseGamma:
        d = len(self.centre)
        rigid = self.directions.shape[1] < d if self.unseen is None else self.unseen.fixes_weights
        if rigid:
            raise AttributeError(_NO_DENSITY)
        if self.unseen is None:  # rows of A = RᵀR
            root = explicit_inverse(self.directions / np.sqrt(self.precisions[0]))
        else:
            assert isinstance(self.unseen, OpenDirections)  # there is one member
            root = self.unseen.precision_root(self.directions, self.precisions)
        if self.level_precision is not None:
            below = np.sqrt(self.level_precision) * np.append(self.centre, 1.0)
            root = np.concatenate([np.column_stack([root, np.zeros(d)]), below[None]])
        mean = self.mean[0]
        if self.level_precision is not None:
            mean = np.append(mean, self.level - self.centre @ mean)
        shape, scale = self.shape, self.scale
        assert shape is not None
        return VectorNormalInverseGamma(
            mean, mean_precision=root.T @ root, shape=shape[0], scale=scale[0]
        )


def join_beliefs(beliefs: Sequence[LinearBelief], shares: Array) -> LinearBelief:
    """Return the mixture of beliefs of the same data, with these shares.

    The directions of all stand side by side; along those of others a belief does not vary.
    """
    if len(beliefs) == 1:
        return beliefs[0]
    rows = sum(len(one.scale) for one in beliefs)
    precisions = np.full((rows, sum(one.directions.shape[1] for one in beliefs)), np.inf)
    node = place = 0
    for one in beliefs:
        nodes, width = one.precisions.shape
        precisions[node : node + nodes, place : place + width] = one.precisions
        node, place = node + nodes, place + width
    shapes = [one.shape for one in beliefs if one.shape is not None]
    return replace(
        beliefs[0],
        probabilities=np.concatenate(
            [share * one.probabilities for one, share in zip(beliefs, shares, strict=True)]
        ),
        mean=np.concatenate([one.mean for one in beliefs]),
        directions=np.concatenate([one.directions for one in beliefs], axis=1),
        precisions=precisions,
        shape=np.concatenate(shapes) if shapes else None,
        scale=np.concatenate([one.scale for one in beliefs]),
        unseen=_open_parts(beliefs),
    )


def _open_parts(beliefs: Sequence[LinearBelief]) -> OpenParts | None:
    """Return what beliefs leave open; those that leave nothing have no weights that vary there."""
    if all(one.unseen is None for one in beliefs):
        return None
    nothing = np.full(len(beliefs[0].centre), np.inf)
    parts = tuple(
        one.unseen
        if isinstance(one.unseen, OpenDirections)
        else OpenDirections(nothing, np.ones(len(one.scale)))
        for one in beliefs
    )
    return OpenParts(parts, tuple(one.directions.shape[1] for one in beliefs))
