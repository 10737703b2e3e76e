r"""Can classes be told apart by linear functions without an error? A linear program, and its proof.

.. math:: \max_{W, b, t} t \quad\text{with}\quad
   (w_{y_n} - w_k)\cdot x_n + b_{y_n} - b_k \ge t \ \text{ for } k\ne y_n, \quad |W|\le 1.

If t > 0 the functions are the proof. If not, the multipliers λ of the constraints are: they are
not negative, sum to 1, and :math:`\sum_{nk}\lambda_{nk}(e_{y_n}-e_k)(x_n, 1)^\top = 0`, so no
functions can make every term positive. For two classes that names a point of both convex hulls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack
from sklearn.utils.validation import check_X_y

from posteriori.numerics.types import Array

__all__ = ["Separability", "linear_separability"]


class Separability(NamedTuple):
    """The answer and its proof.

    Attributes
    ----------
    separable : bool
    weights, biases : (K, D), (K,) or None
        Functions whose largest tells every row's class, where ``separable``.
    multipliers : (N, K) or None
        Proof that there are none, where not.
    classes : (K,)
    """

    separable: bool
    weights: Array | None
    biases: Array | None
    multipliers: Array | None
    classes: Any


def linear_separability(X: Any, y: Any) -> Separability:
    """Tell whether linear functions classify all rows rightly, with a proof either way.

    Parameters
    ----------
    X : array_like (N, D)
    y : array_like (N,)
        At least two classes.

    Notes
    -----
    A linear program of K(D + 1) unknowns and N(K − 1) constraints, solved by HiGHS.

    Examples
    --------
    >>> corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> linear_separability(corners, [0, 0, 0, 1]).separable  # and
    True
    >>> proof = linear_separability(corners, [0, 1, 1, 0])  # exclusive or
    >>> proof.separable, proof.multipliers.sum(axis=1).round(6)
    (False, array([0.25, 0.25, 0.25, 0.25]))
    """
    x, labels = check_X_y(X, y, dtype=np.float64)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must hold at least two classes, got {classes.tolist()}")
    centre = x.mean(axis=0)
    reach = np.abs(x - centre).max(axis=0)
    reach = np.where(reach > 0, reach, 1.0)
    rows = np.column_stack([(x - centre) / reach, np.ones(len(x))])
    gains, owner, rival = _gains(rows, codes, len(classes))
    found = _largest_margin(gains)
    weights = found.x[:-1].reshape(len(classes), -1)
    if (gains @ found.x[:-1]).min() > 1e-9:
        raw = weights[:, :-1] / reach
        return Separability(True, raw, weights[:, -1] - raw @ centre, None, classes)
    multipliers = np.zeros((len(x), len(classes)))
    multipliers[owner, rival] = np.maximum(-found.ineqlin.marginals, 0.0)
    return Separability(False, None, None, multipliers / multipliers.sum(), classes)


def _gains(rows: Array, codes: Any, k: int) -> tuple[Any, Any, Any]:
    """Return the matrix G with (G w)_{nk} = (w_y − w_k)·x_n, its rows' n, and their k."""
    owner, rival = np.nonzero(np.arange(k) != codes[:, None])
    width = rows.shape[1]
    values = rows[owner]
    plus = codes[owner][:, None] * width + np.arange(width)
    minus = rival[:, None] * width + np.arange(width)
    columns = np.concatenate([plus, minus], axis=1).ravel()
    data = np.concatenate([values, -values], axis=1).ravel()
    starts = np.arange(len(owner) + 1) * 2 * width
    return csr_array((data, columns, starts), shape=(len(owner), k * width)), owner, rival


def _largest_margin(gains: Any) -> Any:
    """Maximise t with G w ≥ t; |w| ≤ 1 only sets the unit, for t and w scale together."""
    m, size = gains.shape
    cost = np.zeros(size + 1)
    cost[-1] = -1.0
    left = hstack([-gains, csr_array(np.ones((m, 1)))], format="csr")
    bounds = [(-1.0, 1.0)] * size + [(None, None)]
    return linprog(cost, A_ub=left, b_ub=np.zeros(m), bounds=bounds, method="highs")
