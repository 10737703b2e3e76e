"""Parameters of latent classes, and of members of families, drawn from beliefs given sums of the rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.classes.class_densities import ColumnwiseClasses
from posteriori.inference.classes.column_densities import (
    BinaryClasses,
    CategoryClasses,
    CountClasses,
)
from posteriori.inference.classes.column_models import KINDS
from posteriori.inference.classes.gaussian_learning import LearnedClasses
from posteriori.inference.classes.joint_tables import TableClasses
from posteriori.inference.mixtures.columns.class_model import ClassModel, Part
from posteriori.inference.mixtures.columns.family_models import ConjugateModel
from posteriori.inference.mixtures.component_draws import DrawnComponents
from posteriori.numerics.types import Array

__all__ = ["ClassDraws", "MemberDraws"]


class ClassDraws(NamedTuple):
    """Classes whose columns are of the kinds of naive Bayes."""

    model: ClassModel

    def draw(self, sums: Array, rng: np.random.Generator) -> DrawnComponents:
        """Draw what columns have in classes with sums (C, K, F)."""
        flat = sums.reshape(-1, sums.shape[-1])
        theta, values = np.zeros(flat.shape), dict[str, Array]()
        for kind, part in self.model.parts.items():
            counted = part.features.tally(flat[:, part.here], flat[:, 0])
            learned = KINDS[kind].learn(counted, part.prior, True, range(len(flat)))
            densities, named = _DRAWS[kind](learned.posterior, part, rng)
            offset, theta[:, part.here] = part.features.scores(LearnedClasses(densities, None, 0.0))
            theta[:, 0] += offset
            values |= named
        return DrawnComponents(theta, values)


class MemberDraws(NamedTuple):
    """Members of a family with a conjugate prior: ln p(x | θ) = ⟨t(x), T(θ)⟩ + c(x)."""

    model: ConjugateModel

    def draw(self, sums: Array, rng: np.random.Generator) -> DrawnComponents:
        """Draw the members of components with sums (C, K, F)."""
        flat, layout = sums.reshape(-1, sums.shape[-1]), self.model.layout
        drawn = self.model.believe(flat).sample(rng=rng)
        statistics = self.model.pair.prior_family.sufficient(drawn)
        theta = layout.join(statistics, np.zeros((len(flat), layout.columns)))
        return DrawnComponents(theta, _named(drawn, layout))


def _named(drawn: Any, layout: Any) -> dict[str, Array]:
    """Return drawn parameters by name, moved back to where the data are."""
    one = layout.vectors
    if not isinstance(drawn, tuple):
        return {"components": drawn[:, 0] if one else drawn}
    named = {name: np.asarray(part) for name, part in drawn._asdict().items()}
    named["mean"] = named["mean"] + layout.shift
    return {name: part[:, 0] if one else part for name, part in named.items()}


# -- kinds of columns --------------------------------------------------------------------------


def _draw_normal(belief: Any, part: Part, rng: np.random.Generator) -> tuple[Any, dict[str, Array]]:
    mean, variance = belief.sample(rng=rng)
    densities = ColumnwiseClasses(mean, np.sqrt(variance), np.full(mean.shape, np.inf))
    return densities, {"means": mean, "variances": variance}


def _draw_binary(belief: Any, part: Part, rng: np.random.Generator) -> tuple[Any, dict[str, Array]]:
    share = belief.sample(rng=rng)
    return BinaryClasses(share), {"probabilities": share}


def _draw_counts(belief: Any, part: Part, rng: np.random.Generator) -> tuple[Any, dict[str, Array]]:
    rate = belief.sample(rng=rng)
    return CountClasses(np.full(rate.shape, np.inf), rate), {"rates": rate}


def _draw_categories(
    belief: Any, part: Part, rng: np.random.Generator
) -> tuple[Any, dict[str, Array]]:
    tables = tuple(one.sample(rng=rng) for one in belief)
    names = (f"categories of column {d}" for d in part.at)
    return CategoryClasses(tables), dict(zip(names, tables, strict=True))


def _draw_table(belief: Any, part: Part, rng: np.random.Generator) -> tuple[Any, dict[str, Array]]:
    table, sizes = belief.sample(rng=rng), part.features.sizes  # type: ignore[attr-defined]
    return TableClasses(sizes, table), {"table": table.reshape(len(table), *sizes)}


#: How what columns of each kind have in a class is drawn from the belief: as densities, and by name.
_DRAWS: dict[str, Callable[..., tuple[Any, dict[str, Array]]]] = {
    "normal": _draw_normal,
    "bernoulli": _draw_binary,
    "poisson": _draw_counts,
    "categorical": _draw_categories,
    "table": _draw_table,
}
