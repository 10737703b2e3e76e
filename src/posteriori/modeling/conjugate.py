r"""Blocks of one unknown variable whose observed children are conjugate to it.

Every row of a child adds its increments :math:`t(x)` to the natural parameters of the place of the
unknown that it sees,

.. math:: \eta_j' = \eta_j + \sum_{r:\,j(r)=j} t(x_r),

so a plate, a known index or a shared unknown differ only in the index :math:`j(r)`. The increments
are those of :mod:`posteriori.distributions.conjugate`; children of several families add up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate import NaturalPair, Pair, find_pair, match_pair
from posteriori.distributions.statistics import Sums
from posteriori.distributions.unknown import Conditional, Unknown
from posteriori.modeling.binding import Bound, BoundFactor, Layout
from posteriori.modeling.gaussian import child_term, flat_index
from posteriori.modeling.simulation import member
from posteriori.modeling.tables import Access, Axis, Lookup, Polynomial, Term, labels_of, spread
from posteriori.numerics.types import Array

__all__ = [
    "ConjugateBlock",
    "ConjugateResult",
    "conjugate_predictive",
    "same_places",
    "why_not_conjugate",
]


#: Rows that are summed up at a time.
_CHUNK = 1 << 16


class ConjugateResult(NamedTuple):
    """A solved block: the posterior of its variable, of the prior's family."""

    names: tuple[str, ...]
    posterior: Any
    log_evidence: float

    def marginal(self, name: str) -> Any:
        """Return the posterior, a batch over the variable's plates and integer axes."""
        return self.posterior


class ConjugateBlock:
    """One unknown variable with a known prior and observed children conjugate to it.

    Parameters
    ----------
    bound : Bound
    names : sequence of str
        The unknown variable, alone.
    factors : sequence of BoundFactor
        Its prior and its children; :func:`why_not_conjugate` must have nothing to say.
    """

    method = "conjugate update"

    def __init__(self, bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]) -> None:
        (self.name,) = self.names = tuple(names)
        self.layout = bound.layouts[self.name]
        self.prior_factor = next(f for f in factors if f.name == self.name)
        children = [f for f in factors if f is not self.prior_factor]
        self.families = [(f.name, f.family.__name__) for f in children]
        self.children = [_observed_child(f, self.name, bound) for f in children]

    @property
    def count(self) -> int:
        """Number of places: of independent members of the unknown."""
        return _size(_lead(self.layout))

    def describe(self) -> str:
        """Say what is added up."""
        rows = [
            f"{len(child.values)} rows of {name} ({family})"
            for (name, family), child in zip(self.families, self.children, strict=True)
        ]
        prior = self.prior_factor.family.__name__
        places = "1 place" if self.count == 1 else f"{self.count} places"
        return f"{prior} prior in {places}; {'; '.join(rows)}"

    def solve(self) -> ConjugateResult:
        """Return the exact posterior."""
        prior = member(self.prior_factor)
        belief = _reshaped(prior, (self.count,))
        seen = [child for child in self.children if len(child.values)]
        natural = [c for c in seen if issubclass(c.pair_class(type(prior)), NaturalPair)]
        belief, log_evidence = _add_increments(belief, natural)
        for child in seen:
            if child not in natural:
                belief, more = _place_by_place(belief, child)
                log_evidence += more
        return ConjugateResult(self.names, _reshaped(belief, prior.batch_shape), log_evidence)


def why_not_conjugate(
    bound: Bound, names: Sequence[str], factors: Sequence[BoundFactor]
) -> str | None:
    """Say why a group of factors is no conjugate block; None when it is one."""
    if len(names) != 1:
        return "several unknown variables share factors"
    (name,) = names
    priors = [f for f in factors if f.name == name]
    if len(priors) != 1 or not all(p.is_known for p in priors[0].parameters.values()):
        return f"the members of {name} depend on one another"
    for factor in factors:
        if factor is priors[0]:
            continue
        sight = _see(factor, name, bound.layouts[name])
        if isinstance(sight, str):
            return sight
        if _pair_class(priors[0].family, factor, sight) is None:
            prior, family = priors[0].family.__name__, factor.family.__name__
            return (
                f"{prior} is not conjugate to the {sight.parameter} of {family} ({factor.name}), "
                "which takes numerical integration"
            )
    return None


