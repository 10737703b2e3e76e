"""The entries of a random vector or matrix one by one, and what is believed of each as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import singledispatch
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.empirical import Empirical
from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.counts.multinomial import Multinomial
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.distributions.vectors.matrix_normal import MatrixNormal
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.lazy import pandas
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["Labels", "entries_of", "place_names", "summarize"]

#: Draws that stand for entries whose marginals have no closed form.
_DRAWS = 4000


#: Names of the places along each axis of a belief; None where they are counted.
Labels: TypeAlias = Sequence[Sequence[Any] | None]


def summarize(
    beliefs: Mapping[str, Any],
    mass: float = 0.9,
    *,
    labels: Mapping[str, Labels] | None = None,
    signs: bool = False,
) -> DataFrame:
    """Return a table with a row for each number that the beliefs are about.

    Parameters
    ----------
    beliefs : mapping from names to distributions
        Entries of batches, vectors and matrices are rows of their own: ``w[0]``, ``w[1]``.
    mass : float
        Probability between ``lower`` and ``upper``, half of the rest on either side.
    labels : mapping from names to sequences, optional
        What the places along each axis of a belief are called instead of 0, 1, 2; None for an axis that is counted.
    signs : bool
        Whether to add the column ``positive``, the probability of a number above 0.

    Returns
    -------
    DataFrame
        With the columns ``mean``, ``sd``, ``lower``, ``upper``; ``ess``, the effective number of draws,
        where a belief is made of draws; ``state`` and ``probability``, the most probable one, where a
        variable has no numbers but states.

    Examples
    --------
    >>> from posteriori import Gamma, MvNormal
    >>> w = MvNormal([1.0, 2.0], cov=[[4.0, 0.0], [0.0, 1.0]])
    >>> summarize({"w": w, "tau": Gamma(2.0, 1.0)}).round(2)
          mean    sd  lower  upper
    w[0]   1.0  2.00  -2.29   4.29
    w[1]   2.0  1.00   0.36   3.64
    tau    2.0  1.41   0.36   4.74
    """
    if not (isinstance(mass, Real) and 0.0 < mass < 1.0):
        raise ValueError(f"mass must be a number between 0 and 1, got {mass!r}")
    tables = [
        _table(name, belief, mass, (labels or {}).get(name, ()), signs)
        for name, belief in beliefs.items()
    ]
    if not tables:
        return pandas.DataFrame(columns=["mean", "sd", "lower", "upper"])
    columns = dict.fromkeys(column for table in tables for column in table)
    whole = pandas.concat(tables)
    return whole[list(columns)]


def _table(name: str, belief: Any, mass: float, labels: Labels, signs: bool) -> DataFrame:
    shape = belief.batch_shape + belief.event_shape
    answers = _states(belief) if isinstance(belief, Categorical) else _numbers(belief, mass)
    if signs and "mean" in answers:
        answers["positive"] = 1.0 - _share_below_zero(belief)
    flat = {column: np.ravel(np.broadcast_to(x, shape)) for column, x in answers.items()}
    return pandas.DataFrame(flat, index=list(place_names(name, shape, labels)))


def place_names(name: str, shape: tuple[int, ...], labels: Labels = ()) -> Iterator[str]:
    """Yield ``name[place]`` for each entry; axes whose places are called "" are left out."""
    given = [*labels, *(None for _ in shape)]
    axes = [range(n) if known is None else known for n, known in zip(shape, given, strict=False)]
    for place in product(*axes):
        inside = ", ".join(str(part) for part in place if part != "")
        yield f"{name}[{inside}]" if inside else name


def _share_below_zero(belief: Any) -> Any:
    if isinstance(belief, PointMass):
        return (belief.location <= 0.0).astype(float)
    return entries_of(belief).cdf(0.0)


def _numbers(belief: Any, mass: float) -> dict[str, Any]:
    if isinstance(belief, PointMass):
        return {
            "mean": belief.mean,
            "sd": 0.0,
            "lower": belief.location,
            "upper": belief.location,
        }
    entries = entries_of(belief)
    lower, upper = entries.interval(mass)
    answers = {
        "mean": _moment(belief, "mean"),
        "sd": np.sqrt(_moment(belief, "variance")),
        "lower": lower,
        "upper": upper,
    }
    if hasattr(belief, "effective_sample_size"):
        answers["ess"] = np.reshape(
            belief.effective_sample_size, belief.batch_shape + (1,) * len(belief.event_shape)
        )
    return answers


def _moment(belief: Any, name: str) -> Any:
    """Return a moment, NaN where it does not exist."""
    try:
        return getattr(belief, name)
    except (ValueError, TypeError, AttributeError):
        return np.nan


def _states(belief: Categorical) -> dict[str, Any]:
    best = np.argmax(belief.probabilities, axis=-1)
    probability = np.take_along_axis(belief.probabilities, best[..., None], axis=-1)[..., 0]
    names = range(belief.probabilities.shape[-1]) if belief.labels is None else belief.labels
    state = np.array(list(names), dtype=object)[best]
    return {"state": state, "probability": probability}


@singledispatch
def entries_of(belief: Any) -> Any:
    """Return the marginals of the entries: one number each, of shape ``batch_shape + event_shape``.

    Where they have no closed form they are 4000 draws, the same ones each time.

    Examples
    --------
    >>> entries_of(Dirichlet([1.0, 2.0, 3.0]))
    Beta([1., 2., 3.], [5., 4., 3.])
    """
    if isinstance(belief, Univariate):
        return belief
    return _drawn(belief)


@entries_of.register
def _(belief: PointMass) -> PointMass:
    return PointMass(belief.location)


@entries_of.register
def _(belief: Empirical) -> Any:
    if not belief.event_shape:
        return belief
    axis = len(belief.batch_shape)
    points = np.moveaxis(belief.points, axis, -1)
    weights = belief.weights.reshape(
        belief.batch_shape + (1,) * len(belief.event_shape) + (belief.weights.shape[-1],)
    )
    return Empirical(points, np.broadcast_to(weights, points.shape), event_ndim=0)


@entries_of.register(MvNormal)
@entries_of.register(MatrixNormal)
def _(belief: Any) -> Normal:
    return Normal(belief.mean, variance=belief.variance)


@entries_of.register
def _(belief: MvStudentT) -> StudentT:
    spread = np.sqrt(np.diagonal(belief.scale, axis1=-2, axis2=-1))
    return StudentT(_widened(belief.dof), belief.location, scale=spread)


@entries_of.register
def _(belief: Dirichlet) -> Beta:
    a = belief.concentration
    return Beta(a, a.sum(axis=-1, keepdims=True) - a)


@entries_of.register
def _(belief: Multinomial) -> Binomial:
    return Binomial(_widened(belief.trials), belief.probabilities)


@entries_of.register
def _(belief: Mixture) -> Any:
    if len(belief.event_shape) != 1:
        return _drawn(belief)
    parts = entries_of(belief.components)  # (..., K, D)
    k, d = parts.batch_shape[-2:]
    across = take_members(parts, (..., np.arange(k), np.arange(d)[:, None]))  # (..., D, K)
    return Mixture(belief.probabilities[..., None, :], across)


def _drawn(belief: Any) -> Any:
    points = np.asarray(belief.sample(_DRAWS, rng=0), dtype=float)
    return Empirical(np.moveaxis(points, 0, -1), event_ndim=0)


def _widened(x: Any) -> Array:
    return np.asarray(x)[..., None]
