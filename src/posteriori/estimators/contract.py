"""What can be asked of an estimator beside scikit-learn's ``fit``, ``predict`` and ``score``.

Each protocol is one capability. Which of them an estimator has may depend on its parameters and on
whether it is fitted (a prior that has a width, a belief from which rows can be taken), so the instance
is asked: ``offers(model, HasEvidence)``. Estimators need not know these protocols to have them.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Protocol, Self, TypeGuard, TypeVar

from posteriori.distributions.numbers.normal import Normal
from posteriori.numerics.blocks.row_blocks import RowBlocks
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array, Seed

__all__ = [
    "Accounts",
    "AddsColumns",
    "AddsUp",
    "ChecksItself",
    "Classifies",
    "CountsParameters",
    "DrawsLikelihoods",
    "DrawsTargets",
    "DrawsWeights",
    "Estimator",
    "ExpectsLikelihoods",
    "FillsGaps",
    "HasBestTree",
    "HasComponents",
    "HasEvidence",
    "HasPosterior",
    "HasSteps",
    "KeepsRows",
    "LeavesOneOut",
    "NamesColumns",
    "PreparesBlocks",
    "PredictsDistributions",
    "ReadsBlocks",
    "ComparableResult",
    "ScalesPrior",
    "ScoresClasses",
    "StatesLogProbabilities",
    "StatesNoise",
    "StatesProbabilities",
    "TellsBends",
    "WeighsNumbers",
    "adds_up",
    "copy_columns",
    "last_step",
    "missing_evidence",
    "offers",
    "predictive_of",
    "states_distributions",
]

_Capability = TypeVar("_Capability")


class Estimator(Protocol):
    """Learns from rows."""

    def fit(self, X: Any, y: Any) -> Self: ...

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...


class HasSteps(Protocol):
    """Is a pipeline, whose last step is the estimator."""

    steps: list[tuple[str, Any]]

    def fit(self, X: Any, y: Any) -> Self: ...

    def __getitem__(self, place: Any) -> Any: ...


class NamesColumns(Protocol):
    """Has seen columns with names."""

    feature_names_in_: Any


class ComparableResult(Protocol):
    """Is learned already: what ``bayes`` and ``Model.infer`` return, and sets of models."""

    log_evidence: LogEvidence


class Accounts(Protocol):
    """Parts its evidence into fit and complexity, two numbers."""

    fit: Any
    complexity: Any


class PredictsDistributions(Protocol):
    """Has a predictive distribution of each row's target, a batch."""

    def predict_dist(self, X: Any) -> Any: ...


class Classifies(Protocol):
    """Has learned to choose among classes."""

    classes_: Any

    def predict(self, X: Any) -> Any: ...


class StatesProbabilities(Protocol):
    """States the probability of each class, (N, K)."""

    classes_: Any

    def predict_proba(self, X: Any) -> Array: ...


class StatesLogProbabilities(Protocol):
    """States the logarithms of these, which keep their digits where probabilities are near 0."""

    def predict_log_proba(self, X: Any) -> Array: ...


class ScoresClasses(Protocol):
    """Has a score of each class (N, K), or of the second of two (N,)."""

    def decision_function(self, X: Any) -> Array: ...


class StatesNoise(Protocol):
    """Has a variance of the noise around what it predicts."""

    noise_variance_: Any

    def predict(self, X: Any) -> Any: ...


class HasPosterior(Protocol):
    """Has a belief about its parameters."""

    posterior_: Any


class HasComponents(Protocol):
    """Has learned a mixture, and states the probability of each component, (N, K)."""

    model_: Any

    def predict_proba(self, X: Any) -> Array: ...


class FillsGaps(Protocol):
    """Is a density of rows, and knows what belongs into the gaps (NaN) of some."""

    def score_samples(self, X: Any) -> Array: ...

    def gap_beliefs(self, X: Any) -> Any: ...


class KeepsRows(Protocol):
    """Knows the rows that it learned from, (N, D)."""

    X_: Array


class AddsColumns(Protocol):
    """Predicts a level and a function of each column, of all of which it tells what it believes.

    ``effects`` are those of the level, then of each column in turn.
    """

    level_: Normal

    def effects(self, X: Any) -> list[Any]: ...


class HasBestTree(Protocol):
    """Averages trees, and knows the most probable of them."""

    best_tree_: Any
    best_tree_probability_: float


class HasEvidence(Protocol):
    """Knows the probability of the data under the model, with its kind."""

    log_evidence_: LogEvidence


class WeighsNumbers(Protocol):
    """Tells how probable numbers of components are, by draws of partitions."""

    def number_probabilities(
        self, X: Any, numbers: Sequence[int], draws: int = 2000, rng: Seed = None
    ) -> Array: ...


class CountsParameters(Protocol):
    """Knows how many of its weights the data determine."""

    effective_parameters_: float


class ChecksItself(Protocol):
    """Tells how far its posterior is to be trusted: without draws, by draws, and with intervals that these correct."""

    cautions: tuple[str, ...]

    def reliability(self, draws: int = 1000, *, rng: Seed = None) -> Any: ...

    def parameter_intervals(
        self, mass: float = 0.9, *, draws: int = 1000, rng: Seed = None
    ) -> Any: ...


class LeavesOneOut(Protocol):
    """Has ln p(y_n | all other rows) of its rows in closed form, (N,)."""

    def leave_one_out_log_density(self, X: Any, y: Any) -> Array: ...


