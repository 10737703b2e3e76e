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
