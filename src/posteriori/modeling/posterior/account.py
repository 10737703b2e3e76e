r"""What the log evidence is made of: energies of factors, entropies of blocks.

For an exact posterior q,

.. math:: \ln p(y) = \sum_f E_q[\ln f] + H[q],

and each kind of block knows the terms in closed form. For an approximate q the same sum is the lower
bound, in which every group of variables that is believed in jointly has its own entropy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.inference.gaussian.energy import RowEnergies, equation_energies
from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateResult, reshaped
from posteriori.modeling.exact.discrete.discrete_block import DiscreteResult
from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionResult
from posteriori.modeling.exact.scaled.scaled_factors import PRECISIONS
from posteriori.modeling.forms.simulation import log_prob_of_known, member
from posteriori.modeling.variational.variational_result import VariationalResult

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

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


def make_account(posterior: Posterior) -> Account:
    """Return the terms of a posterior's log evidence."""
    plan = posterior._plan
    if posterior._merged:
        raise TypeError(
            "a merged posterior has no terms of its own: explain those that were merged"
        )
    found: list[tuple[str, float]] = []
    entropies: dict[str, float] = {}
    for result in posterior._blocks:
        if isinstance(result, VariationalResult):
            energies, parts = _variational_terms(result)
            entropies |= parts
        else:
            energies, entropy = _terms(result)
            entropies[", ".join(result.names)] = entropy
        found += energies
    found += [(factor.name, log_prob_of_known(factor, plan.bound)) for factor in plan.known]
    totals: dict[str, float] = {}
    for name, value in found:
        totals[name] = totals.get(name, 0.0) + value
    ordered = {n: totals[n] for n in plan.bound.layouts if n in totals}
    return Account(ordered, entropies, tuple(plan.bound.observed))


def _terms(result: Any) -> tuple[list[tuple[str, float]], float]:
    if isinstance(result, DiscreteResult):
        from posteriori.modeling.exact.discrete.discrete_account import discrete_terms

        return discrete_terms(result)
    if isinstance(result, ConjugateResult):
        return _conjugate_terms(result)
    if isinstance(result, CommonPrecisionResult):
        return _common_precision_terms(result)
    rows, entropy = _normal_rows(result)
    return [(name, part.energy) for name, part in rows], entropy


def _variational_terms(
    result: VariationalResult,
) -> tuple[list[tuple[str, float]], dict[str, float]]:
    """Return E[ln f] of each factor, and the entropy of each group."""
    problem, factors = result.informed.problem, result.informed.block.factors
    energies = [(factors[i].name, float(e[0])) for i, e in problem.energies().items()]
    entropies = {", ".join(node.names): float(node.entropy()[0]) for node in problem.nodes}
    return energies, entropies


def _normal_rows(result: Any) -> tuple[list[tuple[str, RowEnergies]], float]:
    if not isinstance(result, GaussianResult):
        from posteriori.modeling.exact.chain.chain_account import chain_rows

        return chain_rows(result)
    mean = result.posterior.mean
    parts, entropy = equation_energies(result.latents, result.equations, mean)
    return list(zip(result.sources, parts, strict=True)), entropy


def _expected_log_prior(belief: Any, prior: Any) -> float:
    """Return E[ln prior] = −H[belief] − KL(belief ‖ prior)."""
    return -float(np.sum(belief.entropy()) + np.sum(belief.kl(prior)))


def _conjugate_terms(result: ConjugateResult) -> tuple[list[tuple[str, float]], float]:
    """Take the likelihood of a child as posterior / prior · evidence, were it the only child."""
    block = result.block
    prior = reshaped(member(block.prior_factor), (block.count,))
    belief = reshaped(result.posterior, (block.count,))
    gained = float(np.sum(belief.kl(prior)))
    energies = [(block.name, _expected_log_prior(belief, prior))]
    for child in block.children:
        alone, log_evidence = block.learn(prior, [child])
        energies.append((child.name, gained - float(np.sum(belief.kl(alone))) + log_evidence))
    return energies, float(np.sum(belief.entropy()))


def _common_precision_terms(result: CommonPrecisionResult) -> tuple[list[tuple[str, float]], float]:
    """Average the terms at unit precision over τ: ln τ enters every row, τ every misfit."""
    belief, block = result.belief, result.block
    logs, precisions = belief.mean_params  # ±E[ln|τ|], E[τ]
    log_tau = np.ravel(logs if isinstance(belief, PRECISIONS) else -logs)
    tau = np.reshape(precisions, (len(log_tau), -1))
    rows, entropy = _normal_rows(result.gaussian)
    energies = [(result.spread, _expected_log_prior(belief, member(block.prior_factor)))]
    energies += [(name, part.log_height - 0.5 * float(np.sum(part.spread))) for name, part in rows]
    energies += block.log_slopes.items()
    for tally in block.tallies(result.gaussian):
        misfits = tally.misfits.reshape(tau.shape)
        more = float(tally.counts @ log_tau - np.sum(tau * misfits))  # N E[ln|τ|] − tr(E[τ] R)
        energies.append((tally.name, 0.5 * more))
    entropy += float(np.sum(belief.entropy()))
    for name, owners in result.owners.items():
        alike = result.block.rows_of(name) / np.size(owners)
        entropy -= 0.5 * alike * float(np.sum(log_tau[owners]))
    return energies, entropy
