r"""The algebra behind messages through linear nodes, in moment and in natural form.

A Gaussian message is :math:`N(m, V)` with V possibly singular, or
:math:`\exp(\xi^\top x - \tfrac12 x^\top W x)` with W possibly singular. Each function picks the
identity that needs no inverse of what may be singular, and returns the message with the logarithm
of its scale.

Reference: H.-A. Loeliger et al., "The factor graph approach to model-based signal processing",
Proc. IEEE 95(6), 2007, tables 2–4.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.rank import (
    exceeds_rounding,
    is_definite,
    is_invertible,
    is_semidefinite,
    numerical_rank,
    solve_semidefinite,
    without_rounding,
)
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Message",
    "add_gaussians",
    "as_number",
    "as_vector",
    "multiply_gaussians",
    "pull_back",
    "push_forward",
    "reflect",
]


class Message(NamedTuple):
    """The function ``exp(log_scale) · distribution(x)`` on an edge.

    Attributes
    ----------
    distribution : Distribution or Factor
        Normalised where it can be; an improper message stands for exp⟨η, T(x)⟩.
    log_scale : array
        +inf where the sum over the other edges diverges and only the shape is left.
    """

    distribution: Any
    log_scale: Any


def as_vector(message: Normal | MvNormal) -> MvNormal:
    """Return a message on numbers as one on vectors of length 1, in the same form."""
    if isinstance(message, MvNormal):
        return message
    if _has_moments(message):
        variance = message.variance[..., None, None]
        return MvNormal._from(mean=message.mean[..., None], cov=np.asarray(variance))
    xi, w = message.natural
    return MvNormal._from_natural(np.asarray(xi)[..., None], np.asarray(w)[..., None, None])


def as_number(message: MvNormal) -> Normal:
    """Return a message on vectors of length 1 as one on numbers, in the same form."""
    if message.event_shape != (1,):
        raise ValueError(f"the message is on vectors of length {message.event_shape[0]}, not 1")
    if _has_moments(message):
        return Normal._from(mean=message.mean[..., 0], variance=message.cov[..., 0, 0])
    return Normal._from_natural(message.weighted_mean[..., 0], message.precision[..., 0, 0])


def reflect(message: MvNormal) -> MvNormal:
    """Return the message about −x."""
    if _has_moments(message):
        return MvNormal._from(mean=-message.mean, cov=message.cov)
    return MvNormal._from_natural(-message.weighted_mean, message.precision)


def multiply_gaussians(x: MvNormal, y: MvNormal) -> Message:
    """Return the pointwise product: precisions and weighted means add.

    A singular covariance has no precision; there the product is taken in moment form,
    V = V_x (V_x + V_y)⁻¹ V_y.
    """
    _require_same_length(x, y)
    flat = [_is_singular(message) for message in (x, y)]
    if not any(flat):
        return Message(*x.product(y))
    if all(flat):
        return _multiply_singular(x, y)
    return _weigh(x, y) if flat[0] else _weigh(y, x)


def add_gaussians(x: MvNormal, y: MvNormal) -> Message:
    """Return the message about z = x + y, the convolution of both.

    Raises
    ------
    ValueError
        When the convolution diverges although both messages grow nowhere: never for W ≥ 0.
    """
    _require_same_length(x, y)
    moments = [_has_moments(message) for message in (x, y)]
    if all(moments):
        made = MvNormal._from(mean=x.mean + y.mean, cov=x.cov + y.cov)
        return Message(made, np.zeros(made.batch_shape)[()])
    if any(moments):
        return _blur(x, y) if moments[0] else _blur(y, x)
    return _add_natural(x, y)


def push_forward(x: MvNormal, matrix: Array) -> Message:
    """Return the message about y = A x.

    Moments map for any A. A message that has none needs A of full row rank: what A forgets is
    integrated out, and the scale carries 1/|det A|.
    """
    if _has_moments(x) or (x._all_proper and not is_invertible(matrix)):
        made = x.affine(matrix)
        return Message(made, np.zeros(made.batch_shape)[()])
    return _push_natural(x, matrix)


def pull_back(y: MvNormal, matrix: Array) -> Message:
    """Return the message about x where y = A x: ξ_x = Aᵀ ξ_y, W_x = Aᵀ W_y A, for any A."""
    if _has_moments(y) and is_invertible(matrix):
        mean = np.linalg.solve(matrix, y.mean[..., None])[..., 0]
        half = np.linalg.solve(matrix, y.cov)
        cov = np.linalg.solve(matrix, np.swapaxes(half, -1, -2))
        made = MvNormal._from(mean=mean, cov=symmetrize(cov))
        scale = -np.linalg.slogdet(matrix)[1]
        return Message(made, np.broadcast_to(scale, made.batch_shape)[()])
    xi, w = y.natural
    made = MvNormal._from_natural(_times(matrix.T, xi), _turned(w, w, matrix))
    point = made.mean if made._all_proper else np.zeros(matrix.shape[1])
    return Message(made, y.log_prob(_times(matrix, point)) - made.log_prob(point))


# -- one step each ---------------------------------------------------------------------------


def _add_natural(x: MvNormal, y: MvNormal) -> Message:
    # W_z = W_x H W_y,  ξ_z = W_y H ξ_x + W_x H ξ_y,  H = (W_x + W_y)⁻¹
    (xi_x, w_x), (xi_y, w_y) = x.natural, y.natural
    total = w_x + w_y
    if not np.all(is_semidefinite(total)):
        raise ValueError("the convolution diverges: the sum of the precisions has a negative part")
    by_x, by_y = solve_semidefinite(total, w_x), solve_semidefinite(total, w_y)
    sizes = np.einsum("...ij,...ji->...i", np.abs(w_x), np.abs(by_y))
    made = MvNormal._from_natural(
        _times(np.swapaxes(by_y, -1, -2), xi_x) + _times(np.swapaxes(by_x, -1, -2), xi_y),
        without_rounding(symmetrize(w_x @ by_y), sizes),
    )
    overlap = x * reflect(y)  # μ_z(0) = ∫ μ_x(x) μ_y(−x) dx
    if not overlap._all_proper:
        return Message(made, np.full(made.batch_shape, np.inf)[()])
    origin = np.zeros(made.event_shape)
    return Message(made, x.product(reflect(y)).log_scale - made.log_prob(origin))


def _blur(x: MvNormal, y: MvNormal) -> Message:
    # W_z = (I + W_y V_x)⁻¹ W_y,  ξ_z = (I + W_y V_x)⁻¹ (ξ_y + W_y m_x);  V_x may be singular
    xi, w = y.natural
    mixing = np.eye(w.shape[-1]) + w @ x.cov
    shifted = xi + _times(w, x.mean)
    made = MvNormal._from_natural(
        np.linalg.solve(mixing, shifted[..., None])[..., 0], symmetrize(np.linalg.solve(mixing, w))
    )
    scale = _log_average(reflect(x), y) - made.log_prob(np.zeros(made.event_shape))
    return Message(made, scale)


def _weigh(x: MvNormal, y: MvNormal) -> Message:
    # V = (I + V_x W_y)⁻¹ V_x,  m = (I + V_x W_y)⁻¹ (m_x + V_x ξ_y);  V_x may be singular
    xi, w = y.natural
    mixing = np.eye(w.shape[-1]) + x.cov @ w
    pulled = x.mean + _times(x.cov, xi)
    made = MvNormal._from(
        mean=np.linalg.solve(mixing, pulled[..., None])[..., 0],
        cov=symmetrize(np.linalg.solve(mixing, x.cov)),
    )
    return Message(made, _log_average(x, y))


def _multiply_singular(x: MvNormal, y: MvNormal) -> Message:
    # V = V_x S⁻¹ V_y,  m = V_y S⁻¹ m_x + V_x S⁻¹ m_y,  S = V_x + V_y;  scale N(m_x | m_y, S)
    total = x.cov + y.cov
    surprise = MvNormal._from(mean=np.asarray(y.mean), cov=np.asarray(total))
    if _is_singular(surprise):
        raise ValueError(
            "both messages are certain about the same direction: their product is a point mass "
            "or 0 there, which has no Gaussian form; drop the duplicate constraint"
        )
    keep = np.swapaxes(np.linalg.solve(total, y.cov), -1, -2)
    gain = np.swapaxes(np.linalg.solve(total, x.cov), -1, -2)
    made = MvNormal._from(
        mean=_times(keep, x.mean) + _times(gain, y.mean), cov=symmetrize(gain @ y.cov)
    )
    return Message(made, surprise.log_prob(x.mean))


def _log_average(x: MvNormal, y: MvNormal) -> Array:
    """Return ln ∫ N(x | m, V) exp(ξᵀx − ½xᵀWx − A) dx, with A = 0 for an improper y."""
    # ξᵀm − ½mᵀWm + ½gᵀ(I + VW)⁻¹Vg − ½ ln|I + VW|,  g = ξ − Wm
    xi, w = y.natural
    m, v = x.mean, x.cov
    _require_integrable(x, w)
    mixing = np.eye(w.shape[-1]) + v @ w
    log_det = np.linalg.slogdet(mixing)[1]
    g = xi - _times(w, m)
    lift = np.linalg.solve(mixing, _times(v, g)[..., None])[..., 0]
    return (
        _inner(xi, m)
        - 0.5 * _inner(m, _times(w, m))
        + 0.5 * (_inner(g, lift) - log_det)
        - y.log_normalizer()
    )


def _push_natural(x: MvNormal, matrix: Array) -> Message:
    # x = A⁺y + N u with N a basis of the kernel of A; u is integrated out by a Schur complement
    rows, columns = matrix.shape
    rank = numerical_rank(matrix)
    if rank < rows:
        raise ValueError(
            f"an improper message passes forward through a matrix of full row rank only, got "
            f"shape {matrix.shape} of rank {rank}"
        )
    left, singular, right = np.linalg.svd(matrix)
    inverse = right[:rows].T @ (left.T / singular[:, None])
    kernel = right[rows:].T
    xi, given = x.natural
    w = given
    scale = -np.sum(np.log(singular)) - x.log_normalizer()
    if columns > rows:
        inside = kernel.T @ w @ kernel
        if not np.all(is_definite(inside, _sizes(w, kernel))):
            raise ValueError("the message is flat along what the matrix forgets: y stays unknown")
        cross = w @ kernel
        pull = _times(kernel.T, xi)
        shift = np.linalg.solve(inside, pull[..., None])[..., 0]
        scale = scale + 0.5 * (
            _inner(pull, shift) - np.linalg.slogdet(inside)[1] + kernel.shape[1] * LOG_2PI
        )
        xi = xi - _times(cross, shift)
        w = w - cross @ np.linalg.solve(inside, np.swapaxes(cross, -1, -2))
    made = MvNormal._from_natural(_times(inverse.T, xi), _turned(w, given, inverse))
    return Message(made, scale + made.log_normalizer())


# -- helpers ---------------------------------------------------------------------------------


def _has_moments(message: Normal | MvNormal) -> bool:
    """Tell whether the moment form is at hand: it was given, or was computed before."""
    spreads = ("cov",) if isinstance(message, MvNormal) else ("variance", "scale")
    return any(name in message.__dict__ for name in spreads)


def _is_singular(message: MvNormal) -> bool:
    """Tell whether a covariance was given that has no inverse."""
    if "cov" not in message.__dict__ or "precision" in message.__dict__:
        return False
    return not np.all(is_definite(message.cov))


def _require_integrable(x: MvNormal, precision: Array) -> None:
    """Refuse a precision that grows faster than x falls, seen where the covariance of x is I."""
    root = x._coloring
    values = np.linalg.eigvalsh(symmetrize(np.swapaxes(root, -1, -2) @ precision @ root))
    lowest = values[..., 0]
    falls = exceeds_rounding(1.0 + lowest, 1.0 + np.abs(lowest))
    if np.any(~falls & exceeds_rounding(-lowest, values[..., -1])):
        raise ValueError(
            "the messages do not add up to something integrable: the improper one grows faster "
            "than the other falls"
        )


def _turned(w: Array, terms: Array, matrix: Array) -> Array:
    """Return AᵀWA; W was computed from ``terms``, whose rounding errors are 0."""
    return without_rounding(symmetrize(matrix.T @ w @ matrix), _sizes(terms, matrix))


def _sizes(w: Array, matrix: Array) -> Array:
    """Return the sizes of the terms that are added up on the diagonal of AᵀWA."""
    across = np.abs(matrix)
    return np.einsum("...ij,ik,jk->...k", np.abs(w), across, across)


def _require_same_length(x: MvNormal, y: MvNormal) -> None:
    if x.event_shape != y.event_shape:
        raise ValueError(
            f"messages must be on vectors of one length, got {x.event_shape[0]} "
            f"and {y.event_shape[0]}"
        )


def _times(matrix: Array, vector: Array) -> Array:
    return np.matmul(matrix, np.asarray(vector)[..., None])[..., 0]


def _inner(a: Array, b: Array) -> Array:
    return np.einsum("...i,...i->...", a, b)
