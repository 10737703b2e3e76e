from posteriori.estimators.approximate_posterior import (
    ApproximatePosterior as ApproximatePosterior,
    DrawsItsPosterior as DrawsItsPosterior,
)
from posteriori.estimators.contract import (
    Estimator as Estimator,
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
