r"""Fixed-form variational inference: the normal belief with the smallest free energy.

With :math:`x = \mu + Lz` and nodes :math:`z_k` of Gauss–Hermite quadrature,

.. math:: F(\mu, L) = -\sum_k w_k \ln p(y, \mu + L z_k) - \ln|L| - \tfrac{D}{2}\ln 2\pi e ,

which an ordinary minimiser takes to its minimum.

Reference: M. Opper & C. Archambeau, "The variational Gaussian approximation revisited", Neural
Computation 21(3), 2009.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real_vector
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["FixedForm", "fit_normal_belief"]

#: Points of quadrature that fit into memory with ease.
_MOST_POINTS = 2_000_000


class FixedForm(NamedTuple):
    """The best normal belief.

    Attributes
    ----------
    belief : Normal or MvNormal
    free_energy : float
        At least minus the log evidence.
    n_iter : int
    converged : bool
    """

    belief: Any
    free_energy: float
    n_iter: int
    converged: bool


def fit_normal_belief(
    log_joint: Callable[[Array], Any],
    mean: Any,
    *,
    scale: Any = 1.0,
    nodes: int = 24,
    max_iter: int = 500,
) -> FixedForm:
    """Minimise the free energy over normal beliefs about a number or a short vector.

    Parameters
    ----------
    log_joint : callable
        ln p(y, x) at many points at once, (S,) or (S, D) → (S,), finite everywhere: use
        coordinates without borders, with their Jacobian.
    mean : float or (D,)
        Where to start; a vector gives an :class:`~posteriori.distributions.MvNormal`.
    scale : float or (D,)
        Standard deviations to start with.
    nodes : int
        Points of quadrature along each direction; nodes**D in all.
    max_iter : int
        Most steps.

    Returns
    -------
    FixedForm

    Examples
    --------
    The log odds of a coin that fell heads up 3 of 4 times; the evidence is 1/20:

    >>> import numpy as np
    >>> def log_joint(x):  # p³(1 − p) and the Jacobian p(1 − p) of the logistic function
    ...     return 4 * x - 6 * np.logaddexp(0, x)
    >>> found = fit_normal_belief(log_joint, 0.0)
    >>> found.belief.mean.round(4), found.belief.std.round(4)
    (np.float64(0.8198), np.float64(0.9379))
    >>> round(-found.free_energy, 4), round(float(-np.log(20)), 4)
    (-3.0035, -2.9957)
    """
    single = np.ndim(mean) == 0
    start = real_vector("mean", np.atleast_1d(mean))
    d = start.size
    if nodes**d > _MOST_POINTS:
        raise ValueError(
            f"{nodes} nodes in {d} dimensions are {nodes**d} points: take fewer nodes, or a model "
            "whose unknowns are learned by Model.infer"
        )
    z, weights = _hermite_grid(nodes, d)
    below = np.tril_indices(d, -1)

    def unpack(x: Array) -> tuple[Array, Array]:
        root = np.diag(np.exp(x[d : 2 * d]))
        root[below] = x[2 * d :]
        return x[:d], root

    def free_energy(x: Array) -> float:
        centre, root = unpack(x)
        points = centre + z @ root.T
        logs = np.asarray(log_joint(points[:, 0] if single else points))
        entropy = float(np.sum(x[d : 2 * d])) + 0.5 * d * math.log(2.0 * math.pi * math.e)
        return -float(weights @ logs) - entropy

    first = np.concatenate([start, np.log(np.broadcast_to(scale, (d,))), np.zeros(len(below[0]))])
    value = free_energy(first)
    if not math.isfinite(value):
        raise ValueError(
            f"log_joint is not finite around mean={mean!r}: its free energy is {value}"
        )
    found = optimize.minimize(
        free_energy, first, method="BFGS", options={"maxiter": max_iter, "gtol": 1e-7}
    )
    # rounding ends the search before the gradient is below gtol: small is enough
    converged = bool(found.success or np.max(np.abs(found.jac)) < 1e-4)
    if not converged:
        warnings.warn(
            f"the normal belief stopped after {found.nit} steps: {found.message}",
            ConvergenceWarning,
            stacklevel=2,
        )
    centre, root = unpack(found.x)
    belief: Any = MvNormal(centre, cov=root @ root.T)
    if single:
        belief = Normal(float(centre[0]), scale=float(root[0, 0]))
    return FixedForm(belief, float(found.fun), int(found.nit), converged)


def _hermite_grid(nodes: int, d: int) -> tuple[Array, Array]:
    """Return points (S, D) and weights (S,) for expectations under a standard normal."""
    x, w = np.polynomial.hermite_e.hermegauss(nodes)
    w = w / math.sqrt(2.0 * math.pi)
    points = np.stack(np.meshgrid(*[x] * d, indexing="ij"), axis=-1).reshape(-1, d)
    weights = np.prod(np.stack(np.meshgrid(*[w] * d, indexing="ij"), axis=-1), axis=-1).ravel()
    return points, weights
