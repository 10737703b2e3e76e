from posteriori.gaussian_process.sparse_regressor import (
    SparseGaussianProcessRegressor as SparseGaussianProcessRegressor,
)