def conjugate_predictive(factor: BoundFactor, name: str, layout: Layout, belief: Any) -> Any:
    """Return the distribution of a child's rows with the unknown integrated out.

    Parameters
    ----------
    factor : BoundFactor
        The child, whose only unknown is ``name``.
    name : str
    layout : Layout
        Of the unknown.
    belief : distribution
        Over the unknown's plates and integer axes.
    """
    sight = _see(factor, name, layout)
    if isinstance(sight, str):
        raise TypeError(f"{factor.name} has no closed-form predictive: {sight}")
    shape = tuple(axis.size for axis in factor.rows)
    index = _index(sight, factor.rows, layout)
    flat = _reshaped(belief, (_size(_lead(layout)),))
    rows = _reshaped(flat if index is None else take_members(flat, index), shape)
    known = {k: p.value() for k, p in factor.parameters.items() if k != sight.parameter}
    unknown = Unknown(
        factor=None if sight.factor is None else sight.factor.value(),
        offset=None if sight.offset is None else sight.offset.value(),
    )
    conditional = Conditional(factor.family, {**known, sight.parameter: unknown})
    return find_pair(rows, conditional).predictive(rows)


# -- how rows see the unknown ----------------------------------------------------------------


class Sight(NamedTuple):
    """One parameter of a child: factor · unknown[places] + offset."""

    parameter: str
    factor: Polynomial | None
    offset: Polynomial | None
    places: tuple[Any, ...]


def _see(factor: BoundFactor, name: str, layout: Layout) -> Sight | str:
    """Return how a child's rows see the unknown, or why that is not conjugate."""
    touched = [k for k, p in factor.parameters.items() if not p.is_known]
    if len(touched) != 1:
        return f"{' and '.join(touched)} of {factor.name} both depend on {name}"
    (parameter,) = touched
    poly = factor.parameters[parameter]
    what = f"{parameter} of {factor.name}"
    terms = [t for t in poly.terms if t.accesses]
    accesses = [t.accesses for t in terms]
    if any(len(a) != 1 or not isinstance(a[0], Access) for a in accesses):
        return f"{what} is not linear in {name}"
    (access, *others) = [a for (a,) in accesses]
    if not all(same_places(access, other) for other in others):
        return f"{what} adds up several members of {name}"
    rows = set(factor.rows)
    cut = len(_lead(layout))
    lead, event = access.places[:cut], access.places[cut:]
    if (
        event != poly.axes[len(poly.axes) - len(event) :]
        or not labels_of(access._replace(places=lead)) <= rows
    ):
        return f"{what} mixes the entries or members of {name}"
    if any(not set(t.table.axes) <= rows for t in poly.terms):
        return f"{what} treats the entries of {name} differently"
    given = [t for t in poly.terms if not t.accesses]
    return Sight(parameter, _gain(terms, factor), _known_part(given, factor), lead)


def same_places(a: Access, b: Access) -> bool:
    """Tell whether two accesses see the same members."""
    for x, y in zip(a.places, b.places, strict=True):
        if x is y:
            continue
        if not (isinstance(x, Lookup) and isinstance(y, Lookup)):
            return False
        p, q = x.positions, y.positions
        if p.axes != q.axes or not np.array_equal(p.values, q.values):
            return False
    return True


def _gain(terms: list[Term], factor: BoundFactor) -> Polynomial | None:
    """Return the known factor; None where it is 1."""
    tables = [t.table for t in terms]
    if not any(t.axes for t in tables) and sum(float(t.values) for t in tables) == 1.0:
        return None
    return _known_part([Term(t) for t in tables], factor)


def _known_part(terms: list[Term], factor: BoundFactor) -> Polynomial | None:
    return Polynomial(tuple(terms), (), factor.rows) if terms else None


def _pair_class(prior_family: Any, factor: BoundFactor, sight: Sight) -> type[Pair] | None:
    known = [k for k in factor.parameters if k != sight.parameter]
    return match_pair(prior_family, factor.family, (sight.parameter,), known)


def _index(sight: Sight, rows: tuple[Axis, ...], layout: Layout) -> Any:
    sizes = [axis.size for axis in _lead(layout)]
    return flat_index(list(zip(sight.places, sizes, strict=True)), rows, _size(rows))


# -- rows of data ----------------------------------------------------------------------------


