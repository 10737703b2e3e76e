"""An approximate result as draws, which the model can weigh."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.contract.engine import Group
from posteriori.numerics.types import Array

__all__ = ["Apart", "Weighable"]


class Apart(NamedTuple):
    """Unknowns that are believed in apart from all others of a block.

    Attributes
    ----------
    names : tuple of str
    size : int
        How many numbers they are.
    has_density : bool
        Whether draws come with their log density.
    draw : callable
        ``draw(size, rng)``: draws by name, states as codes, and their log density (S,).
    """

    names: tuple[str, ...]
    size: int
    has_density: bool
    draw: Callable[[int, np.random.Generator], tuple[dict[str, Array], Array]]


class Weighable(NamedTuple):
    """Draws of an approximate result.

    Attributes
    ----------
    group : Group
        What was approximated.
    apart : tuple of Apart
        Draws of the belief; other unknowns of the group are exact given these.
    points : mapping
        Values of unknowns of which only the best one was sought.
    marginal : callable
        The belief about an unknown.
    """

    group: Group
    apart: tuple[Apart, ...]
    points: Mapping[str, Array]
    marginal: Callable[[str], Any]
