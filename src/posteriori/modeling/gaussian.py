r"""Blocks of jointly normal variables: from bound factors to equations with weighted noise.

A normal factor says that child − mean has precision Λ. Multiplying by a root B of Λ (BᵀB = Λ)
leaves rows of independent unit noise; a scalar variance is the weight 1/v of its row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.inference.gaussian_elimination import (
    Equation,
    GaussianPosterior,
    Latent,
    Link,
    plan_gaussian,
    sample_gaussian,
    solve_gaussian,
)
from posteriori.modeling.binding import Bound, BoundFactor, Layout
from posteriori.modeling.costs import Cost, elimination_cost
from posteriori.modeling.tables import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Table,
    Term,
    labels_of,
    look_up,
    multiply_tables,
    relabel,
    spread,
)
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["GaussianBlock", "GaussianResult", "Split", "in_layout_order", "make_link"]


class Split(NamedTuple):
    """Which axes of a variable are handled one by one, and which together."""

    batch: tuple[int, ...]
    dense: tuple[int, ...]


class GaussianResult(NamedTuple):
    """A solved block, with what is needed to read it; ``sources`` names each equation's factor."""

    posterior: GaussianPosterior
    splits: Mapping[str, Split]
    layouts: Mapping[str, Layout]
    latents: tuple[Latent, ...]
    equations: tuple[Equation, ...]
    sources: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the block."""
        return tuple(self.splits)

    @property
    def log_evidence(self) -> float:
        """Log probability of the data that the block explains."""
        return self.posterior.log_evidence

    def system(self) -> tuple[tuple[Latent, ...], tuple[Equation, ...], Mapping[str, Split]]:
        """Return what was solved, for questions about several variables at once."""
        return self.latents, self.equations, self.splits

    def marginal(self, name: str) -> Any:
        """Return the marginal of a variable, a batch over its plates and integer axes."""
        layout, split = self.layouts[name], self.splits[name]
        mean, cov = self._arrays(name)
        event = len(layout.events)
        if not event:
            variance = np.diagonal(cov, axis1=-2, axis2=-1).reshape(mean.shape)
            order = np.argsort(split.batch + split.dense)
            return Normal(
                _clean(np.transpose(mean, order)), variance=_clean(np.transpose(variance, order))
            )
        sizes = tuple(layout.axes[i].size for i in split.dense)
        keep = [i for i, axis in enumerate(split.dense) if axis >= len(layout.axes) - event]
        if len(keep) != len(split.dense):
            mean, cov = _pull_out(mean, cov, sizes, keep)
            batch = split.batch + tuple(a for i, a in enumerate(split.dense) if i not in keep)
            order = np.argsort(batch)
            mean = np.transpose(mean, (*order, len(batch)))
            cov = np.transpose(cov, (*order, len(batch), len(batch) + 1))
        return MvNormal._from(mean=np.ascontiguousarray(mean), cov=np.ascontiguousarray(cov))

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw all variables together, (size, *shape) each."""
        generator = as_generator(rng)
        means = self.posterior.mean
        draws = sample_gaussian(self.latents, self.equations, means, size, rng=generator)
        found = {}
        for name in self.names:
            layout = self.layouts[name]
            flat = draws[name].reshape(size, -1)[:, in_layout_order(layout, self.splits[name])]
            found[name] = flat.reshape(size, *layout.shape)
        return found

    def _arrays(self, name: str) -> tuple[Array, Array]:
        layout, split = self.layouts[name], self.splits[name]
        batch = tuple(layout.axes[i].size for i in split.batch)
        dense = tuple(layout.axes[i].size for i in split.dense)
        mean, cov = self.posterior.mean[name], self.posterior.cov[name]
        size = mean.shape[-1]
        if not layout.events:
            return mean.reshape(batch + dense), cov.reshape(*batch, size, size)
        return mean.reshape(*batch, size), cov.reshape(*batch, size, size)


