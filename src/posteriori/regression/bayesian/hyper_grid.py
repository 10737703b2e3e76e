r"""Hyper-priors integrated: weights' precision α and noise precision β are averaged, not chosen.

With :math:`\alpha \sim \mathrm{Gamma}(a, b)` and :math:`\beta \sim \mathrm{Gamma}(c, d)` the ratio
:math:`\lambda = \alpha/\beta` has

.. math:: p(\lambda) = \frac{\Gamma(a+c)}{\Gamma(a)\Gamma(c)}
          \frac{b^ad^c\lambda^{a-1}}{(d+b\lambda)^{a+c}},\qquad
          \beta\mid\lambda \sim \mathrm{Gamma}(a+c,\ d+b\lambda),

and given λ weights and noise are conjugate. So β is integrated in closed form, and λ by the
trapezoidal rule in :math:`\ln\lambda`, which converges exponentially fast.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.spectrum import Spectrum

__all__ = ["HyperGrid", "HyperPriors", "integrate_hyperparameters"]

#: What is left out at the ends of the rule, and among the members of the mixture (in logarithms).
_NEGLIGIBLE, _IMPROBABLE = 40.0, 28.0

#: Nodes per standard deviation of the peak, and their bounds.
_DENSITY, _FEWEST, _MOST = 2.5, 64, 5000

#: Points at which the height is looked at to find the peak.
_SCAN = 4001


class HyperPriors(NamedTuple):
    """Gamma priors of the weights' precision (a, b) and the noise precision (c, d)."""

    weight_shape: float
    weight_rate: float
    noise_shape: float
    noise_rate: float


class HyperGrid(NamedTuple):
    """Nodes of the integral over ln λ.

    Attributes
    ----------
    ratios : (G,)
        λ.
    probabilities : (G,)
        Posterior weights of the nodes.
    shape, scale : (G,)
        Inverse-gamma posterior of the noise variance at each node.
    log_evidence : float
    """

    ratios: Array
    probabilities: Array
    shape: Array
    scale: Array
    log_evidence: float


def integrate_hyperparameters(spectrum: Spectrum, priors: HyperPriors) -> HyperGrid:
    """Return the posterior over λ as a rule with weights, and the evidence."""
    t = _nodes(spectrum, priors)
    log_joint, shape, scale = _log_joint(spectrum, priors, t)
    log_evidence = float(log_sum_exp(log_joint) + np.log(t[1] - t[0]))
    keep = log_joint > log_joint.max() - _IMPROBABLE
    probabilities = np.exp(log_softmax(log_joint[keep]))
    return HyperGrid(np.exp(t[keep]), probabilities, shape[keep], scale[keep], log_evidence)


def _log_joint(spectrum: Spectrum, priors: HyperPriors, t: Array) -> tuple[Array, Array, Array]:
    """Return ln p(y, ln λ), and the noise posterior given λ, at ln λ = t."""
    a, b, c, d = priors
    ratio = np.exp(t)
    rate = d + b * ratio
    log_prior = a * np.log(b) + c * np.log(d) + a * t - (a + c) * np.log(rate)
    log_prior += special.gammaln(a + c) - special.gammaln(a) - special.gammaln(c)
    shape = np.full(len(t), a + c + 0.5 * spectrum.rows)
    scale = rate + 0.5 * spectrum.misfit(ratio)
    log_evidence = (
        (a + c) * np.log(rate)
        - shape * np.log(scale)
        + special.gammaln(shape)
        - special.gammaln(a + c)
        - 0.5 * spectrum.rows * LOG_2PI
        + spectrum.log_ratio(ratio)
        + spectrum.log_constant
    )
    return log_prior + log_evidence, shape, scale


def _nodes(spectrum: Spectrum, priors: HyperPriors) -> Array:
    """Return ln λ where the integrand is more than negligible: it falls at least like λ^a, λ^−c."""
    a, b, c, d = priors
    seen = spectrum.squares[spectrum.squares > 0]
    marks = np.log(np.append(seen, d / b))
    wide = 2.0 * _NEGLIGIBLE / min(a, c, 1.0)
    t = np.linspace(marks.min() - wide, marks.max() + wide, _SCAN)
    height = _log_joint(spectrum, priors, t)[0]
    step, peak = t[1] - t[0], int(np.clip(np.argmax(height), 1, _SCAN - 2))
    curvature = (2.0 * height[peak] - height[peak - 1] - height[peak + 1]) / step**2
    width = 1.0 / np.sqrt(np.clip(curvature, 1.0, step**-2))
    inside = np.flatnonzero(height > height.max() - _NEGLIGIBLE)
    low, high = t[max(inside[0] - 1, 0)], t[min(inside[-1] + 1, _SCAN - 1)]
    count = int(np.clip(np.ceil((high - low) * _DENSITY / width), _FEWEST, _MOST))
    return np.linspace(low, high, count)
