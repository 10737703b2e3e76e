r"""Draws of the parameters of a mixture: from beliefs about them, and from their posterior by turns.

Given the components z of all rows, parameters are conjugate, and given parameters rows are independent, so that

.. math:: θ_k \mid z \;\propto\; p(θ_k)\,e^{\langle θ_k,\,T_k\rangle}, \quad T_k = \sum_{n:\,z_n=k} t(x_n), \qquad
   p(z_n = k\mid θ) \propto π_k\,e^{\langle θ_k,\,t(x_n)\rangle},

drawn by turns, are draws of the posterior (Gibbs). Chains begin at draws of the beliefs, which are those of a
path with expected sums in the place of T; hence the ratio of the posterior to the beliefs is, up to a constant,

.. math:: \prod_n \sum_k π_k\,e^{\langle θ_k, t(x_n)\rangle} \Big/ \prod_k π_k^{N_k} e^{\langle θ_k, T_k\rangle}.

Components that could bear any name are named as those of the fit that their rows belong to.

Reference: J. Diebolt & C. Robert, "Estimation of finite mixture distributions through Bayesian sampling", 1994.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import linear_sum_assignment

from posteriori.inference.weighing.approximate_beliefs import BeliefDraws, PosteriorDraws
from posteriori.inference.weighing.reliability import OVERLAP
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "LogLikelihood",
    "DrawnComponents",
    "DrawsComponents",
    "BelievedMixture",
    "TurnsOfMixture",
    "WeightDraws",
    "draw_parameters",
    "linear_log_likelihood",
    "with_turns",
]

#: From θ (S, K, F) with ln π in its first column, and the parameters by name, ln p(X | θ) of each draw, (S,).
LogLikelihood = Callable[[Array, Mapping[str, Array]], Array]

#: Chains, of which the first quarter is not kept; there are fewer of many rows.
_CHAINS = 20

#: Turns of each: as many as take a second or two, within these bounds. Where components overlap, a chain needs
#: some hundred to get from one end of the posterior to the other.
_WORK, _FEWEST_TURNS, _MOST_TURNS = 4e7, 160, 2000

#: Probabilities of rows that all chains may hold at once: there are fewer chains of many rows.
_MOST = 1 << 22

#: Draws of each chain without which one cannot tell whether they agree.
_FEWEST_DRAWS = 4


#: Rows below which a component has none, and the probability of that from which on it is told.
_ONE_ROW, _MAY_BE_EMPTY = 1.0, 0.02


class DrawnComponents(NamedTuple):
    """Drawn parameters of M components.

    Attributes
    ----------
    theta : (M, F)
        Coefficients of the features in ln p(x | θ).
    values : mapping to arrays (M, ...)
        The parameters by their names.
    """

    theta: Array
    values: Mapping[str, Array]


class DrawsComponents(Protocol):
    """Components with conjugate priors, whose beliefs follow from sums of features."""

    def draw(self, sums: Array, rng: np.random.Generator) -> DrawnComponents:
        """Draw the parameters of components with sums (C, K, F), the K priors in turn; M = C K."""


class WeightDraws(NamedTuple):
    """How weights are drawn: of a symmetric Dirichlet, or of sticks v ~ Beta(1, γ)."""

    concentration: float
    sticks: bool = False

    def draw(self, counts: Array, rng: np.random.Generator) -> Array:
        """Return ln π (C, K), given rows (C, K) of the components."""
        tiny = np.finfo(np.float64).tiny
        if not self.sticks:
            shares = np.maximum(rng.standard_gamma(self.concentration + counts), tiny)
            return np.asarray(np.log(shares / shares.sum(axis=1, keepdims=True)))
        later = counts[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        broken = rng.beta(1.0 + counts[:, :-1], self.concentration + later)
        last = np.zeros((len(counts), 1))
        left = np.log(np.maximum(1.0 - broken, tiny)).cumsum(axis=1)
        return np.hstack([np.log(np.maximum(broken, tiny)), last]) + np.hstack([last, left])


class BelievedMixture(NamedTuple):
    """What is believed of a mixture, and draws of it.

    Attributes
    ----------
    components : DrawsComponents
    weights : WeightDraws
    sums : (K, F)
        Expected sums of features, the counts of rows first: they state the beliefs.
    shares : (N, K)
        p(component | row) of the fit.
    log_likelihood : LogLikelihood
    """

    components: DrawsComponents
    weights: WeightDraws
    sums: Array
    shares: Array
    log_likelihood: LogLikelihood

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from the beliefs; their density is relative to that of the prior."""
        theta, values = draw_parameters(
            self, np.broadcast_to(self.sums, (size, *self.sums.shape)), rng
        )
        return BeliefDraws(values, np.einsum("skf,kf->s", theta, self.sums), theta)

    def log_joint(self, drawn: BeliefDraws) -> Array:
        """Return ln p(X | θ), as densities are relative to that of the prior."""
        return self.log_likelihood(drawn.inner, drawn.values)

    def too_narrow(self) -> tuple[str, ...]:
        """Return all parameters where components overlap, or one is left without rows.

        That it has none is then held for certain.
        """
        overlap = float(np.mean(1.0 - self.shares.max(axis=1)))
        if overlap <= OVERLAP and self.sums[:, 0].min() >= _ONE_ROW:
            return ()
        return tuple(self.draw_belief(1, np.random.default_rng(0)).values)


