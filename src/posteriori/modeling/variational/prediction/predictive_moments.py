r"""Mean and covariance of what is a sum of products of normal variables with given beliefs.

With :math:`m = \sum_i s_i` and every :math:`s_i` a product of variables of different nodes,

.. math:: \mathrm{Cov}[s_i, s_j] = \prod_v E[v\,v'] - \prod_v E[v]\,E[v'],\qquad
          E[v\,v'] = E[v]\,E[v'] + \mathrm{Cov}[v, v'],

so the product without covariances is left out instead of being subtracted: nothing cancels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table, spread
from posteriori.modeling.variational.densities.monomials import Product, axes_of, multiply_products
from posteriori.modeling.variational.densities.planned_products import contract_tables
from posteriori.numerics.types import Array

__all__ = ["covariance", "mean"]

#: Which node answers for which variable.
Owners = Mapping[str, Any]


def mean(products: Sequence[Product], labels: tuple[Axis, ...], owners: Owners) -> Array:
    """Return E[m] over some labels."""
    total: Any = 0.0
    for product in products:
        (choice,) = itertools.islice(_choices(product, owners), 1)
        total = total + spread(_contract(product, choice, labels), labels)
    return np.broadcast_to(total, tuple(axis.size for axis in labels))


def covariance(
    products: Sequence[Product],
    rows: tuple[Axis, ...],
    twins: Mapping[Axis, Axis],
    owners: Owners,
) -> Array:
    """Return Cov[m, m'] over rows, event axes and their twins; the variance without events.

    Parameters
    ----------
    products : sequence of Product
    rows : tuple of Axis
        Labels that both sides share.
    twins : mapping
        From event axes to their labels on the second side.
    owners : mapping
    """
    labels = (*rows, *twins, *twins.values())
    total: Any = 0.0
    for s, t in itertools.product(products, repeat=2):
        (both,) = multiply_products([s], [t], rows, twins)
        for choice in itertools.islice(_choices(both, owners), 1, None):
            total = total + spread(_contract(both, choice, labels), labels)
    return np.broadcast_to(total, tuple(axis.size for axis in labels))


def _choices(product: Product, owners: Owners) -> Iterator[list[Table]]:
    """Yield the addends of the expectation, that of the means alone first."""
    parts: dict[int, tuple[Any, list[Any]]] = {}
    for access in product.accesses:
        node = owners[access.name]
        parts.setdefault(id(node), (node, []))[1].append(access)
    answers = [_moments(node, accesses) for node, accesses in parts.values()]
    for choice in itertools.product(*answers):
        yield list(itertools.chain.from_iterable(choice))


def _moments(node: Any, accesses: Sequence[Any]) -> list[tuple[Table, ...]]:
    """Return the product of the means and, of two accesses, their covariance."""
    means = tuple(table for a in accesses for (table,) in node.expect([a]))
    return [means] if len(accesses) == 1 else [means, *node.covariance(*accesses)]


def _contract(product: Product, more: Sequence[Table], labels: tuple[Axis, ...]) -> Table:
    """Sum the product over all other labels; one that no table has counts its members."""
    tables = [*product.tables, *more]
    present = {axis for table in tables for axis in table.axes}
    summed = axes_of(product) - present - set(labels)
    copies = math.prod(axis.size for axis in summed)
    return contract_tables([*tables, Table(np.asarray(float(copies)), ())], labels)
