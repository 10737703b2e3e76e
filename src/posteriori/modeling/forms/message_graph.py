"""The blocks of a plan as rows of factors between which messages pass.

Members of a variable that some factor takes together, such as the weights of a regression that are
not written as a vector, are one node of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import NaturalPair
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.equations import Equation
from posteriori.inference.messages.forest_order import Batch, RowFactor, View
from posteriori.inference.messages.row_messages import NormalRows, TableRows, as_logs
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, spread
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock
from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock, reshaped
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionBlock
from posteriori.modeling.forms.conjugate_rows import Child, Sight, place_index, see
from posteriori.modeling.forms.links import flat_index
from posteriori.modeling.forms.normal_rows import child_term, noise_cov
from posteriori.modeling.forms.simulation import member
from posteriori.modeling.forms.state_tables import StateTable
from posteriori.numerics.types import Array

__all__ = [
    "BlockGraph",
    "Edge",
    "make_graph",
    "natural_reader",
    "normal_reader",
    "state_reader",
    "table_rows",
]

#: From parts of messages and the shape of a batch to a distribution.
Reader = Callable[[tuple[Array, ...], tuple[int, ...]], Any]


class Edge(NamedTuple):
    """A factor and a variable that it sees.

    Attributes
    ----------
    factor : BoundFactor or None
        None for what is known of single members of a discrete variable.
    variable : str
    is_child : bool
        Whether the factor is the distribution of the variable.
    rows : tuple of Axis
        Plates and integer axes of the factor.
    number, slot : int
        The factor of the graph, and which of its views sees the variable.
    """

    factor: BoundFactor | None
    variable: str
    is_child: bool
    rows: tuple[Axis, ...]
    number: int
    slot: int


class BlockGraph(NamedTuple):
    """Variables, factors, edges, how messages to a variable are read, and shapes of its members."""

    variables: dict[str, Batch]
    factors: list[RowFactor]
    edges: list[Edge]
    readers: dict[str, Reader]
    shapes: dict[str, tuple[int, ...]]


def make_graph(block: Any, bound: Bound) -> BlockGraph:
    """Return the graph of a block.

    Raises
    ------
    TypeError
        When the messages of its factors are in no exponential family.
    """
    if isinstance(block, GaussianChainBlock):
        block = GaussianBlock(bound, block.names, block.factors)
    if isinstance(block, GaussianBlock):
        return _normal_graph(block)
    if isinstance(block, DiscreteBlock):
        return _discrete_graph(block)
    if isinstance(block, ConjugateBlock):
        return _conjugate_graph(block, bound)
    names = ", ".join(block.names)
    if isinstance(block, CommonPrecisionBlock):
        raise TypeError(
            f"no messages between {names}: factors join unknown means and an unknown spread, so that "
            "messages to one alone are in no exponential family"
        )
    raise TypeError(f"no exact messages between {names}: {block.method} is no sum-product")


# -- normal blocks ---------------------------------------------------------------------------


def _normal_graph(block: GaussianBlock) -> BlockGraph:
    bound = block.bound
    whole = {n: np.where(np.isnan(v), 0.0, v) for n, v in bound.observed.items()}
    filled = GaussianBlock(bound._replace(observed=whole), block.names, block.factors)
    latents, equations, splits = filled.system()
    graph = BlockGraph({}, [], [], {}, {})
    for latent in latents:
        size = latent.size
        graph.variables[latent.name] = Batch(latent.count, ((size,), (size, size)))
        layout = bound.layouts[latent.name]
        is_number = size == 1 and not layout.events
        graph.readers[latent.name] = normal_reader(is_number=is_number)
        apart = splits[latent.name].batch
        graph.shapes[latent.name] = tuple(layout.axes[i].size for i in apart)
    for factor, equation in zip(block.factors, equations, strict=True):
        made = _normal_rows(factor, equation, bound)
        for slot, view in enumerate(made.views):
            is_child = slot == 0 and factor.name not in bound.observed
            number = len(graph.factors)
            graph.edges.append(Edge(factor, view.variable, is_child, factor.rows, number, slot))
        graph.factors.append(made)
    return graph


def _normal_rows(factor: BoundFactor, equation: Equation, bound: Bound) -> RowFactor:
    """Return the rows of a factor; missing numbers say nothing."""
    width = factor.events[0].size if factor.events else 1
    count = len(equation.constant) // width
    views, gains = [], []
    for link in equation.links:
        index = None if link.index is None else link.index.reshape(count, width)[:, 0]
        views.append(View(link.name, index))
        gains.append(link.coefficients.reshape(count, width, -1))
    constant = equation.constant.reshape(count, width)
    weight = equation.weight.reshape(count, width)
    missing = _missing(factor, bound)
    if missing.any() and factor.events:
        roots = _roots_without(factor, missing)
        constant = np.einsum("ref,rf->re", roots, constant)
        gains = [roots @ gain for gain in gains]
    elif missing.any():
        weight = np.where(missing, 0.0, weight)
    rule = NormalRows(constant, weight, tuple(gains))
    return RowFactor(factor.name, count, tuple(views), rule.send, rule.sweep, rule.total)


def _missing(factor: BoundFactor, bound: Bound) -> Array:
    """Return which numbers of the child of each row are missing, (R, E)."""
    labels = factor.rows + factor.events
    rows = int(np.prod([axis.size for axis in factor.rows]))
    if factor.name not in bound.observed:
        return np.zeros((rows, 1), dtype=bool)
    data = spread(child_term(factor, bound).table, labels)
    return np.isnan(np.broadcast_to(data, [axis.size for axis in labels]).reshape(rows, -1))


def _roots_without(factor: BoundFactor, missing: Array) -> Array:
    """Return B L of every row: from L⁻¹ r, noise of all numbers, to B r, noise of those there.

    L Lᵀ is the covariance, and BᵀB the inverse of its part that is there, with zeros around.
    """
    table = noise_cov(factor)
    size = missing.shape[1]
    full = np.broadcast_to(
        spread(table, (*factor.rows, *table.axes[-2:])),
        [axis.size for axis in factor.rows] + [size, size],
    ).reshape(-1, size, size)
    roots = np.zeros(full.shape)
    for pattern in np.unique(missing, axis=0):
        rows, there = np.flatnonzero((missing == pattern).all(axis=1)), np.flatnonzero(~pattern)
        if len(there):
            part = np.ix_(rows, there, there)
            roots[part] = np.linalg.inv(np.linalg.cholesky(full[part]))
    return roots @ np.linalg.cholesky(full)


def normal_reader(*, is_number: bool) -> Reader:
    """Return how weighted means and precisions are read."""
    return _read_number if is_number else _read_vector


def _read_number(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Normal:
    xi, precision = parts
    return Normal._from_natural(xi.reshape(shape)[()], precision.reshape(shape)[()])


def _read_vector(parts: tuple[Array, ...], shape: tuple[int, ...]) -> MvNormal:
    xi, precision = parts
    size = xi.shape[-1]
    return MvNormal._from_natural(xi.reshape(*shape, size), precision.reshape(*shape, size, size))


# -- discrete blocks -------------------------------------------------------------------------


def _discrete_graph(block: DiscreteBlock) -> BlockGraph:
    bound = block.bound
    graph = BlockGraph({}, [], [], {}, {})
    for name, size in block.sizes.items():
        graph.shapes[name] = bound.layouts[name].shape
        count = int(np.prod(graph.shapes[name]))
        graph.variables[name] = Batch(count, ((size,), (size,)))
        graph.readers[name] = state_reader(bound.families[name], bound.labels.get(name))
    known: list[Any] = [None] * (len(block.tables) - len(block.factors))
    for factor, table in zip([*block.factors, *known], block.tables, strict=True):
        for slot, view in enumerate(table.views):
            is_child = view.name == table.name and slot == len(table.views) - 1
            number = len(graph.factors)
            graph.edges.append(Edge(factor, view.name, is_child, table.rows, number, slot))
        graph.factors.append(table_rows(table, bound))
    return graph


def table_rows(table: StateTable, bound: Bound) -> RowFactor:
    """Return the rows of a log table over states."""
    count = int(np.prod([axis.size for axis in table.rows]))
    states = tuple(view.state for view in table.views)
    sizes = tuple(axis.size for axis in states)
    values = spread(table.table, table.rows + states)
    if any(axis in table.table.axes for axis in table.rows):
        full = tuple(axis.size for axis in table.rows) + sizes
        logs = np.broadcast_to(values, full).reshape(count, *sizes)
    else:
        logs = np.broadcast_to(values.reshape(values.shape[len(table.rows) :]), sizes)[None]
    views = tuple(
        View(view.name, _members(view.places, table.rows, bound.layouts[view.name].axes, count))
        for view in table.views
    )
    rule = TableRows(logs)
    return RowFactor(table.name, count, views, rule.send, rule.sweep)


def _members(
    places: tuple[Any, ...], rows: tuple[Axis, ...], axes: tuple[Axis, ...], count: int
) -> Any:
    """Return which member of a variable with the given axes each row sees."""
    return flat_index([(p, a.size) for p, a in zip(places, axes, strict=True)], rows, count)


def state_reader(family: Any, labels: Any) -> Reader:
    """Return how messages to a discrete variable are read."""

    def read(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        logs = as_logs(parts)
        p = np.exp(logs - logs.max(axis=-1, keepdims=True))
        p = (p / p.sum(axis=-1, keepdims=True)).reshape(*shape, -1)
        if family is Bernoulli:
            return Bernoulli._from(probability=p[..., 1])
        return Categorical._from(probabilities=p)._labelled(labels)

    return read


# -- conjugate blocks ------------------------------------------------------------------------


def _conjugate_graph(block: ConjugateBlock, bound: Bound) -> BlockGraph:
    prior = reshaped(member(block.prior_factor), (block.count,))
    shapes = tuple(np.shape(part)[1:] for part in prior.natural)
    name = block.name
    batch = Batch(block.count, shapes)
    members = tuple(axis.size for axis in block.prior_factor.rows)
    readers = {name: natural_reader(type(prior))}
    graph = BlockGraph({name: batch}, [], [], readers, {name: members})

    def send_prior(rows: Any, slot: int, incoming: Any) -> tuple[Array, ...]:
        return tuple(np.asarray(part)[rows] for part in prior.natural)

    graph.edges.append(Edge(block.prior_factor, name, True, block.prior_factor.rows, 0, 0))
    graph.factors.append(RowFactor(name, block.count, (View(name),), send_prior))
    factors = {f.name: f for f in bound.factors}
    for child in block.children:
        factor = factors[child.name]
        graph.edges.append(Edge(factor, name, False, factor.rows, len(graph.factors), 0))
        graph.factors.append(_conjugate_rows(factor, child, prior, block, bound))
    return graph


def _conjugate_rows(
    factor: BoundFactor, child: Child, prior: Any, block: ConjugateBlock, bound: Bound
) -> RowFactor:
    """Return the rows of a child, whose messages are increments of natural parameters."""
    if not issubclass(child.pair_class(type(prior)), NaturalPair):
        raise TypeError(
            f"no messages to {block.name}: rows of {child.name} ({child.family.__name__}) do not "
            f"add to the natural parameters of a {type(prior).__name__}"
        )
    one = take_members(prior, 0)
    shapes = [np.shape(part)[1:] for part in prior.natural]
    there = ~np.any(_missing(factor, bound), axis=1)
    position = np.cumsum(there) - 1  # of a row among those that are there

    def send(rows: Any, slot: int, incoming: Any) -> tuple[Array, ...]:
        said = there[rows]
        made = tuple(np.zeros((len(rows), *shape)) for shape in shapes)
        if said.any():
            part = child.at(position[rows[said]])
            for total, sums in zip(
                made, part.pair(one).summarize(part.values[None]).sums, strict=True
            ):
                total[said] = sums
        return made

    sight = see(factor, block.name, block.layout)
    assert isinstance(sight, Sight)
    index = place_index(sight, factor.rows, block.layout)
    return RowFactor(child.name, len(there), (View(block.name, index),), send)


def natural_reader(family: Any) -> Reader:
    """Return how natural parameters are read."""

    def read(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        return family._from_natural(*(p.reshape(shape + p.shape[1:])[()] for p in parts))

    return read
