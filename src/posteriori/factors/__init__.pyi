from posteriori.factors.contraction import (
    Decoding as Decoding,
    contract as contract,
    decode as decode,
)
from posteriori.factors.factor import Factor as Factor, Normalized as Normalized
