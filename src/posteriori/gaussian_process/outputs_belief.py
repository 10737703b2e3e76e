"""What is believed of several outputs together: a process of points and of codes of outputs."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.gaussian_process.process_belief import Effect, ProcessBelief
from posteriori.numerics.types import Array

__all__ = ["OutputsBelief", "with_codes"]


def with_codes(X: Array, outputs: int) -> Array:
    """Return every point with every code, (M·Q, D + 1), the outputs of a point one after another.

    Examples
    --------
    >>> with_codes(np.array([[5.0], [6.0]]), 2)
    array([[5., 0.],
           [5., 1.],
           [6., 0.],
           [6., 1.]])
    """
    codes = np.tile(np.arange(outputs, dtype=np.float64), len(X))
    return np.column_stack([np.repeat(X, outputs, axis=0), codes])


class OutputsBelief(NamedTuple):
    """Belief of outputs around their centers.

    Attributes
    ----------
    belief : ProcessBelief
        Of points that end in the code of an output.
    center : (Q,)
    """

    belief: ProcessBelief
    center: Array

    def mean(self, X: Array) -> Array:
        """Return expected values, (M, Q)."""
        return self.belief.mean(self._points(X)).reshape(len(X), -1) + self.center

    def predict(self, X: Array, level: Array | float | None) -> Any:
        """Return the distributions of values at points, (M, Q)."""
        predicted = self.belief.predict(self._points(X), self._levels(level))
        return self._shaped(predicted, len(X), self.center)

    def predict_jointly(self, X: Array, level: Array | float | None) -> Any:
        """Return the distribution of all M·Q values together, those of a point one after another."""
        joint = self.belief.predict_jointly(self._points(X), self._levels(level))
        shift = np.tile(self.center, len(X))
        if not isinstance(joint, MixtureFamily):
            return MvNormal(joint.mean + shift, cov=joint.cov)
        each = joint.components
        return type(joint)(joint.probabilities, MvNormal(each.mean + shift, cov=each.cov))

    def effects(self, X: Array) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand, (M, Q) each."""
        found = []
        for effect in self.belief.effects(self._points(X)):
            shift = self.center if effect.kernel is None else np.zeros_like(self.center)
            found.append(Effect(effect.kernel, self._shaped(effect.belief, len(X), shift)))
        return found

    def sample(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """Return values of functions at points, (S, M, Q)."""
        drawn = self.belief.sample(self._points(X), size, rng)
        return drawn.reshape(size, len(X), -1) + self.center

    def sample_targets(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """Return targets at points, noise included, (S, M, Q)."""
        drawn = self.belief.sample_targets(self._points(X), size, rng)
        return drawn.reshape(size, len(X), -1) + self.center

    def _points(self, X: Array) -> Array:
        return with_codes(X, len(self.center))

    def _levels(self, level: Array | float | None) -> Any:
        return np.repeat(level, len(self.center)) if isinstance(level, np.ndarray) else level

    def _shaped(self, predicted: Any, count: int, shift: Array) -> Any:
        """Return normals of M·Q numbers, or mixtures of them, as (M, Q), moved."""
        if not isinstance(predicted, MixtureFamily):
            mean, variance = np.asarray(predicted.mean), np.asarray(predicted.variance)
            return Normal(mean.reshape(count, -1) + shift, variance=variance.reshape(count, -1))
        shape = count, len(shift), -1
        each, weights = predicted.components, predicted.probabilities.reshape(shape)
        means, variances = each.mean.reshape(shape), each.variance.reshape(shape)
        return type(predicted)(weights, Normal(means + shift[:, None], variance=variances))
