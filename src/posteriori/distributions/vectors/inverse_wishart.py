r"""The inverse Wishart distribution,
:math:`p(X) \propto |X|^{-(\nu+D+1)/2}\exp\{-\tfrac12\mathrm{tr}(\Psi X^{-1})\}` on positive
definite X.

Natural parameters :math:`(-\tfrac{\nu+D+1}2, -\tfrac12\Psi)` with statistics
:math:`(\ln|X|, X^{-1})`: the law of an unknown covariance matrix. :math:`X^{-1}` has a Wishart
distribution of scale :math:`\Psi^{-1}`, whose stable forms it shares.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.vectors.cone import (
    factor,
    is_positive_definite,
    off_cone,
    solve_factor,
)
from posteriori.distributions.vectors.wishart import Wishart, check_dof
from posteriori.numerics.linalg import (
    explicit_inverse,
    log_det_from_factor,
    outer,
    symmetrize,
)
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import as_observation, check_symmetric, positive_definite

__all__ = ["InverseWishart"]


class InverseWishart(ExponentialFamily):
    """Inverse Wishart distribution on symmetric positive definite matrices.

    Parameters
    ----------
    dof : float or array
        Degrees of freedom ν > D − 1.
    scale : array (..., D, D)
        Positive definite scale Ψ: the mean is Ψ/(ν − D − 1) where ν > D + 1.

    Examples
    --------
    >>> d = InverseWishart(7.0, [[2.0, 0.5], [0.5, 1.0]])
    >>> d.mean
    array([[0.5  , 0.125],
           [0.125, 0.25 ]])
    >>> d.mode
    array([[0.2 , 0.05],
           [0.05, 0.1 ]])
    """

    _parameters = {"dof": 0, "scale": 2}
    _shown = ("dof", "scale=")
    _natural_ndims = (0, 2)
    _event_ndim = 2

    dof: Array
    scale: Array

    def __new__(cls, dof: Any, scale: Any) -> Self:
        matrix = positive_definite("scale", scale)
        return cls._from(dof=check_dof(dof, matrix), scale=matrix)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(D, D)."""
        return self.scale.shape[-2:]

    @cached_property
    def _reciprocal(self) -> Wishart:
        """The distribution of X⁻¹."""
        return Wishart._from(dof=self.dof, inverse_scale=self.scale)

    @cached_property
    def mean(self) -> Array:
        """Mean Ψ/(ν − D − 1); needs ν > D + 1."""
        return self.scale / self._spare("mean", 1)[..., None, None]

    @cached_property
    def mode(self) -> Array:
        """Mode Ψ/(ν + D + 1)."""
        self._require_proper("mode")
        return self.scale / (self.dof + self.event_shape[0] + 1.0)[..., None, None]

    @cached_property
    def variance(self) -> Array:
        """Variances of the entries; needs ν > D + 3.

        With c = ν − D: [(c + 1) Ψ_ij² + (c − 1) Ψ_ii Ψ_jj]/[c (c − 1)² (c − 3)].
        """
        c = (self._spare("variance", 3) + 3.0)[..., None, None]
        diagonal = np.diagonal(self.scale, axis1=-2, axis2=-1)
        squares = (c + 1.0) * self.scale**2 + (c - 1.0) * outer(diagonal, diagonal)
        return squares / (c * (c - 1.0) ** 2 * (c - 3.0))

    @property
    def std(self) -> Array:
        """Standard deviations of the entries."""
        return np.sqrt(self.variance)

    def _spare(self, what: str, order: int) -> Array:
        """Return ν − D − order, or say that the moment does not exist."""
        self._require_proper(what)
        spare = self.dof - self.event_shape[0] - order
        if np.any(spare <= 0):
            raise ValueError(
                f"the {what} needs dof > D + {order} = {self.event_shape[0] + order}, "
                f"got {float(np.min(self.dof)):.10g}; the mode always exists"
            )
        return spare

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(−(ν + D + 1)/2, −½ Ψ)."""
        return -0.5 * (self.dof + self.event_shape[0] + 1.0), -0.5 * self.scale

    @classmethod
    def from_natural(cls, *natural: Any) -> Self:
        """Return the member or message |X|^η₁ exp tr(η₂ X⁻¹); η₂ must be symmetric."""
        made = super().from_natural(*natural)
        check_symmetric("natural parameters", made.scale)
        return made

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        exponent, slope = natural
        return cls._from(dof=-2.0 * exponent - (slope.shape[-1] + 1.0), scale=-2.0 * slope)

    @property
    def is_proper(self) -> Any:
        """Whether ν > D − 1 and the scale is positive definite."""
        return (self.dof > self.event_shape[0] - 1.0) & is_positive_definite(self.scale)

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(X) = (ln|X|, X⁻¹)."""
        x = as_observation(x)
        return np.linalg.slogdet(x)[1], explicit_inverse(x)

    @cached_property
    def mean_params(self) -> Natural:
        """(E[ln|X|], E[X⁻¹]) = (ln|Ψ/2| − ψ_D(ν/2), ν Ψ⁻¹)."""
        log_det, mean = self._reciprocal.mean_params
        return -log_det, mean

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the member with E[ln|X|] and E[X⁻¹] as given."""
        mean_log_det, mean_inverse = (as_observation(p, "mean_params") for p in mean_params)
        reciprocal = Wishart.from_mean_params(-mean_log_det, mean_inverse)
        return cls._from(dof=reciprocal.dof, scale=reciprocal.inverse_scale)

    def _log_normalizer(self) -> Array:
        return self._reciprocal._log_normalizer()

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return off_cone(x)

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        # p(X) = Wishart(X⁻¹) |X|^{−(D+1)}; Ψ = BᵀB and X = LLᵀ give B X⁻¹ Bᵀ = (L⁻¹Bᵀ)ᵀ(L⁻¹Bᵀ)
        lower = factor(x)
        log_det = log_det_from_factor(lower)
        z = solve_factor(lower, self._root)
        density = self._reciprocal._whitened_log_density(-log_det, z)
        return density - (self.event_shape[0] + 1.0) * log_det

    @cached_property
    def _root(self) -> Array:
        """C with C Cᵀ = Ψ."""
        return np.swapaxes(self._reciprocal._whitening, -1, -2)

    def _entropy(self) -> Array:
        # H[X] = H[X⁻¹] + (D + 1) E[ln|X|]
        return self._reciprocal._entropy() + (self.event_shape[0] + 1.0) * self.mean_params[0]

    def _kl(self, other: Self) -> Array:
        return self._reciprocal._kl(other._reciprocal)

    def _fisher_information(self) -> Array:
        # ln|X| = −ln|X⁻¹|: the first row and column change sign
        information = self._reciprocal._fisher_information()
        signs = np.ones(information.shape[-1])
        signs[0] = -1.0
        return information * outer(signs, signs)

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        # X = (A⁻¹B)ᵀ(A⁻¹B) with AAᵀ ~ Wishart(ν, I) and BᵀB = Ψ
        z = np.linalg.solve(self._reciprocal._bartlett(shape, rng), self._reciprocal._whitening)
        return symmetrize(np.swapaxes(z, -1, -2) @ z)

    def _interior(self) -> Array:
        return self.mode if self._all_proper else np.eye(self.event_shape[0])
