r"""Gaussian processes as variables: the values of a function at known points.

.. math:: f = (f(x_1), \dots, f(x_N)) \sim N(0, K), \qquad K_{nm} = k(x_n, x_m).

A process is a normal vector like others: it can be added to others, multiplied by known numbers, and be the
mean of what is observed. Its covariance is made when the points arrive.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from posteriori.distributions.unknown import Conditional
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.kernels import Kernel
from posteriori.modeling.language.expressions import Applied, Variable, as_expression
from posteriori.numerics.linalg import cholesky_jittered
from posteriori.numerics.types import Array

__all__ = ["GaussianProcess", "is_process"]


def GaussianProcess(kernel: Kernel, *, at: Any) -> Conditional:
    """Return the distribution of a function's values at points: a normal vector with mean 0.

    Where equal or close points make the covariance singular, the least jitter of the ladder of
    :func:`~posteriori.numerics.linalg.cholesky_jittered` is added to its diagonal.

    Parameters
    ----------
    kernel : Kernel
        With known parameters; :class:`~posteriori.gaussian_process.GaussianProcessRegressor` learns them.
    at : Input or array (N, D)
        The points. Predictions at new ones are asked for as of any input.

    Examples
    --------
    >>> from posteriori import Input, Model, Normal
    >>> from posteriori.kernels import RBF
    >>> m = Model()
    >>> m.X = Input()
    >>> m.f = GaussianProcess(2.0 * RBF(scale=1.5), at=m.X)
    >>> m.y = Normal(m.f, variance=0.01)
    >>> post = m.infer(X=[[0.0], [1.0], [2.0]], y=[0.0, 0.8, 0.9])
    >>> post.predict("y", X=[[1.5]])
    Normal([0.949885], variance=[0.020716])
    """
    if not isinstance(kernel, Kernel):
        raise TypeError(
            f"kernel must be a kernel, such as RBF(scale=1.0) of posteriori.kernels, got {kernel!r}"
        )
    points = as_expression(at)
    parameters = {"mean": Applied(_zeros, points), "cov": Applied(partial(_gram, kernel), points)}
    return Conditional(MvNormal, parameters)


def is_process(variable: Variable) -> bool:
    """Tell whether a variable is made of known points."""
    return any(isinstance(value, Applied) for value in variable.parameters.values())


def _zeros(points: Array) -> Array:
    return np.zeros(len(points))


def _gram(kernel: Kernel, points: Array) -> Array:
    gram = kernel(points)
    gram[np.diag_indices_from(gram)] += cholesky_jittered(gram).jitter
    return gram
