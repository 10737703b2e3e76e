r"""Kernels as products over columns: what a grid needs to be a Kronecker product.

.. math:: k(x, z) = \prod_t k_t(x_{S_t}, z_{S_t}) + n(x)\,[x \text{ is } z]
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.noise_parts import noiseless
from posteriori.kernels.inner_products import White
from posteriori.kernels.kernel import Constant, Kernel, OnColumns, Power, Product, Sum
from posteriori.kernels.periodic import Periodic
from posteriori.kernels.radial import RBF

__all__ = ["GridTerm", "GridTerms", "grid_terms"]


class GridTerm(NamedTuple):
    """A factor.

    Attributes
    ----------
    columns : tuple of int
        S, what it sees; none of a constant.
    kernel : Kernel
        Of points with all columns.
    places : tuple of int
        Of its parameters among those of the whole kernel; factors may share some.
    """

    columns: tuple[int, ...]
    kernel: Kernel
    places: tuple[int, ...]


class GridTerms(NamedTuple):
    """The factors of a function, and the columns that its noise depends on."""

    factors: tuple[GridTerm, ...]
    noise_columns: tuple[int, ...]


def grid_terms(kernel: Kernel, columns: int) -> GridTerms | None:
    """Return the factors of a kernel that is one product and noise, None of others.

    Parameters
    ----------
    kernel : Kernel
    columns : int
        Of the points.

    Examples
    --------
    >>> terms = grid_terms(2.0 * RBF([1.0, 3.0]) + White(0.1), 2)
    >>> [(term.columns, term.places) for term in terms.factors]
    [((), (0,)), ((0,), (1,)), ((1,), (2,))]
    >>> grid_terms(RBF() + Constant() + White(), 2) is None
    True
    """
    whole, first = tuple(range(columns)), 0
    functions: list[tuple[GridTerm, ...]] = []
    of_noise: set[int] = set()
    for member in kernel.members if isinstance(kernel, Sum) else (kernel,):
        factors = tuple(_split(member, whole, first))
        first += len(member.log_parameters)
        if noiseless(member) is None:
            of_noise.update(column for factor in factors for column in factor.columns)
        elif any(isinstance(leaf, White) for leaf in member._leaves()):
            return None
        else:
            functions.append(factors)
    return GridTerms(functions[0], tuple(sorted(of_noise))) if len(functions) == 1 else None


def _split(kernel: Kernel, columns: tuple[int, ...], first: int) -> list[GridTerm]:
    """Return factors of a kernel whose parameters begin at a place."""
    places = tuple(range(first, first + len(kernel.log_parameters)))
    match kernel:
        case Product(members):
            found = []
            for member in members:
                found += _split(member, columns, first)
                first += len(member.log_parameters)
            return found
        case Power(base, power):
            inner = _split(base, columns, first)
            return [term._replace(kernel=Power(term.kernel, power)) for term in inner]
        case OnColumns(base, own):
            return _split(base, tuple(columns[column] for column in own), first)
        case RBF() if np.ndim(kernel.scale):
            each = zip(columns, kernel.scale, places, strict=True)
            return [GridTerm((c,), OnColumns(RBF(scale), (c,)), (p,)) for c, scale, p in each]
        case RBF() | Periodic():
            return [GridTerm((c,), OnColumns(kernel, (c,)), places) for c in columns]
    return [GridTerm(tuple(sorted(_seen(kernel, columns))), OnColumns(kernel, columns), places)]


def _seen(kernel: Kernel, columns: tuple[int, ...]) -> set[int]:
    """Return the columns that a kernel depends on, of those that it is given."""
    match kernel:
        case Constant():
            return set()
        case White() if np.ndim(kernel.variance) == 0:
            return set()
        case Sum(members) | Product(members):
            return set().union(*(_seen(member, columns) for member in members))
        case Power(base):
            return _seen(base, columns)
        case OnColumns(base, own):
            return _seen(base, tuple(columns[column] for column in own))
    return set(columns)
