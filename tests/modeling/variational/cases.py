"""How small models are listed, and what their data are made of."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling import Model

__all__ = ["Case", "clusters", "listed", "noise"]


class Case(NamedTuple):
    """A model and what is known of it.

    Attributes
    ----------
    name : str
    make : callable
        Returns a new model and its data.
    """

    name: str
    make: Callable[[], tuple[Model, dict[str, Any]]]


Make = Callable[[], tuple[Model, dict[str, Any]]]


def listed(cases: list[Case]) -> Callable[[Make], Make]:
    """Return a decorator that adds a model to a list."""

    def case(make: Make) -> Make:
        cases.append(Case(make.__name__, make))
        return make

    return case


def noise(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def clusters(*shape: int, seed: int = 0) -> np.ndarray:
    """Return rows around −2 and 2, in turn."""
    x = 0.6 * noise(*shape, seed=seed)
    x[::2] += 2.0
    x[1::2] -= 2.0
    return x
