r"""Draws of the posterior of a hidden chain: paths given parameters, and parameters given paths, by turns.

.. math:: z\mid θ \sim p(z\mid X, θ), \qquad θ\mid z \sim p(θ\mid z, X),

both exact. Beliefs that know nothing of one another or of the path are too sure of themselves where rows may
belong to several states; these draws are not. Several chains begin at paths that the beliefs hold probable, and
states have the names of those that were learned: of all namings of a drawn path, the one with most rows in common.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from posteriori.inference.latent.contract import Sums
from posteriori.inference.sequences.draws.chain_turns import DrawnChain, draw_chain, sums_of_path
from posteriori.inference.weighing.approximate_beliefs import BeliefDraws, PosteriorDraws
from posteriori.numerics.types import Array, IntArray

__all__ = ["ChainBelief"]

#: Chains, and turns of each before its draws count.
_CHAINS, _WARM = 16, 60


class ChainBelief(NamedTuple):
    """What an ascent has learned of a hidden chain, with draws of the posterior beside it.

    Attributes
    ----------
    paths : ChainPaths
    emission : Components
        Whose beliefs are exact given states.
    sums : tuple
        Where the ascent has ended.
    named : bool
        Whether the prior or labels tell states apart.
    """

    paths: Any
    emission: Any
    sums: Sums
    named: bool

    def draw_belief(self, size: int, rng: np.random.Generator) -> BeliefDraws:
        """Draw from the beliefs."""
        return BeliefDraws(_values(draw_chain(self.paths, self.emission, self.sums, size, rng)))

    def too_narrow(self) -> tuple[str, ...]:
        """Return the unknowns that are known to be too sure of themselves: all, where rows are in doubt."""
        shares = self._shares()
        doubtful = 1.0 - shares.max(axis=1)
        return ("all parameters of states",) if doubtful.mean() > _IN_DOUBT else ()

    def draw_posterior(self, size: int, rng: np.random.Generator) -> PosteriorDraws:
        """Return draws of several chains that begin at paths of the beliefs."""
        turns = max(-(-size // _CHAINS), 4)
        shares = self._shares()
        chains = [self._walk(shares, turns, rng) for _ in range(_CHAINS)]
        values = {name: np.stack([chain[name] for chain in chains]) for name in chains[0]}
        return PosteriorDraws(values)

    def _shares(self) -> Array:
        """Return p(z_t = k) by the beliefs, (T, K)."""
        view = self.emission.look(self.sums[self.paths.n_sums :])
        shares: Array = self.paths.expect(self.sums[: self.paths.n_sums], view.scores).shares
        return shares

    def _walk(self, shares: Array, turns: int, rng: np.random.Generator) -> dict[str, Array]:
        """Return the draws of one chain, (T, ...) by name."""
        sums, kept = self.sums, []
        for turn in range(_WARM + turns):
            drawn = draw_chain(self.paths, self.emission, sums, 1, rng)
            if turn >= _WARM:
                kept.append(_values(drawn))
            logs = tuple(table[0] for table in drawn.tables)
            states = self.paths.draw(logs, drawn.emissions.scores(0), rng)
            if not self.named:
                states = _as_learned(shares, states)
            sums = sums_of_path(self.paths, self.emission, drawn.emissions, states)
        return {name: np.concatenate([one[name] for one in kept]) for name in kept[0]}


#: Mean probability that a row is in another state than its most probable one, above which beliefs are too sure.
_IN_DOUBT = 0.01


def _as_learned(shares: Array, states: IntArray) -> IntArray:
    """Return a path with states named as those that were learned: most rows in common."""
    common = np.eye(shares.shape[1])[states].T @ shares
    drawn, learned = linear_sum_assignment(common, maximize=True)
    return learned[np.argsort(drawn)][states]


def _values(drawn: DrawnChain) -> dict[str, Array]:
    """Return draws by name: of first states, of moves, and of what states emit."""
    first, moves = drawn.tables
    emitted = {} if drawn.emissions.parameters is None else drawn.emissions.parameters()
    return {"initial": np.exp(first), "transition": np.exp(moves), **emitted}
