r"""What is believed of targets that are not normal, given what is believed of the function behind them.

.. math:: p(y_*\mid y) = \sum_k w_k\int p(y_*\mid\eta, \phi_k)\,p(\eta\mid y, \theta_k)\,d\eta
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.gaussian_process.process_belief import Effect, ProcessBelief
from posteriori.inference.processes.latent.latent_search import TargetModel
from posteriori.inference.processes.latent.target_families import TargetFamily
from posteriori.numerics.types import Array

__all__ = ["LatentBelief"]


class LatentBelief(NamedTuple):
    """A belief of a function, and the family of targets in front of it.

    Attributes
    ----------
    function : ProcessBelief
        Of the predictor η.
    models : tuple of TargetModel
        With the parameters of the family that belong to each of its processes.
    """

    function: ProcessBelief
    models: tuple[TargetModel, ...]

    @property
    def family(self) -> TargetFamily:
        """Of targets."""
        return self.models[0].family

    def mean(self, X: Array) -> Array:
        """Return expected targets, (M,); of categories the place of the most probable one."""
        return self.family.expect(self._predictors(X), self.function.weights)

    def predict(self, X: Array, level: Any) -> Any:
        """Return the distributions of targets; with ``level`` 0 those of the function."""
        if level is not None:
            return self.function.predict(X, 0.0)
        return self.family.predict(self._predictors(X), self.function.weights)

    def predict_jointly(self, X: Array, level: Any) -> Any:
        """Return the distribution of all values of the function together."""
        if level is None:
            raise ValueError(
                "joint=True with this likelihood is offered for the function alone: add noise=False, "
                "or draw whole sets of targets by sample_targets"
            )
        return self.function.predict_jointly(X, 0.0)

    def effects(self, X: Array) -> list[Effect]:
        """Return what is believed of the mean, if there is one, and of each summand of the function."""
        return self.function.effects(X)

    def sample(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """Return values of functions at points, (S, M)."""
        return self.function.sample(X, size, rng)

    def sample_targets(self, X: Array, size: int, rng: np.random.Generator) -> Array:
        """Return targets at points, (S, M); of categories their places."""
        weights = self.function.weights
        chosen = rng.choice(len(weights), size=size, p=weights)
        drawn = np.empty((size, len(X)))
        for k, model in enumerate(self.models):
            here = chosen == k
            if here.any():
                eta = self.function.alone(k).sample(X, int(here.sum()), rng)
                member = model.family.member(eta, model.phi, np.zeros_like(eta))
                drawn[here] = member.sample(rng=rng)
        return drawn

    def left_out_log_density(self) -> Array:
        """Return ln p(yₙ | all other targets), (N,), from the cavities of rows.

        Reference: A. Vehtari et al., "Bayesian leave-one-out cross-validation approximations for Gaussian
        latent variable models", 2016, §3.
        """
        logs = []
        for process, model in zip(self.function.processes, self.models, strict=True):
            family, level = model.family, float(np.ravel(process.mean.center)[0])
            mean, variance = process.fit.cavities(family.frequency)
            likelihood = family.likelihood(model.phi, level)
            if likelihood.tilt is not None:
                logs.append(likelihood.tilt(mean, variance)[0])
            else:
                predicted = family.predict([(mean + level, variance, model.phi)], np.ones(1))
                logs.append(np.asarray(predicted.log_prob(family.y)))
        return self.function.weigh_left_out(logs)

    def _predictors(self, X: Array) -> list[tuple[Array, Array, Array]]:
        """Return means, variances and parameters of the family, of each model."""
        found = []
        for process, model in zip(self.function.processes, self.models, strict=True):
            mean, variance = process.predict(X)
            found.append((mean[:, 0], variance, model.phi))
        return found