class GaussianBlock:
    """Normal and multivariate normal variables with known covariances.

    Parameters
    ----------
    bound : Bound
    names : iterable of str
        The latent variables.
    factors : iterable of BoundFactor
        All factors that touch them, children observed or not.
    """

    method = "Gaussian elimination"
    why = "all factors are normal with known spread and means affine in the unknowns"

    def __init__(self, bound: Bound, names: Iterable[str], factors: Iterable[BoundFactor]) -> None:
        self.bound = bound
        self.names = tuple(names)
        self.factors = tuple(factors)
        found = [(f.name, rows) for f in self.factors for rows in residual_rows(f, bound)]
        self.sources = tuple(name for name, _ in found)
        self.rows = [
            rows._replace(
                child=tuple(_summed_lookups(t, rows.labels, bound) for t in rows.child),
                mean=tuple(_summed_lookups(t, rows.labels, bound) for t in rows.mean),
            )
            for _, rows in found
        ]
        self.splits = self._split()

    def describe(self) -> str:
        """Say what will be eliminated, and at what cost."""
        sizes = []
        for name in self.names:
            axes, split = self.bound.layouts[name].axes, self.splits[name]
            sizes.append(f"{name} {_size(axes, split.batch)} x {_size(axes, split.dense)}")
        rows = sum(int(np.prod([a.size for a in r.labels])) for r in self.rows)
        return f"{rows} equations in {'; '.join(sizes)} (vectors x length)"

    @property
    def order(self) -> tuple[str, ...]:
        """The order of elimination."""
        return tuple(latent.name for latent in self._planned[0])

    @property
    def cost(self) -> Cost:
        """What elimination costs."""
        return elimination_cost(*self._planned)

    @property
    def _planned(self) -> tuple[tuple[Latent, ...], tuple[Equation, ...]]:
        latents, equations, _ = self.system()
        return plan_gaussian(latents, equations), equations

    def _split(self) -> dict[str, Split]:
        """An axis is dense once a factor sums over it."""
        dense: dict[str, set[int]] = {name: set() for name in self.names}
        for rows in self.rows:
            labels = set(rows.labels)
            for term in rows.child + rows.mean:
                for access in term.accesses:
                    for i, place in enumerate(access.places):
                        if isinstance(place, Axis) and place not in labels:
                            dense[access.name].add(i)
        out = {}
        for name, chosen in dense.items():
            axes = range(len(self.bound.layouts[name].axes))
            out[name] = Split(
                tuple(i for i in axes if i not in chosen), tuple(i for i in axes if i in chosen)
            )
        return out

    def system(self) -> tuple[tuple[Latent, ...], tuple[Equation, ...], Mapping[str, Split]]:
        """Return the latents, the equations, and how axes were split."""
        layouts = self.bound.layouts
        latents = tuple(
            Latent(
                name,
                _size(layouts[name].axes, self.splits[name].batch),
                _size(layouts[name].axes, self.splits[name].dense),
            )
            for name in self.names
        )
        return latents, tuple(self._equation(rows) for rows in self.rows), self.splits

    def solve(self) -> GaussianResult:
        """Return the exact posterior of the block."""
        latents, equations, splits = self.system()
        solved = solve_gaussian(latents, equations)
        return GaussianResult(solved, splits, self.bound.layouts, latents, equations, self.sources)

    def _equation(self, rows: Rows) -> Equation:
        """Write child − mean = constant − Σ K x: coefficients of the mean stand as they are."""
        shape = tuple(axis.size for axis in rows.labels)
        count = int(np.prod(shape))
        constant: Any = np.zeros(())
        links: dict[tuple[str, bytes], Link] = {}
        for sign, terms in ((1.0, rows.child), (-1.0, rows.mean)):
            for term in terms:
                if not term.accesses:
                    values = spread(term.table, rows.labels)
                    constant = constant + values if sign > 0 else constant - values
                    continue
                (access,) = term.accesses
                split = self.splits[access.name]
                link = make_link(term, access, rows.labels, split, self.bound.layouts)
                _add_link(links, link if sign < 0 else _negated(link))
        flat = np.broadcast_to(constant, shape).reshape(count)
        equation = Equation(
            flat, _flat_weight(rows.weight, shape, count), tuple(links.values()), rows.log_scale
        )
        return _observed_rows(equation)


def _flat_weight(weight: Array, shape: tuple[int, ...], count: int) -> Array:
    """Return weights (R,); a common one stays a single number in memory."""
    if weight.size == 1:
        return np.broadcast_to(weight.reshape(()), (count,))
    return np.broadcast_to(weight, shape).reshape(count)


