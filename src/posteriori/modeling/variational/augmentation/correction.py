"""Small variational blocks, corrected by draws of the exact posterior.

A block whose beliefs cut parameters of classes, or of the states of a chain, from those of rows is too sure of both. Where it
is small, walks give its exact marginals: averages of the conditional posteriors along the walks, which
are smooth and have the right tails.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.distributions.composites.averages import average_first
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.modeling.binding.labelled import Axis, Switch, count_of
from posteriori.modeling.binding.products import axes_of
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.augmentation.gibbs_sampling import (
    FORGOTTEN,
    Walks,
    sample_by_gibbs,
)
from posteriori.modeling.variational.augmentation.namings import (
    Namings,
    count_namings,
    find_alike,
)
from posteriori.modeling.variational.nodes.discrete_node import DiscreteNode
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["Correction", "can_correct", "correct"]

#: Rows, and numbers of the largest table, up to which a block is small: a second or two at most, chains twice that.
_ROWS, _SMALL = 300, 2500

#: Numbers of the largest table of all walks together.
_NUMBERS = 75_000

#: Walks at most and at least.
_MOST_WALKS, _FEWEST_WALKS = 100, 32

#: Namings up to which all are looked at in every sweep.
_MOST_NAMINGS = 24

#: Share of draws that another naming agrees better with, from which on names are undetermined.
_UNDETERMINED = 0.005

#: Draws are the same whenever a posterior is asked.
_SEED = 20_000


def can_correct(approximation: Approximation) -> bool:
    """Tell whether a block is small, and has classes whose rows do not meet, or follow one another.

    Factors are left alone: their posterior is the same in all directions. So is what a user asked to
    be believed in apart.
    """
    options, structure = approximation.options, approximation.structure
    asked = options.asks_for_approximation or options.method or options.batch_size
    suits = set(structure.exchangeable.values()) == {"classes"} and not structure.systems
    rows = 0 if structure.plate is None else structure.plate.size
    if asked or not suits or rows > _ROWS or _cells(approximation) > _SMALL:
        return False
    choosing = [
        [a.name for a in m.accesses if isinstance(a, Switch)] for m in approximation.monomials
    ]
    meeting = {name for names in choosing if len(names) > 1 for name in names}
    groups = (approximation.node(g, Axis("restart", 1)) for g in structure.groups)
    alone = (len(n.names) == 1 if n.kind == DiscreteNode.kind else n.can_be_drawn for n in groups)
    return meeting <= approximation.chained and all(alone)


def _cells(approximation: Approximation) -> int:
    """Return how many numbers the largest table has that rows and classes span."""
    return max(count_of(axes_of(monomial)) for monomial in approximation.monomials)


def correct(approximation: Approximation, fitted: Problem) -> Correction | None:
    """Draw from the exact posterior near the fitted beliefs; None where that cannot be done."""
    if fitted.streamed is not None or not all(node.can_be_drawn for node in fitted.nodes):
        return None
    namings = _find_namings(approximation, fitted)
    if namings is None:
        return None
    walks = int(np.clip(_NUMBERS / _cells(approximation), _FEWEST_WALKS, _MOST_WALKS))
    progress = Progress(approximation.options.progress, kept="nothing")
    try:
        with np.errstate(all="ignore"):
            found = sample_by_gibbs(
                approximation, fitted, namings, walks, np.random.default_rng(_SEED), progress
            )
    except (ValueError, np.linalg.LinAlgError):
        return None
    finally:
        progress.close()
    return Correction(approximation, found)


def _find_namings(approximation: Approximation, fitted: Problem) -> dict[str, Namings] | None:
    """Return the namings of all classes that could exchange names; None of too many."""
    found = {}
    for name in approximation.structure.exchangeable:
        p = fitted.owner[name].centre(name)
        if p is None or name in approximation.bound.evidence:
            continue
        alike = find_alike(approximation.monomials, name, p.shape[-1])
        if count_namings(alike) > _MOST_NAMINGS:
            return None
        if alike:
            found[name] = Namings(p[0], alike)
    return found


class Correction:
    """What the walks of a block tell.

    Parameters
    ----------
    approximation : Approximation
    walks : Walks
    """

    def __init__(self, approximation: Approximation, walks: Walks) -> None:
        self.approximation = approximation
        self.walks = walks
        self._marginals: dict[str, Any] = {}

    def marginal(self, name: str) -> Any:
        """Return the average of conditional posteriors along the walks."""
        if name not in self._marginals:
            self._marginals[name] = self._average(name)
        return self._marginals[name]

    def _average(self, name: str) -> Any:
        found = self.walks.conditionals[name]
        if isinstance(found[0], (Bernoulli, Categorical)):
            return self._probabilities(name)
        moved = [self.approximation.restored(name, one) for one in found]
        count = sum(one.batch_shape[0] for one in moved)
        return average_first(np.full(count, 1.0 / count), moved)

    def _probabilities(self, name: str) -> Any:
        """Return how often each state was visited; where all draws were kept, how often expected."""
        found, codes = self.walks.conditionals[name], self.walks.draws[name]
        if isinstance(found[0], Bernoulli):
            visited, expected = codes.mean(axis=(0, 1)), [d.probability for d in found]
        else:
            states = range(found[0].probabilities.shape[-1])
            visited = np.stack([(codes == k).mean(axis=(0, 1)) for k in states], axis=-1)
            expected = [d.probabilities for d in found]
        p = visited if self.walks.refused.get(name) else np.concatenate(expected).mean(axis=0)
        if isinstance(found[0], Bernoulli):
            return Bernoulli(np.minimum(p, 1.0)[()])
        return Categorical(p, labels=self.approximation.bound.labels.get(name))

    def sample(self, names: Sequence[str], size: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return some of the draws, each once before any is there twice."""
        count = self.walks.size
        rounds = [rng.permutation(count) for _ in range(math.ceil(size / count))]
        chosen = np.concatenate(rounds)[:size]
        return {name: self._drawn(name, chosen) for name in names}

    def joint_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return mean and covariance of whole variables, flattened and put one after another."""
        parts = [self._drawn(name).reshape(self.walks.size, -1) for name in names]
        numbers = np.concatenate(parts, axis=1)
        return numbers.mean(axis=0), np.atleast_2d(np.cov(numbers, rowvar=False))

    def _drawn(self, name: str, chosen: Any = slice(None)) -> Any:
        """Return draws (S, *shape) as a user reads them."""
        draws = self.walks.draws[name]
        flat = draws.reshape(-1, *draws.shape[2:])[chosen]
        labels = self.approximation.bound.labels.get(name)
        if draws.dtype.kind in "iu":
            codes = flat.astype(np.intp)
            return codes if labels is None else decode_labels(codes, labels)
        return self.approximation.restored(name, flat)

    @property
    def too_narrow(self) -> tuple[str, ...]:
        """Unknowns whose walks have not forgotten where they began."""
        memory = self.walks.memory
        return tuple(n for n in self.approximation.names if memory.get(n, 0.0) > FORGOTTEN)

    @property
    def cautions(self) -> list[str]:
        """What cannot be told."""
        return [
            f"classes of {name} overlap so far that their names are undetermined: each draw has those "
            "that agree best with the fit"
            for name, share in self.walks.refused.items()
            if share > _UNDETERMINED
        ]
