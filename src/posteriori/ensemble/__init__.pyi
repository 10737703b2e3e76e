from posteriori.ensemble.bagging import (
    BaggingClassifier as BaggingClassifier,
    BaggingRegressor as BaggingRegressor,
)
from posteriori.ensemble.bootstrap import (
    BootstrapSamples as BootstrapSamples,
    bootstrap_samples as bootstrap_samples,
)
from posteriori.ensemble.combination import (
    CommitteeErrors as CommitteeErrors,
    committee_errors as committee_errors,
    log_likelihood_of_average as log_likelihood_of_average,
    log_likelihood_of_combination as log_likelihood_of_combination,
)
from posteriori.ensemble.committees import (
    CommitteeClassifier as CommitteeClassifier,
    CommitteeRegressor as CommitteeRegressor,
)
from posteriori.ensemble.forests.random_forest import (
    RandomForestClassifier as RandomForestClassifier,
    RandomForestRegressor as RandomForestRegressor,
)
from posteriori.ensemble.gradient_boosting.boosted_classifier import (
    GradientBoostingClassifier as GradientBoostingClassifier,
)
from posteriori.ensemble.gradient_boosting.boosted_regressor import (
    GradientBoostingRegressor as GradientBoostingRegressor,
)
from posteriori.ensemble.votes.adaboost import AdaBoostClassifier as AdaBoostClassifier
from posteriori.ensemble.votes.boosting_bounds import (
    ensemble_vc_bound as ensemble_vc_bound,
    guaranteed_margin as guaranteed_margin,
    margin_bound as margin_bound,
    margin_risk_bound as margin_risk_bound,
    rounds_to_separate as rounds_to_separate,
    svm_risk_bound as svm_risk_bound,
    training_error_bound as training_error_bound,
)
from posteriori.ensemble.votes.entropy_steps import (
    EntropyProjection as EntropyProjection,
    entropy_projection as entropy_projection,
)
from posteriori.ensemble.votes.lpboost import LPBoostClassifier as LPBoostClassifier
from posteriori.ensemble.votes.vote_margins import Margins as Margins, margins as margins
