"""Distributions of Gibbs form: on listed values, on panels of an interval, and known families."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.counts.categorical import Categorical
from posteriori.information.gibbs_density import GibbsDensity, panel_nodes
from posteriori.information.gibbs_dual import DualSolution, explain_conflict, solve_dual
from posteriori.information.moment_constraints import Constraint, Power, evaluate, targets_of
from posteriori.numerics.types import Array

__all__ = [
    "Interval",
    "MaximumEntropy",
    "closed_form",
    "solve_on_labels",
    "solve_on_panels",
]

#: Panels of 16 nodes each: with these fifty moments are met to 1e-10.
_N_PANELS = 96

#: Ln of the density at the edge, relative to its top, that counts as nothing.
_EDGE = -27.0


class Interval(NamedTuple):
    """All numbers between two ends, which may be infinite."""

    lower: float
    upper: float


class MaximumEntropy(NamedTuple):
    """The least committed distribution under constraints.

    Attributes
    ----------
    distribution : distribution
        Of the exact family where there is one; Categorical on finite supports; else a numeric
        density.
    entropy : float
        H[p] in nats; for relative entropy, −KL(p ‖ base).
    multipliers : dict
        λ of each constraint by its name: p ∝ base · exp(Σ λ f).
    log_partition : float
        ln Z, so that ln p = Σ λ f − ln Z (plus ln base).
    residual : float
        Largest deviation of a constraint, relative to the range of its function.
    n_iter : int
        Newton steps; 0 for a closed form.
    converged : bool
        Whether the residual met the tolerance.
    reason : str
        How the answer was found, or why it is not exact.
    """

    distribution: Any
    entropy: float
    multipliers: dict[str, float]
    log_partition: float
    residual: float
    n_iter: int
    converged: bool
    reason: str


def closed_form(
    distribution: Any, constraints: list[Constraint], multipliers: dict[str, float], value: float
) -> MaximumEntropy:
    """Return the result for a known family with multipliers worked out by hand."""
    known = targets_of(constraints)
    log_partition = value + sum(multipliers[name] * known[name] for name in known)
    return MaximumEntropy(
        distribution, value, multipliers, float(log_partition), 0.0, 0, True, "closed form"
    )


def solve_on_labels(
    labels: tuple[Any, ...],
    log_base: Array,
    constraints: list[Constraint],
    tol: float,
    max_iter: int,
    base_entropy: float,
) -> MaximumEntropy:
    """Solve on listed values."""
    features = np.array([[_at_label(c, x) for c in constraints] for x in labels])
    features = features.reshape(len(labels), len(constraints))
    possible = np.isfinite(log_base)
    targets = np.array([c.target for c in constraints])
    basis = np.concatenate([np.ones((len(labels), 1)), features], axis=1)
    mix = np.concatenate([-targets[None], np.eye(len(targets))])
    solution = solve_dual(basis, mix, log_base, tol=tol, max_iter=max_iter)
    if not solution.converged:
        _raise_conflict(features[possible], constraints)
    p = np.exp(solution.log_probabilities)
    distribution = Categorical(p / p.sum(), labels=labels)
    gap = np.where(p > 0, solution.log_probabilities - np.where(possible, log_base, 0.0), 0.0)
    divergence = float(p @ gap)
    return _numeric(distribution, base_entropy - divergence, constraints, solution, "Gibbs family")


def solve_on_panels(
    a: float,
    b: float,
    support: Interval | None,
    constraints: list[Constraint],
    tol: float,
    max_iter: int,
    base: Univariate | None = None,
) -> tuple[MaximumEntropy, bool]:
    """Solve on [a, b]; tell also whether the density vanishes at ends inside the support."""
    edges = np.linspace(a, b, _N_PANELS + 1)
    x, log_base = _points(edges, base)
    possible = np.isfinite(log_base)
    basis, mix = _basis(constraints, a, b)
    inner = support is not None and (a > support.lower or b < support.upper)
    check = None
    if base is None and isinstance(basis, LegendreBasis):  # smooth: panels need not fit kinks
        y, log_there = _points(np.linspace(a, b, 2 * _N_PANELS + 2), None)
        check = basis(y), log_there
    solution = solve_dual(basis(x), mix, log_base, check=check, tol=tol, max_iter=max_iter)
    if not solution.converged and not inner:
        features = np.stack([evaluate(c, x[possible]) for c in constraints], axis=1)
        _raise_conflict(features, constraints)
    density = GibbsDensity(Tilt(basis, solution.coefficients, base), edges)
    value = float(density.entropy())
    if base is not None:
        p = np.exp(solution.log_probabilities)
        value = -float(p @ np.where(p > 0, density.log_prob(x) - base.log_prob(x), 0.0))
    found = _numeric(density, value, constraints, solution, "numeric dual")
    if support is None:
        return found, True
    heights = density.log_weight(x)
    ends = [
        density.log_weight(np.array([e]))[0]
        for e, wall in zip((a, b), support, strict=True)
        if e != wall
    ]
    vanishes = all(end - heights[possible].max() < _EDGE for end in ends)
    return found, vanishes and solution.converged


def _points(edges: Array, base: Univariate | None) -> tuple[Array, Array]:
    """Return the nodes of panels, and the logarithms of their weights times the base's density."""
    points, weights = panel_nodes(edges)
    x = points.ravel()
    return x, np.log(weights.ravel()) + (0.0 if base is None else base.log_prob(x))


