from posteriori.mixture.latent_classes import LatentClasses as LatentClasses
from posteriori.mixture.mixture_of import MixtureOf as MixtureOf
from posteriori.mixture.normal.bayesian_gaussian_mixture import (
    BayesianGaussianMixture as BayesianGaussianMixture,
    MixturePosterior as MixturePosterior,
)
from posteriori.mixture.normal.gaussian_mixture import GaussianMixture as GaussianMixture
