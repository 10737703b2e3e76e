from posteriori.regression.bases.basis import (
    FourierBasis as FourierBasis,
    GaussianBasis as GaussianBasis,
    PolynomialBasis as PolynomialBasis,
    SigmoidBasis as SigmoidBasis,
    SplineBasis as SplineBasis,
    design_matrix as design_matrix,
)
from posteriori.regression.bases.smooth_basis import SmoothBasis as SmoothBasis
from posteriori.regression.bayesian.bayesian_regression import (
    BayesianLinearRegressor as BayesianLinearRegressor,
)
from posteriori.regression.generalized.count_regression import (
    NegativeBinomialRegressor as NegativeBinomialRegressor,
    PoissonRegressor as PoissonRegressor,
)
from posteriori.regression.generalized.hurdle import HurdleRegressor as HurdleRegressor
from posteriori.regression.generalized.ordinal import OrdinalRegression as OrdinalRegression
from posteriori.regression.generalized.robust import RobustRegressor as RobustRegressor
from posteriori.regression.generalized.zero_inflated import (
    ZeroInflatedRegressor as ZeroInflatedRegressor,
)
from posteriori.regression.kernel_machines.kernel_basis import KernelBasis as KernelBasis
from posteriori.regression.kernel_machines.kernel_ridge import KernelRidge as KernelRidge
from posteriori.regression.kernel_machines.relevance_regressor import (
    RelevanceVectorRegressor as RelevanceVectorRegressor,
)
from posteriori.regression.linear import LinearRegressor as LinearRegressor
from posteriori.regression.log_linear import LogLinearRegressor as LogLinearRegressor
