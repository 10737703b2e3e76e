"""Distributions as immutable, batched values; their algebra; Bayes' rule for conjugate pairs.

Every name is loaded on first use: a file that nobody asks for costs nothing.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "arithmetic": (
        "CentralLimit",
        "affine",
        "central_limit",
        "power_of",
        "product_of",
        "sum_of",
    ),
    "ascent": ("EstimateReport",),
    "base": (
        "CAPABILITIES",
        "Distribution",
        "Univariate",
    ),
    "bayes_rule": (
        "BayesResult",
        "bayes",
    ),
    "bernoulli": ("Bernoulli",),
    "beta": ("Beta",),
    "beta_binomial": ("BetaBinomial",),
    "binomial": ("Binomial",),
    "categorical": ("Categorical",),
    "cauchy": ("Cauchy",),
    "channels": (
        "ChannelCapacity",
        "channel_capacity",
    ),
    "characteristic": ("characteristic_function",),
    "conditional_table": ("ConditionalTable",),
    "conjugate": ("Correction",),
    "derivation": (
        "Derivation",
        "Step",
    ),
    "dirichlet": ("Dirichlet",),
    "dirichlet_multinomial": ("DirichletMultinomial",),
    "empirical": (
        "Empirical",
        "UnivariateEmpirical",
    ),
    "entropic_inference": (
        "maximum_entropy",
        "maximum_relative_entropy",
    ),
    "estimation": (
        "map_estimate",
        "maximum_likelihood",
    ),
    "events": ("Event",),
    "expectations": (
        "cross_covariance",
        "expect",
        "expect_by_draws",
        "linear_moments",
        "sum_moments",
    ),
    "exponential": (
        "ExponentialFamily",
        "Product",
    ),
    "exponential_distribution": ("Exponential",),
    "gamma": ("Gamma",),
    "gaussian_algebra": ("complete_square",),
    "gaussian_approximation": (
        "LaplaceApproximation",
        "laplace_approximation",
    ),
    "geometric": ("Geometric",),
    "gibbs_models": (
        "Interval",
        "MaximumEntropy",
    ),
    "grids": (
        "GridPosterior",
        "grid_posterior",
    ),
    "half_cauchy": ("HalfCauchy",),
    "half_normal": ("HalfNormal",),
    "information": (
        "conditional_entropy",
        "cross_entropy",
        "entropy",
        "kl_divergence",
        "mutual_information",
        "self_information",
    ),
    "inverse_gamma": ("InverseGamma",),
    "inverse_wishart": ("InverseWishart",),
    "joint_table": (
        "JointTable",
        "diagnostic_test",
    ),
    "laplace": ("Laplace",),
    "log_normal": ("LogNormal",),
    "maps": (
        "AbsoluteMap",
        "AffineMap",
        "Bijection",
        "Branch",
        "ExpMap",
        "LinearMap",
        "LogMap",
        "LogitMap",
        "MonotoneMap",
        "PiecewiseMap",
        "PowerMap",
        "SquareMap",
    ),
    "matrix_normal": ("MatrixNormal",),
    "matrix_normal_wishart": ("MatrixNormalWishart",),
    "mixture": (
        "Mixture",
        "UnivariateMixture",
    ),
    "ml_and_bayes": (
        "FlatPriorEvidence",
        "MLBayesReport",
        "compare_ml_bayes",
        "evidence_under_flat_priors",
    ),
    "multinomial": ("Multinomial",),
    "mv_student_t": ("MvStudentT",),
    "mvnormal": ("MvNormal",),
    "negative_binomial": ("NegativeBinomial",),
    "normal": ("Normal",),
    "normal_gamma": ("NormalGamma",),
    "normal_inverse_gamma": ("NormalInverseGamma",),
    "normal_inverse_wishart": ("NormalInverseWishart",),
    "normal_wishart": ("NormalWishart",),
    "numeric": (
        "Numeric",
        "NumericCounts",
    ),
    "pareto": ("Pareto",),
    "point_estimates": ("point_estimate",),
    "point_mass": ("PointMass",),
    "poisson": ("Poisson",),
    "polya_gamma": ("PolyaGamma",),
    "predictive": ("Predictive",),
    "risk": (
        "BiasVariance",
        "bias_variance",
        "unbiased_covariance",
        "unbiased_variance",
    ),
    "shrinkage": (
        "JamesStein",
        "ShrinkageCovariance",
        "james_stein",
        "james_stein_means",
        "shrinkage_covariance",
    ),
    "source_coding": (
        "CodingBound",
        "HuffmanCode",
        "coding_bound",
        "huffman_code",
    ),
    "statistics": (
        "Moments",
        "Sums",
    ),
    "student_t": ("StudentT",),
    "transformed": (
        "Transformed",
        "UnivariateTransformed",
        "transform",
    ),
    "truncated_normal": ("TruncatedNormal",),
    "uniform": ("Uniform",),
    "unknown": ("Conditional",),
    "vector_normal_gamma": ("VectorNormalGamma",),
    "vector_normal_inverse_gamma": ("VectorNormalInverseGamma",),
    "von_mises": ("VonMises",),
    "wishart": ("Wishart",),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.distributions.arithmetic import CentralLimit as CentralLimit
    from posteriori.distributions.arithmetic import affine as affine
    from posteriori.distributions.arithmetic import central_limit as central_limit
    from posteriori.distributions.arithmetic import power_of as power_of
    from posteriori.distributions.arithmetic import product_of as product_of
    from posteriori.distributions.arithmetic import sum_of as sum_of
    from posteriori.distributions.ascent import EstimateReport as EstimateReport
    from posteriori.distributions.base import CAPABILITIES as CAPABILITIES
    from posteriori.distributions.base import Distribution as Distribution
    from posteriori.distributions.base import Univariate as Univariate
    from posteriori.distributions.bayes_rule import BayesResult as BayesResult
    from posteriori.distributions.bayes_rule import bayes as bayes
    from posteriori.distributions.bernoulli import Bernoulli as Bernoulli
    from posteriori.distributions.beta import Beta as Beta
    from posteriori.distributions.beta_binomial import BetaBinomial as BetaBinomial
    from posteriori.distributions.binomial import Binomial as Binomial
    from posteriori.distributions.categorical import Categorical as Categorical
    from posteriori.distributions.cauchy import Cauchy as Cauchy
    from posteriori.distributions.channels import ChannelCapacity as ChannelCapacity
    from posteriori.distributions.channels import channel_capacity as channel_capacity
    from posteriori.distributions.characteristic import (
        characteristic_function as characteristic_function,
    )
    from posteriori.distributions.conditional_table import ConditionalTable as ConditionalTable
    from posteriori.distributions.conjugate import Correction as Correction
    from posteriori.distributions.derivation import Derivation as Derivation
    from posteriori.distributions.derivation import Step as Step
    from posteriori.distributions.dirichlet import Dirichlet as Dirichlet
    from posteriori.distributions.dirichlet_multinomial import (
        DirichletMultinomial as DirichletMultinomial,
    )
    from posteriori.distributions.empirical import Empirical as Empirical
    from posteriori.distributions.empirical import UnivariateEmpirical as UnivariateEmpirical
    from posteriori.distributions.entropic_inference import maximum_entropy as maximum_entropy
    from posteriori.distributions.entropic_inference import (
        maximum_relative_entropy as maximum_relative_entropy,
    )
    from posteriori.distributions.estimation import map_estimate as map_estimate
    from posteriori.distributions.estimation import maximum_likelihood as maximum_likelihood
    from posteriori.distributions.events import Event as Event
    from posteriori.distributions.expectations import cross_covariance as cross_covariance
    from posteriori.distributions.expectations import expect as expect
    from posteriori.distributions.expectations import expect_by_draws as expect_by_draws
    from posteriori.distributions.expectations import linear_moments as linear_moments
    from posteriori.distributions.expectations import sum_moments as sum_moments
    from posteriori.distributions.exponential import ExponentialFamily as ExponentialFamily
    from posteriori.distributions.exponential import Product as Product
    from posteriori.distributions.exponential_distribution import Exponential as Exponential
    from posteriori.distributions.gamma import Gamma as Gamma
    from posteriori.distributions.gaussian_algebra import complete_square as complete_square
    from posteriori.distributions.gaussian_approximation import (
        LaplaceApproximation as LaplaceApproximation,
    )
    from posteriori.distributions.gaussian_approximation import (
        laplace_approximation as laplace_approximation,
    )
    from posteriori.distributions.geometric import Geometric as Geometric
    from posteriori.distributions.gibbs_models import Interval as Interval
    from posteriori.distributions.gibbs_models import MaximumEntropy as MaximumEntropy
    from posteriori.distributions.grids import GridPosterior as GridPosterior
    from posteriori.distributions.grids import grid_posterior as grid_posterior
    from posteriori.distributions.half_cauchy import HalfCauchy as HalfCauchy
    from posteriori.distributions.half_normal import HalfNormal as HalfNormal
    from posteriori.distributions.information import conditional_entropy as conditional_entropy
    from posteriori.distributions.information import cross_entropy as cross_entropy
    from posteriori.distributions.information import entropy as entropy
    from posteriori.distributions.information import kl_divergence as kl_divergence
    from posteriori.distributions.information import mutual_information as mutual_information
    from posteriori.distributions.information import self_information as self_information
    from posteriori.distributions.inverse_gamma import InverseGamma as InverseGamma
    from posteriori.distributions.inverse_wishart import InverseWishart as InverseWishart
    from posteriori.distributions.joint_table import JointTable as JointTable
    from posteriori.distributions.joint_table import diagnostic_test as diagnostic_test
    from posteriori.distributions.laplace import Laplace as Laplace
    from posteriori.distributions.log_normal import LogNormal as LogNormal
    from posteriori.distributions.maps import AbsoluteMap as AbsoluteMap
    from posteriori.distributions.maps import AffineMap as AffineMap
    from posteriori.distributions.maps import Bijection as Bijection
    from posteriori.distributions.maps import Branch as Branch
    from posteriori.distributions.maps import ExpMap as ExpMap
    from posteriori.distributions.maps import LinearMap as LinearMap
    from posteriori.distributions.maps import LogitMap as LogitMap
    from posteriori.distributions.maps import LogMap as LogMap
    from posteriori.distributions.maps import MonotoneMap as MonotoneMap
    from posteriori.distributions.maps import PiecewiseMap as PiecewiseMap
    from posteriori.distributions.maps import PowerMap as PowerMap
    from posteriori.distributions.maps import SquareMap as SquareMap
    from posteriori.distributions.matrix_normal import MatrixNormal as MatrixNormal
    from posteriori.distributions.matrix_normal_wishart import (
        MatrixNormalWishart as MatrixNormalWishart,
    )
    from posteriori.distributions.mixture import Mixture as Mixture
    from posteriori.distributions.mixture import UnivariateMixture as UnivariateMixture
    from posteriori.distributions.ml_and_bayes import FlatPriorEvidence as FlatPriorEvidence
    from posteriori.distributions.ml_and_bayes import MLBayesReport as MLBayesReport
    from posteriori.distributions.ml_and_bayes import compare_ml_bayes as compare_ml_bayes
    from posteriori.distributions.ml_and_bayes import (
        evidence_under_flat_priors as evidence_under_flat_priors,
    )
    from posteriori.distributions.multinomial import Multinomial as Multinomial
    from posteriori.distributions.mv_student_t import MvStudentT as MvStudentT
    from posteriori.distributions.mvnormal import MvNormal as MvNormal
    from posteriori.distributions.negative_binomial import NegativeBinomial as NegativeBinomial
    from posteriori.distributions.normal import Normal as Normal
    from posteriori.distributions.normal_gamma import NormalGamma as NormalGamma
    from posteriori.distributions.normal_inverse_gamma import (
        NormalInverseGamma as NormalInverseGamma,
    )
    from posteriori.distributions.normal_inverse_wishart import (
        NormalInverseWishart as NormalInverseWishart,
    )
    from posteriori.distributions.normal_wishart import NormalWishart as NormalWishart
    from posteriori.distributions.numeric import Numeric as Numeric
    from posteriori.distributions.numeric import NumericCounts as NumericCounts
    from posteriori.distributions.pareto import Pareto as Pareto
    from posteriori.distributions.point_estimates import point_estimate as point_estimate
    from posteriori.distributions.point_mass import PointMass as PointMass
    from posteriori.distributions.poisson import Poisson as Poisson
    from posteriori.distributions.polya_gamma import PolyaGamma as PolyaGamma
    from posteriori.distributions.predictive import Predictive as Predictive
    from posteriori.distributions.risk import BiasVariance as BiasVariance
    from posteriori.distributions.risk import bias_variance as bias_variance
    from posteriori.distributions.risk import unbiased_covariance as unbiased_covariance
    from posteriori.distributions.risk import unbiased_variance as unbiased_variance
    from posteriori.distributions.shrinkage import JamesStein as JamesStein
    from posteriori.distributions.shrinkage import ShrinkageCovariance as ShrinkageCovariance
    from posteriori.distributions.shrinkage import james_stein as james_stein
    from posteriori.distributions.shrinkage import james_stein_means as james_stein_means
    from posteriori.distributions.shrinkage import shrinkage_covariance as shrinkage_covariance
    from posteriori.distributions.source_coding import CodingBound as CodingBound
    from posteriori.distributions.source_coding import HuffmanCode as HuffmanCode
    from posteriori.distributions.source_coding import coding_bound as coding_bound
    from posteriori.distributions.source_coding import huffman_code as huffman_code
    from posteriori.distributions.statistics import Moments as Moments
    from posteriori.distributions.statistics import Sums as Sums
    from posteriori.distributions.student_t import StudentT as StudentT
    from posteriori.distributions.transformed import Transformed as Transformed
    from posteriori.distributions.transformed import UnivariateTransformed as UnivariateTransformed
    from posteriori.distributions.transformed import transform as transform
    from posteriori.distributions.truncated_normal import TruncatedNormal as TruncatedNormal
    from posteriori.distributions.uniform import Uniform as Uniform
    from posteriori.distributions.unknown import Conditional as Conditional
    from posteriori.distributions.vector_normal_gamma import VectorNormalGamma as VectorNormalGamma
    from posteriori.distributions.vector_normal_inverse_gamma import (
        VectorNormalInverseGamma as VectorNormalInverseGamma,
    )
    from posteriori.distributions.von_mises import VonMises as VonMises
    from posteriori.distributions.wishart import Wishart as Wishart
