from posteriori.ensemble.bootstrap import (
    BootstrapSamples as BootstrapSamples,
    bootstrap_samples as bootstrap_samples,
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
