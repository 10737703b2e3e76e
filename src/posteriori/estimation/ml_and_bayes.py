r"""Maximum likelihood beside Bayes: what each estimates, predicts and can compare.

Maximum likelihood and MAP put all belief on one point and predict :math:`p(x\mid\hat\theta)`;
Bayes' rule predicts :math:`\int p(x\mid\theta)\,p(\theta\mid D)\,d\theta`. With few data the two
differ, with many they agree. Only Bayes' rule compares models, and only with a proper prior: under
a uniform prior of width w,

.. math:: p(D) = \frac1w \int p(D\mid\theta)\,d\theta \;\to\; 0 \quad (w\to\infty).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.conjugate.bayes_rule import BayesResult, bayes
from posteriori.estimation.estimate_ascent import climb
from posteriori.numerics.calculus.quadrature import integrate
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array

__all__ = [
    "FlatPriorEvidence",
    "MLBayesReport",
    "compare_ml_bayes",
    "evidence_under_flat_priors",
]


class MLBayesReport(NamedTuple):
    """Three answers to one question.

    Attributes
    ----------
    ml, map, posterior_mean : float or array
        Estimates of the unknown; ``map`` is None where the posterior has no mode.
    posterior : distribution
        The belief that Bayes' rule keeps.
    log_evidence : LogEvidence or None
        What models are compared by; maximum likelihood has none, nor has an improper prior.
    predictive_ml, predictive_map, predictive : distributions
        Of the next datum: with the estimate plugged in, and with the unknown integrated out.
    n : int
        Number of data.
    """

    ml: Any
    map: Any
    posterior_mean: Any
    posterior: Any
    log_evidence: LogEvidence | None
    predictive_ml: Any
    predictive_map: Any
    predictive: Any
    n: int

    def table(self) -> str:
        """Return the three side by side as text."""
        rows: list[tuple[str, ...]] = [("", "estimate", "predicted mean", "predicted std")]
        for name, estimate, predictive in (
            ("maximum likelihood", self.ml, self.predictive_ml),
            ("MAP", self.map, self.predictive_map),
            ("Bayes", self.posterior_mean, self.predictive),
        ):
            moments = (_moment(predictive, "mean"), _moment(predictive, "std"))
            rows.append((name, *map(_show, (estimate, *moments))))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ["  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows]
        return "\n".join(line.rstrip() for line in lines)


class FlatPriorEvidence(NamedTuple):
    """Evidence under uniform priors of growing width.

    Attributes
    ----------
    widths : (W,)
        Widths of the priors.
    log_evidence : (W,)
        ln p(D) under each.
    log_integral : (W,)
        ln ∫ p(D | θ) dθ over each prior's interval: it levels off once the likelihood is covered.
    slope : float
        d ln p(D) / d ln w between the two widest priors: −1 where the evidence falls like 1/w.
    """

    widths: Array
    log_evidence: Array
    log_integral: Array
    slope: float


def compare_ml_bayes(prior: Any, likelihood: Any, data: Any) -> MLBayesReport:
    """Estimate and predict by maximum likelihood, by MAP and by Bayes' rule.

    Parameters
    ----------
    prior, likelihood, data
        As for :func:`~posteriori.bayes`.

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta
    >>> report = compare_ml_bayes(Beta(2, 2), Bernoulli, [1, 1])
    >>> print(report.table())
                        estimate  predicted mean  predicted std
    maximum likelihood  1         1               0
    MAP                 0.75      0.75            0.433013
    Bayes               0.666667  0.666667        0.471405
    """
    if hasattr(data, "__next__"):
        raise TypeError("data must be an array: maximum likelihood goes over it again")
    result = bayes(prior, likelihood, data)
    posterior = result.posterior
    ml = _maximum_likelihood(result, likelihood, data)
    try:
        mode = posterior.mode
    except (AttributeError, ValueError):
        mode = None
    evidence = result.log_evidence if result.prior._all_proper else None
    return MLBayesReport(
        ml,
        mode,
        posterior.mean,
        posterior,
        evidence,
        _plug_in(result, ml),
        None if mode is None else _plug_in(result, mode),
        result.predictive,
        result.fingerprint.count,
    )


def evidence_under_flat_priors(
    log_likelihood: Callable[[Any], Any],
    widths: Any,
    *,
    centre: float | None = None,
    start: float = 0.0,
) -> FlatPriorEvidence:
    """Show what ever flatter priors do to the evidence: it goes to 0, so none can be taken as flat.

    Parameters
    ----------
    log_likelihood : callable
        ln p(D | θ) of one number; it may also take an array of them.
    widths : array (W,)
        Widths of the uniform priors, increasing.
    centre : float, optional
        Middle of the priors; by default the maximum of the likelihood.
    start : float
        Where to look for that maximum.

    Examples
    --------
    >>> from posteriori import Normal
    >>> shown = evidence_under_flat_priors(
    ...     lambda mu: Normal(mu, variance=1.0).log_prob(0.3), [10.0, 100.0, 1000.0]
    ... )
    >>> shown.log_evidence.round(6), round(shown.slope, 6)  # −ln w: the likelihood has area 1
    (array([-2.302586, -4.60517 , -6.907755]), -1.0)
    """
    w = np.atleast_1d(np.asarray(widths, dtype=np.float64))
    if w.ndim != 1 or not np.all(w > 0) or not np.all(np.diff(w) > 0):
        raise ValueError("widths must be positive and increasing")
    top = climb(log_likelihood, start)
    middle = float(top.estimate) if centre is None else float(centre)
    scale = 1.0 if top.standard_errors is None else float(top.standard_errors)
    logs = np.array([_log_area(log_likelihood, top, scale, middle, width) for width in w])
    log_evidence = logs - np.log(w)
    slope = -np.inf
    if len(w) > 1:
        slope = float(np.diff(log_evidence)[-1] / np.diff(np.log(w))[-1])
    return FlatPriorEvidence(w, log_evidence, logs, slope)


def _log_area(
    log_likelihood: Callable[[Any], Any], top: Any, scale: float, middle: float, width: float
) -> float:
    """Integrate the likelihood over the prior's interval, on both sides of its peak."""
    lower, upper, peak = middle - 0.5 * width, middle + 0.5 * width, float(top.estimate)

    def likelihood(theta: Array) -> Array:
        return np.array([np.exp(float(log_likelihood(float(t))) - top.value) for t in theta])

    total = 0.0
    cut = [lower, peak - 40 * scale, peak, peak + 40 * scale, upper]
    inside = np.unique(np.clip(cut, lower, upper))
    for a, b in pairwise(inside.tolist()):
        total += integrate(likelihood, a, b, rtol=1e-10).value
    return float(top.value + np.log(total)) if total > 0 else -np.inf


def _maximum_likelihood(result: BayesResult, likelihood: Any, data: Any) -> Any:
    conditional = result.pair.conditional
    if isinstance(likelihood, type):
        fitted = likelihood.fit(data)  # type: ignore[attr-defined]
        values = tuple(getattr(fitted, name) for name in conditional.unknown)
        return values[0] if len(values) == 1 else values
    start = result.posterior.mean
    if isinstance(start, tuple):
        raise TypeError("several unknowns: give the likelihood as a family, such as Normal")
    return climb(lambda theta: result.pair.log_likelihood(theta, result.statistics), start).estimate


def _plug_in(result: BayesResult, theta: Any) -> Any:
    values = theta if isinstance(theta, tuple) else (theta,)
    try:
        return result.pair.conditional.at(*values)
    except ValueError:
        return None  # an estimate at the edge may leave no distribution


def _moment(distribution: Any, name: str) -> Any:
    try:
        return getattr(distribution, name)
    except (AttributeError, ValueError):
        return None


def _show(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_show, value)) + ")"
    if np.ndim(value):
        return np.array2string(np.asarray(value), precision=6)
    return f"{float(value):.6g}"
