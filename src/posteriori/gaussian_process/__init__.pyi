from posteriori.gaussian_process.additive_regressor import (
    AdditiveGaussianProcessRegressor as AdditiveGaussianProcessRegressor,
)
from posteriori.gaussian_process.process_belief import Effect as Effect
from posteriori.gaussian_process.process_classifier import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from posteriori.gaussian_process.process_evidence import log_evidence as log_evidence
from posteriori.gaussian_process.process_regressor import (
    GaussianProcessRegressor as GaussianProcessRegressor,
)
from posteriori.gaussian_process.sparse_regressor import (
    SparseGaussianProcessRegressor as SparseGaussianProcessRegressor,
)
