r"""Exact inference in hidden Markov chains: forward–backward, Viterbi, draws of paths.

.. math:: p(z, y) = \pi_{z_1} \prod_{t=2}^{T} A_{z_{t-1} z_t} \prod_{t=1}^{T} \ell_t(z_t),

given as logarithms. Chains run on probabilities scaled to one at each step, with the largest
log-likelihood of the step taken out; where scaling would lose a state that later evidence may
need (a forbidden transition and more than 190 orders of magnitude), they run in log space. Nothing needs to be normalised: :math:`\pi` and :math:`A` may be any non-negative
weights, and the evidence is then the log of the sum over paths.

Reference: Rabiner (1989), A tutorial on hidden Markov models; Bishop (2006), section 13.2. The
backward pass is that of a smoother, :math:`\gamma_t(j) = \alpha_t(j) \sum_k A_{jk}
\gamma_{t+1}(k) / \sum_i \alpha_t(i) A_{ik}`, which needs no likelihoods.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from posteriori.inference.chains import hidden_markov_recursions as recursions
from posteriori.numerics.compilation import as_kernel_input, run
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed
from posteriori.numerics.validation import as_observation

__all__ = [
    "HiddenMarkovPosterior",
    "MostLikelyPath",
    "forward_backward",
    "impossible_steps",
    "most_likely_path",
    "run_series",
    "sample_path",
]

#: Log weights this far below the largest cannot be told from rounding after two transitions.
_DENSE = -230.0
#: Times the smallest weight of a transition, 1e-100, this is still a number.
_TINY = 1e-190


class HiddenMarkovPosterior(NamedTuple):
    """What is known of the states of a hidden Markov chain.

    Attributes
    ----------
    probabilities : array (..., T, K)
        P(z_t = k | y).
    pair_sums : array (..., K, K)
        Σ_t P(z_t = j, z_{t+1} = k | y), the expected number of transitions.
    pair_probabilities : array (..., T − 1, K, K) or None
        P(z_t = j, z_{t+1} = k | y); None where it was not asked for.
    log_evidence : array (...)
        ln p(y), exact.
    """

    probabilities: Array
    pair_sums: Array
    pair_probabilities: Array | None
    log_evidence: Array


class MostLikelyPath(NamedTuple):
    """The path (..., T) with the highest joint probability, and ln p(z, y) of it."""

    states: IntArray
    log_joint: Array


class _Inputs(NamedTuple):
    initial: Array  # (K,)
    transition: Array  # (1 or T − 1, K, K)
    likelihood: Array  # (B, T, K)
    batch_shape: tuple[int, ...]

    @property
    def work(self) -> int:
        """Multiplications of one pass: B T K²."""
        return self.likelihood.size * len(self.initial)


class _Scaled(NamedTuple):
    transition: Array  # A over its largest entry
    filtered: Array  # P(z_t | y_1, …, y_t)
    predictions: Array  # Σⱼ αⱼAⱼₖ
    log_evidence: Array


def forward_backward(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    *,
    pairs: bool = False,
) -> HiddenMarkovPosterior:
    """Return the probabilities of states and transitions given the data, and the evidence.

    Parameters
    ----------
    log_initial : array (K,)
        ln π; −inf for a state in which no path starts.
    log_transition : array (K, K) or (T − 1, K, K)
        ln A, from row to column; −inf for a forbidden transition.
    log_likelihood : array (..., T, K)
        ln p(y_t | z_t = k), a batch of series that share π and A; 0 where y_t is missing.
    pairs : bool
        Whether to return the probabilities of each transition, T K² numbers more.

    Returns
    -------
    HiddenMarkovPosterior

    Raises
    ------
    ValueError
        When the data are impossible under the model (the first such time step is named), or a
        shape does not fit.

    Notes
    -----
    O(T K²).

    Examples
    --------
    >>> post = forward_backward(
    ...     np.log([0.5, 0.5]), np.log([[0.7, 0.3], [0.3, 0.7]]), np.log([[0.9, 0.2], [0.9, 0.2]])
    ... )
    >>> post.probabilities.round(4)  # Russell and Norvig's umbrella on two days
    array([[0.8834, 0.1166],
           [0.8834, 0.1166]])
    """
    inputs = _checked(log_initial, log_transition, log_likelihood)
    n_series, n_steps, n_states = inputs.likelihood.shape
    sums = np.zeros((n_series, n_states, n_states))
    shape = (n_series, n_steps - 1 if pairs else 0, n_states, n_states)
    pair_probabilities = np.zeros(shape)
    answer = _scaled_pass(inputs, sums, pair_probabilities)
    if answer is None:
        answer = _filtered(inputs)
        arrays = inputs.transition, answer[0], sums, pair_probabilities
        run(recursions.log_backward, 16 * inputs.work, *arrays)
    batch = inputs.batch_shape
    return HiddenMarkovPosterior(
        _as_batch(answer[0], batch),
        _as_batch(sums, batch),
        _as_batch(pair_probabilities, batch) if pairs else None,
        _as_batch(answer[1], batch),
    )


def most_likely_path(
    log_initial: ArrayLike, log_transition: ArrayLike, log_likelihood: ArrayLike
) -> MostLikelyPath:
    """Return the most probable path of states (Viterbi); of equals, the lower state.

    Parameters and errors are those of :func:`forward_backward`. O(T K²).

    Examples
    --------
    >>> most_likely_path(
    ...     np.log([0.5, 0.5]),
    ...     np.log([[0.9, 0.1], [0.1, 0.9]]),
    ...     np.log([[0.9, 0.2], [0.1, 0.8], [0.1, 0.8]]),
    ... ).states
    array([1, 1, 1])
    """
    inputs = _checked(log_initial, log_transition, log_likelihood)
    n_series, n_steps = inputs.likelihood.shape[:2]
    states = np.empty((n_series, n_steps), dtype=np.int64)
    log_joint = np.zeros(n_series)
    scores = np.empty(inputs.likelihood.shape[1:])
    arrays = *inputs[:3], states, log_joint, scores
    failed = run(recursions.best_path, 2 * inputs.work, *arrays)
    _require_possible(failed, inputs)
    return MostLikelyPath(
        _as_batch(states, inputs.batch_shape), _as_batch(log_joint, inputs.batch_shape)
    )


def sample_path(
    log_initial: ArrayLike,
    log_transition: ArrayLike,
    log_likelihood: ArrayLike,
    size: int = 1,
    *,
    rng: Seed = None,
) -> IntArray:
    """Draw whole paths from P(z_1, …, z_T | y): filter forwards, sample backwards.

    Parameters and errors are those of :func:`forward_backward`.

    Returns
    -------
    array (size, ..., T) of integers

    Examples
    --------
    >>> sample_path(
    ...     np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]), np.zeros((4, 2)), 3, rng=0
    ... ).shape
    (3, 4)
    """
    inputs = _checked(log_initial, log_transition, log_likelihood)
    n_series, n_steps = inputs.likelihood.shape[:2]
    uniforms = as_generator(rng).random((size, n_series, n_steps))
    scaled = _scaled_filter(inputs)
    with np.errstate(divide="ignore"):
        filtered = _filtered(inputs)[0] if scaled is None else np.log(scaled.filtered)
    states = np.empty((size, n_series, n_steps), dtype=np.int64)
    work = 8 * states.size * filtered.shape[2]
    run(recursions.draw_paths, work, inputs.transition, filtered, uniforms, states)
    return states.reshape(size, *inputs.batch_shape, n_steps)


def impossible_steps(
    log_initial: ArrayLike, log_transition: ArrayLike, log_likelihood: ArrayLike
) -> IntArray:
    """Return the first step of each series at which no state is possible, −1 where there is none.

    Parameters are those of :func:`forward_backward`. O(T K²).

    Examples
    --------
    >>> with np.errstate(divide="ignore"):  # nobody leaves a state, but the data move
    ...     impossible_steps([0.0, 0.0], np.log(np.eye(2)), np.log([[1, 0], [1, 1], [0, 1]]))
    array(2)
    """
    inputs = _checked(log_initial, log_transition, log_likelihood)
    failed = _first_impossible(inputs)
    return np.asarray(_as_batch(failed, inputs.batch_shape))


def run_series(
    method: Callable[[Array, Array, Array], Iterable[Any]], transition: Array, likelihood: Array
) -> list[Array]:
    """Run a method on all series, at once where they share their transitions.

    Parameters
    ----------
    method : callable
        From ln π (K,), ln A and ln likelihoods (..., T, K) to arrays (..., *shape).
    transition : array (*series, T − 1 or 1, K, K)
        Of length 1 along series that share it.
    likelihood : array (*series, T, K)
        The weights of the first states included.

    Returns
    -------
    list of arrays (*series, *shape)
    """
    initial, wide = np.zeros(likelihood.shape[-1]), transition.shape[:-3]
    found: list[Array] = []
    for index in np.ndindex(*wide):
        where = tuple(i if n > 1 else slice(None) for i, n in zip(index, wide, strict=True))
        part = likelihood[where]
        answers = [np.asarray(a) for a in method(initial, transition[index], part)]
        if math.prod(wide) == 1:
            return answers
        if not found:
            lead, depth = likelihood.shape[:-2], part.ndim - 2
            found = [np.empty(lead + a.shape[depth:], a.dtype) for a in answers]
        for out, answer in zip(found, answers, strict=True):
            out[where] = answer
    return found


def _first_impossible(inputs: _Inputs) -> IntArray:
    moves, here = inputs.transition > -np.inf, inputs.likelihood > -np.inf
    reached = here[:, 0] & (inputs.initial > -np.inf)
    failed = np.where(reached.any(axis=1), -1, 0)
    for t in range(1, here.shape[1]):
        reached = (reached @ moves[t - 1 if len(moves) > 1 else 0]) & here[:, t]
        failed[(failed < 0) & ~reached.any(axis=1)] = t
    return failed


def _filtered(inputs: _Inputs) -> tuple[Array, Array]:
    """Return ln P(z_t | y_1, …, y_t) and the log evidence, in log space."""
    filtered = np.empty(inputs.likelihood.shape)
    log_evidence = np.zeros(len(filtered))
    arrays = *inputs[:3], filtered, log_evidence
    _require_possible(run(recursions.log_forward, 8 * inputs.work, *arrays), inputs)
    return filtered, log_evidence


def _scaled_pass(
    inputs: _Inputs, sums: Array, pair_probabilities: Array
) -> tuple[Array, Array] | None:
    """Forward–backward on scaled probabilities, or None where log space is needed."""
    scaled = _scaled_filter(inputs)
    if scaled is None:
        return None
    series = scaled.filtered, as_kernel_input(scaled.predictions), sums, pair_probabilities
    run(recursions.scaled_backward, 4 * inputs.work, scaled.transition, series=series)
    return scaled.filtered, scaled.log_evidence


def _scaled_filter(inputs: _Inputs) -> _Scaled | None:
    """Filter on scaled probabilities, or None where log space is needed."""
    tops = inputs.transition.max(axis=(1, 2), keepdims=True)
    if np.any(np.isneginf(tops)):
        return None
    relative = inputs.transition - tops
    if np.any((relative < _DENSE) & (relative > -np.inf)):
        return None
    transition, moves = as_kernel_input(np.exp(relative)), as_kernel_input(tops[:, 0, 0])
    filtered, log_evidence, likeliest = _weights(inputs)
    predictions = np.empty_like(filtered)
    predictions[:, 0] = inputs.initial > -np.inf
    series = as_kernel_input(likeliest), filtered, predictions, log_evidence
    failed = run(recursions.scaled_forward, 2 * inputs.work, transition, moves, series=series)
    if failed >= 0:
        return None
    if np.any(np.isneginf(relative)):  # no transition brings back a state that was lost
        lost = filtered < _TINY
        lost &= predictions > 0.0
        if np.any(lost) and np.any(inputs.likelihood[lost] > -np.inf):
            return None
    return _Scaled(transition, filtered, predictions, log_evidence)


def _weights(inputs: _Inputs) -> tuple[Array, Array, Array]:
    """Return P(z_1 | y_1) followed by exp(ln ℓ_t − max), ln p(y_1), and the maxima."""
    weights, tops = np.empty(inputs.likelihood.shape), np.empty(inputs.likelihood.shape[:2])
    run(recursions.take_out_maxima, 2 * weights.size, inputs.likelihood, weights, tops)
    first = weights[:, 0] + inputs.initial
    largest = first.max(axis=1)
    _require_possible(-1 if largest.min() > -np.inf else 0, inputs)
    np.exp(weights, out=weights)
    first = np.exp(first - largest[:, None])
    total = first.sum(axis=1)
    weights[:, 0] = first / total[:, None]
    return weights, np.log(total) + (largest + tops[:, 0]), tops


def _require_possible(failed: int, inputs: _Inputs) -> None:
    if failed < 0:
        return
    steps = _first_impossible(inputs)
    first = int(np.argmax(steps >= 0))
    step = int(steps[first]) if steps[first] >= 0 else failed  # weights beyond all numbers
    place = tuple(int(i) for i in np.unravel_index(first, inputs.batch_shape))
    series = f" of series {place[0] if len(place) == 1 else place}" if place else ""
    raise ValueError(
        f"the data have probability 0: no state is possible at time step {step}{series} "
        "given the steps before it; check the -inf entries of log_initial, log_transition and "
        "log_likelihood there"
    )


def _checked(
    log_initial: ArrayLike, log_transition: ArrayLike, log_likelihood: ArrayLike
) -> _Inputs:
    likelihood = _log_weights("log_likelihood", log_likelihood)
    if likelihood.ndim < 2 or 0 in likelihood.shape:
        raise ValueError(
            "log_likelihood must have shape (..., T, K) with at least one series, time step and "
            f"state, got {likelihood.shape}; without a step there is no state to learn about, and "
            "ln p(y) is 0"
        )
    n_steps, n_states = likelihood.shape[-2:]
    initial = _log_weights("log_initial", log_initial)
    if initial.shape != (n_states,):
        raise ValueError(
            f"log_initial must have shape ({n_states},) as log_likelihood has {n_states} columns, "
            f"got {initial.shape}"
        )
    transition = _log_weights("log_transition", log_transition)
    square = transition.shape[-2:] == (n_states, n_states)
    if not square or transition.shape[:-2] not in ((), (n_steps - 1,), (1,)):
        raise ValueError(
            f"log_transition must have shape ({n_states}, {n_states}) or "
            f"({n_steps - 1}, {n_states}, {n_states}), got {transition.shape}"
        )
    transition = transition.reshape(-1, n_states, n_states)
    if not len(transition):
        transition = np.zeros((1, n_states, n_states))
    return _Inputs(
        as_kernel_input(initial),
        as_kernel_input(transition),
        as_kernel_input(likelihood.reshape(-1, n_steps, n_states)),
        likelihood.shape[:-2],
    )


def _log_weights(name: str, value: ArrayLike) -> Array:
    a = np.asarray(as_observation(value, name))
    if a.size and not a.max() < np.inf:  # also catches NaN
        raise ValueError(f"{name} must hold numbers below infinity or -inf, got NaN or inf")
    return a


def _as_batch(a: Array, batch: tuple[int, ...]) -> Array:
    return a.reshape(*batch, *a.shape[1:]) if batch else a[0]
