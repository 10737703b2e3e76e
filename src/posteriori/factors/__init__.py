"""Discrete factors: non-negative tables over named, labelled axes, and their algebra."""

from posteriori.factors.contraction import Decoding, contract, decode
from posteriori.factors.factor import Factor, Normalized

__all__ = ["Decoding", "Factor", "Normalized", "contract", "decode"]
