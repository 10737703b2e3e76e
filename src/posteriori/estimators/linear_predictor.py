r"""Estimators on a linear predictor, with a normal belief about its weights.

.. math:: \eta = b + x\cdot w,\qquad w \sim N(0, \alpha^{-1}I)\text{ on standardised columns}

What is learned is a belief about the weights of standardised columns; what is stated is in the units
of the raw ones.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple, Self, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.estimators.approximate_posterior import (
    KEPT_NUMBERS,
    ApproximatePosterior,
    Unweighed,
)
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_grouped_inputs
from posteriori.estimators.group_columns import GroupColumns, GroupEffects, effects_of
from posteriori.estimators.parameters import AT_LEAST_ONE, POSITIVE, Constraint, check_parameters
from posteriori.estimators.standardized import Standardization
from posteriori.inference.effects.effect_layout import GroupedRows
from posteriori.inference.effects.spread_search import Spreads
from posteriori.inference.predictors.grouped.grouped_fit import GroupedFit
from posteriori.inference.predictors.grouped_contrasts import GroupedContrasts
from posteriori.inference.predictors.grouped_weights import GroupedWeights
from posteriori.inference.predictors.pairs.paired_weights import PairedWeights
from posteriori.inference.predictors.weight_belief import WeighedWeights, WeightBelief
from posteriori.inference.weighing.approximate_beliefs import ApproximateBelief
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.evidence import Kind, LogEvidence
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import width_factor
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LearnedEffects", "LearnedWeights", "LinearPredictorEstimator"]


#: A belief about weights and effects of levels: of one predictor, of classes, or of two predictors.
GroupedBelief: TypeAlias = GroupedWeights | GroupedContrasts | PairedWeights


class LearnedEffects(NamedTuple):
    """What has been found of effects of levels.

    Attributes
    ----------
    stated : GroupedWeights, GroupedContrasts or PairedWeights
        The posterior of weights and effects.
    belief : GroupedWeights, GroupedContrasts or PairedWeights
        What is said of rows comes from.
    spreads : Spreads
    """

    stated: GroupedBelief
    belief: GroupedBelief
    spreads: Spreads

    @property
    def determined(self) -> list[Array]:
        """The share of each effect that the data determine, by category."""
        belief = self.stated
        variances, blocks = belief.factor.variances, belief.blocks
        return [1.0 - variances[b] / v for b, v in zip(blocks, belief.variances, strict=True)]


class LearnedWeights(NamedTuple):
    """What an ascent has found.

    Attributes
    ----------
    belief : WeightBelief
        About the weights of standardised columns, then whatever else was learned with them.
    precision : (P,)
        Prior precisions of those that count as parameters.
    kind : str
        Of the evidence.
    effects : LearnedEffects, optional
        Of levels, where there are groups.
    prior : pair of (P,), optional
        Means and precisions of all that the belief speaks of; not of groups, nor of more columns than rows.
    """

    belief: WeightBelief
    precision: Array
    kind: Kind = "laplace"
    effects: LearnedEffects | None = None
    prior: tuple[Array, Array] | None = None

    @classmethod
    def of_groups(cls, fit: GroupedFit, belief: GroupedBelief | None = None) -> LearnedWeights:
        """Return what has been found together with effects; rows may have another belief."""
        stated, mode = fit.belief, fit.mode
        weights = WeightBelief(
            *stated.weights,
            fit.log_evidence,
            mode.n_iter,
            mode.converged and fit.spreads.converged,
            mode.gradient_norm,
        )
        effects = LearnedEffects(stated, stated if belief is None else belief, fit.spreads)
        return cls(weights, fit.density.weight_precision, "type-II", effects)


class LinearPredictorEstimator(ApproximatePosterior, BaseEstimator):
    """What estimators on a linear predictor have in common, given their likelihood."""

    prior_precision: float
    tol: float
    max_iter: int

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "prior_precision": POSITIVE,
        "tol": POSITIVE,
        "max_iter": AT_LEAST_ONE,
    }
    _standardization: Standardization
    _weights: WeightBelief
    _groups: GroupColumns
    _effects: LearnedEffects | None

    # -- what an estimator states ------------------------------------------------------------

    @abstractmethod
    def _read_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        """Return checked rows: ``x``, ``frequency``, ``fingerprint``, and their targets."""

    @abstractmethod
    def _learn(self, rows: Any) -> LearnedWeights:
        """Learn from checked rows; keep ``_standardization``."""

    @abstractmethod
    def _state(self, belief: WeightBelief) -> MvNormal:
        """Return the belief about the weights of raw columns, then intercepts or thresholds."""

    @abstractmethod
    def _name_weights(self) -> None:
        """Keep ``coef_`` and its like."""

    @abstractmethod
    def _known_rows(self, X: Any, y: Any) -> tuple[Array, Any]:
        """Return the design matrix and the targets of checked rows, whose targets it can have seen."""

    @abstractmethod
    def _log_likelihood(self, draws: Array, design: Array, targets: Any) -> Array:
        """Return ln p(y_n | θ_s) of rows, (S, n)."""

    @abstractmethod
    def _draw_targets(self, draws: Array, design: Array, rng: np.random.Generator) -> Any:
        """Draw a target of every row given every draw of the weights, (S, n)."""

    @abstractmethod
    def _targets_of(self, rows: Any) -> Any:
        """Return the targets of checked rows, as ``_log_likelihood`` takes them."""

    @abstractmethod
    def _named_weights(self, draws: Array) -> dict[str, Array]:
        """Return draws (S, P) as the weights of raw columns, and whatever else was learned, by name."""

    # -- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the posterior of the weights.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
            Targets, or labels.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.

        Notes
        -----
        Costs O(N D²) for a few Hessians, one for long tables, and O(N D) for each gradient; for K > 2
        classes K² and K times as much.
        """
        check_parameters(self)
        rows = self._read_rows(X, y, sample_weight)
        belief, precision, kind, effects, prior = self._learn(rows)
        self._weights, self._effects = belief, effects
        kept = isinstance(rows.x, np.ndarray) and rows.x.size <= KEPT_NUMBERS
        self._learned_from = (rows, prior) if kept else None
        self.__dict__.pop("posterior_", None)  # of an earlier fit
        self._name_weights()
        self.log_evidence_ = LogEvidence(
            belief.log_evidence, kind=kind, of="y|X", fingerprint=rows.fingerprint
        )
        unseen = precision @ np.diagonal(belief.cov)[: len(precision)]
        self.effective_parameters_ = float(len(precision) - unseen)  # γ = Σ λ/(α + λ)
        if effects is not None:
            self.effective_parameters_ += float(sum(share.sum() for share in effects.determined))
        self.n_iter_ = belief.n_iter
        if not belief.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {belief.n_iter} steps: the last one was "
                f"of {belief.step:.2g} standard deviations. Raise max_iter or prior_precision.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _approximate_belief(self) -> ApproximateBelief | Unweighed:
        if self._learned_from is None or self._learned_from[1] is None:
            known = Unweighed.of_kind(self.log_evidence_.kind)
            return known._replace(reason="groups, wide tables and very long ones are not weighed")
        rows, (mean, precision) = self._learned_from
        design, targets, times = self._standardized(rows.x), self._targets_of(rows), rows.frequency

        def log_likelihood(draws: Array) -> Array:
            total = np.zeros(len(draws))
            for here in self._slices(design, len(draws)):
                each = self._log_likelihood(draws, design[here], targets[here])
                total += each.sum(axis=1) if times is None else each @ times[here]
            return total

        return WeighedWeights(
            self._drawn_from,
            mean,
            precision,
            partial(self._draw, design=design),
            log_likelihood,
            self._named_weights,
        )

    def _drawn_parameters(self, size: int, rng: Seed) -> tuple[Mapping[str, Array], Array | None]:
        kept = "_learned_from" in vars(self)  # not by files
        if kept and not isinstance(self._approximate_belief(), Unweighed):
            return super()._drawn_parameters(size, rng)
        drawn = self._drawn_from.draw(size, as_generator(rng))  # of the belief as it is
        return self._named_weights(drawn), None

    @cached_property
    def posterior_(self) -> MvNormal:
        """Of the weights of raw columns, then intercepts or thresholds."""
        check_is_fitted(self)
        return self._state(self._weights.dense())

    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior has standard deviations ``factor`` times as large."""
        alpha = self.prior_precision / width_factor(factor) ** 2
        return clone(self).set_params(prior_precision=float(alpha))

    @property
    def group_effects_(self) -> dict[str, GroupEffects]:
        """Effects of the levels of each column that holds groups, on the predictor."""
        return self._effects_on(0, 1)

    def _effects_on(self, predictor: int, predictors: int) -> dict[str, GroupEffects]:
        """Return effects on one of the predictors that have spreads of their own."""
        effects = self.__dict__.get("_effects")
        if effects is None:
            raise AttributeError("there are no groups here: needs groups= and fit")
        stated, spreads = effects.stated, effects.spreads
        which = slice(predictor, None, predictors)
        chosen = spreads._replace(
            log_spreads=spreads.log_spreads[which], slopes=spreads.slopes[which]
        )
        return effects_of(
            self._groups,
            stated.effect_moments[which],
            chosen,
            effects.determined[which],
            stated.effect_unit,
        )

    # -- how the rows fare -------------------------------------------------------------------

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array:
        """Return ln p(y_n | θ_s) of rows under draws θ_s of the posterior, (S, N)."""
        check_is_fitted(self)
        design, targets = self._known_rows(X, y)
        draws = self._draw(size, as_generator(rng), design)
        parts = [
            self._log_likelihood(draws, design[r], targets[r]) for r in self._slices(design, size)
        ]
        return np.concatenate(parts, axis=1)

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Any:
        """Draw whole new sets of targets at X from the posterior predictive, (S, N)."""
        design, generator = self._design(X), as_generator(rng)
        draws = self._draw(size, generator, design)
        parts = [
            self._draw_targets(draws, design[r], generator) for r in self._slices(design, size)
        ]
        return np.concatenate(parts, axis=1)

    def _draw(self, size: int, rng: np.random.Generator, design: Any) -> Array:
        """Draw weights of standardised columns, (S, P), then effects, also of a design's new levels."""
        if isinstance(design, GroupedRows) and self._effects is not None:
            new = max(0, -int(design.codes.min()))
            return self._effects.belief.draw(size, rng, new)
        return self._drawn_from.draw(size, rng)

    @property
    def _drawn_from(self) -> WeightBelief:
        """The belief behind statements about rows."""
        return self._weights

    def _design(self, X: Any) -> Any:
        """Return the design matrix of rows, with their levels where there are groups."""
        check_is_fitted(self)
        return self._standardized(check_grouped_inputs(self, X))

    def _standardized(self, inputs: Any) -> Any:
        how = self._standardization
        if isinstance(inputs, GroupedRows):
            return GroupedRows(how.of(inputs.x), inputs.codes)
        return how.of(inputs)

    def _moments(self, design: Any, belief: WeightBelief) -> tuple[Array, Array]:
        """Return means and variances of the predictors of rows."""
        if isinstance(design, GroupedRows) and self._effects is not None:
            return self._effects.belief.row_moments(design)
        return belief.predictors(design)

    def _slices(self, design: Any, numbers_each: int) -> Iterator[slice]:
        """Yield slices of rows whose arrays stay small."""
        step = rows_per_block(numbers_each * self._n_outputs, IN_MEMORY)
        for first in range(0, len(design), step):
            yield slice(first, first + step)

    @property
    def _n_outputs(self) -> int:
        """How many numbers tell the distribution of a row's target."""
        return 1
