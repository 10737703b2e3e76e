"""Engines as pure functions: exact inference in chains and normal models, node messages.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "chain_forecast": (
        "ChainForecast",
        "ChainSample",
        "predict_chain",
        "simulate_chain",
    ),
    "fixed_form": (
        "FixedForm",
        "fit_normal_belief",
    ),
    "gaussian_elimination": (
        "GaussianPosterior",
        "solve_gaussian",
    ),
    "gaussian_equations": (
        "Equation",
        "Latent",
        "Link",
    ),
    "hidden_markov": (
        "HiddenMarkovPosterior",
        "MostLikelyPath",
        "forward_backward",
        "impossible_steps",
        "most_likely_path",
        "sample_path",
    ),
    "linear_gaussian_chain": (
        "ChainPosterior",
        "FilteredChain",
        "LinearGaussianChain",
        "filter_chain",
        "sample_chain_posterior",
        "smooth_chain",
    ),
    "node_messages": (
        "Message",
        "message",
        "node_kinds",
        "scaled_message",
    ),
    "static_effects": (
        "StaticPosterior",
        "add_static_effects",
        "split_static_effects",
    ),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.inference.chain_forecast import ChainForecast as ChainForecast
    from posteriori.inference.chain_forecast import ChainSample as ChainSample
    from posteriori.inference.chain_forecast import predict_chain as predict_chain
    from posteriori.inference.chain_forecast import simulate_chain as simulate_chain
    from posteriori.inference.fixed_form import FixedForm as FixedForm
    from posteriori.inference.fixed_form import fit_normal_belief as fit_normal_belief
    from posteriori.inference.gaussian_elimination import GaussianPosterior as GaussianPosterior
    from posteriori.inference.gaussian_elimination import solve_gaussian as solve_gaussian
    from posteriori.inference.gaussian_equations import Equation as Equation
    from posteriori.inference.gaussian_equations import Latent as Latent
    from posteriori.inference.gaussian_equations import Link as Link
    from posteriori.inference.hidden_markov import HiddenMarkovPosterior as HiddenMarkovPosterior
    from posteriori.inference.hidden_markov import MostLikelyPath as MostLikelyPath
    from posteriori.inference.hidden_markov import forward_backward as forward_backward
    from posteriori.inference.hidden_markov import impossible_steps as impossible_steps
    from posteriori.inference.hidden_markov import most_likely_path as most_likely_path
    from posteriori.inference.hidden_markov import sample_path as sample_path
    from posteriori.inference.linear_gaussian_chain import ChainPosterior as ChainPosterior
    from posteriori.inference.linear_gaussian_chain import FilteredChain as FilteredChain
    from posteriori.inference.linear_gaussian_chain import (
        LinearGaussianChain as LinearGaussianChain,
    )
    from posteriori.inference.linear_gaussian_chain import filter_chain as filter_chain
    from posteriori.inference.linear_gaussian_chain import (
        sample_chain_posterior as sample_chain_posterior,
    )
    from posteriori.inference.linear_gaussian_chain import smooth_chain as smooth_chain
    from posteriori.inference.node_messages import Message as Message
    from posteriori.inference.node_messages import message as message
    from posteriori.inference.node_messages import node_kinds as node_kinds
    from posteriori.inference.node_messages import scaled_message as scaled_message
    from posteriori.inference.static_effects import StaticPosterior as StaticPosterior
    from posteriori.inference.static_effects import add_static_effects as add_static_effects
    from posteriori.inference.static_effects import split_static_effects as split_static_effects
