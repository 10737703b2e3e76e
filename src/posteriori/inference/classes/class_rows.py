"""What the statistics of classes need to know of labelled rows."""

from __future__ import annotations

from typing import Any, Protocol

from posteriori.numerics.types import Array

__all__ = ["ClassRows"]


class ClassRows(Protocol):
    """Rows whose classes are known."""

    @property
    def x(self) -> Array:
        """Rows (N, D); NaN is a missing entry."""
        ...

    @property
    def codes(self) -> Any:
        """Place of each row's class among the classes, (N,)."""
        ...

    @property
    def classes(self) -> Any:
        """Labels of the classes, (K,)."""
        ...

    @property
    def frequency(self) -> Array | None:
        """How often each row counts, (N,); None is once."""
        ...
