"""Distributions as immutable, batched values; their algebra; Bayes' rule for conjugate pairs."""

from posteriori.distributions.base import CAPABILITIES, Distribution, Univariate
from posteriori.distributions.bayes_rule import BayesResult, bayes
from posteriori.distributions.bernoulli import Bernoulli
from posteriori.distributions.beta import Beta
from posteriori.distributions.beta_binomial import BetaBinomial
from posteriori.distributions.binomial import Binomial
from posteriori.distributions.categorical import Categorical
from posteriori.distributions.cauchy import Cauchy
from posteriori.distributions.channels import ChannelCapacity, channel_capacity
from posteriori.distributions.conjugate import Correction
from posteriori.distributions.dirichlet import Dirichlet
from posteriori.distributions.dirichlet_multinomial import DirichletMultinomial
from posteriori.distributions.exponential import ExponentialFamily, Product
from posteriori.distributions.exponential_distribution import Exponential
from posteriori.distributions.gamma import Gamma
from posteriori.distributions.gaussian_algebra import complete_square
from posteriori.distributions.geometric import Geometric
from posteriori.distributions.half_cauchy import HalfCauchy
from posteriori.distributions.half_normal import HalfNormal
from posteriori.distributions.information import (
    conditional_entropy,
    cross_entropy,
    entropy,
    kl_divergence,
    mutual_information,
    self_information,
)
from posteriori.distributions.inverse_gamma import InverseGamma
from posteriori.distributions.inverse_wishart import InverseWishart
from posteriori.distributions.laplace import Laplace
from posteriori.distributions.log_normal import LogNormal
from posteriori.distributions.multinomial import Multinomial
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.negative_binomial import NegativeBinomial
from posteriori.distributions.normal import Normal
from posteriori.distributions.normal_gamma import NormalGamma
from posteriori.distributions.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.normal_wishart import NormalWishart
from posteriori.distributions.pareto import Pareto
from posteriori.distributions.point_mass import PointMass
from posteriori.distributions.poisson import Poisson
from posteriori.distributions.predictive import Predictive
from posteriori.distributions.source_coding import (
    CodingBound,
    HuffmanCode,
    coding_bound,
    huffman_code,
)
from posteriori.distributions.statistics import Moments, Sums
from posteriori.distributions.student_t import StudentT
from posteriori.distributions.truncated_normal import TruncatedNormal
from posteriori.distributions.uniform import Uniform
from posteriori.distributions.unknown import Conditional
from posteriori.distributions.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.von_mises import VonMises
from posteriori.distributions.wishart import Wishart

__all__ = [
    "CAPABILITIES",
    "BayesResult",
    "Bernoulli",
    "Beta",
    "BetaBinomial",
    "Binomial",
    "Categorical",
    "Cauchy",
    "ChannelCapacity",
    "CodingBound",
    "Conditional",
    "Correction",
    "Dirichlet",
    "DirichletMultinomial",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "Geometric",
    "HalfCauchy",
    "HalfNormal",
    "HuffmanCode",
    "InverseGamma",
    "InverseWishart",
    "Laplace",
    "LogNormal",
    "Moments",
    "Multinomial",
    "MvNormal",
    "MvStudentT",
    "NegativeBinomial",
    "Normal",
    "NormalGamma",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalWishart",
    "Pareto",
    "PointMass",
    "Poisson",
    "Predictive",
    "Product",
    "StudentT",
    "Sums",
    "TruncatedNormal",
    "Uniform",
    "Univariate",
    "VectorNormalInverseGamma",
    "VonMises",
    "Wishart",
    "bayes",
    "channel_capacity",
    "coding_bound",
    "complete_square",
    "conditional_entropy",
    "cross_entropy",
    "entropy",
    "huffman_code",
    "kl_divergence",
    "mutual_information",
    "self_information",
]
