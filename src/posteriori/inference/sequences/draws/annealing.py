r"""Evidence by annealing: from beliefs that know nothing of one another to the posterior, in small steps.

Between what is believed of parameters and paths, q(θ) r(z), and the joint probability stand

.. math:: f_β(θ, z) = \{q(θ)\,r(z)\}^{1-β}\,\{p(θ)\,p(z, X\mid θ)\}^{β}, \qquad 0 = β_0 < \dots < β_n = 1.

Beliefs are conjugate, so that a turn at each β is exact: sums of a path count β, those of the beliefs 1 − β.
Along such turns, with paths summed out by forward passes,

.. math:: E\Bigl[\prod_i \frac{f_{β_{i+1}}(θ_i)}{f_{β_i}(θ_i)}\Bigr] = p(X),

however few steps there are and however slowly turns mix: what suffers is the spread of the weights, which is seen.

Where the prior does not tell K states apart, the posterior has a copy for each naming of them, and a walk begins
near one. Let a path z say by g(σ | z) which naming a walk that ends there began with, Σ_σ g(σ | z) = 1. Then
weights times K! g(own | z) count all namings, whatever g is, and none twice: g is near 1 where states kept
their rows, and 1/K! where nothing tells one from another.

References: R. Neal, "Annealed importance sampling", Statistics and Computing 11, 2001; L. Fenton, "The sum of
log-normal probability distributions in scatter transmission systems", 1960 (the error).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from posteriori.inference.latent.contract import Sums
from posteriori.inference.sequences.chain_paths import ChainPaths
from posteriori.inference.sequences.draws.chain_turns import (
    draw_chain,
    sums_of_path,
)
from posteriori.inference.state_chains.hidden_markov import draw_hidden_paths
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, IntArray

__all__ = ["Annealed", "Base", "anneal", "can_anneal"]

#: Steps are finest near the posterior, where what beliefs know is all but forgotten: 1 − β = (1 − i/n)².
_FINER = 2.0

#: How surely a state is recognised by its rows, c.
_RECOGNISED = 6.0


class Annealed(NamedTuple):
    """Walks from beliefs to the posterior.

    Attributes
    ----------
    logs : (P,)
        Logarithms of their weights; the mean of these weights estimates p(X).
    states : (P, T)
        Paths in which they ended: with these weights, draws of the posterior.
    """

    logs: Array
    states: IntArray

    @property
    def value(self) -> float:
        """The estimate of ln p(X)."""
        return float(log_sum_exp(self.logs) - np.log(len(self.logs)))

    @property
    def error(self) -> float:
        r"""Its standard error, :math:`\sqrt{\ln(1 + (e^{s^2} - 1)/P)}` of weights whose logarithms spread by s.

        Logarithms of weights are nearly normal. That of their own spread would be too small where a few carry all.
        """
        variance = float(self.logs.var(ddof=1))
        return float(np.sqrt(np.logaddexp(0.0, _log_expm1(variance) - np.log(len(self.logs)))))

    @property
    def effective(self) -> float:
        """Walks that as many equal weights would be worth."""
        weights = np.exp(self.logs - self.logs.max())
        return float(weights.sum() ** 2 / (weights**2).sum())


def can_anneal(paths: Any, emission: Any) -> bool:
    """Tell whether turns are exact: beliefs are, given a path, and no path counts more than once."""
    return isinstance(paths, ChainPaths) and emission.exact and paths.rows.weights is None


def anneal(
    base: Base,
    walks: int,
    steps: int,
    rng: np.random.Generator,
    *,
    named: bool,
    progress: Callable[[], Any] | None = None,
) -> Annealed:
    """Walk from beliefs to the posterior.

    Parameters
    ----------
    base : Base
        Where they begin.
    walks, steps : int
        How many walks, at least two, and of how many turns.
    rng : Generator
    named : bool
        Whether the prior tells states apart; all namings count where it does not.
    progress : callable, optional
        Is called after each turn.

    Notes
    -----
    O(walks · steps · T K²).
    """
    rises = 1.0 - (1.0 - np.arange(steps + 1) / steps) ** _FINER
    ends = [_walk(base, rises, rng, progress) for _ in range(walks)]
    logs = np.array([log for log, _ in ends]) + base.constant
    states = np.array([path for _, path in ends])
    if not named and not base.free:
        logs += np.array([_log_namings(base.shares, path) for path in states])
    return Annealed(logs, states)


class Base(NamedTuple):
    r"""Where walks begin: beliefs q(θ) that rows lead to by shares, and the law r(z) of paths under these.

    Beliefs are :math:`q(θ) = p(θ)\,e^{\langle s, l(θ)\rangle}/c`, with the logarithms l(θ) of moves and of rows
    given states, and how much each counts, s. So ln c = ⟨s, E_q l⟩ − KL(q‖p), and no density is computed.

    Attributes
    ----------
    counts : tuple
        Of first states, and of moves.
    shares : (T, K)
        Of rows in states.
    sums : tuple
        Of both.
    logs, scores
        E_q l(θ): of first states and moves, and of rows (T, K).
    log_paths : float
        ln Σ_z of the weights of paths that these are.
    log_beliefs : float
        ln c.
    bound : float
        A lower bound of ln p(X), that of variational Bayes.
    constant : float
        What all states have in common.
    free : bool
        Whether first states and moves follow the prior from the start: p(z | θ) stands in place of r(z).
    """

    paths: ChainPaths
    emission: Any
    counts: Sums
    shares: Array
    sums: Sums
    logs: Sums
    scores: Array
    log_paths: float
    log_beliefs: float
    bound: float
    constant: float
    free: bool = False

    @classmethod
    def of(cls, paths: ChainPaths, emission: Any, counts: Sums, shares: Array) -> Base:
        """Return the base that counts of moves and shares in rows lead to."""
        emitted = emission.expected_sums(shares)
        view = emission.look(emitted)
        learned = [law.learn(part) for law, part in zip(paths.tables, counts, strict=True)]
        logs = tuple(log for log, _ in learned)
        bonus = view.bonus + sum(one for _, one in learned)
        scores = paths.rows.clamp(view.scores)
        found = filter_states(logs[0], logs[1], scores, lengths=paths.rows.lengths)
        total = float(found.log_evidence.sum())
        rest = total, 0.0, total + bonus + view.constant, view.constant
        base = cls(paths, emission, counts, shares, (*counts, *emitted), logs, scores, *rest)
        return base._replace(log_beliefs=base._product(logs, scores) + bonus)

    @classmethod
    def learned(cls, paths: ChainPaths, emission: Any, sums: Sums, share: float) -> Base:
        """Return the beliefs that an ascent has ended with, or wider ones that keep a share of what was learned."""
        view = emission.look(sums[paths.n_sums :])
        found = paths.expect(sums[: paths.n_sums], view.scores)
        counts = tuple(share * part for part in found.sums)
        return cls.of(paths, emission, counts, share * found.shares)

    @classmethod
    def even(cls, paths: ChainPaths, emission: Any, share: float) -> Base:
        """Return beliefs that know the rows, each state a like part of a share of them, and not the path."""
        k = paths.n_states
        none = tuple(np.zeros(law.concentration.shape) for law in paths.tables)
        base = cls.of(paths, emission, none, np.full((paths.rows.total, k), share / k))
        alone = float(
            base.scores[:, 0].sum()
        )  # all states say the same of a row, whatever the path
        bound = base.bound + alone - base.log_paths
        return base._replace(free=True, log_paths=alone, bound=bound)

    def weights(self, logs: Sums, scores: Array, beta: float) -> tuple[Array, Array, Array]:
        """Return the logarithms of r(z)^{1−β} p(z, X | θ)^β: of first states, of moves, and of rows."""
        if not self.free:
            logs = tuple(_between(beta, q, p) for q, p in zip(self.logs, logs, strict=True))
        return logs[0], logs[1], _between(beta, self.scores, scores)

    def mix(self, counted: Sums, beta: float) -> Sums:
        """Return the sums that parameters have at β, given those of a path."""
        n = self.paths.n_sums
        parts = zip(self.sums, counted, strict=True)
        mixed = tuple((1.0 - beta) * q + beta * p for q, p in parts)
        return (*counted[:n], *mixed[n:]) if self.free else mixed

    def log_gain(self, logs: Sums, scores: Array) -> float:
        """Return ln p(θ) − ln q(θ)."""
        return self.log_beliefs - self._product(logs, scores)

    def _product(self, logs: Sums, scores: Array) -> float:
        """Return ⟨s, l⟩; what has no share may be impossible."""
        pairs = zip((*self.counts, self.shares), (*logs, scores), strict=True)
        return float(sum(np.vdot(s, np.where(s > 0.0, l, 0.0)) for s, l in pairs))


def _walk(
    base: Base, rises: Array, rng: np.random.Generator, progress: Callable[[], Any] | None
) -> tuple[float, IntArray]:
    """Return Σ ln f_{β'}(θ)/f_β(θ) of one walk, and the path in which it ends."""
    paths, lengths, sums, log = base.paths, base.paths.rows.lengths, base.sums, 0.0
    for before, beta in pairwise(rises.tolist()):
        drawn = draw_chain(paths, base.emission, sums, 1, rng)
        logs, scores = tuple(table[0] for table in drawn.tables), drawn.emissions.scores(0)
        scores = paths.rows.clamp(scores)
        log += (beta - before) * (base.log_gain(logs, scores) + base.log_paths)
        if before > 0.0:  # at 0 the sum over paths is that of r
            now = filter_states(*base.weights(logs, scores, before), lengths=lengths)
            log -= float(now.log_evidence.sum())
        else:
            log -= base.log_paths
        found = draw_hidden_paths(*base.weights(logs, scores, beta), lengths=lengths, rng=rng)
        log += float(found.log_evidence.sum())
        states = found.states[0]
        sums = base.mix(sums_of_path(paths, base.emission, drawn.emissions, states), beta)
        if progress is not None:
            progress()
    return log, states


def _between(beta: float, believed: Array, drawn: Array) -> Array:
    """Return the geometric mean of weights, as logarithms; −inf where nothing is possible."""
    return drawn if beta == 1.0 else (1.0 - beta) * believed + beta * drawn


def _log_namings(shares: Array, states: IntArray) -> float:
    r"""Return ln K! g(own | z): beliefs choose their states one after another, each among those that are left.

    State j is chosen by belief k with probability ∝ exp(c a_kj): of the rows of both, how many they have in common,
    over the root of the product of how many each has. What has no rows chooses, and is chosen, at random.
    """
    k = shares.shape[1]
    rows = np.eye(k)[states]
    sizes = np.sqrt(np.outer(shares.sum(axis=0), rows.sum(axis=0)))
    alike = _RECOGNISED * (shares.T @ rows) / np.maximum(sizes, 1e-300)
    chosen = sum(alike[j, j] - log_sum_exp(alike[j, j:]) for j in range(k))
    return float(gammaln(k + 1.0) + chosen)


def _log_expm1(x: float) -> float:
    """Return ln(e^x − 1)."""
    with np.errstate(divide="ignore"):
        return float(np.log(np.expm1(x))) if x < 30.0 else x
