r"""What the log evidence is made of: energies of factors, entropies of blocks.

For an exact posterior q,

.. math:: \ln p(y) = \sum_f E_q[\ln f] + H[q],

and each kind of block knows the terms in closed form. For an approximate q the same sum is the lower
bound, in which every group of variables that is believed in jointly has its own entropy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.forms.simulation import log_prob_of_known

__all__ = ["Account", "make_account"]


@dataclass(frozen=True, repr=False)
class Account:
    """The terms of a log evidence.

    Attributes
    ----------
    energies : mapping of str to float
        Expected log density of the factors of each variable under the posterior.
    entropies : mapping of str to float
        Entropy of each block, named by its variables; of a variational block, of each group of
        variables that are believed in jointly.
    observed : tuple of str
        Names of the variables that were observed.
    """

    energies: Mapping[str, float]
    entropies: Mapping[str, float]
    observed: tuple[str, ...] = ()

    @property
    def log_evidence(self) -> float:
        """The sum of all terms."""
        return sum(self.energies.values()) + sum(self.entropies.values())

    @property
    def accuracy(self) -> float:
        """Expected log density of what was observed."""
        return sum(self.energies.get(name, 0.0) for name in self.observed)

    @property
    def complexity(self) -> float:
        """Accuracy less log evidence: the divergence of the posterior from the prior."""
        return self.accuracy - self.log_evidence

    def __repr__(self) -> str:
        rows = [(f"energy of {name}", value) for name, value in self.energies.items()]
        rows += [(f"entropy of {names}", value) for names, value in self.entropies.items()]
        rows.append(("log evidence", self.log_evidence))
        width = max(len(title) for title, _ in rows)
        return "\n".join(f"{title:<{width}}  {value:>12.6g}" for title, value in rows)


def make_account(solved: Solved) -> Account:
    """Return the terms of a posterior's log evidence."""
    if solved.is_merged:
        raise TypeError(
            "a merged posterior has no terms of its own: explain those that were merged"
        )
    totals: dict[str, float] = {}
    entropies: dict[str, float] = {}
    terms = [result.account() for result in solved.results]
    known = [(factor.name, log_prob_of_known(factor, solved.bound)) for factor in solved.known]
    for name, value in [*(pair for term in terms for pair in term.energies), *known]:
        totals[name] = totals.get(name, 0.0) + value
    for term in terms:
        entropies |= term.entropies
    ordered = {n: totals[n] for n in solved.bound.layouts if n in totals}
    return Account(ordered, entropies, tuple(solved.bound.observed))
