from posteriori.gaussian_process.process_classifier import (
    GaussianProcessClassifier as GaussianProcessClassifier,
)
from posteriori.gaussian_process.sparse_regressor import (
    SparseGaussianProcessRegressor as SparseGaussianProcessRegressor,
)
