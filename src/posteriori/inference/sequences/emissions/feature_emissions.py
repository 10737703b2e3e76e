r"""States whose members are learned from sums of features, as those of mixtures are.

.. math:: s_{tk} = \langle θ_k, t(x_t)\rangle, \qquad T_k = \sum_t r_{tk}\,t(x_t).

Most likely members and beliefs are those of mixtures; here are also the members at the mode of beliefs,

.. math:: \ln p(x\mid\hat θ) = \langle t(x), T(\hat θ)\rangle + c(x), \qquad
   \hat θ = \arg\max\,p(θ\mid T_k).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import Pair
from posteriori.distributions.coordinates import flatten_natural
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.inference.latent.contract import Learned, Scored, Sums, reordered
from posteriori.inference.mixtures.columns.family_models import (
    ConjugateModel,
    belief_affinities,
    conjugate_model,
    exponential_model,
    moved,
)
from posteriori.inference.mixtures.columns.latent_ascent import LearnedFeatures, sums_of_shares
from posteriori.inference.mixtures.feature_pass import read_blocks_of_rows
from posteriori.inference.sequences.draws.chain_turns import EmissionDraws
from posteriori.numerics.types import Array

__all__ = [
    "BeliefModel",
    "DrawnFeatures",
    "FeatureEmission",
    "ModeModel",
    "belief_densities",
    "feature_scores",
    "keep_features",
    "likely_members",
    "of_one_column",
    "weighed_members",
]

#: Rows, alike to all of them, that every state has seen beside its own: enough for a density where it
#: has none, too few to change a digit elsewhere.
_IMAGINED = 1e-12

#: Up to so many numbers the features of rows are kept, instead of being made anew in each step.
_MOST_KEPT = 20_000_000

#: ln 0 that still is a number: times 0 it is 0.
_NEVER = -1e300


class ModeModel(NamedTuple):
    """Members of a family at the modes of beliefs about them."""

    beliefs: ConjugateModel

    @property
    def size(self) -> int:
        """Number of features."""
        return self.beliefs.size

    @property
    def layout(self) -> Any:
        """Where the features of columns are."""
        return self.beliefs.layout

    def of(self, x: Array) -> Array:
        """Return t(x) of rows, (F, B)."""
        return self.beliefs.of(x)

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return the modes, with ln p(θ)."""
        pair = self.beliefs.pair
        mode = self.beliefs.learn(sums).components.mode
        with np.errstate(divide="ignore"):
            coefficients = [np.maximum(part, _NEVER) for part in pair.prior_family.sufficient(mode)]
        theta = self.layout.join(coefficients, np.zeros((len(sums), self.layout.columns)))
        parts = mode if isinstance(mode, tuple) else (mode,)
        member = pair.likelihood_family(**dict(zip(pair.unknown, parts, strict=True)))
        return LearnedFeatures(theta, float(np.sum(pair.prior.log_prob(mode))), member)


class DrawnFeatures(NamedTuple):
    """Coefficients θ (S, K, F) of drawn parameters, and ln q_j(θ_k) (S, K, K) by sums, ln p(θ_k) (S, K).

    Beside them, parameters (S, K, D) by name.
    """

    theta: Array
    log_beliefs: Callable[[Array], Array]
    log_priors: Callable[[], Array]
    parameters: Callable[[], dict[str, Array]] | None = None


