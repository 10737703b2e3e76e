"""Normal models at many spreads: the rows are read once, and weighted anew at each point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.gaussian.elimination import solve_gaussian
from posteriori.inference.gaussian.equations import Equation, Latent, is_common
from posteriori.inference.gaussian.row_reduction import UnitRows, reduce_rows
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Access, Polynomial
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult
from posteriori.numerics.types import Array

__all__ = ["Reweighted", "reweighted"]

#: Powers that turn the spread of a normal factor into its precision.
_POWERS = {"precision": 1.0, "scale": -2.0, "variance": -1.0}


class _Spread(NamedTuple):
    """A precision (Σ b·x)^power, the same number for all rows: terms b and places of x."""

    power: float
    terms: tuple[tuple[float, tuple[tuple[str, int], ...]], ...]

    def precision(self, values: Mapping[str, Array]) -> float:
        """Return the precision at values of those outside."""
        total = sum(
            factor * float(np.prod([np.ravel(values[name])[place] for name, place in product]))
            for factor, product in self.terms
        )
        return float(total**self.power)


class Reweighted:
    """A Gaussian block whose rows are weighted anew for each value of some spreads.

    Parameters
    ----------
    block : GaussianBlock
        At some values of those outside.
    fixed : sequence of Equation
        Rows whose precisions are known.
    scaled : sequence of (_Spread, UnitRows)
    """

    def __init__(
        self,
        block: GaussianBlock,
        latents: tuple[Latent, ...],
        fixed: Sequence[Equation],
        scaled: Sequence[tuple[_Spread, UnitRows]],
    ) -> None:
        self.block = block
        self.latents = latents
        self.fixed = tuple(fixed)
        self.scaled = tuple(scaled)

    def at(self, values: Mapping[str, Array]) -> GaussianResult:
        """Solve the block at other values."""
        found = [rows.weighted(spread.precision(values)) for spread, rows in self.scaled]
        equations = (*self.fixed, *found)
        solved = solve_gaussian(self.latents, equations)
        block = self.block
        return GaussianResult(
            solved, block.splits, block.bound.layouts, self.latents, equations, block
        )


def reweighted(group: Group, left: Group, outside: Sequence[str]) -> Reweighted | None:
    """Return a group as rows that are weighted anew, if those outside are spreads and no more.

    Parameters
    ----------
    group, left : Group
        Of normal factors: with unknown spreads, and with some values of them.
    outside : sequence of str
        The spreads.
    """
    block = GaussianBlock(left.bound, left.names, left.factors)
    latents, equations, _ = block.system()
    shapes = {latent.name: latent for latent in latents}
    originals = [group.factors[i] for i in block.origins]
    fixed: list[Equation] = []
    alike: dict[tuple[Any, ...], list[Equation]] = {}
    for factor, equation in zip(originals, equations, strict=True):
        if not _touches(factor, outside):
            fixed.append(_reduced(equation, shapes))
            continue
        spread = _spread(factor, group, outside)
        if spread is None:
            return None
        names = tuple(link.name for link in equation.links)
        alike.setdefault((spread, names), []).append(equation)
    scaled = [(key[0], reduce_rows(rows, shapes)) for key, rows in alike.items()]
    return Reweighted(block, latents, fixed, scaled)


def _touches(factor: BoundFactor, outside: Sequence[str]) -> bool:
    return factor.name in outside or any(access.name in outside for access in factor.accesses)


def _reduced(equation: Equation, shapes: Mapping[str, Latent]) -> Equation:
    """Return rows of one precision as few; others as they are."""
    weight = np.asarray(equation.weight)
    if not is_common(weight) or not weight.size:
        return equation
    return reduce_rows([equation], shapes).weighted(float(weight.flat[0]), equation.log_scale)


def _spread(factor: BoundFactor, group: Group, outside: Sequence[str]) -> _Spread | None:
    """Return the precision of a normal factor as a function of those outside."""
    if factor.family.__name__ != "Normal":
        return None
    if any(access.name in outside for access in _accesses(factor.parameters["mean"])):
        return None
    key = next((key for key in _POWERS if key in factor.parameters), None)
    if key is None:
        return None
    terms = []
    for term in factor.parameters[key].terms:
        places = [_place(access, group) for access in term.accesses]
        if term.table.axes or any(place is None for place in places):
            return None
        terms.append((float(term.table.values), tuple(p for p in places if p is not None)))
    return _Spread(_POWERS[key], tuple(terms))


def _accesses(poly: Polynomial) -> list[Any]:
    return [access for term in poly.terms for access in term.accesses]


def _place(access: Any, group: Group) -> tuple[str, int] | None:
    """Return the one number that all rows see; None where they see several."""
    if not isinstance(access, Access):
        return None
    shape = group.bound.layouts[access.name].shape
    found = []
    for place in access.places:
        positions = getattr(place, "positions", None)
        if positions is None or positions.axes:
            return None
        found.append(int(positions.values))
    return access.name, int(np.ravel_multi_index(found, shape)) if shape else 0
