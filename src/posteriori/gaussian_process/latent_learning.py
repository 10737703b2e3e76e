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
    Objective,
    SearchedKernel,
    free_parameters,
    maximize_evidence,
)
from posteriori.inference.processes.latent.latent_process import KINDS
from posteriori.inference.processes.latent.latent_search import (
    LatentFunction,
    LatentModel,
    ShapedObjective,
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
    "LatentLearned",
    "LatentOptions",
    "latent_mean",
    "learn_latent",
    "search_parameters",
    "tell_approximation",
    "warn_unless_settled",
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


class LatentLearned(NamedTuple):
    """What was learned, and how.

    Attributes
    ----------
    model : LatentModel
        As given, chosen, or most probable.
    belief : LatentBelief
    log_evidence : float
    kind : str
    n_iter : int
        Evaluations of the evidence.
    account : tuple of str
    """

    model: LatentModel
    belief: LatentBelief
    log_evidence: float
    kind: Kind
    n_iter: int
    account: tuple[str, ...]

    @property
    def kernel(self) -> Kernel:
        """Of the function."""
        return self.model.kernel


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
    model = LatentModel(kernel, family, family.read(given))
    level = latent_mean(mean, X, family.frequency, family.level, family.unit)
    objective = ShapedObjective(
        X, family, level, how.approximation, tol=how.tol, max_iter=how.max_iter
    )
    free, bounds = free_parameters(model, options.fixed), model.bounds(X)
    if hyperparameters == "integrated" and free.any():
        found = integrate_parameters(
            objective,
            objective.at,
            lambda score: search_parameters(score, model, bounds, options),
            bounds,
            free,
        )
        belief = ProcessBelief(
            tuple(one.kernel for one in found.models), found.solved, found.weights, False, True
        )
        account = (*tell_approximation(how, found.solved[0]), found.account)
        rest: Any = found.log_evidence, "laplace", found.top.n_iter, account
        return LatentLearned(found.top.kernel, LatentBelief(belief, found.models), *rest)
    n_iter, told, kind = 1, (), KINDS[how.approximation]
    if hyperparameters != "fixed" and free.any():
        top = search_parameters(objective, model, bounds, options)
        model, n_iter, kind = top.kernel, top.n_iter, "type-II"
        told = (f"parameters of highest evidence after {n_iter} evaluations",)
    function = objective.at(model)
    warn_unless_settled(function)
    belief = ProcessBelief((model.kernel,), (function,), np.ones(1), False, True)
    account = (*tell_approximation(how, function), *told)
    return LatentLearned(
        model, LatentBelief(belief, (model,)), function.log_evidence, kind, n_iter, account
    )


def search_parameters(
    objective: Objective, model: Any, bounds: SearchBounds, options: SearchOptions
) -> SearchedKernel:
    """Return the model where an objective is highest, and warn where the search has not come to rest."""
    found = maximize_evidence(
        objective,
        model,
        bounds=bounds,
        fixed=options.fixed,
        restarts=int(options.restarts),
        rng=options.seed,
        callback=options.callback,
    )
    if not found.converged:
        warnings.warn(
            f"the search for the parameters of the kernel ended after {found.n_iter} evaluations "
            "before it came to rest; the best found is kept: fix some parameters, or begin with kernel_",
            ConvergenceWarning,
            stacklevel=5,
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


def tell_approximation(how: LatentOptions, function: LatentFunction) -> tuple[str, ...]:
    """Return how a function was found, in words."""
    told = [f"{_NAMES[how.approximation]} over {len(function.X)} rows, O(N³) a step"]
    if function.jitter:
        told.append(f"jitter {function.jitter:.3g} on the diagonal: without it K is not definite")
    return tuple(told)


def warn_unless_settled(function: LatentFunction, stacklevel: int = 4) -> None:
    """Warn where the approximation has not come to rest."""
    if not function.fit.converged:
        warnings.warn(
            f"the approximation of the posterior did not converge in {function.fit.n_iter} steps; raise "
            "max_iter, or choose another approximation",
            ConvergenceWarning,
            stacklevel=stacklevel,
        )


def _refuse_noise(kernel: Kernel) -> None:
    if any(isinstance(leaf, White) for leaf in kernel._leaves()):
        raise ValueError(
            "kernel holds White(), which is normal noise of the targets, and the likelihood is their noise: "
            "leave White() out; counts that vary more than Poisson ones are 'negative binomial'"
        )