def _negated(link: Link) -> Link:
    k = link.coefficients
    if k.strides[0] == 0:
        return link._replace(coefficients=np.broadcast_to(-k[:1], k.shape))
    return link._replace(coefficients=-k)


def _add_link(links: dict[tuple[str, bytes], Link], link: Link) -> None:
    """Add a link, or its coefficients to one that sees the same vectors."""
    key = (link.name, b"" if link.index is None else link.index.tobytes())
    known = links.get(key)
    if known is not None:
        link = known._replace(coefficients=known.coefficients + link.coefficients)
    links[key] = link


def make_link(
    term: Term,
    access: Access,
    labels: tuple[Axis, ...],
    split: Split,
    layouts: Mapping[str, Layout],
) -> Link:
    """Return how rows with the given labels see a variable: coefficients and an index."""
    count = int(np.prod([axis.size for axis in labels]))
    axes = layouts[access.name].axes
    summed = tuple(access.places[i] for i in split.dense if _is_summed(access.places[i], labels))
    width = [axis.size for axis in summed]
    table = spread(term.table, labels + summed)
    values = np.broadcast_to(table, [a.size for a in labels] + width).reshape(count, *width)
    if len(summed) < len(split.dense):
        values = _one_hot_columns(values, access, split, axes, labels, count)
    index = flat_index([(access.places[i], axes[i].size) for i in split.batch], labels, count)
    return Link(access.name, values.reshape(count, _size(axes, split.dense)), index)


class Rows(NamedTuple):
    """Rows child − mean with independent noise of precision ``weight``."""

    child: tuple[Term, ...]
    mean: tuple[Term, ...]
    labels: tuple[Axis, ...]
    weight: Array
    log_scale: float = 0.0


def residual_rows(factor: BoundFactor, bound: Bound) -> list[Rows]:
    """Return child − mean, whitened where the noise has a matrix.

    A vector with missing entries is a row of its own kind: its noise is the marginal of those
    that are there. Rows are grouped by which entries they miss.
    """
    labels = factor.rows + factor.events
    terms = (child_term(factor, bound), *factor.parameters["mean"].terms)
    if factor.family is Normal:
        return [Rows(terms[:1], terms[1:], labels, _precision(factor, labels))]
    cov = _noise_cov(factor)
    return [
        _whitened(terms_there, rows, event, cov_there)
        for terms_there, rows, event, cov_there in _by_pattern(terms, factor, bound, cov)
    ]


def _by_pattern(terms: tuple[Term, ...], factor: BoundFactor, bound: Bound, cov: Table) -> Any:
    """Yield the groups of rows that miss the same entries of their vectors."""
    (event,) = factor.events
    values = bound.observed.get(factor.name)
    if values is None or not np.isnan(values).any():
        yield terms, factor.rows, event, cov
        return
    flat = np.isnan(values).reshape(-1, event.size)
    patterns, which = np.unique(flat, axis=0, return_inverse=True)
    for k, pattern in enumerate(patterns):
        there = np.flatnonzero(~pattern)
        if not len(there):
            continue
        kept = Axis("entry", len(there))
        chosen, rows = _pick_rows(np.flatnonzero(which.ravel() == k), factor.rows)
        part: tuple[Term, ...] = terms
        small: tuple[Term, ...] = (Term(cov),)
        for axis, index in chosen:
            part, small = look_up(part, axis, index), look_up(small, axis, index)
        part = look_up(part, event, Table(there, (kept,)))
        other = cov.axes[-2]
        twin = Axis("entry", len(there))
        small = look_up(look_up(small, event, Table(there, (kept,))), other, Table(there, (twin,)))
        yield part, rows, kept, _ordered(small[0].table, twin, kept)


def _pick_rows(
    positions: Any, rows: tuple[Axis, ...]
) -> tuple[list[tuple[Axis, Table]], tuple[Axis, ...]]:
    """Return lookups that keep some of the rows, which then lie on one axis."""
    if not rows:
        return [], ()
    picked = Axis("rows", len(positions))
    places = np.unravel_index(positions, [axis.size for axis in rows])
    tables = [(a, Table(np.asarray(p), (picked,))) for a, p in zip(rows, places, strict=True)]
    return tables, (picked,)


