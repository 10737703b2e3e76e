"""Where coordinate ascent begins: at the priors, and for what these cannot tell apart near the data.

Classes begin at clusters found by k-means from k-means++ seeds, factors at singular vectors, of the
data that depend on each member as columns that count alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.modeling.binding.bound import Bound, BoundFactor, child_term
from posteriori.modeling.binding.labelled import Access, Axis, Switch, shape_of, spread
from posteriori.modeling.forms.state_tables import number_of_states
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.nodes.discrete_node import soft_states
from posteriori.modeling.variational.nodes.node import Node
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Features",
    "class_counts",
    "class_start",
    "factor_start",
    "find_features",
    "indicators",
    "start",
    "start_from_priors",
]

#: Rows that seeds are chosen from.
_SAMPLE = 5000

#: Steps of k-means from the seeds: the ascent goes on from there.
_STEPS = 10

#: Codes of more states than this become random vectors, nearly as far from each other as indicators.
_MOST_STATES = 32


class Features(NamedTuple):
    """Data that depend on each member of a variable.

    Attributes
    ----------
    columns : array, (members, F)
    is_one_code : bool
        Whether they are the indicators of a single code: then no two states are more alike than
        others.
    """

    columns: Array
    is_one_code: bool


def start(
    approximation: Approximation,
    problem: Problem,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> None:
    """Start all nodes: at their priors, near the data, or where a user wants them.

    Parameters
    ----------
    approximation : Approximation
    problem : Problem
        Its nodes.
    rng : Generator
    rows : integers, optional
        The rows of the data's plate that it has; by default all.
    """
    bound, factors, init = approximation.bound, approximation.factors, approximation.options.init
    start_from_priors(approximation, problem, problem.nodes)
    seeds = {n: kind for n, kind in approximation.structure.exchangeable.items() if n not in init}
    for name, kind in seeds.items():
        find = class_start if kind == "classes" else factor_start
        some = rows if approximation.structure.plate in bound.layouts[name].plates else None
        found = find(name, bound, factors, problem.restart.size, rng, some)
        problem.owner[name].set_centre(name, found)
    for name, value in init.items():
        if name not in problem.owner:  # another block's
            continue
        if name in approximation.references:
            value = value - approximation.restored(name, 0.0)
        problem.owner[name].start_from(name, value, bound.layouts[name].shape)
    for name in seeds if init else ():
        if _meets(name, init, factors):  # it follows the given start rather than one of its own
            problem.update(problem.owner[name])


def start_from_priors(
    approximation: Approximation, problem: Problem, nodes: Sequence[Node]
) -> None:
    """Let nodes be what their priors say of them."""
    priors = {id(node): _prior_of(node, approximation) for node in nodes}
    for name in approximation.bound.layouts:  # parents of a node come before its last variable
        node = problem.owner.get(name)
        if node is not None and node.names[-1] == name and priors.get(id(node)):
            problem.update(node, priors[id(node)])
            node.begin()
    for node in nodes:  # missing data have no prior of their own
        if not priors[id(node)]:
            problem.update(node)


def _prior_of(node: Node, approximation: Approximation) -> set[int]:
    """Return the factors of a node's variables, or what earlier data say of them alone."""
    names, own = set(node.names), dict[int, set[str]]()
    for i, factor in enumerate(approximation.factors):
        told = {a.name for a in factor.accesses}
        if factor.name in names:
            own[i] = {factor.name}
        elif _is_earlier(factor.name, approximation.bound) and told <= names:
            own[i] = told
    return set(own) if names <= set[str]().union(*own.values()) else set()


def _is_earlier(name: str, bound: Bound) -> bool:
    """Tell whether a factor says what earlier data have told."""
    return name in bound.observed and name not in bound.variables


def _meets(name: str, others: Iterable[str], factors: Sequence[BoundFactor]) -> bool:
    """Tell whether a variable meets one of others in a product."""
    terms = (term for factor in factors for term in factor.terms)
    met = ({access.name for access in term.accesses} for term in terms)
    return any(name in names and not names.isdisjoint(others) for names in met)


# -- classes and factors ---------------------------------------------------------------------


