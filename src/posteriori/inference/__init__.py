"""Engines: exact inference in chains, as pure functions over records."""

from posteriori.inference.chain_forecast import (
    ChainForecast,
    ChainSample,
    predict_chain,
    simulate_chain,
)
from posteriori.inference.hidden_markov import (
    HiddenMarkovPosterior,
    MostLikelyPath,
    forward_backward,
    most_likely_path,
    sample_path,
)
from posteriori.inference.linear_gaussian_chain import (
    ChainPosterior,
    FilteredChain,
    LinearGaussianChain,
    filter_chain,
    sample_chain_posterior,
    smooth_chain,
)
from posteriori.inference.static_effects import (
    StaticPosterior,
    add_static_effects,
    split_static_effects,
)

__all__ = [
    "ChainForecast",
    "ChainPosterior",
    "ChainSample",
    "FilteredChain",
    "HiddenMarkovPosterior",
    "LinearGaussianChain",
    "MostLikelyPath",
    "StaticPosterior",
    "add_static_effects",
    "filter_chain",
    "forward_backward",
    "most_likely_path",
    "predict_chain",
    "sample_chain_posterior",
    "sample_path",
    "simulate_chain",
    "smooth_chain",
    "split_static_effects",
]
