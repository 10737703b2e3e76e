r"""Compiled values of B-splines, and products with them that make no values.

Between two knots a function is a polynomial in t, the distance from the knot on the left. So a sum
:math:`\sum_m w_mB_m(x)` is one polynomial on each piece, and the sums :math:`\sum_n u_nB_m(x_n)` follow
from the moments :math:`\sum_n u_nt_n^p` of each piece.
"""

from posteriori.numerics.compilation import kernel

__all__ = ["add_curves", "add_moments", "fill_splines"]


@kernel(called="kernels")
def _piece(at, knots):
    """Return on which piece a point lies; all knots are looked at: no branch has to be guessed."""
    k = 0
    for j in range(1, len(knots) - 1):
        k += at >= knots[j]
    return k


@kernel
def fill_splines(x, knots, pieces, values):
    """Fill values (N, D, M) with the splines of columns (N, D); beyond the ends they stay constant.

    Parameters
    ----------
    x : (N, D)
    knots : (D, K + 1)
        Where the K pieces begin, and the last one ends.
    pieces : (D, K, P, P)
        Coefficients of P polynomials in t, highest power first: functions k to k + P − 1 live on
        piece k.
    values : (N, D, M)
        M = K + P − 1.
    """
    order = pieces.shape[3]
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            at = min(max(x[n, d], knots[d, 0]), knots[d, -1])
            k = _piece(at, knots[d])
            t = at - knots[d, k]
            for m in range(values.shape[2]):
                values[n, d, m] = 0.0
            for j in range(order):
                value = pieces[d, k, j, 0]
                for power in range(1, order):
                    value = value * t + pieces[d, k, j, power]
                values[n, d, k + j] = value


@kernel
def add_curves(x, knots, curves, total):
    """Add to total (N,) the polynomials (D, K, P) of the columns, highest power first."""
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            at = min(max(x[n, d], knots[d, 0]), knots[d, -1])
            k = _piece(at, knots[d])
            t = at - knots[d, k]
            value = curves[d, k, 0]
            for power in range(1, curves.shape[2]):
                value = value * t + curves[d, k, power]
            total[n] += value


@kernel
def add_moments(x, knots, weights, moments):
    """Add to moments (D, K, P) the weighted sums of powers of t, highest first."""
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            at = min(max(x[n, d], knots[d, 0]), knots[d, -1])
            k = _piece(at, knots[d])
            t = at - knots[d, k]
            share = weights[n]
            for power in range(moments.shape[2] - 1, -1, -1):
                moments[d, k, power] += share
                share *= t
