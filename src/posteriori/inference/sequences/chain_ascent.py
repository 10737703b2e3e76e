r"""The ascent of a hidden chain: EM with parameters or certain paths, variational Bayes with beliefs.

.. math:: L = \sum_s w_s \ln\sum_z e^{E[\ln p(z\mid A)] + \sum_t E[\ln p(x_t\mid θ_{z_t})]}
   - \mathrm{KL}(q(π, A)\,\|\,p) - \sum_k \mathrm{KL}(q(θ_k)\,\|\,p).

The parameters of the ascent are the expected sums: from these follow laws or beliefs, from these the
probabilities of states and transitions, and from these the next sums. So a chain is a model of paths
and one of emissions, whatever they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.sequences.chain_paths import PathModel
from posteriori.inference.sequences.emissions.emission_contract import EmissionModel, Sums
from posteriori.numerics.types import Array

__all__ = ["ChainLook", "KnownChain", "ascend_chain", "ascend_from", "look_at_chain"]


class ChainLook(NamedTuple):
    """What rows say under some sums.

    Attributes
    ----------
    sums : tuple
        The next ones: of paths, then of emissions.
    log_likelihood : float
        ln p(x), or its part of the bound.
    objective : float
        With priors or divergences.
    """

    sums: Sums
    log_likelihood: float
    objective: float


def look_at_chain(paths: PathModel, emission: EmissionModel, sums: Sums) -> ChainLook:
    """Return what rows say under the laws and emissions of some sums."""
    view = emission.look(sums[paths.n_sums :])
    found = paths.expect(sums[: paths.n_sums], view.scores)
    value = found.log_likelihood + view.constant
    after = (*found.sums, *view.summarize(found.shares))
    return ChainLook(after, value, value + found.bonus + view.bonus)


def ascend_chain(
    paths: PathModel, emission: EmissionModel, start: Sums, **options: Any
) -> EMResult:
    """Climb from sums; the parameters that are found are sums as well.

    Parameters
    ----------
    paths : PathModel
    emission : EmissionModel
    start : tuple
        Sums of paths, then of emissions.
    **options
        Of :func:`maximize_by_em`.
    """

    def expect(sums: Sums) -> tuple[Sums, float]:
        found = look_at_chain(paths, emission, sums)
        return found.sums, found.objective

    if not emission.numeric:
        options = {**options, "accelerated": False}
    return maximize_by_em(expect, lambda sums: sums, start, **options)


class KnownChain(NamedTuple):
    """A chain to begin from.

    Attributes
    ----------
    laws : tuple of arrays
        ln π (K,), ln A (K, K), and where runs have laws of their own ln p(d) (K, L).
    scores : (T, K)
        ln p(x_t | z_t = k) of all rows.
    """

    laws: tuple[Array, ...]
    scores: Array


def ascend_from(
    paths: Any, emission: EmissionModel, known: KnownChain, *, likelihood: bool, **options: Any
) -> EMResult:
    """Climb from a known chain, the first step being what rows say under it.

    Parameters
    ----------
    paths : PathModel with ``expect_under``
    emission : EmissionModel
    known : KnownChain
    likelihood : bool
        Whether the objective is the likelihood, which the known chain has as well.
    **options
        Of :func:`maximize_by_em`.
    """

    def begin() -> tuple[Sums, float]:
        found = paths.expect_under(*known.laws, known.scores.copy())
        return (*found.sums, *emission.expected_sums(found.shares)), found.log_likelihood

    def expect(at: Any) -> tuple[Sums, float]:
        if isinstance(at, KnownChain):
            return begin()
        found = look_at_chain(paths, emission, at)
        return found.sums, found.objective

    if not emission.numeric:
        options = {**options, "accelerated": False}
    start = known if likelihood else begin()[0]
    ascent = maximize_by_em(expect, lambda sums: sums, start, **options)
    at_start = isinstance(ascent.parameters, KnownChain)  # stopped before a step
    return ascent._replace(parameters=begin()[0]) if at_start else ascent
