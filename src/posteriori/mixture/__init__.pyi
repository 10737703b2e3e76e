from posteriori.inference.clusters.lloyd import PathStep as PathStep
from posteriori.mixture.cluster_diagnosis import (
    ClusterDiagnosis as ClusterDiagnosis,
    diagnose_clusters as diagnose_clusters,
)
from posteriori.mixture.color_palette import (
    QuantizedColors as QuantizedColors,
    quantize_colors as quantize_colors,
)
from posteriori.mixture.means_and_medians import KMeans as KMeans, KMedians as KMedians
from posteriori.mixture.medoid_clusters import KMedoids as KMedoids
