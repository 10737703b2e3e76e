from posteriori.estimators.approximate_posterior import (
    ApproximatePosterior as ApproximatePosterior,
    DrawsItsPosterior as DrawsItsPosterior,
)
from posteriori.estimators.contract import (
    Accounts as Accounts,
    AddsUp as AddsUp,
    ChecksItself as ChecksItself,
    Classifies as Classifies,
    ComparableResult as ComparableResult,
    CountsParameters as CountsParameters,
    DrawsLikelihoods as DrawsLikelihoods,
    DrawsTargets as DrawsTargets,
    DrawsWeights as DrawsWeights,
    Estimator as Estimator,
    ExpectsLikelihoods as ExpectsLikelihoods,
    HasEvidence as HasEvidence,
    HasPosterior as HasPosterior,
    HasSteps as HasSteps,
    LeavesOneOut as LeavesOneOut,
    NamesColumns as NamesColumns,
    PredictsDistributions as PredictsDistributions,
    PreparesBlocks as PreparesBlocks,
    ReadsBlocks as ReadsBlocks,
    ScalesPrior as ScalesPrior,
    ScoresClasses as ScoresClasses,
    StatesLogProbabilities as StatesLogProbabilities,
    StatesNoise as StatesNoise,
    StatesProbabilities as StatesProbabilities,
    offers as offers,
    predictive_of as predictive_of,
)
from posteriori.estimators.estimator_rows import (
    check_inputs as check_inputs,
    check_rows as check_rows,
)
from posteriori.estimators.labelled_rows import check_labelled_rows as check_labelled_rows
from posteriori.estimators.linear_predictor import (
    LinearPredictorEstimator as LinearPredictorEstimator,
)
from posteriori.estimators.parameters import (
    Constraint as Constraint,
    check_parameters as check_parameters,
    one_of as one_of,
)
from posteriori.estimators.standardized import (
    Standardization as Standardization,
    standardize as standardize,
)
