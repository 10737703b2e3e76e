"""What the best model has learned of each input, and which rows it did not expect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.importance import Effects, largest_first
from posteriori.analysis.fitting.preparation import NumberColumns
from posteriori.analysis.fitting.table_problem import Problem
from posteriori.analysis.table.values import dates_of
from posteriori.analysis.table.wording import counted, short_number
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.drawing.measures import short_text
from posteriori.estimators.contract import (
    DrawsWeights,
    HasPosterior,
    offers,
)
from posteriori.estimators.group_columns import GroupEffects
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import Unseen

__all__ = [
    "LIMIT",
    "entry_text",
    "expected_at_least",
    "level_effects",
    "spread_words",
    "surprise_table",
    "surprising_rows",
    "weight_effects",
]

#: Draws of weights from which intervals of 90 % are read.
_DRAWS = 2_000

#: Effects of levels that are shown, the largest.
_MOST_EFFECTS = 20

#: What effects are measured in, where it is not the unit of the target.
_UNITS = {
    "LogLinearRegressor": " in logarithms",
    "HurdleRegressor": " in log odds of a count above 0",
    "PoissonRegressor": " in logarithms",
    "NegativeBinomialRegressor": " in logarithms",
    "ZeroInflatedRegressor": " in logarithms",
    "BayesianLogisticRegression": " in log odds",
    "ProbitRegression": " in probits",
}

#: A row surprises if the model expected fewer such rows than this.
LIMIT = 0.1
#: Digits of numbers that stand in the data.
_DIGITS = 7


def weight_effects(pipeline: Any) -> Effects | None:
    """Return the weights of a linear model, largest first; None if the model has no such weights."""
    final = pipeline[-1]
    inputs, encoder = pipeline[0].get_feature_names_out(), pipeline[0]
    groups = encoder.group_names() if isinstance(encoder, NumberColumns) else []
    names = [str(name) for name in inputs[: len(inputs) - len(groups)]]
    if not names:
        return None
    if offers(final, DrawsWeights):
        mean = np.asarray(final.coef_)[: len(names)]
        draws = final.sample_weights(_DRAWS, rng=0)[:, : len(names)]
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        return largest_first(Effects(names, mean, low, high))
    posterior = final.posterior_ if offers(final, HasPosterior) else None
    if not isinstance(posterior, MvNormal) or posterior.mean.ndim != 1:
        return None
    if len(posterior.mean) not in (len(names), len(names) + 1):
        return None  # several classes: a set of weights for each
    mean = np.asarray(posterior.mean)[: len(names)]
    half = 1.6449 * np.asarray(posterior.std)[: len(names)]
    return largest_first(Effects(names, mean, mean - half, mean + half))


def level_effects(pipeline: Any) -> Effects | None:
    """Return the largest effects of levels of groups; None if the model has no groups."""
    groups = _groups_of(pipeline)
    if not groups:
        return None
    names = [f"{name} = {level}" for name, levels, _ in groups for level in levels]
    mean = np.concatenate([effects.mean for *_, effects in groups])
    half = 1.6449 * np.concatenate([effects.std for *_, effects in groups])
    if mean.ndim > 1:  # one effect on each of several classes
        names = [f"{name} on {label}" for name in names for label in pipeline[-1].classes_]
        mean, half = mean.ravel(), half.ravel()
    order = np.argsort(-np.abs(mean), kind="stable")[:_MOST_EFFECTS]
    shown = [names[k] for k in order]
    return Effects(shown, mean[order], (mean - half)[order], (mean + half)[order])


def spread_words(pipeline: Any) -> list[str]:
    """Return how much the levels of each group differ, in words."""
    unit, told = _UNITS.get(type(pipeline[-1]).__name__, ""), []
    if unit == _UNITS["BayesianLogisticRegression"] and len(pipeline[-1].classes_) > 2:
        unit += " of a class against the average one"
    for name, levels, effects in _groups_of(pipeline):
        low, high = (short_number(end, 2) for end in effects.spread_interval)
        told.append(
            f"{counted(len(levels), 'level')} of {short_text(name)!r} differ by "
            f"±\N{NO-BREAK SPACE}{short_number(effects.spread, 2)}{unit} ({low} to {high})"
        )
    return told


def _groups_of(pipeline: Any) -> list[tuple[str, list[str], GroupEffects]]:
    """Return the names of groups, their levels as the table has them, and their effects."""
    encoder, final = pipeline[0], pipeline[-1]
    if not isinstance(encoder, NumberColumns) or not encoder.group_names():
        return []
    known = zip(encoder.levels_, final.group_effects_.values(), strict=True)
    return [
        (part.name, [part.levels[int(code)] for code in effects.levels], effects)
        for part, effects in known
    ]


# -- surprising rows -----------------------------------------------------------------------------


def surprising_rows(unseen: Unseen, codes: Any = None, *, most: int = 8) -> Array:
    """Return the rows of which a model expected fewer than 0.1 so improbable, worst first.

    Parameters
    ----------
    unseen : Unseen
    codes : (N,) of int, optional
        Places of the classes that came; for numbers there are none.
    most : int
        No more than this many are returned.
    """
    expected = expected_at_least(unseen, codes)
    order = np.lexsort((unseen.log_density, expected))[:most]
    return order[expected[order] < LIMIT]


def expected_at_least(unseen: Unseen, codes: Any = None) -> Array:
    r"""Return how many rows at least as improbable as each the model expected among all, (N,).

    For numbers it is :math:`2N\min(F, 1 - F)`, F being the level of what came; for classes the sum of
    all probabilities, of any class in any row, up to that of the class that came.
    """
    if codes is None:
        level = unseen.level
        return 2.0 * len(level) * np.minimum(level, 1.0 - level)
    p = unseen.prediction
    came = p[np.arange(len(p)), codes]
    ascending = np.sort(p, axis=None)
    below = np.append(0.0, np.cumsum(ascending))
    # equal probabilities differ in their last digit from fold to fold
    return below[np.searchsorted(ascending, came * (1.0 + 1e-9), side="right")]


def surprise_table(
    unseen: Unseen, problem: Problem, places: Any, shown: Sequence[str] = ()
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table of the surprising rows; no rows if there are none.

    Parameters
    ----------
    unseen : Unseen
    problem : Problem
    places : (N,) of int
        Where the rows stand in the table, from 0.
    shown : sequence of str
        Columns whose entries are told.
    """
    y, classes = problem.y, problem.classes
    codes = None if classes is None else np.searchsorted(classes, y)
    expected = expected_at_least(unseen, codes)
    rows = []
    for row in surprising_rows(unseen, codes):
        if classes is None:
            came = short_number(float(y[row]), _DIGITS)
            said = short_number(float(unseen.prediction[row]))
        else:
            came, said = str(y[row]), str(classes[unseen.prediction[row].argmax()])
        entries = [entry_text(problem.X[name].iloc[row], problem.kinds[name]) for name in shown]
        told = (short_text(came), short_text(said), *entries, short_number(expected[row], 1))
        rows.append((f"{places[row] + 1:,}", *told))
    names = (short_text(name, 16) for name in shown)
    return ("row", "came", "predicted", *names, "such rows expected"), rows


def entry_text(value: Any, kind: str) -> str:
    """Write an entry of a converted column as a person would."""
    if pd.isna(value):
        return "missing"
    if kind == "category":
        return short_text(str(value))
    if kind == "boolean":
        return "yes" if value else "no"
    if kind == "date":
        return str(dates_of(np.array([value]), whole_days=True)[0])[:10]
    return short_number(float(value), _DIGITS)
