r"""Elliptical densities of several classes: normal, and Student's t where parameters are uncertain.

.. math:: p(x\mid C_k) = t_{c_k}(x\mid m_k, r_k L_k L_k^\top), \qquad c_k = \infty \text{ is the normal}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import gammaln

from posteriori.inference.classes import class_kernels
from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ColumnwiseClasses", "EllipticClasses", "require_columns_of", "student_log_norm"]


class EllipticClasses(NamedTuple):
    """Class densities with full scale matrices.

    Attributes
    ----------
    means : (K, D)
    roots : (K, D, D), or (1, D, D) for one that all classes share
        Lower triangular factors L.
    stretch : (K,)
        Factors r of the scale matrices.
    dof : (K,)
        Degrees of freedom, infinite for normal densities.
    """

    means: Array
    roots: Array
    stretch: Array
    dof: Array

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k), (N, K)."""
        d = self.means.shape[1]
        distance = self._distances(x) / self.stretch
        log_det = np.log(np.diagonal(self.roots, axis1=1, axis2=2)).sum(axis=1)
        norm = student_log_norm(self.dof, d) - log_det - 0.5 * d * np.log(self.stretch)
        if np.isinf(self.dof).all():
            return norm - 0.5 * distance
        return norm - 0.5 * (self.dof + d) * np.log1p(distance / self.dof)

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code, (N, D)."""
        noise = rng.normal(size=(len(codes), self.means.shape[1]))
        scale = np.sqrt(self.stretch[codes] / _mixing(self.dof[codes], rng))
        drawn = np.empty_like(noise)
        for k in range(len(self.means)):
            mine = codes == k
            drawn[mine] = noise[mine] @ self.roots[k % len(self.roots)].T
        return self.means[codes] + scale[:, None] * drawn

    def log_ratios(self, x: Array) -> Array:
        """Return ln p(x | C_k) up to a term that all classes have in common, (N, K)."""
        if len(self.roots) > 1 or not np.isinf(self.dof).all():
            return self.log_prob(x)
        weights, offsets = self.linear()
        return x @ weights.T + offsets

    def linear(self) -> tuple[Array, Array]:
        """Return w_k = Σ⁻¹m_k and b_k = −½ m_kᵀΣ⁻¹m_k of normal classes that share Σ."""
        weights = cho_solve((self.roots[0], True), self.means.T).T
        return weights, -0.5 * np.einsum("kd,kd->k", weights, self.means)

    def _distances(self, x: Array) -> Array:
        """Return |L⁻¹(x − m_k)|², (N, K)."""
        size, d = self.means.shape
        whitening = [solve_triangular(root, np.eye(d), lower=True).T for root in self.roots]
        centre = self.means.mean(axis=0)
        shared = (self.means - centre) @ whitening[0]
        distance = np.empty((len(x), size))
        for here in blocks_of_rows(x):
            if len(whitening) == 1:  # one rotation serves all classes
                z = (x[here] - centre) @ whitening[0]
                square = np.einsum("nd,nd->n", z, z)[:, None]
                distance[here] = square - 2.0 * (z @ shared.T) + (shared**2).sum(axis=1)
                continue
            for k, white in enumerate(whitening):
                z = (x[here] - self.means[k]) @ white
                distance[here, k] = np.einsum("nd,nd->n", z, z)
        return np.maximum(distance, 0.0)


class ColumnwiseClasses(NamedTuple):
    """Class densities whose columns are independent; NaN is a missing entry.

    Attributes
    ----------
    means, scales, dof : (K, D)
        Location, scale parameter, and degrees of freedom of each column in each class.
    """

    means: Array
    scales: Array
    dof: Array

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k) of the seen entries, (N, K)."""
        require_columns_of(self.means, x)
        out = np.zeros((len(x), len(self.means)))
        x, means = as_kernel_input(x), as_kernel_input(self.means)
        norm = student_log_norm(self.dof, 1) - np.log(self.scales)
        if np.isinf(self.dof).all():
            class_kernels.normal_terms(x, means, 0.5 / self.scales**2, norm, out)
        else:
            precision = 1.0 / (self.dof * self.scales**2)
            power = 0.5 * (self.dof + 1.0)
            class_kernels.student_terms(x, means, precision, power, norm, out)
        return out

    def log_ratios(self, x: Array) -> Array:
        """Return the same: columns share no term that could be left out."""
        return self.log_prob(x)

    @property
    def n_parameters(self) -> int:
        """Free parameters of one class."""
        return 2 * self.means.shape[1]

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code, (N, D)."""
        noise = rng.normal(size=(len(codes), self.means.shape[1]))
        return self.means[codes] + self.scales[codes] * noise / np.sqrt(
            _mixing(self.dof[codes], rng)
        )


def require_columns_of(parameters: Array, x: Array) -> None:
    """Refuse rows that have other columns than parameters (K, D), as compiled loops would not."""
    if x.shape[1:] != parameters.shape[1:]:
        raise ValueError(f"rows of shape {x.shape} do not fit classes of {parameters.shape}")


def student_log_norm(dof: Array, d: int) -> Array:
    """Return the log density of Student's t with unit scale at its centre, normal for dof = ∞."""
    finite = np.where(np.isinf(dof), 1.0, dof)
    student = gammaln(0.5 * (finite + d)) - gammaln(0.5 * finite) - 0.5 * d * np.log(np.pi * finite)
    return np.where(np.isinf(dof), -0.5 * d * LOG_2PI, student)


def _mixing(dof: Array, rng: np.random.Generator) -> Array:
    """Draw χ²(c)/c, 1 for infinite c."""
    finite = np.where(np.isinf(dof), 1.0, dof)
    return np.where(np.isinf(dof), 1.0, rng.chisquare(finite) / finite)
