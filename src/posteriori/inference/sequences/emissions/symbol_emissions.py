r"""States that emit symbols: a table of probabilities for each column.

.. math:: p(x_t\mid z_t = k) = \prod_d θ_{kd}(x_{td}), \qquad
   n_{kd}(c) = \sum_t r_{tk}\,[x_{td} = c].
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.inference.classes.column_densities import CategoryClasses
from posteriori.inference.sequences.dirichlet_rows import DirichletRows, Estimate
from posteriori.inference.sequences.emissions.emission_contract import (
    EmissionDraws,
    EmissionView,
    LearnedEmission,
    Sums,
    reordered,
)
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
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return len(self.laws)

    def share_out(self, shares: Array) -> Sums:
        """Return the counts of each symbol in each state, (K, L) of each column."""
        tables = []
        for codes, law in zip(self.codes, self.laws, strict=True):
            size = law.concentration.shape[-1] + 1
            counts = [np.bincount(codes, share, size)[:-1] for share in shares.T]
            tables.append(np.stack(counts))
        return tuple(tables)

    def look(self, sums: Sums) -> EmissionView:
        """Return the logarithms of tables at the symbols of rows."""
        logs, bonuses = zip(*map(_learn, self.laws, sums), strict=True)
        return EmissionView(self._scores(logs), 0.0, float(sum(bonuses)), self.share_out)

    def learn(self, sums: Sums) -> LearnedEmission:
        """Return one batch of categoricals (K,), or tables where there are several columns."""
        tables = tuple(law.mean(part) for law, part in zip(self.laws, sums, strict=True))
        free = sum(table.shape[1] - 1 for table in tables)
        beliefs = None
        if self.laws[0].estimate == "belief":
            found = [law.belief(part) for law, part in zip(self.laws, sums, strict=True)]
            beliefs = found[0] if len(found) == 1 else tuple(found)
        if len(tables) > 1:
            return LearnedEmission(CategoryClasses(tables), beliefs, free)
        labels = None if self.labels is None else self.labels[0]
        return LearnedEmission(Categorical(tables[0], labels=labels), beliefs, free)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the counts of states in another order."""
        return reordered(sums, order)

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw tables from the beliefs about them."""
        drawn: list[Array] = []
        beliefs, priors = 0.0, 0.0
        for law, counts in zip(self.laws, sums, strict=True):
            belief, prior = law.belief(counts), DirichletRows(law.concentration[:1], "belief")
            with np.errstate(divide="ignore"):
                logs = np.log(belief.sample(size, rng=rng))  # (S, K, L)
            logs = np.maximum(logs, np.log(np.finfo(np.float64).tiny))
            drawn.append(logs)
            each = [belief_density(a, logs) for a in belief.concentration]
            beliefs = beliefs + np.stack(each, axis=1)
            priors = priors + belief_density(prior.concentration[0], logs)
        return EmissionDraws(
            lambda s: self._scores([logs[s] for logs in drawn]),
            np.asarray(beliefs),
            np.asarray(priors),
        )

    def _scores(self, logs: Any) -> Array:
        """Return Σ_d ln θ_kd(x_td), (T, K), of tables of logarithms (K, L)."""
        total = np.zeros((self.codes.shape[1], len(logs[0])))
        for codes, table in zip(self.codes, logs, strict=True):
            total += np.concatenate([table.T, np.zeros((1, len(table)))])[codes]
        return total


def belief_density(concentration: Array, logs: Array) -> Array:
    """Return ln Dir(p | α) of rows ln p (S, K, L), (S, K)."""
    flat = logs.reshape(-1, logs.shape[-1])
    law = DirichletRows(concentration, "belief")
    return law.log_density(flat, concentration).reshape(logs.shape[:-1])


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
    concentration : float, or D × (L,)
        Of the Dirichlet prior of each table.
    estimate : {"likelihood", "mode", "belief"}
    labels : D × tuple, or None
    """
    given = concentration if np.ndim(concentration) else [concentration] * len(sizes)
    laws = tuple(
        DirichletRows(np.broadcast_to(np.asarray(a, dtype=np.float64), (k, size)).copy(), estimate)
        for a, size in zip(given, sizes, strict=True)
    )
    seen = codes == codes
    filled = np.where(seen, codes, np.asarray(sizes, dtype=np.float64)).astype(np.intp)
    return SymbolEmission(np.ascontiguousarray(filled.T), laws, labels)


def _learn(law: DirichletRows, counts: Array) -> tuple[Array, float]:
    return law.learn(counts)
