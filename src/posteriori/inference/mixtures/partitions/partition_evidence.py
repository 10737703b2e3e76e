r"""The evidence of a sampled posterior over partitions, from two sides.

Rows that are put into clusters one after another, each given the earlier ones, make a partition z of known
probability g(z), and their weight is unbiased for the evidence,

.. math:: w(z) = \frac{p(X, z)}{g(z)} = \prod_t p(x_t\mid x_{<t}, z_{<t}), \qquad E_g[w] = p(X)

(A. Kong, J. Liu & W. Wong 1994). Its logarithm is below ln p(X) on average, and that of posterior draws
above it. Both together give the estimate F of least variance,

.. math:: \sum_{z\sim g}\sigma(\ln w - F) = \sum_{z\sim p(z\mid X)}\sigma(F - \ln w)

(C. Bennett 1976). Rows come in random order each time, for draws as well.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.mixtures.partitions.cluster_kernels import ClusterModel
from posteriori.inference.mixtures.partitions.gibbs_kernels import impute_rows
from posteriori.inference.mixtures.partitions.partition_draws import PartitionDraws, new_chain
from posteriori.inference.mixtures.partitions.partition_prior import PartitionPrior
from posteriori.inference.weighing.chain_agreement import effective_sample_size
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.lazy import optimize, special
from posteriori.numerics.types import Array

__all__ = ["EvidenceEstimate", "bennett_estimate", "estimate_log_evidence"]

#: Imputations, and draws that are weighed, at least and at most: each costs about a sweep …
_FEWEST, _MOST = 200, 1000
#: … and between these so many that this many rows are put into clusters.
_ROWS = 500_000


class EvidenceEstimate(NamedTuple):
    """ln p(X) with its standard error; where the two sides do not meet, the gap between them counts."""

    value: float
    error: float


def estimate_log_evidence(
    model: ClusterModel, prior: PartitionPrior, draws: PartitionDraws, rng: np.random.Generator
) -> EvidenceEstimate:
    """Estimate ln p(X) from imputations and from draws; time of a few hundred sweeps."""
    # arrays that have been pickled can be written to, and other types are compiled anew
    model = model._replace(
        features=as_kernel_input(model.features), constants=as_kernel_input(model.constants)
    )
    chain, (chains, length, rows) = new_chain(model, prior, rng), draws.labels.shape
    count = min(max(_ROWS // rows, _FEWEST), _MOST)
    chosen = np.linspace(0, length - 1, min(length, -(-count // chains))).round().astype(np.int64)
    above = np.empty((chains, len(chosen)))
    for at in np.ndindex(above.shape):
        chain.labels[:] = draws.labels[at[0], chosen[at[1]]]
        above[at] = impute_rows(model, prior, chain, rng.permutation(rows), 0, False)
    below = np.empty(count)
    for j in range(count):
        below[j] = impute_rows(model, prior, chain, rng.permutation(rows), 0, True)
    value, error = bennett_estimate(below, above)
    return EvidenceEstimate(value + model.log_carrier, error)


def bennett_estimate(below: Array, above: Array) -> EvidenceEstimate:
    """Return the estimate from log weights of imputations (R,) and of posterior draws (C, T).

    Examples
    --------
    >>> bennett_estimate(
    ...     np.full(2, -3.0), np.full((1, 2), -3.0)
    ... ).value  # all weights are the evidence
    -3.0
    """
    offset = float(np.log(below.size / above.size))  # F = centre − ln(n_below / n_above)
    low = min(below.min(), above.min()) - abs(offset) - 1.0
    high = max(below.max(), above.max()) + abs(offset) + 1.0

    def excess(centre: float) -> float:
        first = special.logsumexp(special.log_expit(below - centre))
        return float(first - special.logsumexp(special.log_expit(centre - above)))

    centre = float(optimize.brentq(excess, low, high))
    forth, back = special.expit(below - centre), special.expit(centre - above)
    variance = forth.var() / forth.mean() ** 2 / below.size
    variance += back.var() / back.mean() ** 2 / effective_sample_size(back)
    gap = max(0.0, float(above.min() - below.max()))
    return EvidenceEstimate(centre - offset, float(np.hypot(np.sqrt(variance), gap)))
