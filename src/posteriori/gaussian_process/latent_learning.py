"""From targets that are not normal to what is believed of the function behind them."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.gaussian_process.latent_belief import LatentBelief
from posteriori.gaussian_process.process_belief import ProcessBelief
from posteriori.gaussian_process.process_learning import SearchOptions
from posteriori.inference.processes.kernel_search import (
    SEARCH_TOL,
    Objective,
    SearchedKernel,
    find_free,
    maximize_evidence,
)
from posteriori.inference.processes.latent.latent_process import KINDS
from posteriori.inference.processes.latent.latent_search import (
    LatentFunction,
    LatentObjective,
    ShapedObjective,
    TargetModel,
    usual_latent_kernel,
)
from posteriori.inference.processes.latent.target_families import (
    CountFamily,
    DispersedFamily,
    OrderedFamily,
    StudentFamily,
    TargetFamily,
)
from posteriori.inference.processes.mean_effects import NO_MEAN, MeanEffects, mean_effects
from posteriori.inference.processes.parameter_integral import integrate_parameters
from posteriori.inference.processes.search_bounds import SearchBounds
from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.evidence import Kind
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "FAMILIES",
    "FoundFunctions",
    "LatentLearned",
    "LatentOptions",
    "find_functions",
    "latent_mean",
    "learn_latent",
]

#: Families of targets by the name of their likelihood.
FAMILIES: dict[str, type[TargetFamily]] = {
    "poisson": CountFamily,
    "negative binomial": DispersedFamily,
    "student-t": StudentFamily,
    "ordinal": OrderedFamily,
}

#: Names of approximations in an account.
_NAMES = {
    "laplace": "Laplace's method",
    "ep": "expectation propagation",
    "variational": "the best normal bound",
}


class LatentOptions(NamedTuple):
    """How a function behind targets is found: approximation, its tolerance and most steps."""

    approximation: str
    tol: float
    max_iter: int


class FoundFunctions(NamedTuple):
    """Functions behind targets, as given, of highest evidence, or weighed.

    Attributes
    ----------
    top : Kernel or TargetModel
        As given, chosen, or most probable.
    models, functions : tuple
        One, or as many as are weighed.
    weights : (K,)
    log_evidence : float
    kind : str
    n_iter : int
        Evaluations of the evidence.
    account : tuple of str
    """

    top: Any
    models: tuple[Any, ...]
    functions: tuple[LatentFunction, ...]
    weights: Array
    log_evidence: float
    kind: Kind
    n_iter: int
    account: tuple[str, ...]

    @property
    def belief(self) -> ProcessBelief:
        """Of the function."""
        kernels = tuple(function.kernel for function in self.functions)
        return ProcessBelief(kernels, self.functions, self.weights, False, True)


class LatentLearned(NamedTuple):
    """What was learned from targets that are not normal: functions, and the belief of targets."""

    found: FoundFunctions
    belief: LatentBelief

    @property
    def model(self) -> TargetModel:
        """As given, chosen, or most probable."""
        model: TargetModel = self.found.top
        return model

    @property
    def kernel(self) -> Kernel:
        """Of the function."""
        return self.model.kernel

    @property
    def log_evidence(self) -> float:
        """Ln p(y)."""
        return self.found.log_evidence

    @property
    def kind(self) -> Kind:
        """That of the evidence."""
        return self.found.kind

    @property
    def n_iter(self) -> int:
        """Evaluations of the evidence."""
        return self.found.n_iter

    @property
    def account(self) -> tuple[str, ...]:
        """How it was computed."""
        return self.found.account


def learn_latent(
    kernel: Kernel | None,
    family: TargetFamily,
    X: Array,
    given: Mapping[str, Any] | None,
    *,
    hyperparameters: str,
    mean: str,
    options: SearchOptions,
    how: LatentOptions,
) -> LatentLearned:
    """Return what rows say of a function behind targets.

    Parameters
    ----------
    kernel : Kernel or None
        None is a smooth function of all columns, each with its own scale.
    family : TargetFamily
        With its targets.
    X : (N, D)
    given : mapping, optional
        Parameters of the family by their names.
    hyperparameters : {"type-II", "fixed", "integrated"}
    mean : {"constant", "zero", "linear"}
    options : SearchOptions
    how : LatentOptions
    """
    if kernel is None:
        kernel = usual_latent_kernel(X, family.unit)
    _refuse_noise(kernel)
    model = TargetModel(kernel, family, family.read(given))
    level = latent_mean(mean, X, family.frequency, family.level, family.unit)
    objective = ShapedObjective(
        X, family, level, how.approximation, tol=how.tol, max_iter=how.max_iter
    )
    found = find_functions(objective, model, model.bounds(X), hyperparameters, options, how)
    return LatentLearned(found, LatentBelief(found.belief, found.models))


def find_functions(
    objective: LatentObjective | ShapedObjective,
    model: Any,
    bounds: SearchBounds,
    hyperparameters: str,
    options: SearchOptions,
    how: LatentOptions,
    searched: LatentObjective | ShapedObjective | None = None,
) -> FoundFunctions:
    """Return functions behind targets, with parameters as they are, chosen or weighed.

    Parameters
    ----------
    objective : LatentObjective or ShapedObjective
    model : Kernel or TargetModel
        What the objective takes: where a search begins.
    bounds : SearchBounds
    hyperparameters : {"type-II", "fixed", "integrated"}
    options : SearchOptions
    how : LatentOptions
    searched : LatentObjective or ShapedObjective, optional
        Of some of the rows, on which parameters of highest evidence are looked for.
    """
    free = find_free(model, options.fixed)
    if hyperparameters == "integrated" and free.any():
        made = integrate_parameters(
            objective,
            objective.at,
            lambda score: _search(score, model, bounds, options),
            bounds,
            free,
        )
        account = (*_tell(how, made.solved[0]), made.account)
        rest: Any = made.log_evidence, "laplace", made.top.n_iter, account
        return FoundFunctions(made.top.kernel, made.models, made.solved, made.weights, *rest)
    n_iter, kind = 1, KINDS[how.approximation]
    told: tuple[str, ...] = ()
    if hyperparameters != "fixed" and free.any():
        top = _search(searched or objective, model, bounds, options)
        model, n_iter, kind = top.kernel, top.n_iter, "type-II"
        told = (f"parameters of highest evidence after {n_iter} evaluations",)
    function = objective.at(model)
    if not function.fit.converged:
        warnings.warn(
            f"the approximation of the posterior did not converge in {function.fit.n_iter} steps; raise "
            "max_iter, or choose another approximation",
            ConvergenceWarning,
            stacklevel=5,
        )
    account = (*_tell(how, function), *told)
    rest = function.log_evidence, kind, n_iter, account
    return FoundFunctions(model, (model,), (function,), np.ones(1), *rest)


def _search(
    objective: Objective, model: Any, bounds: SearchBounds, options: SearchOptions
) -> SearchedKernel:
    """Return the model where an objective is highest, and warn where the search has not come to rest."""
    found = maximize_evidence(
        objective,
        model,
        bounds=bounds,
        fixed=options.fixed,
        n_init=int(options.n_init),
        rng=options.seed,
        callback=options.callback,
        tol=0.0 if options.rows is None else SEARCH_TOL,
    )
    if not found.converged:
        warnings.warn(
            f"the search for the parameters of the kernel ended after {found.n_iter} evaluations "
            "before it came to rest; the best found is kept: fix some parameters, or begin with kernel_",
            ConvergenceWarning,
            stacklevel=6,
        )
    return found


def latent_mean(
    kind: str, X: Array, frequency: Array | None, level: float, unit: float
) -> MeanEffects:
    """Return the mean of a function that is not seen: a level, lines in standardised columns."""
    if kind == "zero":
        return NO_MEAN
    scale = mean_effects(kind, X, np.zeros(len(X)), frequency)
    return scale._replace(center=level, spread=unit)


def _tell(how: LatentOptions, function: LatentFunction) -> tuple[str, ...]:
    """Return how a function was found, in words."""
    told = [f"{_NAMES[how.approximation]} over {len(function.X)} rows, O(N³) a step"]
    if function.jitter:
        told.append(f"jitter {function.jitter:.3g} on the diagonal: without it K is not definite")
    return tuple(told)


def _refuse_noise(kernel: Kernel) -> None:
    if any(isinstance(leaf, White) for leaf in kernel._leaves()):
        raise ValueError(
            "kernel holds White(), which is normal noise of the targets, and the likelihood is their noise: "
            "leave White() out; counts that vary more than Poisson ones are 'negative binomial'"
        )
