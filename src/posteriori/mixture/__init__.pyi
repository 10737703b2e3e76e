from posteriori.estimators.component_choice import (
    ComponentChoice as ComponentChoice,
    choose_components as choose_components,
)
from posteriori.inference.clusters.lloyd import PathStep as PathStep
from posteriori.mixture.cluster_diagnosis import (
    ClusterDiagnosis as ClusterDiagnosis,
    diagnose_clusters as diagnose_clusters,
)
from posteriori.mixture.color_palette import (
    QuantizedColors as QuantizedColors,
    quantize_colors as quantize_colors,
)
from posteriori.mixture.experts.mixture_of_experts import MixtureOfExperts as MixtureOfExperts
from posteriori.mixture.family_mixture import FamilyMixture as FamilyMixture
from posteriori.mixture.joining import JoinPath as JoinPath, join_components as join_components
from posteriori.mixture.latent_classes import LatentClasses as LatentClasses
from posteriori.mixture.means_and_medians import KMeans as KMeans, KMedians as KMedians
from posteriori.mixture.medoid_clusters import KMedoids as KMedoids
from posteriori.mixture.normal.bayesian_gaussian_mixture import (
    BayesianGaussianMixture as BayesianGaussianMixture,
    MixturePosterior as MixturePosterior,
)
from posteriori.mixture.normal.gaussian_mixture import GaussianMixture as GaussianMixture
from posteriori.mixture.partition_posterior import (
    EnumeratedPartitions as EnumeratedPartitions,
    PartitionPosterior as PartitionPosterior,
    SampledPartitions as SampledPartitions,
)
