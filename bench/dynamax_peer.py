"""dynamax as a peer of hidden Markov chains: float64, compiled beforehand, waiting for the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

jax.config.update("jax_enable_x64", True)

from dynamax.hidden_markov_model import DiagonalGaussianHMM, GaussianHMM  # noqa: E402  after float64
from dynamax.hidden_markov_model.inference import hmm_posterior_mode, hmm_smoother  # noqa: E402

__all__ = ["baum_welch", "most_probable_path", "smoother"]

_smooth = jax.jit(hmm_smoother)
_best = jax.jit(hmm_posterior_mode)


def smoother(initial: np.ndarray, transition: np.ndarray, likelihood: np.ndarray) -> Any:
    """Return probabilities of states, sums of pairs and ln p(x)."""
    return jax.block_until_ready(_smooth(initial, transition, likelihood))


def most_probable_path(initial: np.ndarray, transition: np.ndarray, likelihood: np.ndarray) -> Any:
    """Return Viterbi's path."""
    return jax.block_until_ready(_best(initial, transition, likelihood))


def baum_welch(
    kind: str, X: np.ndarray, start: dict[str, np.ndarray], steps: int
) -> Callable[[], Any]:
    """Return a function that takes so many steps from a start, with priors that do not matter.

    ``fit_em`` compiles anew in each call, so its step is compiled here once.
    """
    k, d = start["means_"].shape
    least = 1.0 + 1e-9  # at 1 the mode of a Dirichlet with a count of 0 is NaN there
    flat = {"initial_probs_concentration": least, "transition_matrix_concentration": least}
    laws = {"initial_probs": start["startprob_"], "transition_matrix": start["transmat_"]}
    if kind == "full":
        model = GaussianHMM(k, d, **flat, emission_prior_scale=1e-9)
        laws |= {"emission_means": start["means_"], "emission_covariances": start["covars_"]}
    else:
        model = DiagonalGaussianHMM(k, d, **flat, emission_prior_scale=1e-9)
        roots = np.sqrt(start["covars_"])
        laws |= {"emission_means": start["means_"], "emission_scale_diags": roots}
    params, props = model.initialize(jax.random.PRNGKey(0), **laws)
    emission = model.emission_component  # modes of posteriors are the most likely under these
    if kind == "full":
        emission.emission_prior_df, emission.emission_prior_conc = -(d + 2.0), 1e-12
    else:
        emission.emission_prior_conc = jax.numpy.full(d, -1.5)
        emission.emission_prior_mean_conc = 1e-12
    batch = jax.numpy.asarray(X)[None]

    def step(carry: Any, _: Any) -> tuple[Any, Any]:
        now, state = carry
        statistics, logs = jax.vmap(lambda x: model.e_step(now, x))(batch)
        return model.m_step(now, props, statistics, state), logs.sum()

    @jax.jit
    def run(begun: Any) -> Any:
        state = model.initialize_m_step_state(begun, props)
        return jax.lax.scan(step, (begun, state), xs=None, length=steps)[0][0]

    return lambda: jax.block_until_ready(run(params))
