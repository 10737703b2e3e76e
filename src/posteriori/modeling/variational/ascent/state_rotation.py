r"""Faster ascent for linear systems: turn the states where the bound gains.

With :math:`x_t \to R x_t`, :math:`A \to R A R^{-1}` and loadings :math:`C \to C R^{-1}` neither the steps nor the
data notice; priors and the noise of the steps do. The gain of the bound, up to a constant, is

.. math:: (T - D)\ln|R| - \tfrac12\mathrm{tr}\,Λ_0 R S_0 R^T - \tfrac12\mathrm{tr}\,Λ R S R^T
          + g_C(R^{-T} E[C^TC] R^{-1}) + g_A(R^{-T} E[A^TR^TR\,A] R^{-1}),

where S is the sum of :math:`E[(x_t - A x_{t-1})(x_t - A x_{t-1})^T]`, :math:`S_0` that of first states, and a prior of
columns with unknown precisions :math:`\mathrm{Gamma}(a, b)`, these averaged over, has
:math:`g(N) = -\sum_j \hat a_j \ln(b_j + \tfrac12 N_{jj})`. R is found by quasi-Newton steps whose cost does not
depend on the length of the chain; the turn is kept where the bound has risen.

Reference: J. Luttinen, "Fast variational Bayesian linear state-space model", 2013.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.gamma import Gamma
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Access, Axis, Lookup, Table, seen, spread
from posteriori.modeling.binding.products import contract_tables
from posteriori.modeling.variational.ascent.linear_systems import LinearSystem, Loadings
from posteriori.modeling.variational.ascent.problem import Problem, restore
from posteriori.numerics.lazy import optimize
from posteriori.numerics.linalg import explicit_inverse, symmetrize
from posteriori.numerics.types import Array

__all__ = ["ColumnPrior", "SystemMoments", "gain", "rotate_states"]

#: Numbers of a state beyond which it is not turned: the transition has moments of their fourth power.
_MOST_STATES = 40

#: Quasi-Newton steps towards the best turn: each costs some products of small matrices.
_STEPS = 100


class ColumnPrior(NamedTuple):
    """What a prior says of E[CᵀC] = N: −Σ shape ln(rate + ½ N_jj) − ½ tr(precision N).

    Attributes
    ----------
    shape, rate : (K,)
        Of unknown precisions of the columns, without what the columns say; 0 where there are none.
    precision : (K, K)
        Expected or known.
    """

    shape: Array
    rate: Array
    precision: Array

    def value(self, n: Array) -> float:
        rate = self.rate + 0.5 * np.diagonal(n)
        logs = np.where(self.shape > 0, np.log(np.where(rate > 0, rate, 1.0)), 0.0)
        return float(-self.shape @ logs - 0.5 * np.sum(self.precision * n))

    def weight(self, n: Array) -> Array:
        """Return −2 times the derivative."""
        rate = self.rate + 0.5 * np.diagonal(n)
        return self.precision + np.diag(self.shape / np.where(rate > 0, rate, 1.0))


class SystemMoments(NamedTuple):
    """What the gain of a turn depends on.

    Attributes
    ----------
    log_sizes : float
        T − D: all states, less the rows of all loadings.
    noises : sequence of pairs of (K, K)
        Λ and S, of the first states and of the steps.
    loadings : sequence of (E[CᵀC], ColumnPrior)
    transition : (K, K, K, K)
        E[A_ij A_kl] as [i, k, j, l].
    prior : ColumnPrior
        Of the transition.
    """

    log_sizes: float
    noises: Sequence[tuple[Array, Array]]
    loadings: Sequence[tuple[Array, ColumnPrior]]
    transition: Array
    prior: ColumnPrior


def gain(turn: Array, moments: SystemMoments) -> tuple[float, Array]:
    """Return the part of the bound that a turn R (K, K) changes, and its derivative."""
    sign, log_det = np.linalg.slogdet(turn)
    if sign <= 0.0:
        return -np.inf, np.zeros(turn.shape)
    back = explicit_inverse(turn)
    value, slope = moments.log_sizes * log_det, moments.log_sizes * back.T
    for precision, square in moments.noises:
        moved = precision @ turn @ square
        value -= 0.5 * float(np.sum(turn * moved))
        slope = slope - moved
    metric = turn.T @ turn
    inner = np.einsum("ik,ikjl->jl", metric, moments.transition)
    for square, prior in (*moments.loadings, (inner, moments.prior)):
        n = back.T @ square @ back
        value += prior.value(n)
        slope = slope + n @ prior.weight(n) @ back.T
    n = back.T @ inner @ back
    around = back @ moments.prior.weight(n) @ back.T
    outer = np.einsum("ikjl,jl->ik", moments.transition, around)
    return value, slope - turn @ symmetrize(outer)


def rotate_states(problem: Problem, system: LinearSystem, before: Array) -> Array:
    """Turn the states of a system; keep the turn if the bound rises. Return the bound."""
    names = (system.states, system.transition.name, *(c.name for c in system.loadings))
    nodes = [problem.owner[name] for name in names]
    if not all(node.can_turn for node in nodes) or system.size > _MOST_STATES:
        return before
    kept = problem.snapshot()
    turn = _best_turn(_moments(problem, system))
    _apply(problem, system, turn)
    problem.reduce()
    for node in problem.shared:
        if not any(node is other for other in nodes):
            problem.update(node)
    after = problem.slow_bound()
    if np.all(after >= before):
        return after
    restore(kept)
    problem.reduce()
    return before


def _best_turn(moments: SystemMoments) -> Array:
    size = len(moments.transition)

    def falling(flat: Array) -> tuple[float, Array]:
        value, slope = gain(flat.reshape(size, size), moments)
        return -value, -slope.ravel()

    found = optimize.minimize(
        falling,
        np.eye(size).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _STEPS},
    )
    return np.asarray(found.x).reshape(size, size)


def _apply(problem: Problem, system: LinearSystem, turn: Array) -> None:
    """Turn all: R x, C R⁻¹, R A R⁻¹."""
    forth, back = turn[None], explicit_inverse(turn).T[None]
    problem.owner[system.states].transform(system.states, system.axis, forth)
    for columns in (*system.loadings, system.transition):
        problem.owner[columns.name].transform(columns.name, columns.axis, back)
    name = system.transition.name
    problem.owner[name].transform(name, system.out, forth)


# -- moments ---------------------------------------------------------------------------------


def _moments(problem: Problem, system: LinearSystem) -> SystemMoments:
    for columns in (*system.loadings, system.transition):
        for name in _precision_names(columns.factor):
            problem.update(problem.owner[name])
    length = len(_positions(system.step)) + 1
    early, late = np.arange(length - 1), np.arange(1, length)
    transition, mean = _transition(problem, system)
    moved = _second_moment(problem, system, late, early) @ mean.T
    steps = _second_moment(problem, system, late, late) - moved - moved.T
    steps += np.einsum("ikjl,jl->ik", transition, _second_moment(problem, system, early, early))
    first = _second_moment(problem, system, early[:1], early[:1])
    loadings, rows = [], 0
    for columns in system.loadings:
        square = problem.owner[columns.name].second_moment(columns.name, columns.axis)[0]
        loadings.append((square, _column_prior(columns, square, problem, system)))
        rows += system.vectors(columns.name, columns.axis)
    own = np.einsum("iijl->jl", transition)
    noises = [
        (_expected_precision(system.first, system.axis, problem, system), first),
        (_expected_precision(system.step, system.axis, problem, system), steps),
    ]
    prior = _column_prior(system.transition, own, problem, system)
    count = system.vectors(system.states, system.axis) - rows
    return SystemMoments(count, noises, loadings, transition, prior)


def _positions(step: BoundFactor) -> Array:
    """Return the members that steps lead to."""
    return next(p.positions.values for p in step.places if isinstance(p, Lookup))


def _second_moment(problem: Problem, system: LinearSystem, left: Array, right: Array) -> Array:
    """Return the sum of E[x_s x_tᵀ] over pairs of times and all series."""
    steps = Axis("step", len(left))
    sides = Axis("left", system.size), Axis("right", system.size)
    axes = system.layouts[system.states].axes
    time = next(i for i, p in enumerate(system.step.places) if isinstance(p, Lookup))
    accesses = []
    for side, times in zip(sides, (left, right), strict=True):
        places: list[Any] = list(axes)
        places[time], places[system.axis] = Lookup(Table(times, (steps,))), side
        accesses.append(Access(system.states, tuple(places)))
    rest = [a for i, a in enumerate(axes) if i not in (time, system.axis)]
    ones = [Table(np.ones(axis.size), (axis,)) for axis in (steps, *rest)]
    total = np.zeros((system.size, system.size))
    for tables in problem.owner[system.states].expect(accesses):
        keep = (problem.restart, *sides)
        total += spread(contract_tables([*tables, *ones], keep), keep)[0]
    return total


def _transition(problem: Problem, system: LinearSystem) -> tuple[Array, Array]:
    """Return E[A_ij A_kl] as [i, k, j, l], and E[A]."""
    name, into, out = system.transition.name, system.transition.axis, system.out
    node = problem.owner[name]
    i, k, j, m = (Axis(label, system.size) for label in "ikjm")
    accesses = [Access(name, (x, y) if out < into else (y, x)) for x, y in ((i, j), (k, m))]
    mean = spread(node.expect(accesses[:1])[0][0], (problem.restart, i, j))[0]
    labels = (i, k, j, m)
    found = mean[:, None, :, None] * mean[None, :, None, :]
    for tables in node.covariance(*accesses):
        cov = contract_tables(tables, (problem.restart, *labels))
        found = found + spread(cov, (problem.restart, *labels))[0]
    return found, mean


def _column_prior(
    columns: Loadings, square: Array, problem: Problem, system: LinearSystem
) -> ColumnPrior:
    factor = columns.factor
    size = len(square)
    poly = factor.parameters.get("precision")
    terms = () if poly is None else poly.terms
    for table, accesses in terms:
        alone = len(terms) == 1 and len(accesses) == 1 and not table.axes
        if alone and accesses[0].places == (factor.places[columns.axis],):
            belief = problem.owner[accesses[0].name].marginal(accesses[0].name)
            if isinstance(belief, Gamma):
                scale = float(table.values)
                rate = belief.rate / scale - 0.5 * np.diagonal(square)
                return ColumnPrior(belief.shape, np.maximum(rate, 0.0), np.zeros((size, size)))
    precision = _expected_precision(factor, columns.axis, problem, system)
    return ColumnPrior(np.zeros(size), np.zeros(size), precision)


def _precision_names(factor: BoundFactor) -> set[str]:
    """Return the unknowns that the precision of a factor depends on."""
    poly = factor.parameters.get("precision")
    return {a.name for term in (poly.terms if poly else ()) for a in term.accesses}


def _expected_precision(
    factor: BoundFactor, axis: int, problem: Problem, system: LinearSystem
) -> Array:
    """Return the expected precision of a factor along an axis of its child, (K, K).

    Where rows differ it is their mean: turns are proposed by it, and judged by the bound.
    """
    ((key, poly),) = [(k, p) for k, p in factor.parameters.items() if k != "mean"]
    total: Any = 0.0
    for table, accesses in poly.terms:
        tables = [table]
        for access in accesses:
            belief = problem.owner[access.name].marginal(access.name)
            axes = system.layouts[access.name].axes
            tables.append(seen(Table(np.asarray(belief.mean), axes), axes, access.places))
        total = total + spread(contract_tables(tables, poly.labels), poly.labels)
    values = np.broadcast_to(total, tuple(a.size for a in poly.labels))
    label, size = factor.places[axis], factor.places[axis].size
    if key in ("cov", "precision") and factor.events and len(poly.axes) >= 2:
        matrices = values.reshape(-1, *values.shape[-2:]).mean(axis=0)
        return matrices if key == "precision" else explicit_inverse(matrices)
    others = tuple(i for i, a in enumerate(poly.labels) if a is not label)
    numbers = np.broadcast_to(values.mean(axis=others), (size,))
    return np.diag(numbers if key == "precision" else 1.0 / numbers)