class Quantity(NamedTuple):
    """A known quantity: one value for each row, or one for all."""

    values: Array
    varies: bool

    def at(self, rows: Any) -> Quantity:
        return Quantity(self.values[rows], True) if self.varies else self


class Child(NamedTuple):
    """Rows of data that see one unknown.

    Attributes
    ----------
    name : str
    family : type
    parameter : str
        Which of the family's parameters is unknown.
    values : (R, *event)
        Data, none missing.
    known : mapping to Quantity
        The other parameters.
    gain, offset : Quantity or None
        The parameter is gain · unknown + offset.
    index : (R,) of int, or None
        Which place each row sees; None for the r-th.
    has_gaps : bool
        Whether missing rows were left out.
    """

    name: str
    family: Any
    parameter: str
    values: Array
    known: Mapping[str, Quantity]
    gain: Quantity | None
    offset: Quantity | None
    index: Any
    has_gaps: bool = False

    def at(self, rows: Any) -> Child:
        """Return some of the rows."""
        index = np.arange(len(self.values)) if self.index is None else self.index
        return self._replace(
            values=self.values[rows],
            known={k: q.at(rows) for k, q in self.known.items()},
            gain=None if self.gain is None else self.gain.at(rows),
            offset=None if self.offset is None else self.offset.at(rows),
            index=index[rows],
        )

    @property
    def conditional(self) -> Conditional:
        """The likelihood, known parameters row by row."""
        unknown = Unknown(
            factor=None if self.gain is None else self.gain.values,
            offset=None if self.offset is None else self.offset.values,
        )
        known = {k: q.values for k, q in self.known.items()}
        return Conditional(self.family, {**known, self.parameter: unknown})

    def pair_class(self, prior_family: Any) -> type[Pair]:
        """Return the conjugate pair that holds for these rows."""
        found = match_pair(prior_family, self.family, (self.parameter,), list(self.known))
        assert found is not None
        return found

    def pair(self, prior: Any) -> Pair:
        """Return the pair; its complaints name the variable."""
        try:
            return find_pair(prior, self.conditional)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self.name}: {error}") from None


def _observed_child(factor: BoundFactor, name: str, bound: Bound) -> Child:
    """Return the rows of a child that are there."""
    layout = bound.layouts[name]
    sight = _see(factor, name, layout)
    assert isinstance(sight, Sight)
    count = _size(factor.rows)
    event = tuple(axis.size for axis in factor.events)
    labels = factor.rows + factor.events
    shape = tuple(axis.size for axis in labels)
    data = np.broadcast_to(spread(child_term(factor, bound).table, labels), shape)
    known = {k: p for k, p in factor.parameters.items() if k != sight.parameter}
    child = Child(
        factor.name,
        factor.family,
        sight.parameter,
        data.reshape(count, *event),
        {k: _quantity(p, factor.rows) for k, p in known.items()},
        None if sight.factor is None else _quantity(sight.factor, factor.rows),
        None if sight.offset is None else _quantity(sight.offset, factor.rows),
        _index(sight, factor.rows, layout),
    )
    return _without_gaps(child)


def _without_gaps(child: Child) -> Child:
    missing = np.isnan(child.values)
    if not missing.any():
        return child
    flat = missing.reshape(len(missing), -1)
    gone = flat.all(axis=1)
    partly = flat.any(axis=1) & ~gone
    if partly.any():
        raise ValueError(
            f"row {int(np.argmax(partly))} of {child.name} misses some entries of its vector: "
            "make the whole row NaN, or fill the gaps"
        )
    return child.at(np.flatnonzero(~gone))._replace(has_gaps=True)


def _quantity(poly: Polynomial, rows: tuple[Axis, ...]) -> Quantity:
    value = poly.value()
    event = value.shape[len(rows) :]
    if not any(axis in rows for term in poly.terms for axis in term.table.axes):
        one = value[(0,) * len(rows)] if value.size else np.zeros(event)
        return Quantity(one, False)
    return Quantity(value.reshape(_size(rows), *event), True)


# -- updates ---------------------------------------------------------------------------------


