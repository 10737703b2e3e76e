r"""Did the rate of coal-mining disasters change? Two rival models of yearly counts.

Constant rate: :math:`y_t \sim \mathrm{Poisson}(\lambda)`, :math:`\lambda \sim \mathrm{Gamma}(a, b)`.

One change: :math:`y_t \sim \mathrm{Poisson}(\lambda_1)` before the year τ and
:math:`\mathrm{Poisson}(\lambda_2)` from τ on, the rates independently from the same prior and τ
uniform over the years that leave both parts non-empty. Its evidence is the mean over τ of the
products of both parts' evidences.

Reference: A. E. Raftery and V. E. Akman (1986), Bayesian analysis of a Poisson process with a
change-point, Biometrika 73, 85–89.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori import Gamma, LogEvidence, Poisson, bayes
from posteriori.numerics import log_mean_exp, softmax

__all__ = ["CoalAnalysis", "Prediction", "Rate", "RateModel", "analyse_counts", "weigh_evidence"]

MASS = 0.95
DRAWS = 20_000


class Rate(NamedTuple):
    """What is believed about one rate: mean, standard deviation and a 95% interval."""

    mean: float
    std: float
    low: float
    high: float


class Prediction(NamedTuple):
    """Next year's count: probabilities of 0, 1, 2, …, mean and standard deviation."""

    probabilities: np.ndarray
    mean: float
    std: float


class RateModel(NamedTuple):
    """One rival model after seeing the counts."""

    name: str
    log_evidence: LogEvidence
    rates: dict[str, Rate]
    yearly_mean: np.ndarray
    yearly_low: np.ndarray
    yearly_high: np.ndarray
    prediction: Prediction


class CoalAnalysis(NamedTuple):
    """Everything that the demonstration shows."""

    years: np.ndarray
    counts: np.ndarray
    prior: Gamma
    posterior: Gamma
    constant: RateModel
    change: RateModel
    change_years: np.ndarray
    change_probabilities: np.ndarray

    @property
    def log_bayes_factor(self) -> float:
        """Log evidence of a change minus log evidence of a constant rate."""
        return float(self.change.log_evidence - self.constant.log_evidence)

    @property
    def better(self) -> RateModel:
        """The model with the larger evidence."""
        return self.change if self.log_bayes_factor > 0 else self.constant

    @property
    def change_interval(self) -> tuple[int, int]:
        """First and last year of the central 95% of the posterior of the year of change."""
        below = np.cumsum(self.change_probabilities)
        low, high = np.searchsorted(below, [(1 - MASS) / 2, (1 + MASS) / 2])
        return int(self.change_years[low]), int(self.change_years[high])


def analyse_counts(
    years: np.ndarray, counts: np.ndarray, prior: Gamma, *, rng: np.random.Generator
) -> CoalAnalysis:
    """Solve both models and predict the next year's count under each.

    Parameters
    ----------
    years : ndarray of int, shape (T,)
        Consecutive years, T >= 2.
    counts : ndarray of int, shape (T,)
        Disasters in each year.
    prior : Gamma
        Belief about any yearly rate before seeing the counts.
    rng : numpy.random.Generator
        For the draws behind the intervals of the model with a change; all else is exact.

    Returns
    -------
    CoalAnalysis
        Cost O(T²) for the evidences of all T − 1 splits.
    """
    support = np.arange(max(10, 2 * int(counts.max())) + 1)
    single = bayes(prior, Poisson, counts)
    constant = _constant_rate(single, len(years), support)
    change, probabilities = _one_change(prior, counts, support, rng)
    return CoalAnalysis(
        years, counts, prior, single.posterior, constant, change, years[1:], probabilities
    )


def weigh_evidence(log_bayes_factor: float) -> str:
    """Say in words how strongly data speak for one model (Kass and Raftery 1995, section 3.2).

    Examples
    --------
    >>> weigh_evidence(0.5), weigh_evidence(-8.0)
    ('not worth more than a bare mention', 'very strong')
    """
    words = ["not worth more than a bare mention", "positive", "strong", "very strong"]
    return words[int(np.searchsorted([2, 6, 10], 2 * abs(log_bayes_factor)))]


