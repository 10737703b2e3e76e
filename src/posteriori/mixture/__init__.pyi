from posteriori.mixture.latent_classes import LatentClasses as LatentClasses
from posteriori.mixture.mixture_of import MixtureOf as MixtureOf
