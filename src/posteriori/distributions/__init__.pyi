from posteriori.distributions.algebra.arithmetic import (
    CentralLimit as CentralLimit,
    affine as affine,
    central_limit as central_limit,
    power_of as power_of,
    product_of as product_of,
    sum_of as sum_of,
)
from posteriori.distributions.algebra.characteristic import (
    characteristic_function as characteristic_function,
)
from posteriori.distributions.algebra.expectations import (
    cross_covariance as cross_covariance,
    expect as expect,
    expect_by_draws as expect_by_draws,
    linear_moments as linear_moments,
    sum_moments as sum_moments,
)
from posteriori.distributions.algebra.maps import (
    AbsoluteMap as AbsoluteMap,
    AffineMap as AffineMap,
    Bijection as Bijection,
    Branch as Branch,
    ExpMap as ExpMap,
    LinearMap as LinearMap,
    LogitMap as LogitMap,
    LogMap as LogMap,
    MonotoneMap as MonotoneMap,
    PiecewiseMap as PiecewiseMap,
    PowerMap as PowerMap,
    SquareMap as SquareMap,
)
from posteriori.distributions.algebra.transformed import (
    Transformed as Transformed,
    UnivariateTransformed as UnivariateTransformed,
    transform as transform,
)
from posteriori.distributions.base import (
    CAPABILITIES as CAPABILITIES,
    Distribution as Distribution,
    Univariate as Univariate,
)
from posteriori.distributions.composites.empirical import (
    Empirical as Empirical,
    UnivariateEmpirical as UnivariateEmpirical,
)
from posteriori.distributions.composites.mixture import (
    Mixture as Mixture,
    UnivariateMixture as UnivariateMixture,
)
from posteriori.distributions.composites.numeric import (
    Numeric as Numeric,
    NumericCounts as NumericCounts,
)
from posteriori.distributions.composites.point_mass import PointMass as PointMass
from posteriori.distributions.conjugate.bayes_rule import BayesResult as BayesResult, bayes as bayes
from posteriori.distributions.conjugate.grids import (
    GridPosterior as GridPosterior,
    grid_posterior as grid_posterior,
)
from posteriori.distributions.conjugate.pair import Correction as Correction
from posteriori.distributions.conjugate.predictive import Predictive as Predictive
from posteriori.distributions.counts.bernoulli import Bernoulli as Bernoulli
from posteriori.distributions.counts.beta_binomial import BetaBinomial as BetaBinomial
from posteriori.distributions.counts.binomial import Binomial as Binomial
from posteriori.distributions.counts.categorical import Categorical as Categorical
from posteriori.distributions.counts.dirichlet_multinomial import (
    DirichletMultinomial as DirichletMultinomial,
)
from posteriori.distributions.counts.geometric import Geometric as Geometric
from posteriori.distributions.counts.multinomial import Multinomial as Multinomial
from posteriori.distributions.counts.negative_binomial import NegativeBinomial as NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson as Poisson
from posteriori.distributions.exponential import (
    ExponentialFamily as ExponentialFamily,
    Product as Product,
)
from posteriori.distributions.joint.matrix_normal_wishart import (
    MatrixNormalWishart as MatrixNormalWishart,
)
from posteriori.distributions.joint.normal_gamma import NormalGamma as NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import (
    NormalInverseGamma as NormalInverseGamma,
)
from posteriori.distributions.joint.normal_inverse_wishart import (
    NormalInverseWishart as NormalInverseWishart,
)
from posteriori.distributions.joint.normal_wishart import NormalWishart as NormalWishart
from posteriori.distributions.joint.vector_normal_gamma import (
    VectorNormalGamma as VectorNormalGamma,
)
from posteriori.distributions.joint.vector_normal_inverse_gamma import (
    VectorNormalInverseGamma as VectorNormalInverseGamma,
)
from posteriori.distributions.numbers.beta import Beta as Beta
from posteriori.distributions.numbers.cauchy import Cauchy as Cauchy
from posteriori.distributions.numbers.exponential_distribution import Exponential as Exponential
from posteriori.distributions.numbers.gamma import Gamma as Gamma
from posteriori.distributions.numbers.half_normal import HalfNormal as HalfNormal
from posteriori.distributions.numbers.half_student_t import (
    HalfCauchy as HalfCauchy,
    HalfStudentT as HalfStudentT,
)
from posteriori.distributions.numbers.inverse_gamma import InverseGamma as InverseGamma
from posteriori.distributions.numbers.laplace import Laplace as Laplace
from posteriori.distributions.numbers.log_normal import LogNormal as LogNormal
from posteriori.distributions.numbers.normal import Normal as Normal
from posteriori.distributions.numbers.pareto import Pareto as Pareto
from posteriori.distributions.numbers.polya_gamma import PolyaGamma as PolyaGamma
from posteriori.distributions.numbers.student_t import StudentT as StudentT
from posteriori.distributions.numbers.truncated_normal import TruncatedNormal as TruncatedNormal
from posteriori.distributions.numbers.uniform import Uniform as Uniform
from posteriori.distributions.numbers.von_mises import VonMises as VonMises
from posteriori.distributions.statistics import Moments as Moments, Sums as Sums
from posteriori.distributions.unknown import Conditional as Conditional
from posteriori.distributions.vectors.dirichlet import Dirichlet as Dirichlet
from posteriori.distributions.vectors.gaussian_algebra import complete_square as complete_square
from posteriori.distributions.vectors.inverse_wishart import InverseWishart as InverseWishart
from posteriori.distributions.vectors.matrix_normal import MatrixNormal as MatrixNormal
from posteriori.distributions.vectors.mv_student_t import MvStudentT as MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal as MvNormal
from posteriori.distributions.vectors.wishart import Wishart as Wishart
