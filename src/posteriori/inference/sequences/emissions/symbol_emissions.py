r"""States that emit symbols: a table of probabilities for each column.

.. math:: p(x_t\mid z_t = k) = \prod_d θ_{kd}(x_{td}), \qquad
   n_{kd}(c) = \sum_t r_{tk}\,[x_{td} = c].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from posteriori.distributions.counts.categorical import Categorical
from posteriori.inference.classes.column_densities import CategoryClasses
from posteriori.inference.latent.contract import Learned, Scored, Sums, reordered
from posteriori.inference.mixtures.columns.family_models import belief_affinities
from posteriori.inference.sequences.dirichlet_rows import DirichletRows, Estimate, draw_rows
from posteriori.inference.sequences.draws.chain_turns import EmissionDraws
from posteriori.numerics.types import Array, IntArray

__all__ = ["SymbolEmission", "symbol_emission"]


class SymbolEmission(NamedTuple):
    """Columns of symbols.

    Attributes
    ----------
    codes : (D, T)
        Numbers of the symbols; the last of all for a missing one.
    laws : D × DirichletRows
        Of a table (K, L) each.
    labels : D × tuple, or None
        The symbols themselves; None where they are numbers from 0.
    """

    codes: IntArray
    laws: tuple[DirichletRows, ...]
    labels: Any

    @property
    def numeric(self) -> bool:
        """Counts are numbers."""
        return True

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return True

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return len(self.laws)

    def expected_sums(self, shares: Array) -> Sums:
        """Return the counts of each symbol in each state, (K, L) of each column."""
        tables = []
        for codes, law in zip(self.codes, self.laws, strict=True):
            size = law.concentration.shape[-1] + 1
            counts = [np.bincount(codes, share, size)[:-1] for share in shares.T]
            tables.append(np.stack(counts))
        return tuple(tables)

    def look(self, sums: Sums) -> Scored:
        """Return the logarithms of tables at the symbols of rows."""
        logs, bonuses = zip(*map(_learn, self.laws, sums), strict=True)
        return Scored(self._scores(logs), 0.0, float(sum(bonuses)), self.expected_sums)

    def learn(self, sums: Sums) -> Learned:
        """Return one batch of categoricals (K,), or tables where there are several columns."""
        tables = tuple(law.mean(part) for law, part in zip(self.laws, sums, strict=True))
        free = sum(table.shape[1] - 1 for table in tables)
        beliefs = None
        if self.laws[0].estimate == "belief":
            found = [law.belief(part) for law, part in zip(self.laws, sums, strict=True)]
            beliefs = found[0] if len(found) == 1 else tuple(found)
        if len(tables) > 1:
            return Learned(CategoryClasses(tables), beliefs, free)
        labels = None if self.labels is None else self.labels[0]
        return Learned(Categorical(tables[0], labels=labels), beliefs, free)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the counts of states in another order."""
        return reordered(sums, order)

    def log_affinities(self, sums: Sums) -> Array:
        """Return ln ∫√(q_j q_k) of the tables of all columns, (K, K)."""
        beliefs = (law.belief(part) for law, part in zip(self.laws, sums, strict=True))
        return np.sum([belief_affinities(belief) for belief in beliefs], axis=0)

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw tables from the beliefs about them."""
        drawn = [draw_rows(law, part, size, rng) for law, part in zip(self.laws, sums, strict=True)]
        tables = list(zip(self.laws, drawn, strict=True))

        def log_beliefs(other: Sums) -> Array:
            pairs = zip(tables, other, strict=True)
            return np.sum(
                [_row_densities(law.concentration + part, x) for (law, x), part in pairs], axis=0
            )

        def log_priors() -> Array:
            each = [_row_densities(law.concentration[:1], x)[:, 0] for law, x in tables]
            return np.sum(each, axis=0)

        def parameters() -> dict[str, Array]:
            names = (
                ["probability"]
                if len(drawn) == 1
                else [f"probability{d}" for d in range(len(drawn))]
            )
            return {name: np.exp(x) for name, x in zip(names, drawn, strict=True)}

        return EmissionDraws(
            lambda s: self._scores([x[s] for x in drawn]),
            log_beliefs,
            log_priors,
            parameters=parameters,
        )

    def _scores(self, logs: Any) -> Array:
        """Return Σ_d ln θ_kd(x_td), (T, K), of tables of logarithms (K, L)."""
        total = np.zeros((self.codes.shape[1], len(logs[0])))
        for codes, table in zip(self.codes, logs, strict=True):
            total += np.concatenate([table.T, np.zeros((1, len(table)))])[codes]
        return total


def _row_densities(concentration: Array, logs: Array) -> Array:
    """Return ln Dir(p_k | α_j) of rows ln p (S, K, L) and α (J, L), (S, J, K)."""
    power = logs @ (concentration - 1.0).T
    normalizer = gammaln(concentration.sum(axis=1)) - gammaln(concentration).sum(axis=1)
    return np.swapaxes(power, 1, 2) + normalizer[:, None]


def symbol_emission(
    codes: Array, sizes: Any, k: int, concentration: Any, estimate: Estimate, labels: Any
) -> SymbolEmission:
    """Return the model of rows of symbols.

    Parameters
    ----------
    codes : (T, D)
        NaN is missing.
    sizes : (D,)
        Number of symbols of each column.
    k : int
        States.
    concentration : float, or list of D × (L,)
        Of the Dirichlet prior of each table.
    estimate : {"likelihood", "mode", "belief"}
    labels : D × tuple, or None
    """
    given = concentration if isinstance(concentration, list) else [concentration] * len(sizes)
    laws = tuple(
        DirichletRows(np.broadcast_to(np.asarray(a, dtype=np.float64), (k, size)).copy(), estimate)
        for a, size in zip(given, sizes, strict=True)
    )
    seen = codes == codes
    filled = np.where(seen, codes, np.asarray(sizes, dtype=np.float64)).astype(np.intp)
    return SymbolEmission(np.ascontiguousarray(filled.T), laws, labels)


def _learn(law: DirichletRows, counts: Array) -> tuple[Array, float]:
    return law.learn(counts)