def _add_increments(belief: Any, children: Sequence[Child]) -> tuple[Any, float]:
    """Add what all rows say to the natural parameters, place by place at once."""
    if not children:
        return belief, 0.0
    one = take_members(belief, 0)
    (count,) = belief.batch_shape
    shapes = [np.shape(part)[1:] for part in belief.natural]
    total: Sums | None = None
    for child in children:
        pair = child.pair(one)
        _check(pair, child)
        for part in _chunks(child, count):
            sums = _sums_by_place(part.pair(one), part, count, shapes)
            total = sums if total is None else total.merge(sums)
    assert total is not None
    rule = type(pair)(belief, Conditional(child.family, _plain(child)))
    posterior = rule.update(belief, total)
    values = np.where(total.count > 0, rule.log_evidence(posterior, total), 0.0)
    return posterior, float(values.sum())


def _plain(child: Child) -> dict[str, Any]:
    """Return the unknown itself with known parameters: all that a rule for sums looks at."""
    return {**{k: q.values for k, q in child.known.items()}, child.parameter: Unknown()}


def _chunks(child: Child, count: int) -> Iterator[Child]:
    """Yield the rows in parts that stay in the cache, none smaller than the number of places."""
    rows, step = len(child.values), max(_CHUNK, count)
    if rows <= step:
        yield child
        return
    for start in range(0, rows, step):
        yield child.at(slice(start, start + step))


def _sums_by_place(pair: Pair, child: Child, count: int, shapes: list[tuple[int, ...]]) -> Sums:
    """Return the increments of the natural parameters, and their constants, in each place."""
    rows = len(child.values)
    if count == 1:
        sums = pair.summarize(child.values)
        parts = tuple(
            np.reshape(s, (1, *shape)) for s, shape in zip(sums.sums, shapes, strict=True)
        )
        return Sums(np.full(1, float(rows)), parts, np.reshape(sums.log_carrier, (1,)))
    sums = pair.summarize(child.values[None])
    parts = tuple(
        _add_up(np.broadcast_to(s, (rows, *shape)), child.index, count)
        for s, shape in zip(sums.sums, shapes, strict=True)
    )
    carrier = _add_up(np.broadcast_to(sums.log_carrier, (rows,)), child.index, count)
    return Sums(_add_up(np.ones(rows), child.index, count), parts, carrier)


def _add_up(values: Array, index: Any, count: int) -> Array:
    """Add rows (R, ...) into places (P, ...)."""
    if index is None:
        return values
    flat = values.reshape(len(values), -1)
    columns = [np.bincount(index, weights=column, minlength=count) for column in flat.T]
    return np.stack(columns, axis=-1).reshape(count, *values.shape[1:])


def _place_by_place(belief: Any, child: Child) -> tuple[Any, float]:
    """Apply Bayes' rule in each place, for pairs whose statistics are not plain sums."""
    (count,) = belief.batch_shape
    _check(child.pair(take_members(belief, 0)), child)
    index = np.arange(count) if child.index is None else child.index
    order = np.argsort(index, kind="stable")
    ends = np.searchsorted(index[order], np.arange(count + 1))
    members, log_evidence = [], 0.0
    for place in range(count):
        one = take_members(belief, place)
        rows = order[ends[place] : ends[place + 1]]
        if len(rows):
            part = child.at(rows)
            pair = part.pair(one)
            statistics = pair.summarize(part.values)
            one = pair.update(one, statistics)
            log_evidence += float(pair.log_evidence(one, statistics))
        members.append(one)
    names = [name.rstrip("=") for name in type(belief)._shown]
    stacked = {name: np.stack([getattr(one, name) for one in members]) for name in names}
    return type(belief)(**stacked), log_evidence


def _check(pair: Pair, child: Child) -> None:
    """Refuse data that the likelihood cannot produce."""
    try:
        pair.check(child.values, 0)
    except ValueError as error:
        note = " (counting rows that are not missing)" if child.has_gaps else ""
        raise ValueError(f"{child.name}: {error}{note}") from None


def _reshaped(d: Any, shape: tuple[int, ...]) -> Any:
    """Return the same members in a batch of another shape."""
    lead = len(d.batch_shape)
    return d._from(
        **{
            k: np.reshape(v, shape + np.shape(v)[lead:])[()]
            for k, v in d._given_parameters().items()
        }
    )


def _lead(layout: Layout) -> tuple[Axis, ...]:
    return layout.plates + layout.ints


def _size(axes: tuple[Axis, ...]) -> int:
    return int(np.prod([axis.size for axis in axes]))
