r"""Parameters of a process weighed by how probable they are.

.. math:: p(f\mid y) = \int p(f\mid y, \theta)\,p(\theta\mid y)\,d\ln\theta
          \approx \sum_k w_k\,p(f\mid y, \theta_k)

over a central composite design around the most probable ones, with normal priors of logarithms.

Reference: H. Rue, S. Martino & N. Chopin, "Approximate Bayesian inference for latent Gaussian models by using
integrated nested Laplace approximations", 2009, §6.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.processes.kernel_search import Objective, SearchedKernel
from posteriori.inference.processes.search_bounds import SearchBounds, log_prior
from posteriori.inference.quadrature.composite_design import integrate_by_design
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array

__all__ = ["WeighedModels", "integrate_parameters"]

#: Points of the design with less than this share of the weight are left out.
_FAINT = 1e-6

#: Step of differences of gradients, in logarithms.
_STEP = 1e-2


class WeighedModels(NamedTuple):
    """Models and what each knows, with weights.

    Attributes
    ----------
    top : SearchedKernel
        The most probable model, and the search for it.
    models : tuple
        Kernels, or what has parameters like them.
    solved : tuple
        What is known with each.
    weights : (K,)
    log_evidence : float
    account : str
        How it was computed.
    """

    top: SearchedKernel
    models: tuple[Any, ...]
    solved: tuple[Any, ...]
    weights: Array
    log_evidence: float
    account: str


def integrate_parameters(
    score: Objective,
    solve: Callable[[Any], Any],
    search: Callable[[Objective], SearchedKernel],
    bounds: SearchBounds,
    free: Array,
) -> WeighedModels:
    """Return models over which parameters are integrated.

    Parameters
    ----------
    score : callable
        From a model to its log evidence and the gradient in its log parameters.
    solve : callable
        From a model to what is known with it, which has a ``log_evidence``.
    search : callable
        From an objective to the model where it is highest.
    bounds : SearchBounds
        Whose centres and spreads are the prior of the log parameters.
    free : (P,) of bool
        Which parameters are integrated, at least one.
    """
    prior = log_prior(bounds, free)

    def objective(model: Any) -> tuple[float, Array]:
        value, slope = score(model)
        density, of_prior = prior(model.log_parameters)
        return value + density, slope + of_prior

    found = search(objective)
    top = found.kernel.log_parameters
    solved: dict[bytes, Any] = {}

    def with_free(point: Array) -> Any:
        values = top.copy()
        values[free] = point
        return found.kernel.with_log_parameters(values)

    def log_density(point: Array) -> float:
        model = with_free(point)
        known = solved.setdefault(point.tobytes(), solve(model))
        return float(known.log_evidence + prior(model.log_parameters)[0])

    precision = _curvature(lambda point: objective(with_free(point))[1][free], top[free])
    made = integrate_by_design(log_density, top[free], precision)
    heavy = np.flatnonzero(made.weights > _FAINT)
    return WeighedModels(
        found,
        tuple(with_free(made.points[k]) for k in heavy),
        tuple(solved[made.points[k].tobytes()] for k in heavy),
        made.weights[heavy] / made.weights[heavy].sum(),
        made.log_integral,
        f"parameters integrated over a central composite design of {len(made.points)} points",
    )


def _curvature(gradient: Callable[[Array], Array], top: Array) -> Array:
    """Return −∂² of a function with this gradient, by differences."""
    columns = [
        (gradient(top - step) - gradient(top + step)) / (2.0 * _STEP)
        for step in _STEP * np.eye(len(top))
    ]
    return symmetrize(np.array(columns))
