"""Comparing models: estimators on a table, or results of the model language."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.base import has_atoms
from posteriori.estimators.contract import (
    ComparableResult,
    CountsParameters,
    Estimator,
    HasEvidence,
    ScalesPrior,
    last_step,
    missing_evidence,
    offers,
    predictive_of,
)
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.telling.progress import Progress
from posteriori.selection.comparison import (
    Comparison,
    Row,
    ranked,
    row_of,
    with_differences,
    with_probabilities,
)
from posteriori.selection.held_out import HeldOut, held_out_density
from posteriori.selection.same_data import require_same_data

__all__ = ["PRIOR_SCALES", "rank_models", "fitted", "select"]

#: Factors by which the scale of a prior is changed to see how far the verdict moves.
PRIOR_SCALES = (0.25, 0.5, 2.0, 4.0)


class _How(NamedTuple):
    """The options of a comparison, and where to say how far it is."""

    folds: int
    draws: int
    seed: int
    sensitivity: bool
    say: Callable[[str], None]


class _Findings(NamedTuple):
    row: Row
    evidence: LogEvidence | None = None
    held: HeldOut | None = None


def rank_models(
    models: Mapping[str, Any] | None = None,
    X: Any = None,
    y: Any = None,
    *,
    folds: int = 5,
    draws: int = 1000,
    seed: int = 0,
    sensitivity: bool = True,
    progress: bool | None = None,
    callback: Callable[[int, int], Any] | None = None,
    **named: Any,
) -> Comparison:
    """Rank models by what the data say about them.

    Models whose evidences are of the same data are ranked by them, and have posterior
    probabilities (all models equally probable before). Where there are several such groups, or
    models without evidence, the held-out log predictive density ranks. A model that fails is
    listed last with the reason; Ctrl-C ends the comparison with the models that are done.

    Parameters
    ----------
    models : mapping of names to models
        Estimators, fitted or not, or pipelines of them; or results of ``Model.infer``.
    X, y : array_like, optional
        The data, for estimators.
    folds : int
        Of cross-validation, where nothing better is known about an estimator.
    draws : int
        From each posterior, for importance sampling.
    seed : int
    sensitivity : bool
        Whether to fit again with the scale of the prior changed by ¼ to 4.
    progress : bool, optional
        Whether to show how far it is; by default on a terminal when it takes long.
    callback : callable, optional
        Called as ``callback(done, n_models)`` after every model.
    **named
        Models by name: ``rank_models(a=post1, b=post2)``.

    Returns
    -------
    Comparison
        Prints as a table; ``to_frame()`` gives a DataFrame.

    Raises
    ------
    ValueError
        When models were fitted to different data, or to other targets than ``y``.

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.regression import BayesianLinearRegressor
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> y = 2.0 * x[:, 0] + 0.3 * np.sin(40.0 * x[:, 0])
    >>> models = {
    ...     "line": BayesianLinearRegressor(),
    ...     "constant": BayesianLinearRegressor(prior_precision=np.inf),
    ... }
    >>> table = rank_models(models, x, y)
    >>> table.best
    'line'
    """
    given = {**(models or {}), **named}
    if not given:
        raise ValueError("rank_models needs at least one model: rank_models({'name': model}, X, y)")
    require_same_data(given, y)
    line = Progress(False if callback and progress is None else progress, kept="finished models")
    done: dict[str, _Findings] = {}
    stopped = ""
    try:
        for count, (name, model) in enumerate(given.items(), start=1):
            say = _sayer(line, f"{name} ({count} of {len(given)})")
            how = _How(folds, draws, seed, sensitivity, say)
            done[name] = _examine(name, model, X, y, how)
            if callback is not None:
                callback(count, len(given))
    except KeyboardInterrupt:
        if not done:
            raise
        stopped = f"stopped after {len(done)} of {len(given)} models"
    finally:
        line.close()
    rows = with_probabilities(
        {name: found.row for name, found in done.items()},
        {name: found.evidence for name, found in done.items() if found.evidence is not None},
    )
    held = {name: found.held for name, found in done.items() if found.held is not None}
    rows = with_differences(
        rows,
        {name: part.pointwise for name, part in held.items()},
        {name: part.sampling_error for name, part in held.items()},
    )
    return Comparison(ranked(list(rows.values())), [stopped] if stopped else [])


def select(models: Mapping[str, Any], X: Any, y: Any, **options: Any) -> Any:
    """Return the most probable model, fitted; by held-out density where evidences do not compare.

    Parameters
    ----------
    models : mapping of names to estimators
    X, y : array_like
    **options
        Those of :func:`rank_models`.

    Examples
    --------
    >>> import numpy as np
    >>> from posteriori.regression import BayesianLinearRegressor
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> models = {"line": BayesianLinearRegressor(), "free": BayesianLinearRegressor(1e-4)}
    >>> select(models, x, 2.0 * x[:, 0] + np.cos(50 * x[:, 0]))
    BayesianLinearRegressor()
    """
    best = rank_models(models, X, y, **{"sensitivity": False, **options}).best
    return fitted(models[best], X, y)


def fitted(model: Any, X: Any, y: Any) -> Any:
    """Return a fitted model as it is, an unfitted one as a fitted copy."""
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return clone(model).fit(X, y)
    return model


def _sayer(line: Progress, who: str) -> Callable[[str], None]:
    return lambda what: line.say(f"{who}: {what}")


def _examine(name: str, model: Any, X: Any, y: Any, how: _How) -> _Findings:
    if offers(model, ComparableResult) and not offers(model, Estimator):
        return _of_posterior(name, model, how)
    if X is None or y is None:
        raise ValueError(f"{name} is an estimator: give the data as rank_models(models, X, y)")
    try:
        return _of_estimator(name, model, X, y, how)
    except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError) as error:
        return _Findings(Row(name, failure=f"{type(error).__name__}: {error}"))


def _of_posterior(name: str, posterior: Any, how: _How) -> _Findings:
    from posteriori.selection.model_results import examine_posterior

    how.say("leaving data out")
    row, held = examine_posterior(
        name,
        posterior,
        folds=how.folds,
        draws=how.draws,
        seed=how.seed,
        scales=PRIOR_SCALES if how.sensitivity else (),
    )
    return _Findings(row, posterior.log_evidence, held)


def _of_estimator(name: str, model: Any, X: Any, y: Any, how: _How) -> _Findings:
    how.say("fitting")
    start = time.perf_counter()
    learned = fitted(model, X, y)
    seconds = time.perf_counter() - start if learned is not model else float("nan")
    final, inputs = last_step(learned, X)
    how.say("leaving rows out")
    held = held_out_density(learned, X, y, folds=how.folds, draws=how.draws, seed=how.seed)
    evidence = final.log_evidence_ if offers(final, HasEvidence) else None
    row = row_of(
        name,
        evidence,
        held.pointwise,
        elpd_se=held.standard_error,
        method=held.method,
        pareto_shape=held.pareto_shape,
        waic=held.waic,
        accuracy=held.accuracy,
        effective_parameters=final.effective_parameters_
        if offers(final, CountsParameters)
        else held.penalty,
        seconds=seconds,
        measure=_measure(learned, X),
        blanks=f"log evidence: {reason}" if (reason := missing_evidence(final)) else "",
    )
    if evidence is None:
        return _Findings(row, None, held)
    row = replace(row, complexity=held.accuracy - float(evidence))
    if how.sensitivity and offers(final, ScalesPrior):
        how.say("fitting with other priors")
        moved = [
            float(final.with_prior_scaled(scale).fit(inputs, y).log_evidence_) - float(evidence)
            for scale in PRIOR_SCALES
        ]
        row = replace(row, prior_sensitivity=float(np.max(np.abs(moved))))
    return _Findings(row, evidence, held)


def _measure(model: Any, X: Any) -> str:
    """Tell whether a target has a probability or a density."""
    if is_classifier(model):
        return "probability"
    return "probability" if has_atoms(predictive_of(model, _safe_indexing(X, [0]))) else "density"
