"""Products of tables and variables with labels: what sums of products are added up from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from posteriori.modeling.binding.labelled import Axis, Switch, Table, labels_of, relabel_access
from posteriori.modeling.binding.places import same_places

__all__ = [
    "Product",
    "axes_of",
    "merged",
    "multiply_products",
    "same_switch",
    "with_labels",
    "without_idle_switches",
]


class Product(NamedTuple):
    """Tables times statistics; labels that the context does not have are summed over."""

    tables: tuple[Table, ...] = ()
    accesses: tuple[Any, ...] = ()


def axes_of(product: Any) -> set[Axis]:
    """Return all labels of a product."""
    found = {axis for table in product.tables for axis in table.axes}
    return found.union(labels_of(*product.accesses))


def multiply_products(
    a: Iterable[Product],
    b: Iterable[Product],
    outer: Iterable[Axis],
    moved: Mapping[Axis, Axis] | None = None,
) -> list[Product]:
    """Return the product of two sums; the second may have some labels moved first.

    Parameters
    ----------
    a, b : iterables of Product
    outer : iterable of Axis
        Labels that both share; the others of ``b`` are its own and get fresh names.
    moved : mapping, optional
        Labels of ``b`` to replace.
    """
    right, kept = list(b), set(outer)
    return [_times(s, t, kept, moved or {}) for s in a for t in right]


def with_labels(product: Product, new: Mapping[Axis, Axis]) -> Product:
    """Replace labels."""
    if not new:
        return product
    return Product(
        tuple(table.relabelled(new) for table in product.tables),
        tuple(relabel_access(access, new) for access in product.accesses),
    )


def merged(product: Product) -> Product:
    """Let switches of the same variable share their state: 1[z=i] 1[z=j] = 1[z=i] δ(i, j)."""
    kept: list[Any] = []
    states: dict[Axis, Axis] = {}
    for access in product.accesses:
        twin = next((k for k in kept if same_switch(k, access)), None)
        if twin is None:
            kept.append(access)
        else:
            states[access.state] = twin.state
    return with_labels(Product(product.tables, tuple(kept)), states)


def same_switch(a: Any, b: Any) -> bool:
    """Tell whether two accesses are switches of the same members of a variable."""
    if not (isinstance(a, Switch) and isinstance(b, Switch)):
        return False
    return a.name == b.name and same_places(a.places, b.places)


def without_idle_switches(product: Product) -> Product:
    """Drop switches whose state nothing depends on: their probabilities sum to 1."""
    kept = []
    for i, access in enumerate(product.accesses):
        others = Product(product.tables, tuple(a for j, a in enumerate(product.accesses) if j != i))
        if isinstance(access, Switch) and access.state not in axes_of(others):
            continue
        kept.append(access)
    return Product(product.tables, tuple(kept))


def _times(s: Product, t: Product, outer: set[Axis], moved: Mapping[Axis, Axis]) -> Product:
    own = axes_of(t) - outer - set(moved)
    t = with_labels(t, {**moved, **{axis: Axis(axis.name, axis.size) for axis in own}})
    return merged(Product(s.tables + t.tables, s.accesses + t.accesses))