def _ordered(table: Table, row: Axis, column: Axis) -> Table:
    lead = tuple(a for a in table.axes if a is not row and a is not column)
    axes = (*lead, row, column)
    return Table(np.transpose(table.values, [table.axes.index(a) for a in axes]), axes)


def _noise_cov(factor: BoundFactor) -> Table:
    """Return the covariance with labels (rows that it varies with, another event axis, event)."""
    key = "precision" if "precision" in factor.parameters else "cov"
    poly = factor.parameters[key]
    if not poly.is_known:
        raise TypeError(f"{key} of {factor.name} is unknown: that takes more than one block")
    matrix = poly.value()
    varies = [i for i, a in enumerate(factor.rows) if any(a in t.table.axes for t in poly.terms)]
    pick = tuple(slice(None) if i in varies else 0 for i in range(len(factor.rows)))
    matrix = matrix[pick]
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"{key} of {factor.name} must be positive definite") from None
    (event,) = factor.events
    axes = (*(factor.rows[i] for i in varies), Axis("twin", event.size), event)
    return Table(np.linalg.inv(matrix) if key == "precision" else matrix, axes)


def _whitened(terms: tuple[Term, ...], rows: tuple[Axis, ...], event: Axis, cov: Table) -> Rows:
    """Multiply by B = L⁻¹, where L Lᵀ is the covariance."""
    lower = np.linalg.cholesky(cov.values)
    row = Axis("noise", event.size)
    root = Table(np.linalg.inv(lower), (*cov.axes[:-2], row, event))
    logs = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    count = int(np.prod([axis.size for axis in rows]))
    log_scale = -float(logs.mean()) * count
    white = tuple(_multiply_root(term, root, event) for term in terms)
    return Rows(white[:1], white[1:], (*rows, row), np.asarray(1.0), log_scale)


def child_term(factor: BoundFactor, bound: Bound) -> Term:
    """Return the child as the rows see it: its data, or an access."""
    if factor.name not in bound.observed:
        return Term(Table(np.asarray(1.0), ()), (Access(factor.name, factor.places),))
    term = Term(Table(bound.observed[factor.name], bound.layouts[factor.name].axes))
    for axis, place in zip(bound.layouts[factor.name].axes, factor.places, strict=True):
        if isinstance(place, Lookup):
            (term,) = look_up((term,), axis, place.positions)
    return term


def _precision(factor: BoundFactor, labels: tuple[Axis, ...]) -> Array:
    parameters = factor.parameters
    if "precision" in parameters:
        return _known(parameters["precision"], labels, factor.name, "precision")
    if "scale" in parameters:
        return _known(parameters["scale"], labels, factor.name, "scale") ** -2.0
    return 1.0 / _known(parameters["variance"], labels, factor.name, "variance")


def _known(poly: Polynomial, labels: tuple[Axis, ...], name: str, key: str) -> Array:
    total: Any = 0.0
    for term in poly.terms:
        total = total + spread(term.table, labels)
    if np.any(np.asarray(total) <= 0):
        raise ValueError(f"{key} of {name} must be positive")
    return np.asarray(total)


def _multiply_root(term: Term, root: Table, event: Axis) -> Term:
    summed = Axis("sum", event.size)
    (moved,) = relabel((term,), {event: summed})
    labelled = Table(root.values, (*root.axes[:-1], summed))
    wanted = {a for a in (*moved.table.axes, *labelled.axes) if a is not summed}
    wanted = wanted.union(*(labels_of(access) for access in moved.accesses))
    return Term(multiply_tables(moved.table, labelled, wanted), moved.accesses)


def _summed_lookups(term: Term, labels: tuple[Axis, ...], bound: Bound) -> Term:
    """Turn lookups at positions that are summed over into sums over the variable's own axis."""
    table, accesses = term
    for n, access in enumerate(accesses):
        for i, place in enumerate(access.places):
            if not isinstance(place, Lookup) or set(place.positions.axes) <= set(labels):
                continue
            whole = Axis("sum", bound.layouts[access.name].axes[i].size)
            hot = Table(np.eye(whole.size)[place.positions.values], (*place.positions.axes, whole))
            places = (*access.places[:i], whole, *access.places[i + 1 :])
            access = access._replace(places=places)
            accesses = (*accesses[:n], access, *accesses[n + 1 :])
            wanted = set(labels).union(*(labels_of(a) for a in accesses))
            table = multiply_tables(table, hot, wanted)
    return Term(table, accesses)


