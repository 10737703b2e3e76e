"""Quantities written twice: in the model language and as affine functions of all numbers."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tests.modeling.exact_conditioning import exact_array

__all__ = ["CAPACITY", "Known", "Twin", "spread", "union"]

#: How many numbers a model may have.
CAPACITY = 44


class Known(NamedTuple):
    """A constant: what stands in the model, its named plates, and its numbers (*plates, *shape)."""

    expression: Any
    plates: tuple[str, ...]
    values: np.ndarray


class Twin(NamedTuple):
    """An expression, and its coefficients (*plates, *shape, 1 + CAPACITY); the first is constant."""

    expression: Any
    plates: tuple[str, ...]
    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape[len(self.plates) : -1]

    def __add__(self, other: "Twin") -> "Twin":
        plates = union(self.plates, other.plates)
        ndim = max(len(self.shape), len(other.shape))
        values = spread(self, plates, ndim) + spread(other, plates, ndim)
        return Twin(self.expression + other.expression, plates, values)

    def plus(self, known: Known) -> "Twin":
        constant = np.zeros((*known.values.shape, 1 + CAPACITY), dtype=object)
        constant[..., 0] = exact_array(known.values)
        return self + Twin(known.expression, known.plates, constant)

    def times(self, known: Known) -> "Twin":
        plates = union(known.plates, self.plates)
        factor = Twin(None, known.plates, exact_array(known.values)[..., None])
        ndim = max(len(self.shape), len(factor.shape))
        values = spread(factor, plates, ndim) * spread(self, plates, ndim)
        return Twin(known.expression * self.expression, plates, values)

    def multiplied_by(self, matrix: Known) -> "Twin":
        """Return matrix @ self, over the first of one or two axes."""
        plates = union(matrix.plates, self.plates)
        flat = spread(self, plates, len(self.shape))
        lead, rest = flat.shape[: len(plates)], flat.shape[len(plates) + 1 :]
        flat = flat.reshape(*lead, self.shape[0], -1)
        left = Twin(None, matrix.plates, exact_array(matrix.values)[..., None])
        product = spread(left, plates, 2)[..., 0] @ flat
        values = product.reshape(*product.shape[:-1], *rest)
        return Twin(matrix.expression @ self.expression, plates, values)

    def dotted(self, vector: np.ndarray, write: Callable[[Any, Any], Any]) -> "Twin":
        """Return the sum over the last axis, weighted."""
        values = (self.values * exact_array(vector)[:, None]).sum(axis=-2)
        return Twin(write(vector, self.expression), self.plates, values)

    def at(self, *index: Any) -> "Twin":
        """Return self[index], for whole numbers, lists and slices."""
        inner = np.moveaxis(self.values, range(len(self.plates)), range(-len(self.plates), 0))
        values = np.moveaxis(inner[index], range(-len(self.plates), 0), range(len(self.plates)))
        return Twin(self.expression[index], self.plates, values)

    def gathered(self, codes: Known) -> "Twin":
        """Return self[codes]: along a named plate, or along a new first axis."""
        index = codes.values.astype(int)
        if not codes.plates:
            return self.at(index)._replace(expression=self.expression[codes.expression])
        (plate,) = codes.plates
        plates = union(self.plates, codes.plates)
        axis = len(self.plates)
        if plate not in self.plates:
            values = np.take(self.values, index, axis=axis)
            return Twin(self.expression[codes.expression], plates, values)
        along = self.plates.index(plate)
        moved = np.moveaxis(self.values, (along, axis), (0, 1))
        values = np.moveaxis(moved[np.arange(len(index)), index], 0, along)
        return Twin(self.expression[codes.expression], plates, values)


def union(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    return a + tuple(p for p in b if p not in a)


def spread(twin: Any, plates: tuple[str, ...], ndim: int) -> np.ndarray:
    """Return the coefficients with these plates and at least this number of axes."""
    own = [p for p in plates if p in twin.plates]
    order = [twin.plates.index(p) for p in own]
    rest = range(len(twin.plates), twin.values.ndim)
    values = twin.values.transpose(*order, *rest)
    shape = [values.shape[own.index(p)] if p in own else 1 for p in plates]
    fill = [1] * (ndim - len(twin.shape))
    return values.reshape(*shape, *fill, *values.shape[len(own) :])
