"""From rows to what is believed of a function: parameters of the kernel as they are, chosen or integrated."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from posteriori.gaussian_process.outputs_belief import OutputsBelief
from posteriori.gaussian_process.process_belief import ProcessBelief
from posteriori.inference.processes.dense_process import DenseProcess, noise_variances
from posteriori.inference.processes.forms.choosing import choose_form
from posteriori.inference.processes.forms.process_form import ProcessForm
from posteriori.inference.processes.gram_factor import GramFactor
from posteriori.inference.processes.kernel_search import (
    SEARCH_TOL,
    Objective,
    SearchedKernel,
    find_free,
    maximize_evidence,
    some_rows,
)
from posteriori.inference.processes.mean_effects import MeanEffects, mean_effects
from posteriori.inference.processes.parameter_integral import integrate_parameters
from posteriori.inference.processes.process_rows import (
    ProcessRows,
    merge_rows,
    refuse_contradictions,
)
from posteriori.inference.processes.search_bounds import SearchBounds, default_bounds
from posteriori.inference.quadrature.composite_design import MOST_NUMBERS
from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Kernel
from posteriori.kernels.radial import RBF
from posteriori.numerics.evidence import Kind
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "FEW_ROWS",
    "GivenRows",
    "LearnedProcess",
    "SearchOptions",
    "extend_process",
    "is_not_integrated",
    "join_rows",
    "kernel_is_kept",
    "learn_process",
]

#: Rows up to which parameters that shall be learned are integrated: at one kernel intervals of so few rows
#: would be too narrow.
FEW_ROWS = 100


class GivenRows(NamedTuple):
    """Rows as they were given, those without a target or weight left out.

    Attributes
    ----------
    X, y : (M, D), (M, Q)
    frequency, variance : (M,) or None
    flat : bool
        Whether targets were given as (M,).
    """

    X: Array
    y: Array
    frequency: Array | None
    variance: Array | None
    flat: bool

    def part(self, rows: slice) -> GivenRows:
        """Return some of the rows."""
        frequency, variance = (
            None if one is None else one[rows] for one in (self.frequency, self.variance)
        )
        return GivenRows(self.X[rows], self.y[rows], frequency, variance, self.flat)


class SearchOptions(NamedTuple):
    """How parameters are looked for: kept names, further starts, randomness, who is told, on how many rows."""

    fixed: Any
    n_init: int
    seed: Seed
    callback: Any
    rows: int | None = None


class LearnedProcess(NamedTuple):
    """What was learned, and how.

    Attributes
    ----------
    kernel : Kernel
        As given, chosen, or most probable.
    belief : ProcessBelief or OutputsBelief
    rows : ProcessRows
    log_evidence : float
    kind : str
    n_iter : int
        Evaluations of the evidence.
    account : tuple of str
        How it was computed.
    """

    kernel: Kernel
    belief: ProcessBelief | OutputsBelief
    rows: ProcessRows
    log_evidence: float
    kind: Kind
    n_iter: int
    account: tuple[str, ...]


class _Problem(NamedTuple):
    """All but the parameters of the kernel."""

    kernel: Kernel
    given: GivenRows
    rows: ProcessRows
    mean: MeanEffects
    absolute: bool

    @property
    def form(self) -> ProcessForm:
        return choose_form(self.kernel, self.rows, self.mean, self.absolute)

    @property
    def bounds(self) -> SearchBounds:
        return default_bounds(self.kernel, self.rows.X, self.rows.y - self.mean.center)


def learn_process(
    kernel: Kernel | None,
    given: GivenRows,
    *,
    hyperparameters: str,
    mean: str | MeanEffects,
    options: SearchOptions,
) -> LearnedProcess:
    """Return what rows say of a function.

    Parameters
    ----------
    kernel : Kernel or None
        None is a function of all columns, each with its own scale, and noise.
    given : GivenRows
    hyperparameters : {"type-II", "fixed", "integrated", "learned"}
    mean : {"constant", "zero", "linear"}, or MeanEffects
    options : SearchOptions
    """
    few = hyperparameters == "learned" and len(given.X) <= FEW_ROWS
    problem = _pose(kernel, given, mean, most_parameters=MOST_NUMBERS if few else None)
    free = find_free(problem.kernel, options.fixed)
    if hyperparameters == "fixed":
        return _at_one(problem, problem.kernel, "exact", 1, ())
    if (hyperparameters == "integrated" or (few and free.sum() <= MOST_NUMBERS)) and free.any():
        return _integrate(problem, free, options)
    part = given.part(some_rows(len(given.X), options.rows))
    searched = problem if len(part.X) == len(given.X) else _pose(problem.kernel, part, mean)
    found = _search(searched.form.score, searched, options)
    told: tuple[str, ...] = (f"parameters of highest evidence after {found.n_iter} evaluations",)
    if searched is not problem:
        told = (f"{told[0]}, of {len(part.X)} rows",)
    kind: Kind = "type-II" if free.any() else "exact"
    return _at_one(problem, found.kernel, kind, found.n_iter, told)


def _search(objective: Objective, problem: _Problem, options: SearchOptions) -> SearchedKernel:
    """Return the kernel of highest evidence, or of highest posterior density."""
    found = maximize_evidence(
        objective,
        problem.kernel,
        bounds=problem.bounds,
        fixed=options.fixed,
        n_init=options.n_init,
        rng=options.seed,
        callback=options.callback,
        tol=0.0 if options.rows is None else SEARCH_TOL,
    )
    if not found.converged:
        warnings.warn(
            f"the search for the parameters of the kernel ended after {found.n_iter} evaluations "
            "before it came to rest; the best found is kept",
            ConvergenceWarning,
            stacklevel=4,
        )
    return found


def _integrate(problem: _Problem, free: Array, options: SearchOptions) -> LearnedProcess:
    """Return what is known with parameters weighed by how probable they are."""
    form = problem.form
    found = integrate_parameters(
        form.score,
        form.solve,
        lambda objective: _search(objective, problem, options),
        problem.bounds,
        free,
    )
    belief = ProcessBelief(
        found.models, found.solved, found.weights, problem.absolute, problem.given.flat
    )
    account = (form.account, found.account)
    rest = found.log_evidence, "laplace", found.top.n_iter, account
    return LearnedProcess(found.top.kernel, belief, problem.rows, *rest)  # type: ignore[arg-type]


def extend_process(
    before: LearnedProcess, given: GivenRows, mean: str | MeanEffects
) -> LearnedProcess:
    """Return what all rows say, with the kernel of earlier ones, from the factor of these."""
    problem = _pose(before.kernel, given, mean, before.rows)
    assert isinstance(before.belief, ProcessBelief)
    process = before.belief.processes[0]
    if not (isinstance(process, DenseProcess) and isinstance(process.factor, GramFactor)):
        return _at_one(problem, before.kernel, before.kind, before.n_iter, before.account[1:])
    solved = process.extended(problem.rows, problem.mean, problem.absolute)
    return _learned(problem, solved, before.kind, before.n_iter, before.account[1:])


def _pose(
    kernel: Kernel | None,
    given: GivenRows,
    mean: str | MeanEffects,
    earlier: ProcessRows | None = None,
    most_parameters: int | None = None,
) -> _Problem:
    rows = merge_rows(given.X, given.y, given.frequency, given.variance, earlier)
    if isinstance(mean, str):
        mean = mean_effects(mean, given.X, given.y, given.frequency)
    if kernel is None:
        kernel = _usual(rows, mean, most_parameters)
    quiet = not noise_variances(kernel, rows.X, absolute=False).any()
    absolute = given.variance is not None and quiet
    refuse_contradictions(rows, given.y, noise_variances(kernel, rows.X, absolute))
    return _Problem(kernel, given, rows, mean, absolute)


def _usual(rows: ProcessRows, mean: MeanEffects, most_parameters: int | None) -> Kernel:
    """Return a kernel for columns of which nothing is said, with what is usual as parameters.

    Where columns are too many for a scale each, there is one scale for all.
    """
    columns = rows.X.shape[1]
    many = most_parameters is not None and columns + 2 > most_parameters
    kernel = 1.0 * RBF(1.0 if many else np.ones(columns)) + White()
    bounds = default_bounds(kernel, rows.X, rows.y - mean.center)
    return kernel.with_log_parameters(bounds.center)


def _at_one(
    problem: _Problem, kernel: Kernel, kind: Kind, n_iter: int, told: tuple[str, ...]
) -> LearnedProcess:
    """Return what is known with one kernel."""
    return _learned(problem._replace(kernel=kernel), problem.form.solve(kernel), kind, n_iter, told)


def _learned(
    problem: _Problem, solved: Any, kind: Kind, n_iter: int, told: tuple[str, ...]
) -> LearnedProcess:
    account = [problem.form.account, *told]
    if solved.jitter:
        account.append(f"jitter {solved.jitter:.3g} on the diagonal: without it K is not definite")
    belief = ProcessBelief(
        (problem.kernel,), (solved,), np.ones(1), problem.absolute, problem.given.flat
    )
    rest = solved.log_evidence, kind, n_iter, tuple(account)
    return LearnedProcess(problem.kernel, belief, problem.rows, *rest)


def join_rows(old: GivenRows, new: GivenRows) -> GivenRows:
    """Return rows one after another."""
    if old.y.shape[1] != new.y.shape[1]:
        raise ValueError(f"y has {new.y.shape[1]} outputs, and earlier rows had {old.y.shape[1]}")
    if (old.variance is None) != (new.variance is None):
        raise ValueError(
            "noise_variance must be given with all rows or with none; 1 is the noise of the kernel"
        )
    frequency = None
    if old.frequency is not None or new.frequency is not None:
        frequency = np.concatenate(
            [np.ones(len(g.X)) if g.frequency is None else g.frequency for g in (old, new)]
        )
    variance = None
    if old.variance is not None and new.variance is not None:
        variance = np.concatenate([old.variance, new.variance])
    return GivenRows(
        np.vstack([old.X, new.X]), np.vstack([old.y, new.y]), frequency, variance, old.flat
    )


def kernel_is_kept(estimator: Any) -> bool:
    """Tell whether no row has chosen the parameters of the kernel."""
    return estimator.hyperparameters in ("fixed", "integrated")


def is_not_integrated(estimator: Any) -> bool:
    """Tell whether there is one kernel, for which further rows can be added."""
    return estimator.hyperparameters in ("fixed", "type-II")