def class_start(
    name: str,
    bound: Bound,
    factors: Sequence[BoundFactor],
    starts: int,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> Array:
    """Return first probabilities of a discrete variable, (starts, *axes, K).

    With ``rows``, only those of its first axis.

    Members are clustered by the data that depend on them, by k-means from k-means++ seeds: the
    first start uses all classes, others fewer, because classes that are not needed die out slowly.
    States of a single code fall into classes at random. Without such data the probabilities are
    random.
    """
    size = number_of_states(next(f for f in factors if f.name == name))
    shape = bound.layouts[name].shape
    if rows is not None:
        shape = (len(rows), *shape[1:])
    features = find_features(name, bound, factors, Switch, rng, rows)
    count = math.prod(shape)
    found = np.empty((starts, count, size))
    used = class_counts(size, starts)
    for s in range(starts):
        if features is None:
            found[s] = rng.dirichlet(np.ones(size), size=count)
            continue
        found[s] = soft_states(_k_means(_of_one_start(features, rng), used[s], rng), size)
    return found.reshape(starts, *shape, size)


def class_counts(size: int, starts: int) -> list[int]:
    """Return how many classes each start uses: all, then fewer in equal ratios down to 2."""
    if starts == 1 or size <= 2:
        return [size] * starts
    ratios = np.geomspace(size, 2, min(starts, size - 1))
    counts = [round(float(r)) for r in ratios]
    return [counts[s % len(counts)] for s in range(starts)]


def factor_start(
    name: str,
    bound: Bound,
    factors: Sequence[BoundFactor],
    starts: int,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> Array:
    """Return first means of a normal variable that another one multiplies, (starts, *axes).

    With ``rows``, only those of its first axis.

    The first start has the scores of the leading principal components of the data that depend
    on it; the others, and what lies beyond the rank, are random.
    """
    shape = bound.layouts[name].shape
    if rows is not None:
        shape = (len(rows), *shape[1:])
    found = rng.standard_normal((starts, *shape))
    features = find_features(name, bound, factors, Access, rng, rows)
    width = shape[-1] if shape else 1
    if features is None or len(features.columns) != math.prod(shape[:-1]) or len(shape) < 2:
        return found
    left, values, _ = np.linalg.svd(_sampled_columns(features.columns, rng), full_matrices=False)
    rank = min(width, int(np.sum(exceeds_rounding(values, values[0]))))
    scores = left[:, :rank] * np.sqrt(len(left))
    first = found[0].reshape(-1, width)
    first[:, :rank] = scores + 0.01 * first[:, :rank]
    return found


def _sampled_columns(features: Array, rng: np.random.Generator) -> Array:
    """Return the features, or random mixtures of them where there are very many."""
    if features.shape[1] <= 300:
        return features
    return features @ rng.standard_normal((features.shape[1], 300)) / np.sqrt(300.0)


def _of_one_start(features: Features, rng: np.random.Generator) -> Array:
    """Return what is clustered: of a single code a random number for each of its states."""
    if not features.is_one_code:
        return features.columns
    return features.columns @ rng.standard_normal((features.columns.shape[1], 1))


def _k_means(x: Array, k: int, rng: np.random.Generator) -> IntArray:
    """Return the nearest of k centres for each row: k-means++ seeds, then Lloyd's steps."""
    sample = x if len(x) <= _SAMPLE else x[rng.choice(len(x), _SAMPLE, replace=False)]
    return nearest_of(x, rough_centers(sample, k, None, rng, steps=_STEPS, tries=1))


# -- features --------------------------------------------------------------------------------


def find_features(
    name: str,
    bound: Bound,
    factors: Sequence[BoundFactor],
    kind: Any,
    rng: np.random.Generator,
    rows: IntArray | None = None,
) -> Features | None:
    """Return standardised data that depend on each member of a variable.

    Parameters
    ----------
    name : str
    bound : Bound
    factors : sequence of BoundFactor
    kind : type
        Switch for a discrete variable, Access for a normal one, whose last axis is left out.
    rng : Generator
    rows : integers, optional
        Which members of the first axis; by default all.
    """
    layout = bound.layouts[name]
    axes = layout.axes if kind is Switch else (*layout.plates, *layout.ints)
    if kind is not Switch and not layout.events:
        axes = layout.axes[:-1]
    if not math.prod(layout.shape):
        return None
    parts: list[Array] = []
    codes = 0
    for factor in factors:
        places = _places(name, factor, kind)
        if factor.name not in bound.observed or places is None:
            continue
        seen = places[: len(axes)]
        if not all(isinstance(p, Axis) and p in factor.rows for p in seen):
            continue
        data = _data_of_members(factor, bound, seen, rows)
        if factor.family is Categorical:
            parts.append(indicators(data, number_of_states(factor), rng))
            codes += data.shape[1]
        else:
            parts.append(_standardised(data))
    if not parts:
        return None
    columns = parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)
    return Features(columns, len(parts) == codes == 1) if columns.shape[1] else None


def _data_of_members(
    factor: BoundFactor, bound: Bound, seen: Sequence[Axis], rows: IntArray | None
) -> Array:
    """Return what a factor has observed, with a row for each member."""
    rest = [a for a in (*factor.rows, *factor.events) if a not in seen]
    labels = (*seen, *rest)
    values = spread(child_term(factor, bound).table, labels)
    full = np.broadcast_to(values, shape_of(labels))
    if rows is not None:
        full = full[rows]
    flat = full.reshape(math.prod(full.shape[: len(seen)]), -1)
    return flat.astype(np.float64, copy=rows is None)


def _standardised(data: Array) -> Array:
    """Make columns of mean 0 and variance 1, with 0 for gaps, in place; drop those that never vary."""
    gaps = np.isnan(data)
    there = np.maximum((~gaps).sum(axis=0), 1)
    data[gaps] = 0.0
    data -= data.sum(axis=0) / there
    data[gaps] = 0.0
    spreads = np.sqrt(np.einsum("nd,nd->d", data, data) / there)
    kept = spreads > 0
    data /= np.where(kept, spreads, 1.0)
    return data if kept.all() else data[:, kept]


def indicators(codes: Array, states: int, rng: np.random.Generator) -> Array:
    """Return a column for each state of each column of codes, (N, F) to (N, F × states).

    All states are equally far from each other; those of one column of codes have together mean 0
    and variance 1, with 0 for gaps.
    """
    vectors = np.eye(states)
    if states > _MOST_STATES:
        vectors = rng.standard_normal((states, _MOST_STATES)) / math.sqrt(_MOST_STATES)
    gaps = np.isnan(codes)
    there = np.maximum((~gaps).sum(axis=0), 1)[:, None]
    found = np.where(gaps[..., None], 0.0, vectors[np.where(gaps, 0, codes).astype(np.intp)])
    found = np.where(gaps[..., None], 0.0, found - found.sum(axis=0) / there)
    spreads = np.sqrt((found**2).sum(axis=(0, 2)) / there[:, 0])
    kept = spreads > 0
    return (found[:, kept] / spreads[kept, None]).reshape(len(codes), -1)


def _places(name: str, factor: BoundFactor, kind: Any) -> tuple[Any, ...] | None:
    seen = (a for a in factor.accesses if a.name == name and isinstance(a, kind))
    return next((tuple(access.places) for access in seen), None)
