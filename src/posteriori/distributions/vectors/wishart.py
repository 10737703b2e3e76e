r"""The Wishart distribution,
:math:`p(X) \propto |X|^{(\nu-D-1)/2}\exp\{-\tfrac12\mathrm{tr}(V^{-1}X)\}` on positive definite X.

Natural parameters :math:`(\tfrac{\nu-D-1}2, -\tfrac12V^{-1})` with statistics
:math:`(\ln|X|, X)`: the law of an unknown precision matrix. It is the gamma distribution of
matrices, and as there Stirling's terms are cancelled on paper, so that :math:`\nu = 10^{10}`
keeps its digits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self, cast

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.vectors.cone import (
    factor,
    factor_inside,
    is_positive_definite,
    off_cone,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import (
    inverse_from_factor,
    log_det_from_factor,
    outer,
    symmetrize,
    triangular_inverse,
)
from posteriori.numerics.special import (
    gamma_entropy,
    gamma_kernel,
    log1pmx,
    log_gamma_bregman_remainder,
    log_gamma_correction_slope,
    log_gamma_ratio,
    multivariate_digamma,
    multivariate_log_gamma,
    relative_entropy_terms,
)
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import (
    as_observation,
    check_symmetric,
    positive,
    positive_definite,
)

__all__ = ["Wishart", "bartlett_roots", "check_dof", "solve_wishart_dof"]

_LARGE_DOF = 60.0  # from here on ln Γ_D(ν/2) is large enough to cost digits


class Wishart(ExponentialFamily):
    """Wishart distribution on symmetric positive definite matrices.

    Parameters
    ----------
    dof : float or array
        Degrees of freedom ν > D − 1.
    scale : array (..., D, D)
        Positive definite scale V: the mean is ν V.

    Examples
    --------
    >>> d = Wishart(5.0, [[2.0, 0.5], [0.5, 1.0]])
    >>> d.mean
    array([[10. ,  2.5],
           [ 2.5,  5. ]])
    >>> round(float(d.log_prob([[8.0, 1.0], [1.0, 4.0]])), 6)
    -6.57355
    """

    _parameters = {"dof": 0, "scale": 2, "inverse_scale": 2}
    _shown = ("dof", "scale=")
    _natural_ndims = (0, 2)
    _event_ndim = 2

    dof: Array

    def __new__(cls, dof: Any, scale: Any) -> Self:
        matrix = positive_definite("scale", scale)
        return cls._from(dof=check_dof(dof, matrix), scale=matrix)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(D, D)."""
        stored = self.__dict__["scale" if "scale" in self.__dict__ else "inverse_scale"]
        shape: tuple[int, ...] = stored.shape[-2:]
        return shape

    @cached_property
    def scale(self) -> Array:
        """Scale V."""
        self._require_proper("scale")
        return inverse_from_factor(self._inverse_factor)

    @cached_property
    def inverse_scale(self) -> Array:
        """Inverse scale V⁻¹, the form in which messages add; possibly indefinite for them."""
        whitening = self._whitening
        return symmetrize(np.swapaxes(whitening, -1, -2) @ whitening)

    @cached_property
    def mean(self) -> Array:
        """Mean ν V."""
        self._require_proper("mean")
        return self.dof[..., None, None] * self.scale

    @cached_property
    def mode(self) -> Array:
        """Mode (ν − D − 1) V; needs ν >= D + 1."""
        self._require_proper("mode")
        excess = self.dof - self.event_shape[0] - 1.0
        if np.any(excess < 0):
            raise ValueError(
                f"the mode needs dof >= {self.event_shape[0] + 1}: below it the density is "
                "unbounded at singular matrices"
            )
        return excess[..., None, None] * self.scale

    @cached_property
    def variance(self) -> Array:
        """Variances of the entries, ν (V_ij² + V_ii V_jj)."""
        self._require_proper("variance")
        diagonal = np.diagonal(self.scale, axis1=-2, axis2=-1)
        return self.dof[..., None, None] * (self.scale**2 + outer(diagonal, diagonal))

    @property
    def std(self) -> Array:
        """Standard deviations of the entries."""
        return np.sqrt(self.variance)

    @cached_property
    def _sure_factor(self) -> Array | None:
        """Lower L with L Lᵀ = V⁻¹; None where a member may not be positive definite."""
        return factor_inside(self.inverse_scale)

    @property
    def _inverse_factor(self) -> Array:
        """Lower L with L Lᵀ = V⁻¹."""
        sure = self._sure_factor
        return factor(self.inverse_scale) if sure is None else sure

    @cached_property
    def _whitening(self) -> Array:
        """B with BᵀB = V⁻¹: B X Bᵀ has unit scale."""
        if "scale" in self.__dict__:
            return triangular_inverse(factor(self.scale))
        return np.swapaxes(self._inverse_factor, -1, -2)

    @cached_property
    def _coloring(self) -> Array:
        """F with F Fᵀ = V."""
        if "scale" in self.__dict__:
            return factor(self.scale)
        return np.swapaxes(triangular_inverse(self._inverse_factor), -1, -2)

    @cached_property
    def _log_det_scale(self) -> Array:
        return -log_det_from_factor(self._whitening)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """((ν − D − 1)/2, −½ V⁻¹)."""
        return 0.5 * (self.dof - self.event_shape[0] - 1.0), -0.5 * self.inverse_scale

    @classmethod
    def from_natural(cls, *natural: Any) -> Self:
        """Return the Wishart or message |X|^η₁ exp tr(η₂ X); η₂ must be symmetric."""
        made = super().from_natural(*natural)
        check_symmetric("natural parameters", made.natural[1])
        return made

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        exponent, slope = natural
        dof = 2.0 * exponent + (slope.shape[-1] + 1.0)
        return cls._from(dof=dof, inverse_scale=-2.0 * slope)

    @property
    def is_proper(self) -> Any:
        """Whether ν > D − 1 and the scale is positive definite."""
        enough = self.dof > self.event_shape[0] - 1.0
        if "inverse_scale" not in self.__dict__:
            return enough
        return (
            enough
            if self._sure_factor is not None
            else enough & is_positive_definite(self.inverse_scale)
        )

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(X) = (ln|X|, X)."""
        x = as_observation(x)
        return np.linalg.slogdet(x)[1], x

    @cached_property
    def mean_params(self) -> Natural:
        """(E[ln|X|], E[X]) = (ψ_D(ν/2) + ln|2V|, ν V)."""
        size = self.event_shape[0]
        logs = multivariate_digamma(0.5 * self.dof, size) + size * np.log(2.0)
        return logs + self._log_det_scale, self.mean

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the Wishart with E[ln|X|] and E[X] as given (Newton's method for ν)."""
        mean_log_det = as_observation(mean_params[0], "mean_params")
        mean = positive_definite("E[X]", mean_params[1])
        gap = log_det_from_factor(factor(mean)) - mean_log_det
        dof = solve_wishart_dof(gap, mean.shape[-1])
        return cls._from(dof=dof, scale=mean / dof[..., None, None])

    def _log_normalizer(self) -> Array:
        # A = (ν/2) ln|2V| + ln Γ_D(ν/2)
        if not self._all_proper:
            return self._proper_members()._log_normalizer()
        size = self.event_shape[0]
        log_det = self._log_det_scale + size * np.log(2.0)
        return 0.5 * self.dof * log_det + multivariate_log_gamma(0.5 * self.dof, size)

    def _proper_members(self) -> Self:
        """Put Wishart(D, I) where a member of the batch is improper."""
        size = self.event_shape[0]
        proper = np.asarray(self.is_proper)
        return self._from(
            dof=np.where(proper, self.dof, size)[()],
            inverse_scale=np.where(proper[..., None, None], self.inverse_scale, np.eye(size)),
        )

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return off_cone(x)

    # -- stable forms ----------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        lower = factor(x)
        return self._whitened_log_density(log_det_from_factor(lower), self._whitening @ lower)

    def _whitened_log_density(self, log_det: Array, z: Array) -> Array:
        """Return ln p(X) from ln|X| and a Z that has the singular values of B X^½."""
        if not self._is_large:
            trace = np.vdot(z, z) if z.ndim == 2 else np.einsum("...ij,...ij->...", z, z)
            return self.natural[0] * log_det - 0.5 * trace - self.log_normalizer()
        # Σⱼ K(a, uⱼ) + Σᵢ [ln Γ(a) − ln Γ(a − i/2)] − …,  a = ν/2, u the eigenvalues of ½ZZᵀ
        half = 0.5 * self.dof[..., None]
        size = self.event_shape[0]
        u = 0.5 * np.linalg.svd(z, compute_uv=False) ** 2
        drop = 0.5 * np.arange(size)
        height = log_gamma_ratio(half - drop, drop).sum(axis=-1)
        height -= 0.25 * size * (size - 1) * np.log(np.pi)
        return gamma_kernel(half, u).sum(axis=-1) + height - 0.5 * (size + 1.0) * log_det

    @cached_property
    def _is_large(self) -> bool:
        return bool(np.any(self.dof > _LARGE_DOF))

    @cached_property
    def _shapes(self) -> Array:
        """The arguments (ν − i)/2 of the D gamma functions in Γ_D(ν/2)."""
        return 0.5 * (self.dof[..., None] - np.arange(self.event_shape[0]))

    def _entropy(self) -> Array:
        # Σᵢ E(aᵢ) + i/2 + ½(D − 1 − i) ψ(aᵢ), E the unit-rate gamma entropy
        size = self.event_shape[0]
        i = np.arange(size)
        terms = gamma_entropy(self._shapes) + 0.5 * i
        terms = terms + 0.5 * (size - 1 - i) * special.digamma(self._shapes)
        height = 0.25 * size * (size - 1) * np.log(np.pi)
        scale = 0.5 * (size + 1.0) * (self._log_det_scale + size * np.log(2.0))
        return cast(Array, terms.sum(axis=-1) + height + scale)

    def _kl(self, other: Self) -> Array:
        # a' Σⱼ(uⱼ − 1 − ln uⱼ) + D lnΓ-remainders, u the eigenvalues of (ν/ν') V'⁻¹V
        a, b = 0.5 * self.dof, 0.5 * other.dof
        singular = np.linalg.svd(other._whitening @ self._coloring, compute_uv=False)
        u = (a / b)[..., None] * singular**2
        leading = b * relative_entropy_terms(1.0, u).sum(axis=-1)
        rest = log_gamma_bregman_remainder(other._shapes, self._shapes).sum(axis=-1)
        return cast(Array, leading + rest + _shifted_leading_part(a, b, self.event_shape[0]))

    def _fisher_information(self) -> Array:
        rows, columns = np.tril_indices(self.event_shape[0])
        v = self.scale
        cross = 2.0 * v[..., rows, columns][..., None, :]
        spread = _pairs(v, rows, rows) * _pairs(v, columns, columns)
        spread = spread + _pairs(v, rows, columns) * _pairs(v, columns, rows)
        logs = multivariate_digamma(0.5 * self.dof, self.event_shape[0], order=1)
        top = np.concatenate([logs[..., None, None], cross], axis=-1)
        spread = self.dof[..., None, None] * spread
        bottom = np.concatenate([np.swapaxes(cross, -1, -2), spread], axis=-1)
        return np.concatenate([top, bottom], axis=-2)

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        root = self._coloring @ self._bartlett(shape, rng)
        return symmetrize(root @ np.swapaxes(root, -1, -2))

    def _bartlett(self, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
        size = self.event_shape[0]
        return bartlett_roots(np.broadcast_to(self.dof, shape), size, rng)

    def _interior(self) -> Array:
        return self.mean if self._all_proper else np.eye(self.event_shape[0])


def bartlett_roots(dof: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw lower A (..., D, D) with A Aᵀ ~ Wishart(ν, I), for each ν (...)."""
    diagonal = np.arange(size)
    rows, columns = np.tril_indices(size, -1)
    a = np.zeros((*np.shape(dof), size, size))
    squares = rng.standard_gamma(0.5 * (np.asarray(dof)[..., None] - diagonal))
    a[..., diagonal, diagonal] = np.sqrt(2.0 * squares)
    a[..., rows, columns] = rng.standard_normal((*np.shape(dof), len(rows)))
    return a


def check_dof(value: Any, matrix: Array) -> Array:
    """Check degrees of freedom ν > D − 1 for D × D matrices."""
    dof = positive("dof", value)
    if isinstance(dof, Symbol) or isinstance(matrix, Symbol):
        return dof
    size = matrix.shape[-1]
    if np.any(dof <= size - 1):
        raise ValueError(
            f"dof must exceed D - 1 = {size - 1} for {size} x {size} matrices, "
            f"got {float(np.min(dof)):.10g}"
        )
    return dof


def solve_wishart_dof(gap: Array, size: int) -> Array:
    """Solve Σᵢ [ln(ν/2) − ψ((ν − i)/2)] = gap for ν > D − 1, i = 0 … D − 1.

    Newton's method on 1/s with s = (ν − D + 1)/2, in which both ends are nearly straight.

    Raises
    ------
    ValueError
        When ``gap`` is not positive: the data do not vary.
    """
    gap = positive("ln|E[X]| - E[ln|X|], the spread of the data,", gap)
    i = np.arange(size)
    s = 0.25 * size * (size + 1.0) / gap
    for _ in range(100):
        a = s + 0.5 * (size - 1.0)
        shapes = a[..., None] - 0.5 * i
        # ln a − ψ(aᵢ) = −ln(1 − i/(2a)) + 1/(2aᵢ) − R'(aᵢ): no cancellation for large a
        terms = 0.5 / shapes - log_gamma_correction_slope(shapes)
        value = (terms - np.log1p(-0.5 * i / a[..., None])).sum(axis=-1) - gap
        slope = size / a - special.polygamma(1, shapes).sum(axis=-1)
        step = value / (slope * s * s)
        new = 1.0 / np.maximum(1.0 / s + step, 0.1 / s)
        done = np.all(np.abs(new - s) <= 4e-16 * new)
        s = new
        if done:
            break
    return (2.0 * s + (size - 1.0))[()]


def _shifted_leading_part(a: Array, b: Array, size: int) -> Array:
    """Return Σᵢ bᵢ ln(bᵢ/aᵢ) − b ln(b/a) with aᵢ = a − i/2, bᵢ = b − i/2, without cancellation."""
    c = 0.5 * np.arange(size)
    a, b = a[..., None], b[..., None]
    gap = b - a
    product = a * b * (a - c)
    terms = (b - c) * log1pmx(c * gap * a / product) - c * log1pmx(gap / a)
    return cast(Array, (terms + (c * gap) ** 2 / product).sum(axis=-1))


def _pairs(v: Array, i: Any, j: Any) -> Array:
    """Return V[i_m, j_n] for all pairs (m, n)."""
    return v[..., i[:, None], j[None, :]]
