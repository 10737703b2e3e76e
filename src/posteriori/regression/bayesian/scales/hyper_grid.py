r"""Hyper-priors integrated: weights' precision α and noise precision β are averaged, not chosen.

Given the ratio :math:`\lambda = \alpha/\beta` weights and noise are conjugate, so that β is integrated in
closed form, and λ by the trapezoidal rule in :math:`\ln\lambda`, which converges exponentially fast. Two
kinds of beliefs about them: with :math:`\alpha \sim \mathrm{Gamma}(a, b)` and
:math:`\beta \sim \mathrm{Gamma}(c, d)`, independent of each other,

.. math:: p(\lambda) = \frac{\Gamma(a+c)}{\Gamma(a)\Gamma(c)}
          \frac{b^ad^c\lambda^{a-1}}{(d+b\lambda)^{a+c}},\qquad
          \beta\mid\lambda \sim \mathrm{Gamma}(a+c,\ d+b\lambda);

and with the scale of D weights in units of the noise, :math:`\lambda^{-1/2} \sim
\mathrm{HalfCauchy}(D^{-1/2})`, independent of the noise: the columns together explain as much as the
noise leaves, give or take a large factor.

Reference: A. Gelman, "Prior distributions for variance parameters in hierarchical models", 2006 (half-Cauchy
scales).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.scales.spectrum import Spectrum

__all__ = ["HyperGrid", "HyperPriors", "RelativeScale", "integrate_hyperparameters", "join_grids"]

#: What is left out at the ends of the rule, and among the members of the mixture (in logarithms).
_NEGLIGIBLE, _IMPROBABLE = 40.0, 28.0

#: Nodes per standard deviation of the peak, and their bounds.
_DENSITY, _FEWEST, _MOST = 2.5, 64, 5000

#: Every so many of them are members of the mixture, and what is left out among these, where predictions
#: are to be quick: probabilities still have six digits.
_EVERY, _RARE = 2, 15.0

#: Points at which the height is looked at to find the peak.
_SCAN = 4001


class HyperPriors(NamedTuple):
    """Gamma priors of the weights' precision (a, b) and the noise precision (c, d)."""

    weight_shape: float
    weight_rate: float
    noise_shape: float
    noise_rate: float

    @property
    def centre(self) -> float:
        """The ln λ around which the prior is spread."""
        return float(np.log(self.noise_rate / self.weight_rate))

    @property
    def decay(self) -> float:
        """The power of λ with which the prior of ln λ falls at least."""
        return min(self.weight_shape, self.noise_shape)

    def log_density(self, t: Array) -> Array:
        """Return the prior of ln λ = t."""
        a, b, c, d = self
        log_prior = (
            a * np.log(b) + c * np.log(d) + a * t - (a + c) * np.logaddexp(np.log(d), np.log(b) + t)
        )
        return log_prior + special.gammaln(a + c) - special.gammaln(a) - special.gammaln(c)

    def noise(self, ratio: Array) -> tuple[Array, Array]:
        """Return shape and rate of β given λ."""
        a, b, c, d = self
        return np.full(len(ratio), a + c), d + b * np.minimum(ratio, 1e300 / max(b, 1.0))


class RelativeScale(NamedTuple):
    """A half-Cauchy scale of D weights in units of the noise, whose precision is Gamma(c, d)."""

    columns: int
    noise_shape: float
    noise_rate: float

    @property
    def decay(self) -> float:
        """The power of λ with which the prior of ln λ falls."""
        return 0.5

    @property
    def centre(self) -> float:
        """The ln λ around which the prior is spread: ln D."""
        return float(np.log(max(self.columns, 1)))

    def log_density(self, t: Array) -> Array:
        """Return the prior of ln λ = t."""
        t = t - self.centre
        return 0.5 * t - np.logaddexp(0.0, t) - np.log(np.pi)

    def noise(self, ratio: Array) -> tuple[Array, Array]:
        """Return shape and rate of β given λ: the same for all."""
        return np.full(len(ratio), self.noise_shape), np.full(len(ratio), self.noise_rate)


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


def integrate_hyperparameters(spectrum: Spectrum, priors: HyperPriors | RelativeScale) -> HyperGrid:
    """Return the posterior over λ as a rule with weights, and the evidence."""
    t = _nodes(spectrum, priors)
    log_joint, shape, scale = _log_joint(spectrum, priors, t)
    log_evidence = float(log_sum_exp(log_joint) + np.log(t[1] - t[0]))
    keep = log_joint > log_joint.max() - _IMPROBABLE
    if isinstance(priors, RelativeScale):
        keep = log_joint > log_joint.max() - _RARE
        keep[1::_EVERY] = False
    probabilities = np.exp(log_softmax(log_joint[keep]))
    return HyperGrid(np.exp(t[keep]), probabilities, shape[keep], scale[keep], log_evidence)


def join_grids(grids: Sequence[HyperGrid], shares: Array, log_evidence: float) -> HyperGrid:
    """Return the nodes of all, with the shares of their integrals."""
    return HyperGrid(
        np.concatenate([grid.ratios for grid in grids]),
        np.concatenate(
            [share * grid.probabilities for grid, share in zip(grids, shares, strict=True)]
        ),
        np.concatenate([grid.shape for grid in grids]),
        np.concatenate([grid.scale for grid in grids]),
        log_evidence,
    )


def _log_joint(
    spectrum: Spectrum, priors: HyperPriors | RelativeScale, t: Array
) -> tuple[Array, Array, Array]:
    """Return ln p(y, ln λ), and the noise posterior given λ, at ln λ = t."""
    ratio = np.exp(t)
    before, rate = priors.noise(ratio)
    shape = before + 0.5 * spectrum.rows
    scale = rate + 0.5 * spectrum.misfit(ratio)
    log_evidence = (
        before * np.log(rate)
        - shape * np.log(scale)
        + special.gammaln(shape)
        - special.gammaln(before)
        - 0.5 * spectrum.rows * LOG_2PI
        + spectrum.log_ratio(ratio)
        + spectrum.log_constant
    )
    return priors.log_density(t) + log_evidence, shape, scale


def _nodes(spectrum: Spectrum, priors: HyperPriors | RelativeScale) -> Array:
    """Return ln λ where the integrand is more than negligible: it falls at least like a power of λ."""
    seen = spectrum.squares[spectrum.squares > 0]
    marks = np.append(np.log(seen), priors.centre)
    wide = 2.0 * _NEGLIGIBLE / min(priors.decay, 1.0)
    t = np.linspace(*spectrum.log_ratios(marks.min() - wide, marks.max() + wide), _SCAN)
    height = _log_joint(spectrum, priors, t)[0]
    step, peak = t[1] - t[0], int(np.clip(np.argmax(height), 1, _SCAN - 2))
    curvature = (2.0 * height[peak] - height[peak - 1] - height[peak + 1]) / step**2
    width = 1.0 / np.sqrt(np.clip(curvature, 1.0, step**-2))
    inside = np.flatnonzero(height > height.max() - _NEGLIGIBLE)
    low, high = t[max(inside[0] - 1, 0)], t[min(inside[-1] + 1, _SCAN - 1)]
    count = int(np.clip(np.ceil((high - low) * _DENSITY / width), _FEWEST, _MOST))
    return np.linspace(low, high, count)
