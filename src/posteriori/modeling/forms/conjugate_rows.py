r"""The rows of a child, and how they see the one unknown: factor · unknown[index] + offset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.conjugate.pair import Pair, find_pair, match_pair
from posteriori.distributions.unknown import Conditional, Unknown
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout, child_term
from posteriori.modeling.binding.construction import construct_chosen
from posteriori.modeling.binding.labelled import Access, Axis, Polynomial, Term, count_of, shape_of
from posteriori.modeling.binding.places import flat_index, same_places
from posteriori.numerics.types import Array

__all__ = [
    "Child",
    "Quantity",
    "Sight",
    "observed_child",
    "pair_class_of",
    "place_index",
    "plain_parameters",
    "reshaped",
    "see",
]


class Sight(NamedTuple):
    """One parameter of a child: factor · unknown[places] + offset."""

    parameter: str
    factor: Polynomial | None
    offset: Polynomial | None
    places: tuple[Any, ...]


def see(factor: BoundFactor, name: str, layout: Layout) -> Sight | str:
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
    if not all(same_places(access.places, other.places) for other in others):
        return f"{what} adds up several members of {name}"
    rows = set(factor.rows)
    cut = len(layout.lead)
    lead, event = access.places[:cut], access.places[cut:]
    if (
        event != poly.axes[len(poly.axes) - len(event) :]
        or not {label for place in lead for label in place.labels} <= rows
    ):
        return f"{what} mixes the entries or members of {name}"
    if any(not set(t.table.axes) <= rows for t in poly.terms):
        return f"{what} treats the entries of {name} differently"
    given = [t for t in poly.terms if not t.accesses]
    return Sight(parameter, _gain(terms, factor), _known_part(given, factor), lead)


def _gain(terms: list[Term], factor: BoundFactor) -> Polynomial | None:
    """Return the known factor; None where it is 1."""
    tables = [t.table for t in terms]
    if not any(t.axes for t in tables) and sum(float(t.values) for t in tables) == 1.0:
        return None
    return _known_part([Term(t) for t in tables], factor)


def _known_part(terms: list[Term], factor: BoundFactor) -> Polynomial | None:
    return Polynomial(tuple(terms), (), factor.rows) if terms else None


def pair_class_of(prior_family: Any, factor: BoundFactor, sight: Sight) -> type[Pair] | None:
    """Return the conjugate pair of a prior and a child; None where there is none."""
    known = [k for k in factor.parameters if k != sight.parameter]
    return match_pair(prior_family, factor.family, (sight.parameter,), known)


def place_index(sight: Sight, rows: tuple[Axis, ...], layout: Layout) -> Any:
    """Return which member of the unknown each row sees; None for the r-th."""
    return flat_index(sight.places, layout.lead, rows)


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
    log_known : float
        Log density of rows that do not see the unknown, for their gain is 0; they are left out.
    has_known_rows : bool
        Whether there are such rows.
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
    log_known: float = 0.0
    has_known_rows: bool = False

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


def observed_child(factor: BoundFactor, name: str, bound: Bound) -> Child:
    """Return the rows of a child that are there."""
    layout = bound.layouts[name]
    sight = see(factor, name, layout)
    assert isinstance(sight, Sight)
    data = child_term(factor, bound).table.over(factor.rows + factor.events)
    known = {k: p for k, p in factor.parameters.items() if k != sight.parameter}
    child = Child(
        factor.name,
        factor.family,
        sight.parameter,
        data.reshape(count_of(factor.rows), *shape_of(factor.events)),
        {k: _quantity(p, factor.rows) for k, p in known.items()},
        None if sight.factor is None else _quantity(sight.factor, factor.rows),
        None if sight.offset is None else _quantity(sight.offset, factor.rows),
        place_index(sight, factor.rows, layout),
    )
    return _without_known_rows(_without_gaps(child))


def _without_known_rows(child: Child) -> Child:
    """Leave out rows whose parameter is a known number: ``take([0.0, m.p], ...)`` makes them."""
    if child.parameter == "mean" or child.gain is None or child.gain.values.ndim > 1:
        return child  # means may have any gain
    gain = np.broadcast_to(child.gain.values, len(child.values))
    offset = np.zeros(()) if child.offset is None else child.offset.values
    offset = np.broadcast_to(offset, gain.shape)
    known = gain == 0.0
    kept = child.at(np.flatnonzero(~known)) if known.any() else child
    kept = kept._replace(
        gain=None if np.all(gain[~known] == 1.0) else kept.gain,
        offset=None if not np.any(offset[~known]) else kept.offset,
    )
    if not known.any():
        return kept
    parameters = {key: quantity.at(known).values for key, quantity in child.known.items()}
    parameters[child.parameter] = offset[known]
    made = construct_chosen(child.family, parameters, child.name)
    logs = float(np.sum(made.log_prob(child.values[known])))
    return kept._replace(log_known=logs, has_known_rows=True)


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
    return Quantity(value.reshape(count_of(rows), *event), True)


def plain_parameters(child: Child) -> dict[str, Any]:
    """Return the unknown itself with known parameters: all that a rule for sums looks at."""
    return {**{k: q.values for k, q in child.known.items()}, child.parameter: Unknown()}


def reshaped(d: Any, shape: tuple[int, ...]) -> Any:
    """Return the same members in a batch of another shape."""
    lead = len(d.batch_shape)
    return d._from(
        **{
            k: np.reshape(v, shape + np.shape(v)[lead:])[()]
            for k, v in d._given_parameters().items()
        }
    )
