r"""Mercer's expansion of a kernel, from the eigenvectors of a Gram matrix.

.. math:: k(x, z) = \sum_i\lambda_i\psi_i(x)\psi_i(z),\qquad
   \int k(x, z)\,\psi_i(z)\,p(z)\,dz = \lambda_i\psi_i(x).

With N points drawn from p the integral is a mean: K/N has the eigenvalues λᵢ and eigenvectors
:math:`\psi_i(x_n)/\sqrt N`, and other points have :math:`\psi_i(x) = \tfrac1{N\lambda_i}\sum_n k(x, x_n)
\psi_i(x_n)` (E. Nyström, 1930).

Reference: C. Williams & M. Seeger, "Using the Nyström method to speed up kernel machines", 2001.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.kernels.kernel import Kernel, check_points
from posteriori.kernels.mercer import decide_on_points
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["MercerExpansion", "mercer_expansion"]


class MercerExpansion(NamedTuple):
    """Eigenvalues and eigenfunctions of a kernel under the distribution of some points.

    Attributes
    ----------
    kernel : Kernel
    points : (N, D)
    eigenvalues : (n,)
        λ, the largest first.
    vectors : (N, n)
        Unit eigenvectors of K, ψ at the points divided by √N.
    """

    kernel: Kernel
    points: Array
    eigenvalues: Array
    vectors: Array

    def functions(self, X: Any) -> Array:
        """Return ψᵢ(x) at points (M, D), (M, n); their mean squares over the points are 1."""
        return self.features(X) / np.sqrt(self.eigenvalues)

    def features(self, X: Any) -> Array:
        """Return √λᵢ ψᵢ(x) at points (M, D), (M, n), whose scalar products are the kernel, or near it."""
        roots = np.sqrt(len(self.points) * self.eigenvalues)  # of the eigenvalues of K
        return self.kernel(X, self.points) @ (self.vectors / roots)


def mercer_expansion(kernel: Kernel, X: Any, n: int | None = None) -> MercerExpansion:
    """Return the n largest eigenvalues of a kernel and their functions.

    Parameters
    ----------
    kernel : Kernel
        Noise (``White``) is left out.
    X : (N, D)
        Points that stand for the distribution p.
    n : int, optional
        By default as many as there are beyond rounding: then ``features`` of X have the scalar
        products K exactly.

    Returns
    -------
    MercerExpansion

    Raises
    ------
    ValueError
        When an eigenvalue is negative, which it names, or fewer than n are positive.

    Notes
    -----
    Costs O(N³).

    Examples
    --------
    >>> from posteriori.kernels import Function
    >>> brownian = Function(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0]))
    >>> even = (np.arange(400)[:, None] + 0.5) / 400
    >>> mercer_expansion(brownian, even, 2).eigenvalues.round(4)  # 4/π² and 4/9π²
    array([0.4053, 0.045 ])
    """
    points = check_points("X", X)
    gram = symmetrize(kernel(points, points))
    values, vectors = scipy_linalg.eigh(gram, check_finite=False)
    there = int(exceeds_rounding(values, len(gram) * np.abs(gram).max(initial=0.0)).sum())
    require_positive(kernel, points, values)
    if n is not None and not 1 <= n <= there:
        raise ValueError(f"n must be between 1 and {there}, the rank of the Gram matrix, got {n!r}")
    kept = slice(None, -1 - (there if n is None else int(n)), -1)
    return MercerExpansion(kernel, points, values[kept] / len(points), vectors[:, kept])


def require_positive(kernel: Kernel, points: Array, values: Array) -> None:
    """Refuse a Gram matrix with rising eigenvalues (N,) of which one is negative beyond rounding."""
    if values[0] < 0.0 and not (found := decide_on_points(kernel, points)).valid:
        raise ValueError(
            f"{kernel!r} is no kernel: its Gram matrix of X has the eigenvalue {found.eigenvalue:.6g}; "
            "is_mercer tells more"
        )