class TurnsOfMixture(NamedTuple):
    """A mixture whose posterior is drawn from by turns.

    Attributes
    ----------
    belief : BelievedMixture
    features : (F, N)
        t(x) of all rows, which count once each.
    alike : bool
        Whether components have one prior, and could bear any name.
    """

    belief: BelievedMixture
    features: Array
    alike: bool

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from the beliefs."""
        return self.belief.draw_belief(size, rng)

    def too_narrow(self) -> tuple[str, ...]:
        """Return all parameters where components overlap."""
        return self.belief.too_narrow()

    def draw_posterior(self, size: int, rng: np.random.Generator) -> PosteriorDraws:
        """Return draws (C, T, K, ...) of the weights and of all parameters."""
        belief, (n, k) = self.belief, self.belief.shares.shape
        chains = int(np.clip(_MOST // (n * k), 2, _CHAINS))
        kept = max(-(-size // chains), _FEWEST_DRAWS)
        turns = int(np.clip(_WORK / (chains * n * k), _FEWEST_TURNS, _MOST_TURNS))
        warm_up, between = turns // 4, max((turns - turns // 4) // kept, 1)
        sums = np.broadcast_to(belief.sums, (chains, *belief.sums.shape))
        order = np.broadcast_to(np.arange(k), (chains, k))
        progress = Progress(None, kept="nothing")
        found, without = list[dict[str, Array]](), np.zeros(k)
        for turn in range(warm_up + between * kept):
            theta, values = draw_parameters(belief, sums, rng)
            if turn >= warm_up and (turn - warm_up) % between == 0:
                found.append({name: _in_order(part, order) for name, part in values.items()})
                without += (_in_order(sums[..., 0], order) < _ONE_ROW).mean(axis=0) / kept
            states = _draw_states(theta @ self.features, rng)
            members = (states[:, None, :] == np.arange(k)[:, None]).astype(np.float64)
            sums = members @ self.features.T
            order = self._names(members)
            progress.say(f"turn {turn + 1} of {warm_up + between * kept}")
        progress.close()
        values = {name: np.stack([one[name] for one in found], axis=1) for name in found[0]}
        return PosteriorDraws(values, _told_of_empty(without))

    def _names(self, members: Array) -> IntArray:
        """Return which drawn component (C, K) is the k-th of the fit: together their rows have most in common."""
        chains, k = members.shape[:2]
        if not self.alike:
            return np.broadcast_to(np.arange(k), (chains, k))
        shared = members @ self.belief.shares  # (C, drawn, fitted)
        order: IntArray = np.empty((chains, k), dtype=np.intp)
        for c, table in enumerate(shared):
            drawn, fitted = linear_sum_assignment(-table)
            order[c, fitted] = drawn
        return order


def with_turns(
    belief: BelievedMixture, features: Array, frequency: Array | None, alike: bool
) -> BelievedMixture | TurnsOfMixture:
    """Return turns where every row counts a whole number of times, else the belief alone.

    Rows that count twice are two rows, each with a component of its own.
    """
    if frequency is None:
        return TurnsOfMixture(belief, features, alike)
    times = frequency.astype(np.intp)
    if (times != frequency).any() or times.sum() * len(features) > _MOST:
        return belief
    again = belief._replace(shares=np.repeat(belief.shares, times, axis=0))
    return TurnsOfMixture(again, np.repeat(features, times, axis=1), alike)


def draw_parameters(
    belief: BelievedMixture, sums: Array, rng: np.random.Generator
) -> tuple[Array, dict[str, Array]]:
    """Return θ (C, K, F), with ln π in its first column, and all parameters (C, K, ...), given sums (C, K, F)."""
    log_weights = belief.weights.draw(sums[..., 0], rng)
    drawn = belief.components.draw(sums, rng)
    shape = sums.shape[:2]
    theta = drawn.theta.reshape(*shape, -1).copy()
    theta[..., 0] += log_weights
    values = {name: part.reshape(*shape, *part.shape[1:]) for name, part in drawn.values.items()}
    return theta, {"weights": np.exp(log_weights), **values}


def linear_log_likelihood(features: Array, frequency: Array | None) -> LogLikelihood:
    """Return the log likelihood of rows with features (F, N), of which each counts so often."""

    def log_likelihood(theta: Array, values: Mapping[str, Array]) -> Array:
        each = (np.asarray(log_sum_exp(one @ features, axis=0)) for one in theta)
        weight = 1.0 if frequency is None else frequency
        return np.array([float(np.sum(row * weight)) for row in each])

    return log_likelihood


def _draw_states(scores: Array, rng: np.random.Generator) -> IntArray:
    """Draw a component of each row, (C, N), by scores (C, K, N)."""
    scores = scores - scores.max(axis=1, keepdims=True)
    share = np.exp(scores, out=scores).cumsum(axis=1)
    at = rng.random((len(share), 1, share.shape[2])) * share[:, -1:, :]
    return np.asarray((share < at).sum(axis=1))


def _told_of_empty(without: Array) -> tuple[str, ...]:
    """Say which components may be without rows: the prior tells what they are then."""
    told = [f"{k} ({p:.2f})" for k, p in enumerate(without) if p > _MAY_BE_EMPTY]
    if not told:
        return ()
    return (
        f"components that may be without rows, with their probabilities: {', '.join(told)}; intervals of weights, "
        "and all of theirs, depend on the prior",
    )


def _in_order(values: Array, order: IntArray) -> Array:
    """Return the parameters of components (C, K, ...) in another order."""
    return values[np.arange(len(order))[:, None], order]
