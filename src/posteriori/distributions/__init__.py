"""Distributions."""
from posteriori.distributions.normal import Normal
from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.gamma import Gamma
from posteriori.distributions.beta import Beta
from posteriori.distributions.dirichlet import Dirichlet
from posteriori.distributions.bernoulli import Bernoulli
