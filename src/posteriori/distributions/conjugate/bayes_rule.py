r"""Bayes' rule in one call: posterior, evidence and predictive of a conjugate model.

.. math:: p(\theta\mid D)\,p(D) = p(D\mid\theta)\,p(\theta).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import Correction, Pair, find_pair
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.unknown import trace_likelihood
from posteriori.numerics.blocks.chunks import read_blocks
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.types import Array

__all__ = ["BayesResult", "bayes"]


def bayes(prior: Any, likelihood: Any, data: Any) -> BayesResult:
    """Condition a conjugate model on data.

    Parameters
    ----------
    prior : distribution
        Belief about the parameter before the data.
    likelihood : family or function
        A family all of whose parameters are unknown (``Bernoulli``), or a function of the unknown
        that states what is known: ``lambda mu: Normal(mu, variance=1.0)``. Known parameters
        broadcast against the data, so they may differ from row to row.
    data : array_like (N, ...), or iterator of chunks
        Rows are data points; further axes make a batch that broadcasts against the prior's.

    Returns
    -------
    BayesResult
        With ``posterior``, ``log_evidence``, ``predictive``, the split of the evidence into
        ``fit`` − ``complexity``, and the ``correction`` view.

    Raises
    ------
    TypeError
        When the two are not conjugate; the message lists what the prior is conjugate to.
    ValueError
        When data are empty, not finite, or outside the support of the likelihood.

    Notes
    -----
    Cost O(N), one pass; memory of one block of rows.

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta, Normal
    >>> r = bayes(Beta(1, 1), Bernoulli, [1, 0, 1, 1, 0, 0, 1])
    >>> r.posterior, r.log_evidence
    (Beta(5, 4), LogEvidence(-5.63479, kind="exact", of="X"))
    >>> r.predictive
    Bernoulli(0.555556)
    >>> bayes(Normal(0, variance=4), lambda mu: Normal(mu, variance=1), [1.0, 2.0]).posterior
    Normal(1.333333, variance=0.444444)
    """
    if not isinstance(prior, ExponentialFamily):
        if isinstance(prior, Distribution):
            raise TypeError(
                f"{type(prior).__name__} is conjugate to no likelihood; see grid_posterior"
            )
        raise TypeError(f"prior must be a distribution such as Beta(1, 1), got {prior!r}")
    if isinstance(likelihood, type) and issubclass(likelihood, Distribution):
        pair = find_pair(prior, likelihood)
    elif callable(likelihood):
        pair = find_pair(prior, trace_likelihood(likelihood))
    else:
        raise TypeError(
            "likelihood must be a family such as Bernoulli, or a function such as "
            f"lambda mu: Normal(mu, variance=1.0); got {likelihood!r}"
        )
    statistics, fingerprint = _collect(pair, data)
    return BayesResult(prior, pair, statistics, fingerprint)


@dataclass(frozen=True, eq=False, repr=False)
class BayesResult:
    """What Bayes' rule gives.

    Attributes
    ----------
    prior : distribution
        Belief before the data.
    pair : Pair
        The conjugate pair that was used; ``pair.conditional`` is the likelihood.
    statistics : Sums or Moments
        What the data were reduced to.
    fingerprint : Fingerprint
        Which data these were.
    """

    prior: Any
    pair: Pair
    statistics: Any
    fingerprint: Fingerprint

    @cached_property
    def posterior(self) -> Any:
        """Belief after the data, of the prior's family."""
        return self.pair.update(self.prior, self.statistics)

    @cached_property
    def log_evidence(self) -> LogEvidence:
        """Ln p(data): the prior-averaged likelihood. An improper prior has none."""
        if not self.prior._all_proper:
            raise ValueError(
                "an improper prior gives no evidence: its scale is arbitrary; use a proper prior"
            )
        value = self.pair.log_evidence(self.posterior, self.statistics)
        return LogEvidence(value, kind="exact", of=self.pair.of, fingerprint=self.fingerprint)

    @cached_property
    def predictive(self) -> Any:
        """Distribution of the next datum given the data."""
        return self.pair.predictive(self.posterior)

    @cached_property
    def prior_predictive(self) -> Any:
        """Distribution of a datum before any was seen."""
        return self.pair.predictive(self.prior)

    @cached_property
    def complexity(self) -> Array:
        """KL(posterior ‖ prior): how much the data changed the belief, in nats."""
        complexity: Array = self.posterior.kl(self.prior)
        return complexity

    @cached_property
    def fit(self) -> Array:
        """E[ln p(data | θ)] under the posterior, in nats: log evidence = fit − complexity."""
        return self.log_evidence.value + self.complexity

    @cached_property
    def correction(self) -> Correction:
        """Learning as prediction and correction: posterior = prior + gain · error."""
        return self.pair.correction(self.posterior, self.statistics)

    def predict(self, likelihood: Any) -> Any:
        """Return the predictive under another likelihood of the same unknown.

        Useful when known parameters differ from row to row, such as the exposure of the next
        count: ``r.predict(lambda rate: Poisson(2.5 * rate))``.
        """
        return find_pair(self.posterior, trace_likelihood(likelihood)).predictive(self.posterior)

    def update(self, data: Any) -> BayesResult:
        """Return the result for these data and more: equal to one call on all of them."""
        if self.pair.row_count is not None:
            raise ValueError(
                "the likelihood's known parameters differ from row to row; call bayes with this "
                "posterior as the prior and the new rows in the likelihood"
            )
        statistics, fingerprint = _collect(self.pair, data)
        return self._with(statistics, fingerprint)

    def merge(self, other: BayesResult) -> BayesResult:
        """Return the result for the data of both, which must share prior and likelihood."""
        if self.prior != other.prior or type(self.pair) is not type(other.pair):
            raise ValueError("only results with the same prior and likelihood merge")
        return self._with(other.statistics, other.fingerprint)

    def _with(self, statistics: Any, fingerprint: Fingerprint) -> BayesResult:
        return BayesResult(
            self.prior,
            self.pair,
            self.statistics.merge(statistics),
            self.fingerprint.merge(fingerprint),
        )

    def __repr__(self) -> str:
        evidence = f", log_evidence={self.log_evidence.value:.6g}" if self._has_scalar else ""
        return f"BayesResult(posterior={self.posterior!r}{evidence}, n={self.fingerprint.count})"

    @property
    def _has_scalar(self) -> bool:
        return bool(self.prior._all_proper) and not self.log_evidence.shape


def _collect(pair: Pair, data: Any) -> tuple[Any, Fingerprint]:
    """Reduce data to statistics, block by block."""
    statistics: Any = None
    fingerprint = Fingerprint()
    for block in read_blocks(pair.encode(data), pair.event_ndim):
        start = fingerprint.count
        pair.check(block, start)
        part = pair.summarize(block, start)
        statistics = part if statistics is None else statistics.merge(part)
        fingerprint = fingerprint.update(block)
    pair.check_rows(fingerprint.count)
    return statistics, fingerprint
