"""Log densities as sums of products: constants times statistics of unknown variables.

The log joint density of a model is a sum of :class:`Monomial`. What a gate (a discrete index), a
mask (missing data) or an unknown precision does to a factor is one more entry of the product, so
expectations, messages and bounds need no case for any of them. A law writes the log density of each
row as a :class:`Formula`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.binding.products import Product, axes_of, multiply_products

__all__ = [
    "LOG_ZERO",
    "Formula",
    "Monomial",
    "Stat",
    "safe_log",
    "total",
]

#: Stands for ln 0.
LOG_ZERO = -1e100


class Stat(NamedTuple):
    """A sufficient statistic of a variable as a factor sees it.

    Attributes
    ----------
    name : str
    places : tuple
        How the rows see the variable's plates, integer axes and the statistic's own axes.
    component : int or Of
        Which entry of T(x), or which function of a number that stays in no family.
    """

    name: str
    places: tuple[Any, ...]
    component: Any


class Monomial(NamedTuple):
    """A product summed over all its labels: one addend of the log joint density.

    Attributes
    ----------
    source : int
        Number of the factor that it belongs to.
    tables : tuple of Table
    accesses : tuple of Access, Switch or Stat
    """

    source: int
    tables: tuple[Table, ...]
    accesses: tuple[Any, ...]


class Formula:
    """A sum of products for each row of a factor; formulas and numbers add and multiply.

    Parameters
    ----------
    products : iterable of Product
    labels : tuple of Axis
        Of the rows and events. Products share them; their other labels are summed over.
    """

    __slots__ = ("labels", "products")
    __array_ufunc__ = None  # NumPy's numbers leave it to the formula

    def __init__(self, products: Iterable[Product], labels: tuple[Axis, ...]) -> None:
        self.products = tuple(products)
        self.labels = labels

    def __add__(self, other: Formula | float) -> Formula:
        if isinstance(other, Formula):
            return Formula(self.products + other.products, self._joint_labels(other))
        if self.is_known:
            return self.map(partial(np.add, other))
        return Formula((*self.products, Product((_number(other),))), self.labels)

    def __neg__(self) -> Formula:
        return -1.0 * self

    def __sub__(self, other: Formula | float) -> Formula:
        return self + -other

    def __rsub__(self, other: float) -> Formula:
        return -self + other

    def __mul__(self, other: Formula | float) -> Formula:
        if not isinstance(other, Formula):
            number = _number(other)
            scaled = (Product((number, *p.tables), p.accesses) for p in self.products)
            return Formula(scaled, self.labels)
        labels = self._joint_labels(other)
        return Formula(multiply_products(self.products, other.products, labels), labels)

    __radd__ = __add__
    __rmul__ = __mul__

    @property
    def is_known(self) -> bool:
        """Whether it is one table of known numbers."""
        return len(self.products) == 1 and list(map(len, self.products[0])) == [1, 0]

    def _joint_labels(self, other: Formula) -> tuple[Axis, ...]:
        if self.labels == other.labels:
            return self.labels
        return tuple(dict.fromkeys(self.labels + other.labels))

    def square(self, moved: Mapping[Axis, Axis] | None = None) -> Formula:
        """Return the square; its second factor may have some labels moved.

        Parameters
        ----------
        moved : mapping, optional
            Labels of the second factor: with event to twin, s tᵀ + t sᵀ is written as 2 s tᵀ.
        """
        outer = tuple(a for a in self.labels if a not in (moved or {}))
        found: list[Product] = []
        for i, s in enumerate(self.products):
            found += multiply_products([s], [s], outer, moved)
            cross = multiply_products([s], self.products[i + 1 :], outer, moved)
            found += (Formula(cross, outer) * 2.0).products
        return Formula(found, (*self.labels, *(moved or {}).values()))

    def map(self, function: Callable[[Any], Any]) -> Formula:
        """Apply a function to what is known, elementwise."""
        if not self.is_known:
            raise ValueError("only what is known can be mapped: take logarithms with view.log(...)")
        ((table,), _) = self.products[0]
        values = np.asarray(function(table.values))
        return Formula([Product((Table(values, table.axes),))], self.labels)


def total(products: Iterable[Product], rows: Sequence[Axis], source: int) -> list[Monomial]:
    """Sum over the rows: a product without the label of a row counts once for each."""
    found = []
    for product in products:
        present = axes_of(product)
        copies = math.prod(axis.size for axis in rows if axis not in present)
        numbers = [t for t in product.tables if not t.axes]
        number = copies * math.prod(float(t.values) for t in numbers)
        if number == 0.0:
            continue
        tables = tuple(t for t in product.tables if t.axes)
        if number != 1.0 or not (tables or product.accesses):
            tables = (_number(number), *tables)
        found.append(Monomial(source, tables, product.accesses))
    return found


# -- steps -----------------------------------------------------------------------------------


def _number(value: float) -> Table:
    return Table(np.asarray(value), ())


def safe_log(values: Any) -> Any:
    """Return logarithms, and a finite stand-in for that of 0: its products with 0 are 0."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(values), LOG_ZERO)
