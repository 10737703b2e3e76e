"""What is to be said of a result of the model language: held-out density, WAIC, sensitivity.

Data are left out in closed form where the model has one, by Pareto-smoothed importance sampling where
that can be trusted, by inference without them otherwise. What cannot be had is blank, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from posteriori.estimators.contract import Accounts, offers
from posteriori.modeling.posterior.pointwise import Data, draw_unknowns, find_data, log_likelihood
from posteriori.modeling.posterior.posterior import Posterior
from posteriori.modeling.views.left_out import leave_one_out, log_density_without
from posteriori.modeling.views.prior_scale import evidence_with_prior_scaled, scalable_priors
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row
from posteriori.selection.held_out import (
    TRUSTED_SHAPE,
    HeldOut,
    hold_out_by_draws,
)

__all__ = ["examine_posterior"]

#: Families of which single values have probability.
_WITH_ATOMS = (
    "Bernoulli",
    "BetaBinomial",
    "Binomial",
    "Categorical",
    "DirichletMultinomial",
    "Geometric",
    "Multinomial",
    "NegativeBinomial",
    "Poisson",
)


class _Findings(NamedTuple):
    """Of one group of data."""

    held: HeldOut
    leverage: float


def examine_posterior(
    name: str,
    posterior: Any,
    *,
    folds: int,
    draws: int,
    seed: int,
    scales: Sequence[float],
) -> tuple[Row, HeldOut | None]:
    """Return the row of a posterior, and its held-out densities.

    Parameters
    ----------
    name : str
    posterior : Posterior, or what else has ``log_evidence``
    folds, draws, seed
        As in :func:`~posteriori.selection.rank_models`.
    scales : sequence of float
        Of priors; empty leaves the sensitivity blank.
    """
    evidence = posterior.log_evidence
    row = Row(name, float(evidence), evidence.kind, evidence.question)
    if not isinstance(posterior, Posterior):
        return _without_data(row, posterior), None
    row = replace(row, measure=_measure(posterior))
    row, why = _with_sensitivity(row, posterior, scales)
    reasons = [why] if why else []
    held = None
    try:
        held, leverage = _held_out(posterior, folds, draws, seed)
        row = _with_held_out(row, held, leverage)
        if np.isnan(held.waic):
            reasons.append("WAIC: no draws, or none that tell of single data")
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        reasons.append(f"held-out density: {error}")
    row = _with_account(row, posterior)
    return replace(row, blanks="; ".join(reasons)), held


def _without_data(row: Row, result: Any) -> Row:
    """Add what a result that does not hold its data knows of them."""
    row = replace(row, blanks="held-out density, prior sensitivity: it does not hold its data")
    if not offers(result, Accounts):
        return row
    return replace(row, accuracy=float(result.fit), complexity=float(result.complexity))


def _with_sensitivity(row: Row, posterior: Posterior, scales: Sequence[float]) -> tuple[Row, str]:
    """Add the largest change of the log evidence under other widths of the priors, or say why not."""
    if not scales:
        return row, ""
    if not scalable_priors(posterior):
        return row, "prior sensitivity: no prior has a width"
    try:
        logs = [float(evidence_with_prior_scaled(posterior, scale)) for scale in scales]
    except (TypeError, ValueError, np.linalg.LinAlgError) as error:
        return row, f"prior sensitivity: {error}"
    moved = float(np.max(np.abs(np.array(logs) - row.log_evidence)))
    return replace(row, prior_sensitivity=moved), ""


def _with_held_out(row: Row, held: HeldOut, leverage: float) -> Row:
    return replace(
        row,
        elpd=held.total,
        elpd_se=held.standard_error,
        method=held.method,
        pareto_shape=held.pareto_shape,
        waic=held.waic,
        accuracy=held.accuracy,
        complexity=held.accuracy - row.log_evidence,
        effective_parameters=held.penalty if np.isnan(leverage) else leverage,
    )


def _with_account(row: Row, posterior: Posterior) -> Row:
    """Add fit and complexity in closed form, where all terms have one."""
    try:
        account = posterior.explain()
    except (TypeError, AttributeError):
        return row
    return replace(row, accuracy=account.accuracy, complexity=account.complexity)


def _measure(posterior: Posterior) -> str:
    """Tell whether what was observed has a probability, a density, or some of both."""
    bound = posterior._solved.bound
    observed = (*bound.observed, *bound.evidence)
    atoms = {bound.families[name].__name__ in _WITH_ATOMS for name in observed}
    if len(atoms) > 1:
        return "mixed"
    return "probability" if atoms == {True} else "density"


# -- held-out densities ----------------------------------------------------------------------


def _held_out(posterior: Posterior, folds: int, draws: int, seed: int) -> tuple[HeldOut, float]:
    """Return the densities of all data, by the names of what was observed, and their leverage."""
    groups = find_data(posterior)
    found = [_of_group(posterior, data, draws, seed) for data in groups]
    held = [
        part.held
        if _is_trusted(part.held)
        else _by_folds(posterior, data, part.held, folds, draws, seed)
        for data, part in zip(groups, found, strict=True)
    ]
    if len(held) == 1:
        return held[0], found[0].leverage
    joined = HeldOut(
        np.concatenate([part.pointwise for part in held]),
        ", ".join(dict.fromkeys(part.method for part in held)),
        sum(part.waic for part in held),
        sum(part.accuracy for part in held),
        max(part.pareto_shape for part in held),
        float(np.linalg.norm([part.sampling_error for part in held])),
        sum(part.penalty for part in held),
    )
    return joined, sum(part.leverage for part in found)


def _is_trusted(held: HeldOut) -> bool:
    return held.method == "leave-one-out" or held.pareto_shape < TRUSTED_SHAPE


def _of_group(posterior: Posterior, data: Data, draws: int, seed: int) -> _Findings:
    exact = leave_one_out(posterior, data)
    whole, leverage = (None, float("nan")) if exact is None else exact
    try:
        unknowns = draw_unknowns(posterior, draws, seed)

        def log_likelihood_of(rows: Any, size: int) -> Array:
            some = {name: values[:size] for name, values in unknowns.items()}
            return log_likelihood(posterior, data, some, rows)

        return _Findings(
            hold_out_by_draws(log_likelihood_of, len(data), draws, seed, whole), leverage
        )
    except TypeError:  # no draws, or none that say something of single data
        if whole is None:
            return _Findings(HeldOut(np.empty(0), ""), leverage)
        return _Findings(HeldOut(whole, "leave-one-out"), leverage)


def _by_folds(
    posterior: Posterior, data: Data, held: HeldOut, folds: int, draws: int, seed: int
) -> HeldOut:
    """Infer without every fold in turn."""
    if folds < 2:
        raise ValueError(f"folds must be at least 2, got {folds}")
    count = min(folds, len(data))
    if count < 2:
        raise ValueError(f"there is {len(data)} datum, and leaving it out leaves none")
    order = np.random.default_rng(seed).permutation(len(data))
    pointwise = np.empty(len(data))
    for rows in np.array_split(order, count):
        pointwise[rows] = log_density_without(posterior, data, rows, draws=draws, rng=seed)
    return held._replace(pointwise=pointwise, method=f"{count}-fold", sampling_error=0.0)