class BeliefModel(NamedTuple):
    """Conjugate beliefs that can be drawn from."""

    beliefs: ConjugateModel

    @property
    def size(self) -> int:
        """Number of features."""
        return self.beliefs.size

    def of(self, x: Array) -> Array:
        """Return t(x) of rows, (F, B)."""
        return self.beliefs.of(x)

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return the beliefs, with −KL."""
        return self.beliefs.learn(sums)

    def log_affinities(self, sums: Array) -> Array:
        """Return ln ∫√(q_j q_k), (K, K)."""
        return belief_affinities(self.beliefs.believe(sums))

    def draw(self, sums: Array, size: int, rng: np.random.Generator) -> DrawnFeatures:
        """Draw parameters from the beliefs about them."""
        pair, layout, k = self.beliefs.pair, self.beliefs.layout, len(sums)
        drawn: Any = self.beliefs.believe(sums).sample(size, rng=rng)  # (S, K, D)
        parts = [np.maximum(part, _NEVER) for part in pair.prior_family.sufficient(drawn)]
        offset = np.zeros((k, layout.columns))
        theta = np.stack([layout.join([part[s] for part in parts], offset) for s in range(size)])

        def log_beliefs(other: Array) -> Array:
            return belief_densities(self.beliefs.believe(other), drawn).sum(axis=-1)

        def parameters() -> dict[str, Array]:
            parts = drawn if isinstance(drawn, tuple) else (drawn,)
            found = dict(zip(pair.unknown, parts, strict=True))
            if "mean" in found:
                found["mean"] = found["mean"] + layout.shift
            return {n: x[..., 0] if x.shape[2:] == (1,) else x for n, x in found.items()}

        return DrawnFeatures(
            theta, log_beliefs, lambda: pair.prior.log_prob(drawn).sum(axis=-1), parameters
        )


class FeatureEmission(NamedTuple):
    """Rows and the model of their features.

    Attributes
    ----------
    model : LatentModel
    x : (T, D)
    constant : float
        Σ w c(x).
    finish : callable
        From what is learned, the emission.
    features : (F, T) or None
        Of the rows, where they are few enough to be kept.
    """

    model: Any
    x: Array
    constant: float
    finish: Callable[[LearnedFeatures], Learned]
    features: Array | None = None

    @property
    def numeric(self) -> bool:
        """Sums are numbers."""
        return True

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return isinstance(self.model, BeliefModel)

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return 1

    def expected_sums(self, shares: Array) -> Sums:
        """Return Σ r t(x), (K, F)."""
        if self.features is not None:
            return (shares.T @ self.features.T,)
        return (sums_of_shares(self.model, self.x, None, shares.T),)

    def look(self, sums: Sums) -> Scored:
        """Return ⟨θ_k, t(x)⟩ of all rows."""
        if not (sums[0][:, 0] >= 0).all():  # a jump went too far
            raise ValueError("a state has less than no rows")
        learned = self.model.learn(sums[0])
        if not np.isfinite(learned.theta).all():
            raise ValueError("a state has no density")
        return Scored(self._scores(learned.theta), self.constant, learned.bonus, self.expected_sums)

    def learn(self, sums: Sums) -> Learned:
        """Return the members, or what beliefs predict."""
        return self.finish(self.model.learn(sums[0]))

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""
        return reordered(sums, order)

    def log_affinities(self, sums: Sums) -> Array:
        """Return ln ∫√(q_j q_k) of the beliefs, (K, K)."""
        return np.asarray(self.model.log_affinities(sums[0]))

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw parameters from the beliefs about them."""
        drawn = self.model.draw(sums[0], size, rng)
        return EmissionDraws(
            lambda s: self._scores(drawn.theta[s]),
            lambda other: drawn.log_beliefs(other[0]),
            drawn.log_priors,
            parameters=drawn.parameters,
        )

    def _scores(self, theta: Array) -> Array:
        """Return ⟨θ_k, t(x)⟩ of all rows, (T, K)."""
        if self.features is not None:
            return np.matmul(self.features.T, theta.T)
        return feature_scores(self.model, self.x, theta)


def belief_densities(beliefs: Any, drawn: Any) -> Array:
    """Return ln q_j(θ_k) (S, K, K, …) of beliefs (K, …) and parameters (S, K, …) drawn for all states."""
    is_record = isinstance(drawn, tuple)
    each = type(drawn)(*(part[:, None] for part in drawn)) if is_record else drawn[:, None]
    return np.asarray(take_members(beliefs, np.s_[:, None]).log_prob(each))


def keep_features(model: Any, x: Array) -> Array | None:
    """Return t(x) of all rows, (F, T), where they are few enough to be kept for all steps."""
    return model.of(x) if model.size * len(x) <= _MOST_KEPT else None


def feature_scores(model: Any, x: Array, theta: Array) -> Array:
    """Return ⟨θ_k, t(x)⟩ of rows, (T, K)."""
    scores = np.empty((len(x), len(theta)))
    for rows in read_blocks_of_rows(len(x), model.size):
        np.matmul(model.of(x[rows]).T, theta.T, out=scores[rows])
    return scores


def likely_members(
    family: type[ExponentialFamily], x: Array, frequency: Array | None
) -> FeatureEmission:
    """Return the model of rows whose states emit the most likely members of a family."""
    model = exponential_model(family, x, frequency)
    model = model._replace(imagined=model.imagined / model.imagined[0] * _IMAGINED)

    def finish(learned: LearnedFeatures) -> Learned:
        member = of_one_column(moved(learned.components, model.layout.shift))
        free = flatten_natural(member.natural, family._natural_ndims).size // len(learned.theta)
        return Learned(member, None, free)

    example = model.learn((model.imagined / _IMAGINED)[None]).components
    constant = model.log_carrier(x, frequency, example)
    return FeatureEmission(model, x, constant, finish, keep_features(model, x))


def weighed_members(
    find: Callable[[Any], Pair], prior: Any, x: Array, frequency: Array | None, *, at_mode: bool
) -> FeatureEmission:
    """Return the model of rows whose states have conjugate beliefs, or members at their modes.

    Parameters
    ----------
    find : callable
        From a prior, its pair with the likelihood.
    prior : distribution
        Its batch is () or (D,).
    x : (T, D)
    frequency : (T,) or None
    at_mode : bool
    """
    model = conjugate_model(find, prior, x, frequency)
    constant = model.log_carrier(x, frequency, None)
    shift = model.layout.shift

    def finish(learned: LearnedFeatures) -> Learned:
        found = moved(learned.components, shift)
        if at_mode:
            return Learned(of_one_column(found), None, 0)
        return Learned(of_one_column(find(prior).predictive(found)), of_one_column(found))

    kind = ModeModel if at_mode else BeliefModel
    return FeatureEmission(kind(model), x, constant, finish, keep_features(model, x))


def of_one_column(batch: Any) -> Any:
    """Return a batch (K,) of a batch (K, 1); others as they are."""
    return take_members(batch, np.s_[:, 0]) if batch.batch_shape[1:] == (1,) else batch
