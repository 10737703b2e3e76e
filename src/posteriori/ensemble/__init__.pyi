from posteriori.ensemble.bootstrap import (
    BootstrapSamples as BootstrapSamples,
    bootstrap_samples as bootstrap_samples,
)
from posteriori.ensemble.forests.random_forest import (
    RandomForestClassifier as RandomForestClassifier,
    RandomForestRegressor as RandomForestRegressor,
)