def summarise_rate(belief: Gamma) -> Rate:
    """Mean, standard deviation and central interval of a Gamma belief."""
    low, high = belief.interval(MASS)
    return Rate(float(belief.mean), float(belief.std), float(low), float(high))


def _constant_rate(single, n_years, support) -> RateModel:
    rate = summarise_rate(single.posterior)
    predictive = single.predictive
    prediction = Prediction(
        np.exp(predictive.log_prob(support)),
        float(predictive.mean),
        float(np.sqrt(predictive.variance)),
    )
    mean, low, high = (np.full(n_years, value) for value in (rate.mean, rate.low, rate.high))
    return RateModel(
        "constant rate", single.log_evidence, {"every year": rate}, mean, low, high, prediction
    )


def _one_change(prior, counts, support, rng) -> tuple[RateModel, np.ndarray]:
    n_years = len(counts)
    before = [bayes(prior, Poisson, counts[:k]) for k in range(1, n_years)]
    after = [bayes(prior, Poisson, counts[k:]) for k in range(1, n_years)]
    joint = [b.log_evidence + a.log_evidence for b, a in zip(before, after, strict=True)]
    splits = np.array([float(evidence) for evidence in joint])
    evidence = LogEvidence(  # p(y) = mean over τ of p(y before τ) p(y from τ on)
        log_mean_exp(splits), kind="exact", of=joint[0].of, fingerprint=joint[0].fingerprint
    )
    weights = softmax(splits)  # p(τ | y), since τ is uniform a priori

    split = rng.choice(n_years - 1, size=DRAWS, p=weights)
    early = _draw([b.posterior for b in before], split, rng)
    late = _draw([a.posterior for a in after], split, rng)
    early_means = np.array([b.posterior.mean for b in before])
    late_means = np.array([a.posterior.mean for a in after])
    yearly_mean, low, high = _rate_by_year(weights, early_means, late_means, split, early, late)
    rates = {
        "before the change": _summarise(weights @ early_means, early),
        "after the change": _summarise(weights @ late_means, late),
    }
    prediction = _predict([a.predictive for a in after], weights, support)
    model = RateModel("one change", evidence, rates, yearly_mean, low, high, prediction)
    return model, weights


def _draw(posteriors, split, rng) -> np.ndarray:
    shape = np.array([p.shape for p in posteriors])[split]
    rate = np.array([p.rate for p in posteriors])[split]
    return Gamma(shape, rate).sample(rng=rng)


def _summarise(mean, draws) -> Rate:
    low, high = np.quantile(draws, [(1 - MASS) / 2, (1 + MASS) / 2])
    return Rate(float(mean), float(np.std(draws)), float(low), float(high))


def _rate_by_year(weights, early_means, late_means, split, early, late):
    """Posterior mean (exact) and interval (from draws) of the rate in each year, shapes (T,)."""
    n_years = len(weights) + 1
    mean, low, high = np.empty((3, n_years))
    for t in range(n_years):
        changed = np.arange(1, n_years) <= t
        mean[t] = weights @ np.where(changed, late_means, early_means)
        draws = np.where(split + 1 <= t, late, early)
        low[t], high[t] = np.quantile(draws, [(1 - MASS) / 2, (1 + MASS) / 2])
    return mean, low, high


def _predict(predictives, weights, support) -> Prediction:
    """Average the predictive distributions of the second part over the year of change."""
    probabilities = weights @ np.exp([p.log_prob(support) for p in predictives])
    means = np.array([p.mean for p in predictives])
    mean = weights @ means
    variance = weights @ (np.array([p.variance for p in predictives]) + (means - mean) ** 2)
    return Prediction(probabilities, float(mean), float(np.sqrt(variance)))
