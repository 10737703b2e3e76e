r"""Normal beliefs about the weights of predictors, weighed by their likelihood and prior.

.. math:: \ln p(y, w\mid X) = \sum_n f_n \ln p(y_n\mid w) - \tfrac12\sum_p α_p (w_p - m_p)^2 + \text{const}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.predictors.weight_belief import WeightBelief
from posteriori.inference.weighing.approximate_beliefs import BeliefDraws
from posteriori.numerics.types import Array

__all__ = ["WeighedWeights"]


class WeighedWeights(NamedTuple):
    """A normal belief in the place of a posterior.

    Attributes
    ----------
    belief : WeightBelief
    prior_mean, prior_precision : (P,)
    draw : callable
        From a size and a generator, draws of the belief (S, P).
    log_likelihood : callable
        From draws, ln p(y | w) of all rows together, (S,).
    named : callable
        From draws, parameters by name as they are stated.
    """

    belief: WeightBelief
    prior_mean: Array
    prior_precision: Array
    draw: Callable[[int, np.random.Generator], Array]
    log_likelihood: Callable[[Array], Array]
    named: Callable[[Array], Mapping[str, Array]]

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from the belief."""
        drawn = self.draw(size, rng)
        density = MvNormal(self.belief.mean, cov=self.belief.cov).log_prob(drawn)
        return BeliefDraws(self.named(drawn), np.asarray(density), drawn)

    def log_joint(self, drawn: BeliefDraws) -> Array:
        """Return ln p(y, w | X), up to a constant."""
        squares = (drawn.inner - self.prior_mean) ** 2 @ self.prior_precision
        return np.asarray(self.log_likelihood(drawn.inner) - 0.5 * squares)

    def too_narrow(self) -> tuple[str, ...]:
        """Return nothing: a normal in the place of one peak may be off to either side."""
        return ()
