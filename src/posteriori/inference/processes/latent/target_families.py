r"""Families of targets behind which a function is: their parameters, likelihoods, and predictions.

A family has some numbers beside the function, :math:`\phi`, which are learned with the kernel as logarithms:

=================  =====================================  ==========================================
family             :math:`p(y\mid\eta)`                   :math:`\phi`
=================  =====================================  ==========================================
poisson            Poisson of mean :math:`e^\eta`         none
negative binomial  of mean :math:`e^\eta` and count r     :math:`\ln r`
student-t          t of centre η, scale s, ν dof          :math:`\ln s,\ \ln(\nu - 2)`
ordinal            :math:`y\le k` if :math:`\eta + \varepsilon\le c_k`, ε logistic  :math:`c_1,\ \ln(c_{k+1} - c_k)`
=================  =====================================  ==========================================
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.counts.categorical import Categorical
from posteriori.inference.predictors.curves.ordered_curves import ordered_probabilities
from posteriori.inference.predictors.curves.predicted_counts import count_member, count_width
from posteriori.inference.predictors.curves.student_curves import (
    median_and_distance,
    student_member,
)
from posteriori.inference.processes.latent.latent_likelihoods import SingleLatent
from posteriori.inference.processes.latent.latent_targets import (
    count_targets,
    log_mean_level,
    ordered_targets,
    robust_targets,
    usual_thresholds,
)
from posteriori.inference.processes.search_bounds import SearchBounds
from posteriori.numerics.calculus.level_off import levelled_mean
from posteriori.numerics.calculus.predictor_nodes import predictor_nodes
from posteriori.numerics.types import Array

__all__ = [
    "CountFamily",
    "DispersedFamily",
    "OrderedFamily",
    "StudentFamily",
    "TargetFamily",
]

#: Standard deviations of a normal distribution in its median distance from the median.
_NORMAL = 1.4826

#: Log odds beyond twice this are rare.
_LOG_ODDS = 2.0

#: Thresholds are at most so far from what is usual, and from each other; and at least the inverse of it.
_FAR = 100.0

#: Means, variances and parameters φ of predictors: one entry for each set of parameters.
Predictors = Sequence[tuple[Array, Array, Array]]


class TargetFamily(ABC):
    """Targets of N rows, all but the function and φ.

    Parameters
    ----------
    y : (N,)
    frequency : (N,), optional
        How often each row counts.
    """

    #: Which approximation the family is best served by.
    approximation = "ep"
    #: Names of φ.
    names: tuple[str, ...] = ()
    #: The level of η that ignores all inputs, and how far functions usually are from it.
    level: float
    unit: float
    #: The function varies at most by so many times what is usual, as variances.
    most = 100.0

    def __init__(self, y: Any, frequency: Array | None = None) -> None:
        self.y, self.frequency = y, frequency

    @property
    def bounds(self) -> SearchBounds:
        """Where φ is looked for, and what is usual for such targets."""
        return SearchBounds(*np.zeros((4, 0)))

    @abstractmethod
    def likelihood(self, phi: Array, level: float) -> SingleLatent:
        """Return the likelihood of functions around a level."""

    def read(self, given: Mapping[str, Any] | None) -> Array:
        """Return φ of parameters by their names; what is not given is usual."""
        told = dict(given or {})
        for name in told:
            if name not in self.parameters(self.bounds.center):
                known = ", ".join(self.parameters(self.bounds.center)) or "none"
                raise ValueError(f"likelihood_parameters names {name!r}, and there are: {known}")
        return self._coordinates(told)

    def _coordinates(self, given: dict[str, Any]) -> Array:
        return np.zeros(0)

    def parameters(self, phi: Array) -> dict[str, Any]:
        """Return the parameters by their names."""
        return {}

    # -- predictions -----------------------------------------------------------------------

    @abstractmethod
    def width(self, eta: Array, phi: Array) -> Array:
        """Return how far η must move to change the distribution of the target."""

    @abstractmethod
    def member(self, eta: Array, phi: Array, blur: Array) -> Any:
        """Return targets with predictors N(η, blur), η (..., Q) and φ (P,) or (P, Q)."""

    @abstractmethod
    def mean_of(self, mean: Array, variance: Array) -> Array:
        """Return the mean of targets with normal predictors."""

    def expect(self, predictors: Predictors, shares: Array) -> Array:
        """Return the expected targets."""
        pairs = zip(predictors, shares, strict=True)
        return np.sum([share * self.mean_of(m, v) for (m, v, _), share in pairs], axis=0)

    def predict(self, predictors: Predictors, shares: Array) -> Any:
        """Return the distributions of targets, predictors integrated out.

        Each is a mixture over the nodes of a rule that is finer where predictors are wide beside what
        changes the target.
        """
        nodes = []
        for (mean, variance, phi), share in zip(predictors, shares, strict=True):
            std = np.sqrt(variance)
            at, weights, blur = predictor_nodes(mean, std, self.width(mean + std, phi))
            blurs = np.broadcast_to(blur[:, None], at.shape)
            phis = np.broadcast_to(phi[:, None], (len(phi), len(weights)))
            nodes.append((at, phis, blurs, share * weights))
        at, phis, blurs, weights = (
            np.concatenate(one, axis=-1) for one in zip(*nodes, strict=True)
        )
        return Mixture(weights, self.member(at, phis, blurs))


class CountFamily(TargetFamily):
    """Poisson counts around e^η; predicted means level off beyond the largest count."""

    def __init__(self, y: Any, frequency: Array | None = None) -> None:
        super().__init__(y, frequency)
        self.level, self.unit = log_mean_level(y, frequency), 1.0
        self.log_top = float(np.log(max(1.0, y.max())))

    def likelihood(self, phi: Array, level: float) -> SingleLatent:
        """Return the likelihood of functions around a level."""
        log_count = self._log_count(phi)
        told = {} if np.isinf(log_count) else {"log_count": float(log_count)}
        return count_targets(self.y, self.frequency, level=level, **told)

    def width(self, eta: Array, phi: Array) -> Array:
        """Return how far η must move to change the distribution of the target."""
        return count_width(eta, self._log_count(phi), self.log_top)

    def member(self, eta: Array, phi: Array, blur: Array) -> Any:
        """Return counts with log means N(η, blur)."""
        return count_member(eta, self._log_count(phi), blur, self.log_top)

    def mean_of(self, mean: Array, variance: Array) -> Array:
        """Return the mean of counts."""
        return levelled_mean(mean, variance, self.log_top)

    def _log_count(self, phi: Array) -> Any:
        return np.inf


class DispersedFamily(CountFamily):
    """Negative binomial counts around e^η, with variance μ + μ²/r."""

    names = ("count",)

    @property
    def bounds(self) -> SearchBounds:
        """Where ln r is looked for: N(0, 1) is usual."""
        return SearchBounds(*np.array([[np.log(1e-2)], [np.log(1e5)], [0.0], [1.0]]))

    def _coordinates(self, given: dict[str, Any]) -> Array:
        return np.log([_positive("count", given.get("count", 1.0))])

    def parameters(self, phi: Array) -> dict[str, Any]:
        """Return the count r."""
        return {"count": float(np.exp(phi[0]))}

    def _log_count(self, phi: Array) -> Any:
        return phi[0]


class StudentFamily(TargetFamily):
    """Targets around η with Student-t noise.

    Its likelihood is not log-concave. Where targets pull to two sides the curvature at the mode can be
    next to nothing, and Laplace's evidence without bound: a search would end there. The normal bound is
    below the evidence wherever it is, and so the one to learn by.
    """

    approximation = "variational"
    names = ("scale", "dof")
    most = np.inf

    def __init__(self, y: Any, frequency: Array | None = None) -> None:
        super().__init__(y, frequency)
        self.level, distance = median_and_distance(y, frequency)
        self.unit = _NORMAL * distance

    @property
    def bounds(self) -> SearchBounds:
        """Where ln s and ln(ν − 2) are looked for: a third of the targets' spread, and 4 dof, are usual."""
        center = np.array([np.log(self.unit / 3.0), np.log(2.0)])
        low, high = np.array([np.log(1e-4), np.log(0.05)]), np.array([np.log(1e4), np.log(500.0)])
        return SearchBounds(center + low, center + high, center, np.array([1.15, 1.5]))

    def likelihood(self, phi: Array, level: float) -> SingleLatent:
        """Return the likelihood of functions around a level."""
        dof = self.parameters(phi)["dof"]
        return robust_targets(self.y, self.frequency, level=level, log_scale=float(phi[0]), dof=dof)

    def _coordinates(self, given: dict[str, Any]) -> Array:
        usual = self.parameters(self.bounds.center)
        scale = _positive("scale", given.get("scale", usual["scale"]))
        dof = float(given.get("dof", usual["dof"]))
        if not 2.0 < dof < np.inf:
            raise ValueError(
                f"dof must be above 2 and finite, so that targets have a variance, got {dof!r}"
            )
        return np.log([scale, dof - 2.0])

    def parameters(self, phi: Array) -> dict[str, Any]:
        """Return the scale of the noise and its degrees of freedom."""
        return {"scale": float(np.exp(phi[0])), "dof": float(2.0 + np.exp(phi[1]))}

    def width(self, eta: Array, phi: Array) -> Array:
        """Return how far η must move to change the distribution of the target."""
        return np.broadcast_to(np.exp(phi[0]), np.shape(eta))

    def member(self, eta: Array, phi: Array, blur: Array) -> Any:
        """Return targets with centres N(η, blur)."""
        return student_member(eta, np.exp(phi[0]), 2.0 + np.exp(phi[1]), blur)

    def mean_of(self, mean: Array, variance: Array) -> Array:
        """Return the mean of targets."""
        return mean


