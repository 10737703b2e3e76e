from posteriori.information.channels import (
    ChannelCapacity as ChannelCapacity,
    channel_capacity as channel_capacity,
)
from posteriori.information.entropic_inference import (
    maximum_entropy as maximum_entropy,
    maximum_relative_entropy as maximum_relative_entropy,
)
from posteriori.information.entropies import (
    conditional_entropy as conditional_entropy,
    cross_entropy as cross_entropy,
    entropy as entropy,
    kl_divergence as kl_divergence,
    mutual_information as mutual_information,
    self_information as self_information,
)
from posteriori.information.gibbs_models import (
    Interval as Interval,
    MaximumEntropy as MaximumEntropy,
)
from posteriori.information.source_coding import (
    CodingBound as CodingBound,
    HuffmanCode as HuffmanCode,
    coding_bound as coding_bound,
    huffman_code as huffman_code,
)
