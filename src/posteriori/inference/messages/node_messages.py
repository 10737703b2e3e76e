r"""Messages of the nodes of a factor graph, by table lookup.

The sum–product rule :math:`\mu_Y(y) = \int f(y, x_1, \dots, x_n)\,\prod_i \mu_{X_i}(x_i)\,dx`
has a closed form at each node below. A rule is found under the kind of the node and the edge on
which the message leaves; messages that come in are named by their edges.

=============  ==================  ============================================================
kind           factor              edges and parameters
=============  ==================  ============================================================
"equality"     δ(x−y) δ(x−z)       any names; all incoming messages are multiplied
"addition"     δ(z − x − y)        x, y, z
"gain"         δ(y − A x)          x, y; ``matrix``: a number, vector or matrix A
"dot"          δ(z − xᵀy)          x, y, z; one of x and y is known: an array or a PointMass
"gaussian"     N(out | mean, v)    out, mean; ``variance`` (or ``cov`` of a vector)
"clamp"        δ(out − c)          out; ``value``
"tabular"      a Factor            the names of its axes; ``factor``
=============  ==================  ============================================================

An edge that is left out, or given as None, is a half-edge: its message is 1.

Reference: H.-A. Loeliger et al., "The factor graph approach to model-based signal processing",
Proc. IEEE 95(6), 2007, tables 1–4.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.factors import Factor, contract
from posteriori.inference.messages.gaussian_messages import (
    Message,
    add_gaussians,
    as_number,
    multiply_gaussians,
    pull_back,
    push_forward,
    reflect,
)
from posteriori.inference.messages.node_arguments import (
    as_gaussian,
    as_known,
    as_matrix,
    as_message,
    as_point,
    noise_of,
    require_length,
    split_known,
)
from posteriori.numerics.rank import is_invertible
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = ["Message", "message", "node_kinds", "scaled_message"]

Rule = Callable[..., Message]

#: (kind, edge) → rule; "*" stands for every edge.
_RULES: dict[tuple[str, str], Rule] = {}


def message(kind: str, edge: str, /, **incoming: Any) -> Any:
    """Return the message that a node sends on one of its edges.

    Parameters
    ----------
    kind : str
        Kind of the node, one of :func:`node_kinds`.
    edge : str
        Name of the edge on which the message leaves.
    **incoming
        Messages on the other edges, by their names, and parameters of the node: see the table
        at the top of this module. A number or an array on an edge is known: a point mass.

    Returns
    -------
    Normal, MvNormal, PointMass, Factor or another exponential family
        In moment form where the incoming messages are, in natural form otherwise; possibly
        improper. None where nothing is known: the message 1.

    Examples
    --------
    >>> from posteriori import Normal
    >>> message("addition", "z", x=Normal(1, variance=1), y=Normal(2, variance=1))
    Normal(3, variance=2)
    >>> message("addition", "x", y=Normal(2, variance=1), z=Normal(3, variance=1))
    Normal(1, variance=2)
    >>> message("gain", "x", y=Normal(2, variance=1), matrix=4.0).natural
    (np.float64(8.0), np.float64(16.0))
    """
    return scaled_message(kind, edge, **incoming).distribution


def scaled_message(kind: str, edge: str, /, **incoming: Any) -> Message:
    r"""Return the message with its scale: :math:`\mu(x) = e^{s}\,d(x)` for every x.

    Products of both messages on an edge of a tree integrate to the evidence if the scales are
    kept.

    Examples
    --------
    >>> from posteriori import Normal
    >>> made = scaled_message("equality", "z", x=Normal(0, variance=1), y=Normal(3, variance=4))
    >>> made.distribution, round(float(np.exp(made.log_scale)), 8)
    (Normal(0.6, variance=0.8), 0.07253707)
    """
    rule = _RULES.get((kind, edge)) or _RULES.get((kind, "*"))
    if rule is None:
        raise _unknown_rule(kind, edge)
    if edge in incoming:
        raise ValueError(
            f"the message on {edge!r} is what is asked for: give messages on the other edges only"
        )
    known = {name: value for name, value in incoming.items() if value is not None}
    try:
        return rule(edge, **known) if (kind, "*") in _RULES else rule(**known)
    except TypeError as error:
        if "keyword argument" not in str(error):
            raise
        raise TypeError(f"the {kind} node, message on {edge!r}: {error}") from None


def node_kinds() -> dict[str, tuple[str, ...]]:
    """Return the kinds of nodes and the edges on which each can send; "*" is every edge."""
    kinds: dict[str, tuple[str, ...]] = {}
    for kind, edge in _RULES:
        kinds[kind] = (*kinds.get(kind, ()), edge)
    return kinds


def _rule(kind: str, *edges: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        for edge in edges:
            _RULES[kind, edge] = rule
        return rule

    return register


def _unknown_rule(kind: str, edge: str) -> ValueError:
    kinds = node_kinds()
    if kind not in kinds:
        return ValueError(f"kind must be one of {', '.join(kinds)}; got {kind!r}")
    return ValueError(f"the {kind} node sends on {', '.join(kinds[kind])}; got {edge!r}")


# -- rules -----------------------------------------------------------------------------------


@_rule("equality", "*")
def _equality(edge: str, /, **incoming: Any) -> Message:
    """μ_Z(x) = μ_X(x) μ_Y(x)."""
    if not incoming:
        return _flat()
    messages = [as_message(name, value) for name, value in incoming.items()]
    first = Message(messages[0], 0.0)
    return reduce(_times, messages[1:], first)


@_rule("addition", "z")
def _addition_forward(x: Any = None, y: Any = None) -> Message:
    """μ_Z(z) = ∫ μ_X(x) μ_Y(z − x) dx."""
    return _flat() if x is None or y is None else _sum("x", x, "y", y, sign=1.0)


@_rule("addition", "x")
def _addition_backward_x(z: Any = None, y: Any = None) -> Message:
    """μ_X(x) = ∫ μ_Y(y) μ_Z(x + y) dy: mean m_Z − m_Y, variance V_Z + V_Y."""
    return _flat() if z is None or y is None else _sum("z", z, "y", y, sign=-1.0)


@_rule("addition", "y")
def _addition_backward_y(z: Any = None, x: Any = None) -> Message:
    """μ_Y(y) = ∫ μ_X(x) μ_Z(x + y) dx."""
    return _flat() if z is None or x is None else _sum("z", z, "x", x, sign=-1.0)


@_rule("gain", "y")
def _gain_forward(x: Any = None, *, matrix: Any) -> Message:
    """μ_Y(y) = μ_X(A⁻¹y) / |det A|: mean A m, covariance A V Aᵀ."""
    if x is None:
        return _flat()
    x = as_message("x", x)
    if isinstance(x, PointMass):
        return Message(as_point(_image(matrix, x.location)), 0.0)
    a, scalar_in, scalar_out = as_matrix(matrix, x)
    require_length("x", x, a.shape[1], scalar_in)
    return _lowered(push_forward(as_gaussian("x", x), a), scalar_out)


@_rule("gain", "x")
def _gain_backward(y: Any = None, *, matrix: Any) -> Message:
    """μ_X(x) = μ_Y(A x): weighted mean Aᵀξ, precision Aᵀ W A, for any A."""
    if y is None:
        return _flat()
    y = as_message("y", y)
    a, scalar_in, scalar_out = as_matrix(matrix, y)
    if isinstance(y, PointMass):
        return _solved(a, y, scalar_in)
    require_length("y", y, a.shape[0], scalar_out)
    return _lowered(pull_back(as_gaussian("y", y), a), scalar_in)


@_rule("dot", "z")
def _dot_forward(x: Any = None, y: Any = None) -> Message:
    """N(xᵀm, xᵀ V x), with x the known side."""
    if x is None or y is None:
        return _flat()
    known, unknown, name = split_known(x, y, "y")
    return _dot_through(known, unknown, name, push_forward)


@_rule("dot", "y")
def _dot_backward_y(z: Any = None, *, x: Any) -> Message:
    """Weighted mean x m_z/v_z, precision x xᵀ/v_z: of rank 1."""
    return _flat() if z is None else _dot_through(as_known("x", x), z, "z", pull_back)


@_rule("dot", "x")
def _dot_backward_x(z: Any = None, *, y: Any) -> Message:
    """The same with x and y exchanged."""
    return _flat() if z is None else _dot_through(as_known("y", y), z, "z", pull_back)


@_rule("gaussian", "out")
def _gaussian_forward(mean: Any = None, **spread: Any) -> Message:
    """N(m, V + v): the mean and the noise add."""
    return _flat() if mean is None else _sum("mean", mean, "variance", noise_of(spread), sign=1.0)


@_rule("gaussian", "mean")
def _gaussian_backward(out: Any = None, **spread: Any) -> Message:
    """N(m, V + v), by symmetry of N(out | mean, v) in both."""
    return _flat() if out is None else _sum("out", out, "variance", noise_of(spread), sign=1.0)


@_rule("clamp", "out")
def _clamp(*, value: Any) -> Message:
    """δ(out − c)."""
    return Message(as_point(as_observation(value, "value")), 0.0)


@_rule("tabular", "*")
def _tabular(edge: str, /, *, factor: Factor, **incoming: Any) -> Message:
    """μ_Y(y) = Σ f(y, x₁, …) Π μ_i(x_i)."""
    if edge not in factor.names:
        raise ValueError(f"the factor has the axes {', '.join(factor.names)}; got {edge!r}")
    for name in incoming:
        if name not in factor.names:
            raise ValueError(f"the factor has the axes {', '.join(factor.names)}; got {name!r}")
    tables = [factor]
    for name, value in incoming.items():
        if not isinstance(value, Factor) or len(value.names) != 1:
            raise TypeError(
                f"the message on {name!r} must be a Factor with one axis, got {value!r}"
            )
        tables.append(value.rename({value.names[0]: name}))
    return Message(contract(tables, (edge,)), 0.0)


# -- helpers ---------------------------------------------------------------------------------


def _flat() -> Message:
    """Return the message 1 of a half-edge."""
    return Message(None, 0.0)


def _times(made: Message, other: Any) -> Message:
    """Multiply another message into the product made so far."""
    d = made.distribution
    if isinstance(d, Factor) and isinstance(other, Factor):
        return Message(d * other.rename({other.names[0]: d.names[0]}), 0.0)
    if isinstance(d, MvNormal) and isinstance(other, MvNormal):
        product = multiply_gaussians(d, other)
    elif isinstance(other, PointMass) and not isinstance(d, PointMass):
        product = Message(*other.product(d))
    elif isinstance(d, (PointMass, ExponentialFamily)):
        product = Message(*d.product(other))
    else:
        raise TypeError(
            f"the equality node has no product of {type(d).__name__} and {type(other).__name__}"
        )
    return Message(product.distribution, made.log_scale + product.log_scale)


def _sum(left: str, x: Any, right: str, y: Any, *, sign: float) -> Message:
    """Return the message about x ± y."""
    x, y = as_message(left, x), as_message(right, y)
    points = isinstance(x, PointMass), isinstance(y, PointMass)
    if all(points):
        return Message(as_point(x.location + sign * y.location), 0.0)
    scalar = isinstance(y if points[0] else x, Normal)
    a, b = (as_gaussian(name, m, scalar=scalar) for name, m in ((left, x), (right, y)))
    if not any(points) and scalar != isinstance(y, Normal):
        raise TypeError(
            f"messages must be both on numbers or both on vectors, got {type(x).__name__} on "
            f"{left} and {type(y).__name__} on {right}"
        )
    return _lowered(add_gaussians(a, b if sign > 0 else reflect(b)), scalar)


def _dot_through(
    known: Array, unknown: Any, name: str, rule: Callable[[MvNormal, Array], Message]
) -> Message:
    if known.ndim != 1:
        raise ValueError(f"the known side of a dot product must be a vector, got {known.shape}")
    forward = rule is push_forward
    value = as_message(name, unknown)
    if isinstance(value, PointMass):
        if forward:
            return Message(as_point(known @ value.location), 0.0)
        raise ValueError(
            "a known dot product leaves a plane, which has no Gaussian message; give it noise"
        )
    return _lowered(rule(as_gaussian(name, value), known[None, :]), forward)


def _image(matrix: Any, location: Array) -> Array:
    a = as_observation(matrix, "matrix")
    if a.ndim < 2:
        return a * location
    return np.matmul(a, location[..., None])[..., 0]


def _solved(a: Array, y: PointMass, scalar: bool) -> Message:
    """Return the only x with A x = c."""
    if not is_invertible(a):
        raise ValueError(
            f"a known y fixes x only through an invertible matrix, got shape {a.shape}; "
            "give y some noise"
        )
    target = np.atleast_1d(y.location)
    x = np.linalg.solve(a, target[..., None])[..., 0]
    return Message(as_point(x[..., 0] if scalar else x), -np.linalg.slogdet(a)[1])


def _lowered(made: Message, scalar: bool) -> Message:
    """Return a message on vectors of length 1 as one on numbers."""
    if not scalar:
        return made
    return Message(as_number(made.distribution), made.log_scale)
