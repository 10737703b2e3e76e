r"""Occam's razor in numbers: peak widths, and evidence against complexity.

.. math:: \ln p(D\mid m) \approx \ln p(D\mid w_{MAP}, m)
          + \sum_k \ln\frac{\Delta w^{post}_k}{\Delta w^{prior}_k}

for a flat prior of width :math:`\Delta w^{prior}`; a normal posterior of standard deviation σ has
the width :math:`\sqrt{2\pi}\,\sigma`, with which this is Laplace's method.

Reference: D. MacKay, "Information theory, inference, and learning algorithms", 2003, ch. 28.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.estimators.contract import DrawsLikelihoods, ExpectsLikelihoods, last_step, offers
from posteriori.numerics.types import Array
from posteriori.selection.comparing import fitted
from posteriori.selection.model_set import evidence_of

__all__ = ["EvidenceCurve", "OccamFactor", "evidence_curve", "occam_factor"]


class OccamFactor(NamedTuple):
    """Evidence as the best fit times Occam's factor.

    Attributes
    ----------
    best_fit : float
        ln p(D | w_MAP).
    log_factor : float
        Σ ln(posterior width / prior width) <= 0: what the model pays for its freedom.
    """

    best_fit: float
    log_factor: float

    @property
    def log_evidence(self) -> float:
        """Their sum."""
        return self.best_fit + self.log_factor


def occam_factor(
    best_fit: float, posterior_width: ArrayLike, prior_width: ArrayLike, n_parameters: int = 1
) -> OccamFactor:
    """Approximate the evidence by the height and the widths of a peak.

    Parameters
    ----------
    best_fit : float
        Log likelihood at its peak.
    posterior_width, prior_width : float or (K,)
        Of each parameter; the posterior is no wider than the prior.
    n_parameters : int
        How many parameters have these widths, where they are numbers.

    Examples
    --------
    >>> round(occam_factor(-10.0, 0.1, 10.0).log_evidence, 4)
    -14.6052
    >>> round(occam_factor(-10.0, 0.1, 10.0, n_parameters=3).log_factor, 4)
    -13.8155
    """
    after, before = np.broadcast_arrays(
        np.asarray(posterior_width, dtype=np.float64), np.asarray(prior_width, dtype=np.float64)
    )
    if not (np.all(after > 0) and np.all(np.isfinite(before))):
        raise ValueError("widths must be positive and finite")
    if np.any(after > before):
        raise ValueError(
            "posterior_width must not exceed prior_width: data do not widen a flat prior"
        )
    return OccamFactor(float(best_fit), n_parameters * float(np.log(after / before).sum()))


class EvidenceCurve(NamedTuple):
    """Evidence along a series of models.

    Attributes
    ----------
    complexity : tuple
        What tells the models apart, such as the order of a polynomial.
    log_evidence, fit : (K,)
        ln p(D | m), and the expected log likelihood under the posterior; what they differ by is
        the price of complexity.
    """

    complexity: tuple[Any, ...]
    log_evidence: Array
    fit: Array

    @property
    def price(self) -> Array:
        """Fit less log evidence: the divergence of the posterior from the prior, if exact."""
        return self.fit - self.log_evidence

    @property
    def best(self) -> Any:
        """The complexity of highest evidence."""
        return self.complexity[int(np.argmax(self.log_evidence))]


def evidence_curve(models: Mapping[Any, Any], X: Any, y: Any) -> EvidenceCurve:
    """Return evidence and fit along models of growing complexity.

    Parameters
    ----------
    models : mapping from complexities to estimators with evidence, or pipelines
        In the order of the curve.
    X, y : array_like

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.regression import BayesianLinearRegressor
    >>> x = np.linspace(-1, 1, 20)
    >>> line = BayesianLinearRegressor()
    >>> evidence_curve({1: line}, x[:, None], x + 0.1 * np.cos(40 * x)).best
    1
    """
    logs, fits = [], []
    for name, model in models.items():
        learned = fitted(model, X, y)
        logs.append(float(evidence_of(str(name), learned)))
        fits.append(_expected_fit(learned, X, y))
    return EvidenceCurve(tuple(models), np.array(logs), np.array(fits))


def _expected_fit(model: Any, X: Any, y: Any, draws: int = 1000, seed: int = 0) -> float:
    final, inputs = last_step(model, X)
    if offers(final, ExpectsLikelihoods):
        return float(np.sum(final.expected_log_likelihood(inputs, y)))
    if offers(final, DrawsLikelihoods):
        return float(final.log_likelihood_draws(inputs, y, draws, seed).mean(axis=0).sum())
    return float("nan")
