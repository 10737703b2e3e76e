r"""The Laplace approximation: a normal distribution around the mode, and the evidence it gives.

.. math:: p(\theta\mid D) \approx N(\hat\theta, (-H)^{-1}),\qquad
          \ln p(D) \approx \ln p(D, \hat\theta) + \tfrac D2\ln 2\pi - \tfrac12\ln|-H|.

Exact where the log joint is quadratic; the error of the log evidence falls like 1/N.

Reference: D. MacKay, "Information Theory, Inference, and Learning Algorithms", 2003, ch. 27.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimation.estimate_ascent import Bounds, EstimateReport, climb
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["LaplaceApproximation", "laplace_approximation"]


class LaplaceApproximation(NamedTuple):
    """A posterior as a normal around its mode.

    Attributes
    ----------
    mode : float or array (D,)
        Where the log joint is highest.
    hessian : (D, D)
        Its second derivatives there.
    distribution : Normal or MvNormal
        The approximate posterior; a Normal where the start was a number.
    log_evidence : LogEvidence
        Of kind "laplace".
    report : EstimateReport
        How the mode was found.
    """

    mode: Any
    hessian: Array
    distribution: Any
    log_evidence: LogEvidence
    report: EstimateReport


def laplace_approximation(
    log_joint: Callable[[Any], Any],
    start: ArrayLike,
    *,
    gradient: Callable[[Any], Any] | None = None,
    hessian: Callable[[Any], Any] | None = None,
    bounds: Bounds | None = None,
    of: str = "X",
) -> LaplaceApproximation:
    """Approximate a posterior by a normal distribution at its mode.

    Parameters
    ----------
    log_joint : callable
        ln p(D, θ), log likelihood plus log prior, both with their constants, at a point in the
        shape of ``start``.
    start : float or array (D,)
        First guess of the mode.
    gradient, hessian : callable, optional
        Derivatives of ``log_joint``; numeric by default.
    bounds : sequence of (lower, upper), optional
        Limits of the search; a mode on a limit is refused.
    of : str
        Which data the evidence is the probability of: "X", "y|X" or "X,y".

    Raises
    ------
    ValueError
        When the log joint is not strictly concave at its mode; the message says how it is.

    Examples
    --------
    >>> from posteriori import Normal
    >>> prior, x = Normal(0, variance=4), np.array([1.0, 2.0])
    >>> found = laplace_approximation(
    ...     lambda mu: prior.log_prob(mu) + Normal(mu, variance=1).log_prob(x).sum(), 0.0
    ... )
    >>> found.distribution.mean.round(6), found.distribution.variance.round(6)
    (np.float64(1.333333), np.float64(0.444444))
    """
    shape = np.shape(start)
    if len(shape) > 1:
        raise ValueError(f"start must be a number or a vector, got shape {shape}")
    report = climb(log_joint, start, gradient=gradient, hessian=hessian, bounds=bounds)
    if report.hessian is None or report.concavity != "strictly concave":
        raise ValueError(
            f"a normal approximation needs a strictly concave log joint at the mode; the point "
            f"{report.estimate!r} is {report.concavity}: add a prior, or change coordinates"
        )
    precision = -report.hessian
    size = precision.shape[0]
    distribution: Any
    if shape:
        distribution = MvNormal(report.estimate, precision=precision)
    else:
        distribution = Normal(report.estimate, precision=float(precision[0, 0]))
    log_det = np.linalg.slogdet(precision)[1]
    log_evidence = report.value + 0.5 * (size * LOG_2PI - log_det)
    return LaplaceApproximation(
        report.estimate,
        report.hessian,
        distribution,
        LogEvidence(log_evidence, kind="laplace", of=of),
        report,
    )
