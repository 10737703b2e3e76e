"""What a fitted :class:`BayesianLinearRegressor` answers about itself, from what it has learned.

Sums over rows are kept; the posterior is solved for when one of these is first asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.empirical import Empirical
from posteriori.distributions.entries import entries_of
from posteriori.estimators.group_columns import GroupEffects
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.regression.bayesian.belief import LinearBelief
from posteriori.regression.bayesian.grouped_learning import GroupedLearned
from posteriori.regression.bayesian.learning import Learned
from posteriori.regression.bayesian.scales.hyper_grid import HyperGrid

__all__ = ["LearnedAttributes", "marginals_of_weights"]


class LearnedAttributes:
    """Fitted attributes, read from the record ``_learned`` that an estimator keeps."""

    _learned: Learned
    _groups: Any

    def __sklearn_is_fitted__(self) -> bool:
        return "_learned" in self.__dict__

    def _fitted(self) -> Learned:
        if "_learned" not in self.__dict__:
            raise NotFittedError(
                f"this {type(self).__name__} is not fitted yet; call fit or partial_fit first"
            )
        return self._learned

    @property
    def _belief(self) -> LinearBelief:
        return self._fitted().solution.belief

    @property
    def coef_(self) -> Array:
        """Posterior means of the weights (D,)."""
        return self._belief.coef

    @property
    def intercept_(self) -> float:
        """Posterior mean of the value at x = 0."""
        return self._belief.intercept

    @property
    def posterior_(self) -> Any:
        """Distribution of the weights, the intercept last if there is one."""
        return self._belief.posterior()

    @property
    def log_evidence_(self) -> LogEvidence:
        """Return ln p(y | X)."""
        return self._fitted().log_evidence

    @property
    def effective_parameters_(self) -> float:
        """γ, how many weights the data determine."""
        return self._fitted().effective_parameters

    @property
    def noise_variance_(self) -> float:
        """Posterior mean of σ², or its known or chosen value."""
        return self._belief.noise_variance

    @property
    def prior_precision_(self) -> Any:
        """Learned α, one number or one per column."""
        return self._learned_value("prior_precision", "type-II' or 'ard")

    @property
    def noise_precision_(self) -> float:
        """Known or chosen β."""
        return self._learned_value("noise_precision", "type-II' or 'ard")

    @property
    def hyper_posterior_(self) -> HyperGrid:
        """Posterior of α/β on a grid."""
        return self._learned_value("grid", "grid")

    @property
    def group_effects_(self) -> dict[str, GroupEffects]:
        """Effects of the levels of each column that holds groups."""
        learned = self._fitted()
        if not isinstance(learned, GroupedLearned):
            raise AttributeError("there are no groups here: needs groups=")
        return learned.effects(self._groups)

    @property
    def n_iter_(self) -> int:
        """Iterations of the climb."""
        return self._fitted().solution.n_iter

    def _learned_value(self, name: str, when: str) -> Any:
        value = getattr(self._fitted().solution, name)
        if value is None:
            raise AttributeError(f"nothing was learned here: needs hyperparameters='{when}'")
        return value


def marginals_of_weights(belief: LinearBelief, size: int, rng: Seed) -> dict[str, Any]:
    """Return what is believed of the weights and of the intercept; by draws where some weights are fixed."""
    d = len(belief.centre)
    try:
        weights = belief.posterior()
    except AttributeError:  # it has no density
        drawn, levels, _ = belief.sample(size, as_generator(rng))
        entries: Any = Empirical(np.column_stack([drawn, levels]).T, event_ndim=0)
    else:
        joint = hasattr(weights, "marginal_mean")
        entries = entries_of(weights.marginal_mean() if joint else weights)
    found = {"coef": take_members(entries, slice(d))}
    if belief.level_precision is not None:
        found["intercept"] = take_members(entries, d)
    return found
