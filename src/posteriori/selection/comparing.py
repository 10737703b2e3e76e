"""Comparing models: estimators on a table, or results of the model language."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_sum_exp
from posteriori.selection.comparison import Comparison, Row
from posteriori.selection.held_out import HeldOut, held_out_density, last_step
from posteriori.selection.psis import standard_error

__all__ = ["compare"]

#: Factors by which the scale of a prior is changed to see how far the verdict moves.
_SCALES = (0.25, 0.5, 2.0, 4.0)


def compare(
    models: Mapping[str, Any] | None = None,
    X: Any = None,
    y: Any = None,
    *,
    folds: int = 5,
    draws: int = 1000,
    seed: int = 0,
    sensitivity: bool = True,
    **named: Any,
) -> Comparison:
    """Rank models by what the data say about them.

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
    **named
        Models by name: ``compare(a=post1, b=post2)``.

    Returns
    -------
    Comparison
        Prints as a table; ``to_frame()`` gives a DataFrame.

    Raises
    ------
    ValueError
        When evidences of the same kind of question are of different data.
    """
    given = {**(models or {}), **named}
    if not given:
        raise ValueError("compare needs at least one model: compare({'name': model}, X, y)")
    rows: dict[str, Row] = {}
    evidences: dict[str, LogEvidence] = {}
    held: dict[str, HeldOut] = {}
    evidence: LogEvidence | None
    for name, model in given.items():
        if hasattr(model, "log_evidence") and not hasattr(model, "fit"):
            rows[name], evidence = _of_posterior(name, model)
        else:
            if X is None or y is None:
                raise ValueError(f"{name} is an estimator: give the data as compare(models, X, y)")
            rows[name], evidence, held[name] = _of_estimator(
                name, model, X, y, folds, draws, seed, sensitivity
            )
        if evidence is not None:
            evidences[name] = evidence
    rows = _with_probabilities(rows, evidences)
    rows = _with_differences(rows, held)
    return Comparison(sorted(rows.values(), key=_rank))


def _rank(row: Row) -> tuple[float, float]:
    first = -row.elpd if not np.isnan(row.elpd) else np.inf
    return first, -row.log_evidence if not np.isnan(row.log_evidence) else np.inf


def _of_posterior(name: str, posterior: Any) -> tuple[Row, LogEvidence]:
    evidence = posterior.log_evidence
    row = Row(name, float(evidence), evidence.kind, evidence.of)
    try:
        account = posterior.explain()
    except (TypeError, AttributeError):
        return row, evidence
    observed = set(posterior.observed) if hasattr(posterior, "observed") else set()
    seen = [value for key, value in account.energies.items() if key in observed]
    if not seen:
        return row, evidence
    accuracy = float(sum(seen))
    return replace(row, accuracy=accuracy, complexity=accuracy - float(evidence)), evidence


def _of_estimator(
    name: str,
    model: Any,
    x: Any,
    y: Any,
    folds: int,
    draws: int,
    seed: int,
    sensitivity: bool,
) -> tuple[Row, LogEvidence | None, HeldOut]:
    seconds = float("nan")
    if not _is_fitted(model):
        start = time.perf_counter()
        model = clone(model).fit(x, y)
        seconds = time.perf_counter() - start
    final, inputs = last_step(model, x)
    held = held_out_density(model, x, y, folds=folds, draws=draws, seed=seed)
    evidence = getattr(final, "log_evidence_", None)
    row = Row(
        name,
        elpd=held.total,
        elpd_se=held.standard_error,
        method=held.method,
        waic=held.waic,
        accuracy=held.accuracy,
        effective_parameters=float(getattr(final, "effective_parameters_", float("nan"))),
        seconds=seconds,
    )
    if evidence is None:
        return row, None, held
    value = float(evidence)
    row = replace(
        row,
        log_evidence=value,
        kind=evidence.kind,
        of=evidence.of,
        complexity=held.accuracy - value,
        prior_sensitivity=_sensitivity(final, inputs, y, value) if sensitivity else float("nan"),
    )
    return row, evidence, held


def _sensitivity(final: Any, inputs: Any, y: Any, value: float) -> float:
    """Return the largest change of the log evidence under other scales of the prior."""
    if not hasattr(final, "with_prior_scaled"):
        return float("nan")
    moved = [
        float(final.with_prior_scaled(scale).fit(inputs, y).log_evidence_) - value
        for scale in _SCALES
    ]
    return float(np.max(np.abs(moved)))


def _is_fitted(model: Any) -> bool:
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _with_probabilities(
    rows: Mapping[str, Row], evidences: Mapping[str, LogEvidence]
) -> dict[str, Row]:
    """Add posterior probabilities within each group of evidences of the same data."""
    found = dict(rows)
    for of in {evidence.of for evidence in evidences.values()}:
        names = [n for n, e in evidences.items() if e.of == of]
        first = names[0]
        for other in names[1:]:
            if not evidences[first].comparable(evidences[other]):
                raise ValueError(
                    f"the evidences of {first} and {other} are of different data; fit both to the "
                    "same rows and targets"
                )
        logs = np.array([float(evidences[n]) for n in names])
        total = log_sum_exp(logs, axis=0)
        for name, value in zip(names, logs, strict=True):
            found[name] = replace(
                found[name],
                probability=float(np.exp(value - total)),
                log_bayes_factor=float(value - logs.max()),
            )
    return found


def _with_differences(rows: Mapping[str, Row], held: Mapping[str, HeldOut]) -> dict[str, Row]:
    """Add how far each model is behind the best, with the error of the paired difference."""
    found = dict(rows)
    if not held:
        return found
    best = max(held, key=lambda name: held[name].total)
    for name, part in held.items():
        gap = part.pointwise - held[best].pointwise
        error = float("nan") if name == best else standard_error(gap)
        found[name] = replace(
            found[name], elpd_difference=float(gap.sum()), elpd_difference_se=error
        )
    return found