class OrderedFamily(TargetFamily):
    """Ordered categories 0 to K − 1 between thresholds on the scale of η, with logistic noise."""

    level, unit = 0.0, _LOG_ODDS

    def __init__(self, y: Any, frequency: Array | None = None) -> None:
        super().__init__(y, frequency)
        self._usual = usual_thresholds(y, frequency)
        self.names = tuple(f"thresholds[{k}]" for k in range(len(self._usual)))

    @property
    def bounds(self) -> SearchBounds:
        """Where c₁ and ln gaps are looked for: categories with their shares where η is 0 are usual."""
        center, gaps = _gaps(self._usual), [1.0] * (len(self._usual) - 1)
        spread = np.array([_LOG_ODDS, *gaps])
        low = np.append(center[:1] - _FAR, np.full(len(gaps), -np.log(_FAR)))
        high = np.append(center[:1] + _FAR, np.full(len(gaps), np.log(_FAR)))
        return SearchBounds(low, high, center, spread)

    def likelihood(self, phi: Array, level: float) -> SingleLatent:
        """Return the likelihood; the thresholds have the level."""
        return ordered_targets(self.y, _thresholds(phi), self.frequency)

    def _coordinates(self, given: dict[str, Any]) -> Array:
        told = np.asarray(given.get("thresholds", self._usual), dtype=np.float64)
        if told.shape != self._usual.shape or np.any(np.diff(told) <= 0):
            raise ValueError(
                f"thresholds must be {len(self._usual)} numbers that rise, one between each two of the "
                f"{len(self._usual) + 1} categories, got {told!r}"
            )
        return _gaps(told)

    def parameters(self, phi: Array) -> dict[str, Any]:
        """Return the thresholds, (K − 1,)."""
        return {"thresholds": _thresholds(phi)}

    def width(self, eta: Array, phi: Array) -> Array:
        """Return how far η must move to change the distribution of the target."""
        return np.ones_like(eta)

    def member(self, eta: Array, phi: Array, blur: Array) -> Any:
        """Return categories with predictors N(η, blur), η (...)."""
        away = _thresholds(phi) - eta[..., None]
        flat, more = away.reshape(-1, len(phi)), np.broadcast_to(blur[..., None], away.shape)
        p = ordered_probabilities(flat, more.reshape(flat.shape))
        return Categorical(p.reshape(*eta.shape, -1))

    def mean_of(self, mean: Array, variance: Array) -> Array:
        """Refuse: categories have no mean."""
        raise NotImplementedError("categories have no mean")

    def expect(self, predictors: Predictors, shares: Array) -> Array:
        """Return the places of the most probable categories."""
        return np.asarray(self.predict(predictors, shares).probabilities.argmax(axis=1))

    def predict(self, predictors: Predictors, shares: Array) -> Categorical:
        """Return the probabilities of the categories."""
        pairs = zip(predictors, shares, strict=True)
        p = sum(
            share * self.member(mean, phi, variance).probabilities
            for (mean, variance, phi), share in pairs
        )
        return Categorical(p)


def _gaps(thresholds: Array) -> Array:
    """Return the first threshold and the logarithms of the gaps."""
    return np.append(thresholds[:1], np.log(np.diff(thresholds)))


def _thresholds(phi: Array) -> Array:
    """Return thresholds from the first and the logarithms of gaps."""
    return np.cumsum(np.append(phi[:1], np.exp(phi[1:])))


def _positive(name: str, value: Any) -> float:
    if not (np.isfinite(value) and value > 0):
        raise ValueError(
            f"{name} of likelihood_parameters must be positive and finite, got {value!r}"
        )
    return float(value)
