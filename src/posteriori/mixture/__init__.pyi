from posteriori.mixture.partition_posterior import (
    EnumeratedPartitions as EnumeratedPartitions,
    PartitionPosterior as PartitionPosterior,
    SampledPartitions as SampledPartitions,
)
