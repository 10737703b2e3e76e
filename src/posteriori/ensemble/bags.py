"""Models of samples of the rows and columns, one after another or side by side.

Rows are drawn in the order of their values: for a seed, neither the order in which they came nor whether
equal rows are repeated or weighted changes what is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier

from posteriori.ensemble.bootstrap import draw_rows
from posteriori.estimators.class_probabilities import fit_classes
from posteriori.estimators.weighted_fits import fit_weighted
from posteriori.numerics.random import spawn_generators
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = ["Bag", "Bagger", "plan_bags"]

#: Seeds of models lie below this, as scikit-learn wants them.
_SEEDS = 2**31 - 1


class Bag(NamedTuple):
    """A model of some rows and columns.

    Attributes
    ----------
    model : fitted estimator
    columns : (d,)
        The columns that it sees.
    out : (m,)
        The rows that it has not seen.
    """

    model: Any
    columns: IntArray
    out: IntArray


class Bagger(NamedTuple):
    """What is drawn from, and how much of it.

    Attributes
    ----------
    estimator : estimator
        Not fitted.
    x : (N, D)
    y : (N,)
        Numbers, or labels.
    frequency : (N,)
    order : (N,)
        The rows by their values.
    size : int
        Number of rows in a bag.
    replace : bool
    n_columns : int
        Number of columns in a bag.
    """

    estimator: Any
    x: Array
    y: Any
    frequency: Array
    order: IntArray
    size: int
    replace: bool
    n_columns: int

    def bags(self, count: int, rng: Seed, n_jobs: int | None) -> Iterator[Bag]:
        """Yield so many bags."""
        jobs = (delayed(_fit_bag)(self, stream) for stream in spawn_generators(rng, count))
        yield from Parallel(n_jobs=n_jobs, return_as="generator")(jobs)


def plan_bags(bagging: Any, x: Array, y: Any, key: Any, frequency: Array | None) -> Bagger:
    """Return how bags are drawn from checked rows.

    Parameters
    ----------
    bagging : estimator
        With ``estimator``, ``max_samples``, ``max_features`` and ``bootstrap``.
    x : (N, D)
    y : (N,)
    key : (N,)
        Numbers that sort as the targets.
    frequency : (N,) or None
    """
    times = np.ones(len(x)) if frequency is None else frequency
    size = _amount("max_samples", bagging.max_samples, float(times.sum()))
    if not bagging.bootstrap and size < times.sum() and not np.array_equal(times, np.rint(times)):
        raise ValueError(
            "without replacement some of the rows can be drawn only where sample_weight holds whole "
            f"numbers, got {times[times != np.rint(times)][0]:.6g}; pass bootstrap=True"
        )
    return Bagger(
        bagging.estimator,
        x,
        y,
        times,
        np.lexsort((*x.T, key)),
        size,
        bool(bagging.bootstrap),
        _amount("max_features", bagging.max_features, x.shape[1]),
    )


def _amount(name: str, value: Any, whole: float) -> int:
    """Return how many are meant: a whole number as it is, or a share of them, but at least one."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and 1 <= value <= whole:
        return int(value)
    if isinstance(value, (float, np.floating)) and 0.0 < value <= 1.0:
        return max(1, round(float(value) * whole))
    raise ValueError(
        f"{name} must be a share above 0.0 and up to 1.0, or a whole number from 1 to {whole:g}; got "
        f"{value!r}"
    )


def _fit_bag(plan: Bagger, rng: np.random.Generator) -> Bag:
    counts = _draw_counts(plan, rng)
    n_columns = plan.x.shape[1]
    columns = np.sort(rng.choice(n_columns, plan.n_columns, replace=False))
    drawn = np.flatnonzero(counts)
    x = plan.x[np.ix_(drawn, columns)] if len(columns) < n_columns else plan.x[drawn]
    fit = partial(fit_weighted, frequency=counts[drawn])
    if is_classifier(plan.estimator):
        fit = partial(fit_classes, fit=fit)
    model = fit(_seeded(plan.estimator, rng), x, plan.y[drawn])
    return Bag(model, columns, np.flatnonzero(counts == 0.0))


def _draw_counts(plan: Bagger, rng: np.random.Generator) -> Array:
    """Return how often each row is in the bag, (N,)."""
    if not plan.replace and plan.size >= plan.frequency.sum():
        return plan.frequency
    counts = np.empty(len(plan.x))
    counts[plan.order] = draw_rows(plan.frequency[plan.order], plan.size, plan.replace, rng)
    return counts


def _seeded(estimator: Any, rng: np.random.Generator) -> Any:
    """Return a copy whose random parts, if it has any, have seeds of their own."""
    copy = clone(estimator)
    names = sorted(
        name
        for name in copy.get_params(deep=True)
        if name == "random_state" or name.endswith("__random_state")
    )
    return copy.set_params(**{name: int(rng.integers(_SEEDS)) for name in names})
