"""Distributions as immutable, batched values; their algebra; Bayes' rule for conjugate pairs."""

from posteriori.distributions.base import CAPABILITIES, Distribution, Univariate
from posteriori.distributions.bayes_rule import BayesResult, bayes
from posteriori.distributions.bernoulli import Bernoulli
from posteriori.distributions.beta import Beta
from posteriori.distributions.binomial import Binomial
from posteriori.distributions.categorical import Categorical
from posteriori.distributions.channels import ChannelCapacity, channel_capacity
from posteriori.distributions.conjugate import Correction
from posteriori.distributions.dirichlet import Dirichlet
from posteriori.distributions.exponential import ExponentialFamily, Product
from posteriori.distributions.exponential_distribution import Exponential
from posteriori.distributions.gamma import Gamma
from posteriori.distributions.gaussian_algebra import complete_square
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
from posteriori.distributions.multinomial import Multinomial
from posteriori.distributions.mv_student_t import MvStudentT
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.distributions.normal_gamma import NormalGamma
from posteriori.distributions.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.normal_wishart import NormalWishart
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
from posteriori.distributions.unknown import Conditional
from posteriori.distributions.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.wishart import Wishart

__all__ = [
    "CAPABILITIES",
    "BayesResult",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "ChannelCapacity",
    "CodingBound",
    "Conditional",
    "Correction",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "ExponentialFamily",
    "Gamma",
    "HuffmanCode",
    "InverseGamma",
    "InverseWishart",
    "Moments",
    "Multinomial",
    "MvNormal",
    "MvStudentT",
    "Normal",
    "NormalGamma",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "NormalWishart",
    "PointMass",
    "Poisson",
    "Predictive",
    "Product",
    "StudentT",
    "Sums",
    "Univariate",
    "VectorNormalInverseGamma",
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