class ExpectsLikelihoods(Protocol):
    """Has the expected log likelihood of its rows under the posterior, (N,)."""

    def expected_log_likelihood(self, X: Any, y: Any) -> Array: ...


class DrawsLikelihoods(Protocol):
    """Has the log likelihood of rows under draws of the posterior, (S, N)."""

    def log_likelihood_draws(self, X: Any, y: Any, size: int, rng: Seed = None) -> Array: ...


class DrawsTargets(Protocol):
    """Draws whole new sets of targets from the posterior predictive distribution, (S, N)."""

    def sample_targets(self, X: Any, size: int = 1, rng: Seed = None) -> Any: ...


class DrawsWeights(Protocol):
    """Draws weights of the columns from the posterior, (S, D), the intercept last if there is one."""

    coef_: Array

    def sample_weights(self, size: int = 1, rng: Seed = None) -> Array: ...


class ScalesPrior(Protocol):
    """Returns an unfitted copy whose prior is so many times as wide."""

    def with_prior_scaled(self, factor: float) -> Any: ...


class AddsUp(Protocol):
    """Learns by adding up: further rows, or the rows of another, as if all had come at once."""

    def partial_fit(self, X: Any, y: Any) -> Self: ...

    def merge(self, other: Self) -> Self: ...


class GoesOn(Protocol):
    """Goes on with further rows: what was believed is the prior of what they say."""

    def update(self, X: Any) -> Self: ...


class PreparesBlocks(Protocol):
    """Prepares rows when they are read, block by block, since all of them would be large."""

    def transform_blocks(self, X: Any) -> RowBlocks: ...


class TellsBends(Protocol):
    """Makes of D columns first the columns themselves, and then features that bend."""

    def bent(self, n_columns: int) -> range: ...


class ReadsBlocks(Protocol):
    """Learns from rows that are made when they are read, as if they had been there all at once."""

    def fit_blocks(self, X: RowBlocks, y: Any) -> Self: ...


def offers(model: object, capability: type[_Capability]) -> TypeGuard[_Capability]:
    """Tell whether a model has all members of a protocol, as it is now.

    Examples
    --------
    >>> from posteriori.regression import BayesianLinearRegressor
    >>> model = BayesianLinearRegressor()
    >>> offers(model, PredictsDistributions), offers(model, HasEvidence)  # not fitted yet
    (True, False)
    """
    members = {*vars(capability), *capability.__annotations__}
    return all(hasattr(model, name) for name in members if not name.startswith("_"))


def adds_up(model: object) -> bool:
    """Tell whether a model learns the same from parts as from all rows at once.

    One whose stream is not its batch, as that of k-means, has ``_stream_is_batch = False``.
    """
    return offers(model, AddsUp) and getattr(model, "_stream_is_batch", True)


def missing_evidence(model: Any) -> str:
    """Return why a fitted model that has evidence under other parameters has none, in its words.

    Examples
    --------
    >>> from posteriori.regression import BayesianLinearRegressor
    >>> flat = BayesianLinearRegressor(prior_precision=0.0)
    >>> missing_evidence(flat.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])).split(" (")[0]
    'log_evidence_ does not exist under an improper prior'
    """
    if not hasattr(type(model), "log_evidence_"):
        return ""
    try:
        _ = model.log_evidence_
    except AttributeError as reason:
        # scikit-learn's NotFittedError is a ValueError too
        return "" if isinstance(reason, ValueError) else str(reason)
    return ""


def copy_columns(source: Any, target: Any) -> None:
    """Let an estimator have seen the columns that another has seen."""
    target.n_features_in_ = source.n_features_in_
    if offers(source, NamesColumns):
        target.feature_names_in_ = source.feature_names_in_


def last_step(estimator: Any, X: Any = None) -> tuple[Any, Any]:
    """Return the last step of a pipeline and its inputs, or the estimator itself and X."""
    if not offers(estimator, HasSteps):
        return estimator, X
    before = estimator[:-1]
    return estimator[-1], before.transform(X) if X is not None and len(before) else X


def predictive_of(estimator: Any, X: Any) -> Any:
    """Return the predictive distribution of each row's target.

    That of ``predict_dist``; else a normal one with the standard deviations of
    ``predict(X, return_std=True)`` or with the fitted ``noise_variance_``.
    """
    final, inputs = last_step(estimator, X)
    if offers(final, PredictsDistributions):
        return final.predict_dist(inputs)
    if _returns_std(final):
        mean, std = final.predict(inputs, return_std=True)
        return Normal(mean, variance=std**2)
    if offers(final, StatesNoise):
        return Normal(final.predict(inputs), variance=final.noise_variance_)
    raise TypeError(
        f"{type(final).__name__} cannot say how probable a row is: it has neither predict_dist, nor "
        "return_std in predict, nor noise_variance_"
    )


def states_distributions(estimator: Any) -> bool:
    """Tell whether an estimator has a predictive distribution of each row's target, as it is now.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge, Ridge
    >>> states_distributions(BayesianRidge()), states_distributions(Ridge())
    (True, False)
    """
    final, _ = last_step(estimator)
    return offers(final, PredictsDistributions) or _returns_std(final) or offers(final, StatesNoise)


def _returns_std(final: Any) -> bool:
    return "return_std" in inspect.signature(final.predict).parameters