def _is_summed(place: Any, labels: tuple[Axis, ...]) -> bool:
    return isinstance(place, Axis) and place not in labels


def _one_hot_columns(
    values: Array,
    access: Access,
    split: Split,
    axes: tuple[Axis, ...],
    labels: tuple[Axis, ...],
    count: int,
) -> Array:
    """Give dense axes that are read at one position a column for each position."""
    out = values
    for position, i in enumerate(split.dense):
        place = access.places[i]
        if _is_summed(place, labels):
            continue
        index = flat_index([(place, axes[i].size)], labels, count)
        hot = np.zeros((count, axes[i].size))
        hot[np.arange(count), np.arange(count) if index is None else index] = 1.0
        shape = [count] + [1] * (out.ndim)
        shape[position + 1] = axes[i].size
        out = np.expand_dims(out, position + 1) * hot.reshape(shape)
    return out


def flat_index(places: list[tuple[Any, int]], labels: tuple[Axis, ...], count: int) -> Any:
    """Return which vector each row sees; None where it is simply the row's own."""
    total = int(np.prod([size for _, size in places])) if places else 1
    if total == 1:
        return np.zeros(count, dtype=np.intp) if count > 1 else None
    if [p for p, _ in places] == list(labels):
        return None
    flat: Any = np.zeros((), dtype=np.intp)
    for place, size in places:
        if isinstance(place, Lookup):
            position = spread(place.positions, labels)
        else:
            position = spread(Table(np.arange(place.size), (place,)), labels)
        flat = flat * size + position
    shape = tuple(axis.size for axis in labels)
    return np.ascontiguousarray(np.broadcast_to(flat, shape).reshape(count)).astype(np.intp)


def _observed_rows(equation: Equation) -> Equation:
    """Leave out rows whose datum is missing."""
    missing = np.isnan(equation.constant)
    if not missing.any():
        return equation
    kept = ~missing
    links = tuple(
        Link(
            link.name,
            link.coefficients[kept],
            np.flatnonzero(kept) if link.index is None else link.index[kept],
        )
        for link in equation.links
    )
    return Equation(equation.constant[kept], equation.weight[kept], links, equation.log_scale)


def _size(axes: tuple[Axis, ...], chosen: tuple[int, ...]) -> int:
    return int(np.prod([axes[i].size for i in chosen])) if chosen else 1


def in_layout_order(layout: Layout, split: Split) -> Any:
    """Return positions within a latent's numbers, in the order of the variable's own axes."""
    sizes = [layout.axes[i].size for i in split.batch + split.dense]
    numbers = np.arange(int(np.prod(sizes))).reshape(sizes)
    return np.transpose(numbers, np.argsort(split.batch + split.dense)).ravel()


def _pull_out(
    mean: Array, cov: Array, sizes: tuple[int, ...], keep: list[int]
) -> tuple[Array, Array]:
    """Turn dense axes that are no event axes into batch axes, keeping the diagonal blocks."""
    lead = mean.ndim - 1
    full = mean.reshape(*mean.shape[:-1], *sizes)
    moved = [i for i in range(len(sizes)) if i not in keep]
    full = np.transpose(full, (*range(lead), *(lead + i for i in moved), *(lead + i for i in keep)))
    size = int(np.prod([sizes[i] for i in keep]))
    out_mean = full.reshape(*full.shape[: lead + len(moved)], size)
    square = cov.reshape(*cov.shape[:-2], *sizes, *sizes)
    for n, i in enumerate(moved):
        a = lead + n + (i - n)
        b = a + len(sizes) - n
        square = np.moveaxis(np.diagonal(square, axis1=a, axis2=b), -1, lead + n)
    return out_mean, square.reshape(*out_mean.shape, size)


def _clean(array: Array) -> Array:
    return np.ascontiguousarray(array)[()] if np.ndim(array) else np.float64(array)  # type: ignore[return-value]
