"""A factor while its log density is written: child and parameters as sums of products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.inverse_gamma import InverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.distributions.vectors.inverse_wishart import InverseWishart
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Polynomial,
    Switch,
    Table,
    labels_of,
    spread,
)
from posteriori.modeling.forms.normal_rows import child_term
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.densities.monomials import Product, Stat, merged
from posteriori.numerics.types import Array

__all__ = ["GAUSSIAN", "STATISTICS", "FactorView"]

#: Families whose variables are solved together as one normal vector.
GAUSSIAN = (Normal, MvNormal)

#: What the entries of T(x) are, for the families that parameters may have.
STATISTICS: dict[Any, dict[str, int]] = {
    Gamma: {"log": 0, "value": 1},
    InverseGamma: {"log": 0, "inverse": 1},
    Wishart: {"log": 0, "value": 1},
    InverseWishart: {"log": 0, "inverse": 1},
    Dirichlet: {"log": 0},
    Beta: {"log": 0, "log of rest": 1},
}

#: Families of priors that have a rule, by the parameter that they are for.
_PRIORS = {
    "mean": "Normal or MvNormal",
    "precision": "Gamma or Wishart",
    "variance": "InverseGamma, or let a Gamma be the precision",
    "cov": "InverseWishart, or let a Wishart be the precision",
    "rate": "Gamma",
    "probability": "Beta",
    "probabilities": "Dirichlet",
}


class FactorView:
    """A factor whose child and parameters are asked for as sums of products.

    Parameters
    ----------
    factor : BoundFactor
    bound : Bound
    """

    def __init__(self, factor: BoundFactor, bound: Bound) -> None:
        self.factor = factor
        self.bound = bound
        self.labels = (*factor.rows, *factor.events)
        self.observed = factor.name in bound.observed
        self.mask: Table | None = None
        self.data = self._read() if self.observed else None

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
        if not issubclass(family, ExponentialFamily):
            return  # refused where densities are written
        outside = np.asarray(family._off_support(x))
        if family is Categorical:
            outside = outside | (x >= self.events("probabilities")[-1].size)
        if family is Binomial:
            outside = outside | (x > spread(self.known("trials"), table.axes))
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
        return TypeError(f"{key} of {self.factor.name} {what}")

    # -- child -------------------------------------------------------------------------------

    def child(self) -> list[Product]:
        """Return the child itself."""
        if self.data is not None:
            return [Product((self.data,))]
        return [Product((), (Access(self.factor.name, self.factor.places),))]

    def statistic(self, component: int, values: Callable[[Any], Any]) -> list[Product]:
        """Return an entry of T(child)."""
        if self.data is not None:
            axes = self.data.axes
            made = np.asarray(values(self.data.values))
            return [Product((Table(made, axes[: made.ndim]),))]
        width = self.factor.family._natural_ndims[component]
        lead = len(self.factor.places) - len(self.factor.events)
        events = self.factor.events if width else ()
        places = (*self.factor.places[:lead], *events)
        return [Product((), (Stat(self.factor.name, places, component),))]

    def one_hot(self, state: Axis) -> Product:
        """Return 1[child = state]."""
        if self.data is None:
            return Product((), (Switch(self.factor.name, self.factor.places, state),))
        codes = self.data.values[..., None] == np.arange(state.size)
        return Product((Table(codes.astype(np.float64), (*self.data.axes, state)),))

    # -- parameters --------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        return key in self.factor.parameters

    def is_known(self, key: str) -> bool:
        return self.factor.parameters[key].is_known

    def events(self, key: str) -> tuple[Axis, ...]:
        poly = self.factor.parameters[key]
        return poly.axes[len(poly.axes) - self.factor.family._parameters[key] :]

    def known(self, key: str) -> Table:
        """Return a known parameter, without the rows that it does not vary with."""
        poly = self.factor.parameters[key]
        if not poly.is_known:
            raise self.refuse(key, "must be known: only some parameters can be learned")
        return _known(poly, (*self.factor.rows, *self.events(key)))

    def value(self, key: str, kind: str = "value") -> list[Product]:
        """Return a parameter as a sum of products linear in the statistics of its variables."""
        poly = self.factor.parameters[key]
        if poly.is_known:
            return [Product((self.known(key),))]
        if kind == "inverse":
            table, accesses = self._single_term(key)
            return [
                merged(Product((self._inverse(key, table),), self._linear(accesses, key, kind)))
            ]
        return [
            merged(Product((term.table,), self._linear(term.accesses, key, kind)))
            for term in poly.terms
        ]

    def _single_term(self, key: str) -> Any:
        terms = self.factor.parameters[key].terms
        if len(terms) != 1:
            raise self.refuse(key, "is a sum, whose logarithm has no closed expectation")
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
        return Table(np.linalg.inv(matrix.values), matrix.axes)

    def _log_of_known(self, key: str, table: Table, others: Sequence[Any], size: int) -> Table:
        """Return D ln c or ln|C| of what is known of a parameter."""
        matrix = self._matrix(key, table)
        if matrix is None:
            if np.any(table.values <= 0):
                raise ValueError(f"{key} of {self.factor.name} must be positive")
            return Table(size * np.log(table.values), table.axes)
        if any(set(self.events(key)) & set(labels_of(access)) for access in others):
            raise self.refuse(key, "is a product of two matrices, entry by entry")
        signs, logs = np.linalg.slogdet(matrix.values)
        if np.any(signs <= 0):
            raise ValueError(f"{key} of {self.factor.name} must be positive definite")
        return Table(np.asarray(logs), matrix.axes[:-2])

    def log(self, key: str, kind: str = "log", size: int = 1) -> list[Product]:
        """Return the logarithm of a parameter, or the log determinant of a matrix of some size."""
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
        return found

    def _is_discrete(self, access: Any) -> bool:
        return isinstance(access, Switch) or self.bound.families[access.name] in DISCRETE

    def _linear(self, accesses: Iterable[Any], key: str, kind: str) -> tuple[Any, ...]:
        """Turn accesses to variables into accesses to their statistics."""
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
            component = STATISTICS.get(family, {}).get(kind)
            if component is None:
                remedy = _PRIORS.get(key)
                more = f": give {access.name} a prior of family {remedy}" if remedy else ""
                raise self.refuse(
                    key,
                    f"depends on {access.name}, a {family.__name__}, in a way without rule{more}",
                )
            lead = len(self.bound.layouts[access.name].axes) - family._event_ndim
            width = family._natural_ndims[component]
            places = access.places[: lead + width]
            found.append(Stat(access.name, places, component))
        return tuple(found)


def _known(poly: Polynomial, labels: tuple[Axis, ...]) -> Table:
    value: Any = 0.0
    for term in poly.terms:
        value = value + spread(term.table, labels)
    value = np.asarray(value)
    gone = tuple(i for i, n in enumerate(value.shape) if n == 1 and labels[i].size != 1)
    axes = tuple(a for i, a in enumerate(labels) if i not in gone)
    return Table(np.squeeze(value, axis=gone) if gone else value, axes)
