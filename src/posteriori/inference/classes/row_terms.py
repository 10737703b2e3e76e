r"""What beliefs about classes say of single rows: left out, and as they are fitted.

A conjugate belief gives a row back as it took it, so that with Z its normaliser

.. math:: p(x_n\mid D_{\setminus n}) = \frac{p(D)}{p(D_{\setminus n})}
   \propto \frac{Z(\text{belief})}{Z(\text{belief without } x_n)},

and :math:`E[\ln p(x_n\mid\theta)]` under the belief is what the row adds to the fit. Functions of columns
take x (N, D) and the class codes (N,), and return sums (N,) over the seen entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import digamma, gammaln

from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.inference.classes.class_densities import EllipticClasses
from posteriori.inference.classes.class_moments import blocks_of_rows
from posteriori.inference.classes.expected_logs import (
    binary_logs,
    category_logs,
    count_logs,
    normal_logs,
)
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "binary_fit",
    "binary_left_out",
    "categories_fit",
    "categories_left_out",
    "counts_fit",
    "counts_left_out",
    "full_fit",
    "full_left_out",
    "normal_fit",
    "normal_left_out",
]

#: What is left of a sum of squares when a row is taken away is known to this part of it.
_ROUNDING = float(np.finfo(np.float64).eps)


# -- independent columns -------------------------------------------------------------------


def normal_left_out(belief: NormalInverseGamma, x: Array, codes: Any) -> Array:
    """Return Σ_d ln t(x) with b less ½ κ/(κ − 1) (x − m)², κ less 1 and a less ½."""
    m, kappa, a, b = _parameters(belief)
    log_less = _log_left(kappa - 1.0) - np.log(kappa)
    norm = gammaln(a) - gammaln(a - 0.5) - a * np.log(b) + 0.5 * (log_less - LOG_2PI)
    stretch = 0.5 * np.exp(-log_less)

    def terms(part: Array, k: int) -> Array:
        left = np.maximum(b[k] - stretch[k] * (part - m[k]) ** 2, _ROUNDING * b[k])
        return norm[k] + (a[k] - 0.5) * np.log(left)

    return _by_class(terms, x, codes)


def normal_fit(belief: NormalInverseGamma, x: Array, codes: Any) -> Array:
    """Return Σ_d ½{ψ(a) − ln b − (x − m)² a/b − 1/κ − ln 2π}."""
    m = belief.location
    height, precision = (np.broadcast_to(part, m.shape) for part in normal_logs(belief))

    def terms(part: Array, k: int) -> Array:
        return height[k] - 0.5 * precision[k] * (part - m[k]) ** 2

    return _by_class(terms, x, codes)


def _parameters(belief: NormalInverseGamma) -> tuple[Array, ...]:
    return tuple(
        np.broadcast_arrays(belief.location, belief.mean_strength, belief.shape, belief.scale)
    )


def binary_left_out(belief: Beta, x: Array, codes: Any) -> Array:
    """Return Σ_d ln (a_x − 1)/(a + b − 1), a_1 = a and a_0 = b."""
    whole = _log_left(belief.a + belief.b - 1.0)
    one, zero = _log_left(belief.a - 1.0) - whole, _log_left(belief.b - 1.0) - whole
    return _by_class(lambda part, k: np.where(part == 1.0, one[k], zero[k]), x, codes)


def binary_fit(belief: Beta, x: Array, codes: Any) -> Array:
    """Return Σ_d ψ(a_x) − ψ(a + b)."""
    one, zero = binary_logs(belief)
    return _by_class(lambda part, k: np.where(part == 1.0, one[k], zero[k]), x, codes)


def counts_left_out(belief: Gamma, x: Array, codes: Any) -> Array:
    """Return Σ_d of the negative binomial log density of shape a − x and rate b − 1."""
    a, log_less = belief.shape, _log_left(belief.rate - 1.0)
    norm = gammaln(a) - a * np.log(belief.rate)

    def terms(part: Array, k: int) -> Array:
        less = np.where(a[k] > part, a[k] - part, np.nan)  # NaN: the row was not there
        return norm[k] - gammaln(less) - gammaln(part + 1.0) + less * log_less[k]

    return _by_class(terms, x, codes)


def counts_fit(belief: Gamma, x: Array, codes: Any) -> Array:
    """Return Σ_d x (ψ(a) − ln b) − a/b − ln x!."""
    log_rate, mean = count_logs(belief)
    return _by_class(lambda part, k: part * log_rate[k] - mean[k] - gammaln(part + 1.0), x, codes)


def categories_left_out(beliefs: Sequence[Dirichlet], x: Array, codes: Any) -> Array:
    """Return Σ_d ln (α_x − 1)/(Σα − 1); a belief (K, C) for each column."""
    alphas = [belief.concentration for belief in beliefs]
    tables = [
        _log_left(alpha - 1.0) - _log_left(alpha.sum(axis=1, keepdims=True) - 1.0)
        for alpha in alphas
    ]
    return _of_categories(tables, x, codes)


def categories_fit(beliefs: Sequence[Dirichlet], x: Array, codes: Any) -> Array:
    """Return Σ_d ψ(α_x) − ψ(Σα); a belief (K, C) for each column."""
    return _of_categories([category_logs(belief) for belief in beliefs], x, codes)


def _of_categories(tables: Sequence[Array], x: Array, codes: Any) -> Array:
    """Return sums (N,) of the terms of seen entries, from a table (K, C) for each column."""
    total = np.zeros(len(x))
    for table, column in zip(tables, x.T, strict=True):
        seen = ~np.isnan(column)
        total[seen] += table[codes[seen], column[seen].astype(np.intp)]
    return total


def _log_left(amount: Array) -> Array:
    """Return logarithms, NaN where nothing is left: the row was not there."""
    return np.log(np.where(amount > 0.0, amount, np.nan))


def _by_class(terms: Callable[[Array, int], Array], x: Array, codes: Any) -> Array:
    """Return sums (N,) of terms of seen entries, from the rows of each class in turn."""
    total = np.zeros(len(x))
    for k in range(int(codes.max(initial=-1)) + 1):
        mine = codes == k
        part = x[mine]
        total[mine] = np.where(np.isnan(part), 0.0, terms(part, k)).sum(axis=1)
    return total


# -- full covariances ----------------------------------------------------------------------


def full_left_out(
    belief: NormalInverseWishart, classes: EllipticClasses, x: Array, codes: Any
) -> Array:
    """Return ln p(x_n | C_k, all rows but n) up to a term of each row, (N, K).

    Without the row Ψ is less by g δδᵀ, with δ = x − m of its class and g = κ/(κ − 1).
    """
    if len(classes.roots) == 1:
        return _shared_left_out(belief, classes, x, codes)
    found, d = classes.log_prob(x), x.shape[1]
    for k, root in enumerate(classes.roots):
        mine = codes == k
        nu, kappa = float(belief.dof[k]), float(belief.mean_strength[k])
        white = _whiten(root, x[mine] - belief.location[k])
        rest = 1.0 - kappa / (kappa - 1.0) * (white**2).sum(axis=1)  # |Ψ − g δδᵀ| / |Ψ|
        found[mine, k] = (
            gammaln(0.5 * nu)
            - gammaln(0.5 * (nu - d))
            + 0.5 * (nu - 1.0) * np.log(np.maximum(rest, _ROUNDING))
            - np.log(np.diagonal(root)).sum()
            + 0.5 * d * (np.log1p(-1.0 / kappa) - np.log(np.pi))
        )
    return found


def _shared_left_out(
    belief: NormalInverseWishart, classes: EllipticClasses, x: Array, codes: Any
) -> Array:
    r"""Return −½ν ln |Ψ_k|/|Ψ| + ½D ln s_k, Ψ_k after the row has come to class k instead.

    .. math:: |\Psi_k|/|\Psi| = (1 - g\,\delta\cdot\delta)(1 + s_k\,\delta_k\cdot\delta_k)
       + g s_k(\delta\cdot\delta_k)^2, \qquad s_k = \kappa_k/(\kappa_k + 1),

    products being those of whitened vectors. In its own class the row leaves Ψ as it is, and s is 1/g.
    """
    kappa, root, d = belief.mean_strength, classes.roots[0], x.shape[1]
    centre = belief.location.mean(axis=0)
    means = _whiten(root, belief.location - centre)
    share, g = kappa / (kappa + 1.0), kappa / (kappa - 1.0)
    found = np.empty((len(x), len(means)))
    for here in blocks_of_rows(x):
        z, own = _whiten(root, x[here] - centre), codes[here]
        apart = z - means[own]
        squares = np.stack([((z - mean) ** 2).sum(axis=1) for mean in means], axis=1)
        cross = (apart * z).sum(axis=1)[:, None] - apart @ means.T
        mine = np.arange(len(own)), own
        pull = g[own][:, None]
        rest = np.maximum(1.0 - pull * squares[mine][:, None], _ROUNDING)
        grown = rest * (1.0 + share * squares) + pull * share * cross**2
        found[here] = 0.5 * (d * np.log(share) - belief.dof * np.log(grown))
        found[here][mine] = -0.5 * d * np.log(g[own])
    return found


def full_fit(belief: NormalInverseWishart, classes: EllipticClasses, x: Array, codes: Any) -> Array:
    """Return ½{E ln|Σ⁻¹| − ν δᵀΨ⁻¹δ − D/κ − D ln 2π} of each row in its class, (N,)."""
    found, d = np.empty(len(x)), x.shape[1]
    for k in range(len(belief.location)):
        mine, root = codes == k, classes.roots[k % len(classes.roots)]
        nu, kappa = float(belief.dof[k]), float(belief.mean_strength[k])
        log_det = digamma(0.5 * (nu - np.arange(d))).sum() + d * np.log(2.0)
        log_det -= 2.0 * np.log(np.diagonal(root)).sum()
        square = (_whiten(root, x[mine] - belief.location[k]) ** 2).sum(axis=1)
        found[mine] = 0.5 * (log_det - nu * square - d / kappa - d * LOG_2PI)
    return found


def _whiten(root: Array, shift: Array) -> Array:
    """Return rows L⁻¹δ."""
    return np.asarray(solve_triangular(root, shift.T, lower=True).T)
