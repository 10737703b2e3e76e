"""Blocks of jointly normal variables: from bound factors to equations with weighted noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from posteriori.inference.gaussian.elimination import solve_gaussian
from posteriori.inference.gaussian.equations import Equation, Latent, Link
from posteriori.inference.gaussian.ordering import plan_gaussian
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, Switch, count_of, shape_of, spread
from posteriori.modeling.contract.costs import Cost, counted, elimination_cost, vectors_and_numbers
from posteriori.modeling.contract.engine import Block, Fit, Group
from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult
from posteriori.modeling.forms.normal_rows import (
    Rows,
    Split,
    add_link,
    flat_weight,
    make_link,
    negated_link,
    observed_rows,
    residual_rows,
    size_of,
    summed_lookups,
)

__all__ = ["GaussianBlock", "fits_gaussian", "is_affine"]


def fits_gaussian(group: Group) -> Fit:
    """Tell whether all factors are normal with known spread and affine mean."""
    return Fit(all(is_affine(factor) for factor in group.factors))


def is_affine(factor: BoundFactor) -> bool:
    """Tell whether a factor is normal, its mean affine in the unknowns and its spread known."""
    if factor.family not in GAUSSIAN:
        return False
    for key, poly in factor.parameters.items():
        for term in poly.terms:
            if any(isinstance(access, Switch) for access in term.accesses):
                return False
            if len(term.accesses) > (1 if key == "mean" else 0):
                return False
    return True


class GaussianBlock(Block):
    """Normal and multivariate normal variables with known covariances.

    Parameters
    ----------
    bound : Bound
    names : iterable of str
        The latent variables.
    factors : iterable of BoundFactor
        All factors that touch them, children observed or not.
    """

    method = "Gaussian elimination"
    why = "all factors are normal with known spread and means affine in the unknowns"

    def __init__(self, bound: Bound, names: Iterable[str], factors: Iterable[BoundFactor]) -> None:
        self.bound = bound
        self.names = tuple(names)
        self.factors = tuple(factors)
        found = [(i, rows) for i, f in enumerate(self.factors) for rows in residual_rows(f, bound)]
        #: The factor that each equation comes from.
        self.origins = tuple(i for i, _ in found)
        self.sources = tuple(self.factors[i].name for i in self.origins)
        self.rows = [
            rows._replace(
                child=tuple(summed_lookups(t, rows.labels, bound.layouts) for t in rows.child),
                mean=tuple(summed_lookups(t, rows.labels, bound.layouts) for t in rows.mean),
            )
            for _, rows in found
        ]
        self.splits = self._split()

    def describe(self) -> str:
        """Say what will be eliminated, and at what cost."""
        sizes = [f"{v.name} ({vectors_and_numbers(v.count, v.size)})" for v in self._latents()]
        rows = sum(count_of(r.labels) for r in self.rows)
        return f"{counted(rows, 'equation')} in {', '.join(sizes)}"

    @property
    def order(self) -> tuple[str, ...]:
        """The order of elimination."""
        return tuple(latent.name for latent in self._planned[0])

    @property
    def cost(self) -> Cost:
        """What elimination costs."""
        return elimination_cost(*self._planned)

    @property
    def _planned(self) -> tuple[tuple[Latent, ...], tuple[Equation, ...]]:
        latents, equations, _ = self.system()
        return plan_gaussian(latents, equations), equations

    def _split(self) -> dict[str, Split]:
        """An axis is dense once a factor sums over it."""
        dense: dict[str, set[int]] = {name: set() for name in self.names}
        for rows in self.rows:
            labels = set(rows.labels)
            for term in rows.child + rows.mean:
                for access in term.accesses:
                    for i, place in enumerate(access.places):
                        if isinstance(place, Axis) and place not in labels:
                            dense[access.name].add(i)
        out = {}
        for name, chosen in dense.items():
            axes = range(len(self.bound.layouts[name].axes))
            out[name] = Split(
                tuple(i for i in axes if i not in chosen), tuple(i for i in axes if i in chosen)
            )
        return out

    def system(self) -> tuple[tuple[Latent, ...], tuple[Equation, ...], Mapping[str, Split]]:
        """Return the latents, the equations, and how axes were split."""
        return self._latents(), tuple(self._equation(rows) for rows in self.rows), self.splits

    def _latents(self) -> tuple[Latent, ...]:
        found = []
        for name in self.names:
            axes, split = self.bound.layouts[name].axes, self.splits[name]
            found.append(Latent(name, size_of(axes, split.batch), size_of(axes, split.dense)))
        return tuple(found)

    def solve(self) -> GaussianResult:
        """Return the exact posterior of the block."""
        latents, equations, splits = self.system()
        solved = solve_gaussian(latents, equations)
        return GaussianResult(solved, splits, self.bound.layouts, latents, equations, self)

    def without_gaps(self) -> GaussianBlock:
        """Return the block of the same factors with zeros in the place of missing numbers."""
        whole = {n: np.where(np.isnan(v), 0.0, v) for n, v in self.bound.observed.items()}
        return GaussianBlock(self.bound._replace(observed=whole), self.names, self.factors)

    def _equation(self, rows: Rows) -> Equation:
        """Write child − mean = constant − Σ K x: coefficients of the mean stand as they are."""
        shape = shape_of(rows.labels)
        count = int(np.prod(shape))
        constant: Any = None
        links: dict[tuple[str, bytes], Link] = {}
        for sign, terms in ((1.0, rows.child), (-1.0, rows.mean)):
            for term in terms:
                if not term.accesses:
                    values = spread(term.table, rows.labels)
                    values = values if sign > 0 else -values
                    constant = values if constant is None else constant + values
                    continue
                (access,) = term.accesses
                split = self.splits[access.name]
                link = make_link(term, access, rows.labels, split, self.bound.layouts)
                add_link(links, link if sign < 0 else negated_link(link))
        flat = np.broadcast_to(0.0 if constant is None else constant, shape).reshape(count)
        equation = Equation(
            flat, flat_weight(rows.weight, shape, count), tuple(links.values()), rows.log_scale
        )
        return observed_rows(equation)
