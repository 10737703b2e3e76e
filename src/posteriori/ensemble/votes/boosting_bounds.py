r"""What is proved about boosting: training error, margins and risk.

A weak learner has an edge γ if all its weighted errors are :math:`\varepsilon_t \le \frac12 - \frac12\gamma`.

References: Y. Freund & R. Schapire, 1997, theorem 6; R. Schapire, Y. Freund, P. Bartlett & W. S. Lee,
"Boosting the margin", 1998, theorem 5; G. Rätsch, "Robust boosting via convex optimization", 2001.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = [
    "ensemble_vc_bound",
    "guaranteed_margin",
    "margin_bound",
    "margin_risk_bound",
    "rounds_to_separate",
    "svm_risk_bound",
    "training_error_bound",
]


def training_error_bound(errors: Any) -> float:
    r"""Return :math:`2^T\prod_t\sqrt{\varepsilon_t(1-\varepsilon_t)}`, which the share of wrong training
    rows does not exceed.

    It bounds :math:`\frac1N\#\{n: y_n f(x_n) \le 0\}` of AdaBoost's vote of two classes, and is its G/N.
    (The notes print the number of errors without the 1/N.)

    Parameters
    ----------
    errors : array_like (T,)
        Weighted errors ε of the rounds, from 0 to 1: ``estimator_errors_``.

    Examples
    --------
    >>> round(training_error_bound([0.3]), 6)
    0.916515
    """
    return margin_bound(errors, 0.0)


def margin_bound(errors: Any, theta: float) -> float:
    r"""Return :math:`2^T\prod_t\sqrt{\varepsilon_t^{1-\theta}(1-\varepsilon_t)^{1+\theta}}`, which the
    share of training rows with a margin :math:`\rho_n \le \theta` does not exceed.

    It holds for AdaBoost's steps :math:`\alpha_t = \frac12\ln\frac{1-\varepsilon_t}{\varepsilon_t}`.

    Parameters
    ----------
    errors : array_like (T,)
        Weighted errors ε of the rounds.
    theta : float
        From −1 to 1.

    Examples
    --------
    >>> round(margin_bound([0.25] * 20, 0.1), 4)
    0.1689
    """
    e = _check_errors(errors)
    if not -1.0 <= theta <= 1.0:
        raise ValueError(f"theta must be a margin from -1 to 1, got {theta!r}")
    return float(np.prod(2.0 * np.sqrt(e ** (1.0 - theta) * (1.0 - e) ** (1.0 + theta))))


def guaranteed_margin(gamma: float) -> float:
    r"""Return :math:`-\ln(1-\gamma^2)/\ln\frac{1+\gamma}{1-\gamma} \ge \gamma/2`, the margin that all
    training rows come to exceed, or meet in the limit.

    For any smaller θ the :func:`margin_bound` of errors :math:`\varepsilon_t \le \frac12-\frac12\gamma`
    falls to 0 as rounds go on. The largest margin that there is may be γ, twice as much: Arc-GV and
    linear programs find it.

    Parameters
    ----------
    gamma : float
        The edge, above 0 and below 1.

    Examples
    --------
    >>> round(guaranteed_margin(0.2), 6)
    0.100679
    """
    _check_edge(gamma)
    return -math.log1p(-gamma * gamma) / (math.log1p(gamma) - math.log1p(-gamma))


def rounds_to_separate(n: int, gamma: float) -> int:
    r"""Return after how many rounds no training row is wrong, more than :math:`2\ln N/\gamma^2`.

    As :math:`2\sqrt{\varepsilon(1-\varepsilon)} \le \sqrt{1-\gamma^2} \le e^{-\gamma^2/2}`, the share of
    wrong rows is then below 1/N. It holds if every round has :math:`\varepsilon_t\le\frac12-\frac12\gamma`.

    Parameters
    ----------
    n : int
        N.
    gamma : float
        The edge, above 0 and at most 1.

    Examples
    --------
    >>> rounds_to_separate(100, 0.2)
    231
    """
    _check_count("n", n)
    if gamma != 1.0:
        _check_edge(gamma)
    return math.floor(2.0 * math.log(n) / gamma**2) + 1


def ensemble_vc_bound(vc: float, rounds: int) -> float:
    r"""Return :math:`2(d+1)(T+1)\log_2(e(T+1))`, which the VC dimension of votes does not exceed.

    With :math:`T = 2\ln N/\gamma^2` rounds it grows as :math:`d\frac{\ln N}{\gamma^2}\ln\frac{\ln
    N}{\gamma^2}` (the notes print log² N for log log N). Stumps have d = 2 in one column only; over D
    columns d grows as :math:`\log_2 D`.

    Parameters
    ----------
    vc : float
        d ≥ 1, of the weak classifiers.
    rounds : int
        T ≥ 1.

    Examples
    --------
    >>> round(ensemble_vc_bound(2, 10), 2)
    323.54
    """
    _check_count("vc", vc)
    _check_count("rounds", rounds)
    return 2.0 * (vc + 1.0) * (rounds + 1.0) * math.log2(math.e * (rounds + 1.0))


def margin_risk_bound(margin_error: float, theta: float, n: int, vc: float, delta: float) -> float:
    r"""Return :math:`\hat R_\theta + \frac2\theta\sqrt{\frac{2d\ln(eN/d)}{N}} +
    \sqrt{\frac{\ln(1/\delta)}{2N}}`, which the risk of a vote exceeds with probability δ at most.

    It does not depend on the number of rounds. It holds for N ≥ d independent rows from one
    distribution, for any weights of the members that sum to 1, and θ chosen before the rows are seen.
    (In the notes ln(1/δ)/N stands outside of the root.) It is often above 1, and then says nothing.

    Parameters
    ----------
    margin_error : float
        Share of training rows with a margin of at most θ, from 0 to 1.
    theta : float
        θ, above 0 and at most 1.
    n : int
        N.
    vc : float
        d, from 1 to N, of the weak classifiers.
    delta : float
        Above 0 and below 1.

    Examples
    --------
    >>> round(margin_risk_bound(0.05, 0.5, 10**6, 2, 0.05), 4)
    0.0813
    """
    tail = _check_sample(margin_error, theta, n, delta)
    if theta > 1.0:
        raise ValueError(f"theta must be at most 1, as margins of votes are, got {theta!r}")
    _check_count("vc", vc)
    if vc > n:
        raise ValueError(f"vc must be at most n, got {vc!r} for {n} rows")
    return margin_error + 2.0 / theta * math.sqrt(2.0 * vc * math.log(math.e * n / vc) / n) + tail


def svm_risk_bound(
    margin_error: float, theta: float, n: int, radius: float, norm: float, delta: float
) -> float:
    r"""Return :math:`\hat R_\theta + \frac{2R\Lambda}{\theta\sqrt N} + \sqrt{\frac{\ln(1/\delta)}{2N}}`,
    which the risk of a linear classifier exceeds with probability δ at most.

    It holds for N independent rows from one distribution with :math:`\|x\|\le R`, functions
    :math:`w\cdot x` with :math:`\|w\| \le \Lambda`, and θ, R and Λ chosen before the rows are seen.
    (The notes have the risk without a margin where the share of rows with :math:`y\,w\cdot x\le\theta`
    belongs, and ln(1/δ)/N outside of the root.)

    Parameters
    ----------
    margin_error : float
        Share of training rows with :math:`y\,w\cdot x \le \theta`, from 0 to 1.
    theta : float
        θ > 0.
    n : int
        N.
    radius : float
        R > 0.
    norm : float
        Λ > 0.
    delta : float
        Above 0 and below 1.

    Examples
    --------
    >>> round(svm_risk_bound(0.05, 1.0, 10000, 1.0, 2.0, 0.05), 4)
    0.1022
    """
    tail = _check_sample(margin_error, theta, n, delta)
    for name, value in (("radius", radius), ("norm", norm)):
        if not 0.0 < value < math.inf:
            raise ValueError(f"{name} must be a positive number, got {value!r}")
    return margin_error + 2.0 * radius * norm / (theta * math.sqrt(n)) + tail


def _check_errors(errors: Any) -> Array:
    e = np.atleast_1d(np.asarray(real("errors", errors)))
    if e.ndim != 1 or not ((e >= 0.0) & (e <= 1.0)).all():
        raise ValueError(f"errors must be numbers from 0 to 1, one for each round, got {errors!r}")
    return e


def _check_edge(gamma: float) -> None:
    if not 0.0 < gamma < 1.0:
        raise ValueError(f"gamma must be an edge above 0 and below 1, got {gamma!r}")


def _check_count(name: str, value: float) -> None:
    if not 1 <= value < math.inf:
        raise ValueError(f"{name} must be at least 1, got {value!r}")


def _check_sample(margin_error: float, theta: float, n: int, delta: float) -> float:
    """Return √(ln(1/δ)/2N), once the numbers that all bounds need are checked."""
    if not 0.0 <= margin_error <= 1.0:
        raise ValueError(f"margin_error must be a share from 0 to 1, got {margin_error!r}")
    if not 0.0 < theta < math.inf:
        raise ValueError(f"theta must be a positive number, got {theta!r}")
    _check_count("n", n)
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be a probability above 0 and below 1, got {delta!r}")
    return math.sqrt(math.log(1.0 / delta) / (2.0 * n))
