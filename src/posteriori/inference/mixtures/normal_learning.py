r"""Mixtures of normals learned from rows: the objective of EM and of variational Bayes, and its ascent.

The parameters of an ascent are the expected sums of the rows' statistics themselves: from these follow
the parameters or beliefs, from these the shares of the rows, and from these the next sums. Steps and
jumps are thus additions in one space, whatever the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.mixtures.mixture_rows import MixtureRows, NormalExpectations
from posteriori.inference.mixtures.normal_beliefs import (
    NormalBelief,
    component_divergence,
    expected_scores,
    learn_belief,
    stick_terms,
    weight_terms,
)
from posteriori.inference.mixtures.normal_maximum import (
    NormalParts,
    NormalPrior,
    most_likely,
    prior_density,
    scores_of,
)
from posteriori.inference.mixtures.normal_scores import NormalScores, NormalStatistics
from posteriori.numerics.types import Array

__all__ = [
    "GIVEN_UP",
    "NormalLearner",
    "PointLearner",
    "VariationalLearner",
    "ascend_normals",
    "look_from",
    "sort_by_size",
]

#: How an ascent ends that nothing is hoped from.
GIVEN_UP = "given up"

#: Steps after which that is asked.
_TRIAL = 100


class NormalLearner(Protocol):
    """From sums of statistics, the scores of rows and what the objective is beside their likelihood."""

    def scores(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return functions of rows, and the log prior or minus the divergence from it."""


class PointLearner(NamedTuple):
    """Parameters of highest likelihood, or with a prior of highest posterior density.

    Attributes
    ----------
    kind : {"full", "shared", "diagonal", "spherical"}
    spread : (D, D)
        Covariance of the rows.
    prior : NormalPrior or None
    fixed : mapping
        Fields of ``NormalParts`` that are known.
    """

    kind: str
    spread: Array
    prior: NormalPrior | None
    fixed: dict[str, Array]

    def parts(self, statistics: NormalStatistics) -> NormalParts:
        """Return the parameters."""
        if statistics.counts.min() < 0.0:
            raise ValueError("components cannot have a negative number of rows")
        found = most_likely(statistics, self.kind, self.spread, self.prior)
        return found._replace(**self.fixed)

    def scores(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return ln π_k N(z | m_k, Σ_k), and the log prior up to a constant."""
        parts = self.parts(statistics)
        beside = 0.0 if self.prior is None else prior_density(parts, self.prior)
        return scores_of(parts, self.kind), beside


class VariationalLearner(NamedTuple):
    """Normal–Wishart beliefs about components, and a Dirichlet or sticks about their weights.

    Attributes
    ----------
    prior : NormalPrior
    concentration : float or (K,)
    sticks : bool
        Whether weights are broken from a stick, as in a Dirichlet process.
    """

    prior: NormalPrior
    concentration: Any
    sticks: bool

    def belief(self, statistics: NormalStatistics) -> NormalBelief:
        """Return the beliefs about the components."""
        return learn_belief(statistics, self.prior)

    def scores(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return E ln π_k N(z | μ_k, Λ_k), and minus the divergence of the beliefs from the prior."""
        belief = self.belief(statistics)
        terms = stick_terms if self.sticks else weight_terms
        log_weights, divergence = terms(statistics.counts, self.concentration)
        beside = -divergence - component_divergence(belief, self.prior)
        return expected_scores(belief, log_weights), beside


def ascend_normals(
    learner: NormalLearner,
    rows: MixtureRows,
    start: NormalStatistics,
    *,
    hard: bool = False,
    hopeless: Callable[[NormalStatistics], bool] | None = None,
    **options: Any,
) -> EMResult:
    """Climb from a start; parameters of the result are sums of statistics.

    Parameters
    ----------
    learner : NormalLearner
    rows : MixtureRows
    start : NormalStatistics
    hard : bool
        Whether each row belongs to one component alone.
    hopeless : callable, optional
        From sums, whether to give up; it is asked once, after some steps.
    **options
        Of :func:`posteriori.inference.maximize_by_em`.
    """
    look = look_from(learner, rows, hard)
    seen = [start]

    def expect(statistics: NormalStatistics) -> tuple[Any, float]:
        seen[0] = statistics
        return _objective(look(statistics))

    def give_up(step: int, value: float) -> bool:
        return hopeless is not None and step == _TRIAL and hopeless(seen[0])

    found = maximize_by_em(expect, lambda sums: sums, start, callback=give_up, **options)
    gave_up = found.message == "stopped by the callback"
    return found._replace(message=GIVEN_UP) if gave_up else found


def look_from(
    learner: NormalLearner, rows: MixtureRows, hard: bool = False
) -> Callable[[NormalStatistics], NormalExpectations]:
    """Return the function from sums to what rows say under them, with the whole objective."""

    def look(statistics: NormalStatistics) -> NormalExpectations:
        scores, beside = learner.scores(statistics)
        found = rows.expect(scores, hard=hard)
        return found._replace(log_likelihood=found.log_likelihood + beside - rows.log_scale)

    return look


def _objective(found: NormalExpectations) -> tuple[NormalStatistics, float]:
    return found.statistics, found.log_likelihood


def sort_by_size(statistics: NormalStatistics, kind: str) -> NormalStatistics:
    """Return the sums of components in the order of their sizes, the largest first."""
    order = np.argsort(-statistics.counts, kind="stable")
    squares = statistics.squares if kind == "shared" else statistics.squares[order]
    return NormalStatistics(statistics.counts[order], statistics.sums[order], squares)
