"""A factor while its log density is written: child and parameters as formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.poisson import Poisson
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, child_term
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Switch,
    Table,
    labels_of,
    shape_of,
    spread,
)
from posteriori.modeling.binding.places import compact, one_hot
from posteriori.modeling.binding.products import Product, merged, same_switch
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.densities.law import LAWS
from posteriori.modeling.variational.densities.monomials import Formula, Stat, safe_log
from posteriori.modeling.variational.densities.number_functions import Of, why_no_numbers
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.rank import exceeds_rounding, is_definite
from posteriori.numerics.types import Array

__all__ = ["FactorView"]


class FactorView:
    """A factor whose child and parameters are asked for as formulas.

    Parameters
    ----------
    factor : BoundFactor
    bound : Bound

    Attributes
    ----------
    labels : tuple of Axis
        Of the rows and, at the end, of the event.
    data : Table or None
        What the child was seen to be, with harmless values where it is missing.
    mask : Table or None
        0 where the child is missing, else 1.
    """

    def __init__(self, factor: BoundFactor, bound: Bound) -> None:
        self.factor = factor
        self.bound = bound
        self.labels = (*factor.rows, *factor.events)
        self.mask: Table | None = None
        self.data = self._read() if factor.name in bound.observed else None

    def _read(self) -> Table:
        """Return the data of the child, with 0 and a mask where they are missing."""
        table = child_term(self.factor, self.bound).table
        gaps = np.isnan(table.values)
        self._require_support(table, gaps)
        if not gaps.any():
            return table
        inner = tuple(i for i, a in enumerate(table.axes) if a in self.factor.events)
        absent = gaps.all(axis=inner) if inner else gaps
        if inner and np.any(gaps.any(axis=inner) != absent):
            raise TypeError(
                f"{self.factor.name} misses some entries of a vector under an unknown precision: "
                "write its entries as separate Normal variables, or leave out whole vectors"
            )
        rows = tuple(a for a in table.axes if a not in self.factor.events)
        self.mask = Table(np.asarray(~absent, dtype=np.float64), rows)
        return Table(np.where(gaps, self._harmless(table), table.values), table.axes)

    def _require_support(self, table: Table, gaps: Array) -> None:
        """Refuse data that the family of the child never produces."""
        family, x = self.factor.family, table.values
        law = LAWS.get(family)
        outside = np.asarray(issubclass(family, ExponentialFamily) and family._off_support(x))
        if law is not None and law.off_support is not None:
            outside = outside | law.off_support(self, table)
        inner = tuple(range(outside.ndim, x.ndim))
        wrong = np.argwhere(outside & ~gaps.any(axis=inner))
        if len(wrong):
            where = tuple(int(i) for i in wrong[0])
            raise ValueError(
                f"{self.factor.name}: data must lie in the support of {family.__name__}: "
                f"index {', '.join(map(str, where))} holds {x[where]}"
            )

    def _harmless(self, table: Table) -> Any:
        """Return a value that every density allows, for rows of weight 0."""
        present = table.values[~np.isnan(table.values)]
        return present[0] if present.size and not self.factor.events else 0.0

    def refuse(self, key: str, what: str) -> TypeError:
        """Return the error of a parameter that cannot be what it is."""
        return TypeError(f"{key} of {self.factor.name} {what}")

    def formula(self, *products: Product) -> Formula:
        """Return the sum of products."""
        return Formula(products, self.labels)

    # -- child -------------------------------------------------------------------------------

    def observed(self, function: Callable[[Any], Any] = np.asarray) -> Formula:
        """Return the data of the child, or a function of them; refuse an unknown child."""
        if self.data is None:
            family = self.factor.family.__name__
            raise TypeError(f"{self.factor.name} is unknown: {family} variables must be observed")
        return self._of_data(self.data, function)

    def _of_data(self, data: Table, function: Callable[[Any], Any]) -> Formula:
        values = np.asarray(function(data.values))
        return self.formula(Product((Table(values, data.axes[: values.ndim]),)))

    def child(self) -> Formula:
        """Return the child itself."""
        if self.data is not None:
            return self.formula(Product((self.data,)))
        return self.formula(Product((), (Access(self.factor.name, self.factor.places),)))

    def statistic(self, component: int, function: Callable[[Any], Any]) -> Formula:
        """Return an entry of T(child), which is a function of its data."""
        if self.data is not None:
            return self._of_data(self.data, function)
        width = self.factor.family._natural_ndims[component]
        lead = len(self.factor.places) - len(self.factor.events)
        events = self.factor.events if width else ()
        places = (*self.factor.places[:lead], *events)
        return self.formula(Product((), (Stat(self.factor.name, places, component),)))

    def one_hot(self, state: Axis) -> Formula:
        """Return 1[child = state]."""
        labels = (*self.labels, state)
        if self.data is None:
            switch = Switch(self.factor.name, self.factor.places, state)
            return Formula([Product((), (switch,))], labels)
        return Formula([Product((one_hot(self.data, state),))], labels)

    # -- parameters --------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        """Tell whether the factor is written with a parameter."""
        return key in self.factor.parameters

    def is_known(self, key: str) -> bool:
        """Tell whether a parameter is a known number or array."""
        return self.factor.parameters[key].is_known

    def events(self, key: str) -> tuple[Axis, ...]:
        """Return the event axes of a parameter."""
        poly = self.factor.parameters[key]
        return poly.axes[len(poly.axes) - self.factor.family._parameters.get(key, 0) :]

    def known(self, key: str) -> Formula:
        """Return a known parameter."""
        return self.formula(Product((self.known_table(key),)))

    def known_table(self, key: str) -> Table:
        """Return a known parameter, without the rows that it does not vary with."""
        poly = self.factor.parameters[key]
        if not poly.is_known:
            raise self.refuse(key, "must be known: only some parameters can be learned")
        labels = (*self.factor.rows, *self.events(key))
        return compact(poly.over(labels), labels)

    def value(self, key: str) -> Formula:
        """Return a parameter, linear in the statistics of its variables."""
        poly = self.factor.parameters[key]
        if poly.is_known:
            return self.known(key)
        return self.formula(
            *(
                merged(Product((t.table,), self._linear(t.accesses, key, "value")))
                for t in poly.terms
            )
        )

    def inverse(self, key: str) -> Formula:
        """Return 1 over an unknown parameter, or the inverse of a matrix."""
        return self._by_state(key, "inverse", np.reciprocal) or self._inverted(key, "inverse")

    def inverse_square(self, key: str) -> Formula:
        """Return 1 over the square of an unknown number."""
        kind = "inverse square"
        return self._by_state(key, kind, lambda x: x**-2.0) or self._inverted(key, kind)

    def _inverted(self, key: str, kind: str) -> Formula:
        table, accesses = self._single_term(key)
        known = self._inverse(key, table)
        if kind == "inverse square":
            known = Table(known.values**2, known.axes)
        return self.formula(merged(Product((known,), self._linear(accesses, key, kind))))

    def log_gamma(self, key: str) -> Formula:
        """Return ln Γ of an unknown number."""
        found = self._by_state(key, "log gamma", special.gammaln)
        if found is not None:
            return found
        table, accesses = self._single_term(key)
        scale = np.unique(table.values)
        others = [a for a in accesses if not isinstance(a, Switch)]
        if len(scale) != 1 or len(others) != 1:
            raise self.refuse(key, "must be one unknown, or one multiple of it for all rows")
        kind = Of("log gamma", float(scale[0]))
        return self.formula(merged(Product((), self._linear(accesses, key, kind))))

    def _single_term(self, key: str) -> Any:
        terms = self.factor.parameters[key].terms
        if len(terms) != 1:
            raise self.refuse(
                key,
                "is a sum of unknowns, whose logarithm has no closed expectation: make it one unknown, "
                'or, where few numbers are unknown, ask for method="quadrature"',
            )
        return terms[0]

    def _matrix(self, key: str, table: Table) -> Table | None:
        """Return a known matrix that scales a parameter, its own axes last; None for numbers."""
        events = self.events(key)
        if len(events) < 2 or not set(events) & set(table.axes):
            return None
        rest = tuple(a for a in table.axes if a not in events)
        if len(rest) + len(events) != len(table.axes):
            raise self.refuse(key, "is scaled by a row or a column: give a whole matrix")
        return Table(spread(table, (*rest, *events)), (*rest, *events))

    def _inverse(self, key: str, table: Table) -> Table:
        """Return 1/c or C⁻¹ of what is known of a parameter."""
        matrix = self._matrix(key, table)
        if matrix is None:
            return Table(1.0 / table.values, table.axes)
        return Table(explicit_inverse(matrix.values), matrix.axes)

    def _log_of_known(self, key: str, table: Table, others: Sequence[Any], size: int) -> Table:
        """Return D ln c or ln|C| of what is known of a parameter."""
        matrix = self._matrix(key, table)
        if matrix is None:
            if np.any(table.values <= 0):
                raise ValueError(f"{key} of {self.factor.name} must be positive")
            return Table(size * np.log(table.values), table.axes)
        if any(set(self.events(key)) & set(labels_of(access)) for access in others):
            raise self.refuse(key, "is a product of two matrices, entry by entry")
        if not np.all(is_definite(matrix.values)):
            raise ValueError(f"{key} of {self.factor.name} must be positive definite")
        return Table(np.asarray(np.linalg.slogdet(matrix.values)[1]), matrix.axes[:-2])

    def log(self, key: str, kind: str = "log", size: int = 1) -> Formula:
        """Return the logarithm of a parameter.

        Parameters
        ----------
        key : str
        kind : "log" or "log of rest"
            Of the parameter, or of 1 less it.
        size : int
            The log determinant is meant, of a matrix of so many rows.
        """
        apart = self._by_state(key, kind, partial(self._logs_of_numbers, key, kind))
        if apart is not None:
            return apart
        table, accesses = self._single_term(key)
        switches = self._linear([a for a in accesses if self._is_discrete(a)], key, kind)
        others = [a for a in accesses if not self._is_discrete(a)]
        states = {s.state for s in switches}
        summed = {a for access in others for a in labels_of(access)} | set(table.axes)
        if summed - states - set(self.factor.rows) - set(self.events(key)):
            raise self.refuse(key, "is a sum over an axis, whose logarithm has no closed form")
        found = []
        known = self._log_of_known(key, table, others, size)
        if kind == "log of rest" and (len(others) != 1 or np.any(table.values != 1.0)):
            raise self.refuse(key, "is a product: that of its complement has no closed expectation")
        if np.any(known.values != 0.0):
            found.append(merged(Product((known,), switches)))
        for access in others:
            (stat,) = self._linear([access], key, kind)
            scalar = self.bound.families[access.name]._event_ndim == 0  # ln|τΛ| = D ln τ + ln|Λ|
            copies = (Table(np.asarray(float(size)), ()),) if scalar and size > 1 else ()
            found.append(merged(Product(copies, (stat, *switches))))
        return self.formula(*found)

    def _by_state(self, key: str, kind: str, of_numbers: Callable[[Array], Any]) -> Formula | None:
        """Return a function of a sum of which each state of one variable sees a single term.

        None where it is no such sum of numbers and variables, as ``take([0.0, m.p], m.z)`` makes it.
        """
        split = [_gated(term) for term in self.factor.parameters[key].terms]
        parts = [part for part in split if part is not None]
        unknown = [part for part in parts if part.access is not None]
        if not unknown or len(parts) < len(split) or (len(parts) == 1 and parts[0].gate.all()):
            return None
        switch, gates = parts[0].switch, np.array([part.gate for part in unknown])
        labels = (switch.state, *self.events(key))
        known = [
            spread(part.table.relabelled({part.switch.state: switch.state}), labels)
            for part in parts
            if part.access is None
        ]
        numbers = np.broadcast_to(sum(known, np.zeros(())), shape_of(labels))
        seen = gates.sum(axis=0)
        alone = not np.any(gates * (gates - 1.0)) and seen.max() <= 1.0
        wide = seen.reshape(-1, *(1,) * (len(labels) - 1))
        if not alone or np.any(wide * numbers):
            return None
        if not all(same_switch(part.switch, switch) for part in parts):
            return None
        of_known = np.zeros(shape_of(labels))
        of_known[seen == 0] = of_numbers(numbers[seen == 0])
        found = [Product((Table(of_known, labels),), (switch,))]
        for part in unknown:
            stat = self._linear([part.access], key, kind)
            found.append(Product((Table(part.gate, (switch.state,)),), (*stat, switch)))
        return self.formula(*map(merged, found))

    def _logs_of_numbers(self, key: str, kind: str, numbers: Array) -> Any:
        """Return the logarithms of numbers, or of 1 less them; 0 may be a probability or a count's rate."""
        if key == "probability" and np.any((numbers < 0) | (numbers > 1)):
            raise ValueError(f"probability of {self.factor.name} must lie between 0 and 1")
        if key == "probabilities" and np.any(exceeds_rounding(numbers.sum(axis=-1) - 1.0, 1.0)):
            raise ValueError(f"probabilities of {self.factor.name} must sum to 1 in each state")
        may_vanish = key in ("probability", "probabilities") or self.factor.family is Poisson
        if np.any(numbers < 0 if may_vanish else numbers <= 0):
            raise ValueError(f"{key} of {self.factor.name} must be positive")
        return safe_log(numbers if kind == "log" else 1.0 - numbers)

    def _is_discrete(self, access: Any) -> bool:
        return isinstance(access, Switch) or self.bound.families[access.name] in DISCRETE

    def _linear(self, accesses: Iterable[Any], key: str, kind: str | Of) -> tuple[Any, ...]:
        """Turn accesses to variables into accesses to their statistics, or functions of them."""
        found = []
        for access in accesses:
            family = self.bound.families[access.name]
            if isinstance(access, Switch) or (family in GAUSSIAN and kind == "value"):
                found.append(access)
                continue
            if family in DISCRETE:
                raise self.refuse(
                    key, f"uses the number of {access.name}: write take([...], {access.name})"
                )
            law = LAWS.get(family)
            component = None if law is None or isinstance(kind, Of) else law.statistics.get(kind)
            if component is None:
                found.append(self._function(access, key, kind))
                continue
            lead = len(self.bound.layouts[access.name].axes) - family._event_ndim
            width = family._natural_ndims[component]
            places = access.places[: lead + width]
            found.append(Stat(access.name, places, component))
        return tuple(found)

    def _function(self, access: Any, key: str, kind: str | Of) -> Stat:
        """Return a function of a number whose belief is a density on a grid."""
        reason = why_no_numbers(self.bound, access.name)
        if reason is None:
            return Stat(access.name, access.places, kind if isinstance(kind, Of) else Of(kind))
        own, family = LAWS.get(self.factor.family), self.bound.families[access.name]
        remedy = None if own is None else own.priors.get(key)
        more = f": give {access.name} a prior of family {remedy}" if remedy else ""
        raise self.refuse(
            key, f"depends on {access.name}, a {family.__name__}, in a way without rule{more}"
        )


class _Gated(NamedTuple):
    """A term that a state of one variable turns on: gate (K,), table, switch, and what it turns on."""

    gate: Array
    table: Table
    switch: Switch
    access: Access | None


def _gated(term: Any) -> _Gated | None:
    """Return numbers or a variable times a table of the states of one variable, or None."""
    switches = [a for a in term.accesses if isinstance(a, Switch)]
    others = [a for a in term.accesses if not isinstance(a, Switch)]
    if len(switches) != 1 or len(others) > 1 or switches[0].state not in term.table.axes:
        return None
    (switch,) = switches
    if others and (term.table.axes != (switch.state,) or switch.state in labels_of(others[0])):
        return None
    inner = tuple(i for i, axis in enumerate(term.table.axes) if axis is not switch.state)
    gate = term.table.values if others else term.table.values.any(axis=inner)
    return _Gated(gate, term.table, switch, others[0] if others else None)