@dataclass(frozen=True)
class Tilt:
    """The log of a density up to a constant: a combination of basis functions, plus ln base."""

    basis: Callable[[Array], Array]
    coefficients: Array
    base: Univariate | None

    def __call__(self, x: Array) -> Array:
        x = np.asarray(x, dtype=np.float64)
        exponent = (self.basis(x.ravel()) @ self.coefficients).reshape(x.shape)
        return exponent if self.base is None else exponent + self.base.log_prob(x)


@dataclass(frozen=True)
class LegendreBasis:
    """Legendre polynomials in (x − middle)/half."""

    middle: float
    half: float
    degree: int

    def __call__(self, x: Array) -> Array:
        return np.polynomial.legendre.legvander((x - self.middle) / self.half, self.degree)


@dataclass(frozen=True)
class ListedBasis:
    """The constant 1 and the functions of the constraints as they stand."""

    constraints: list[Constraint]

    def __call__(self, x: Array) -> Array:
        return np.stack([np.ones(x.shape), *(evaluate(c, x) for c in self.constraints)], axis=1)


def _basis(
    constraints: list[Constraint], a: float, b: float
) -> tuple[LegendreBasis | ListedBasis, Array]:
    """Return basis functions on [a, b] and the combinations of them that must average to 0.

    Powers are written in Legendre polynomials; other functions stand beside the constant 1.
    """
    targets = np.array([c.target for c in constraints])
    powers = [c.function for c in constraints if isinstance(c.function, Power)]
    if len(powers) < len(constraints):
        return ListedBasis(constraints), np.concatenate([-targets[None], np.eye(len(targets))])
    basis = LegendreBasis(0.5 * (a + b), 0.5 * (b - a), max((p.order for p in powers), default=0))
    mix = np.stack([_in_legendre(p, basis) for p in powers], axis=1)
    mix[0] -= targets
    return basis, mix


def _in_legendre(power: Power, basis: LegendreBasis) -> Array:
    """Return the Legendre coefficients of (x − centre)ᵏ for x = middle + half·z."""
    coefficients = np.array([1.0])
    for _ in range(power.order):
        raised = basis.half * np.polynomial.legendre.legmulx(coefficients)
        raised[: len(coefficients)] += (basis.middle - power.centre) * coefficients
        coefficients = raised
    return np.pad(coefficients, (0, basis.degree + 1 - len(coefficients)))


def _at_label(constraint: Constraint, label: Any) -> float:
    try:
        return float(constraint.function(label))
    except (TypeError, ValueError):
        raise TypeError(
            f"{constraint.name} is not defined for the value {label!r}; state a function of it"
        ) from None


def _raise_conflict(features: Array, constraints: list[Constraint]) -> None:
    targets = np.array([c.target for c in constraints])
    conflict = explain_conflict(features, targets, [c.name for c in constraints])
    if conflict is not None:
        raise ValueError(conflict)


def _numeric(
    distribution: Any,
    value: float,
    constraints: list[Constraint],
    solution: DualSolution,
    route: str,
) -> MaximumEntropy:
    known = targets_of(constraints)
    multipliers = dict(zip(known, solution.multipliers.tolist(), strict=True))
    log_partition = value + sum(multipliers[name] * known[name] for name in known)
    reason = route
    if not solution.converged:
        reason = (
            f"the constraints hold within {solution.residual:.2g} only after {solution.n_iter} "
            f"Newton steps: of {len(known)} features rounding tells {solution.n_directions} "
            "apart; orthogonal functions instead of powers would keep more digits"
        )
    return MaximumEntropy(
        distribution,
        value,
        multipliers,
        float(log_partition),
        solution.residual,
        solution.n_iter,
        solution.converged,
        reason,
    )
