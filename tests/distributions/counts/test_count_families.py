"""Counts: digits, entropies and edges of Poisson and (negative) binomial numbers."""

from itertools import product

import numpy as np
import pytest
from mpmath import betainc, log, loggamma, mpf, workdps
from scipy import stats

from posteriori.distributions.counts.binomial import Binomial
from posteriori.distributions.counts.multinomial import Multinomial
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson
from posteriori.numerics.special import poisson_kernel
from tests.distributions.oracles import high_precision

# -- Poisson -----------------------------------------------------------------------------------


def poisson(x, rate):
    return x * log(rate) - rate - loggamma(x + 1)


def around(mean, deviation):
    """Whole numbers up to 8 deviations from the mean, and some far ones."""
    far = mean * np.array([0.0, 0.1, 0.5, 0.8, 1.2, 3.0])
    near = mean + deviation * np.arange(-8.0, 9.0)
    return np.unique(np.rint(np.maximum(np.concatenate([far, near, np.arange(20.0)]), 0.0)))


@pytest.mark.topic("000/M15")
@pytest.mark.parametrize("rate", [1e-8, 0.7, 15.9, 16.1, 400.0, 1e6, 1e9, 1e12])
def test_poisson_log_prob_keeps_its_digits(rate):
    x = around(rate, np.sqrt(rate))
    expected = [high_precision(poisson, v, rate) for v in x]
    np.testing.assert_allclose(Poisson(rate).log_prob(x), expected, rtol=1e-12)
    one_by_one = [Poisson(rate).log_prob(v) for v in x]
    np.testing.assert_array_equal(Poisson(rate).log_prob(x), one_by_one)


@pytest.mark.parametrize("rate", [1e-6, 0.5, 3.0, 60.0, 255.0, 257.0, 3000.0])
def test_poisson_entropy_is_the_sum_over_the_support(rate):
    x = np.arange(rate + 40.0 * np.sqrt(rate) + 60.0)
    logs = stats.poisson(rate).logpmf(x)
    expected = -np.sum(np.exp(logs) * logs)
    np.testing.assert_allclose(Poisson(rate).entropy(), expected, rtol=1e-11)


@pytest.mark.parametrize("rate", [1e5, 1e9, 1e14])
def test_poisson_entropy_of_large_rates_follows_its_expansion(rate):
    expected = 0.5 * np.log(2 * np.pi * np.e * rate) - 1 / (12 * rate) - 1 / (24 * rate**2)
    np.testing.assert_allclose(Poisson(rate).entropy(), expected, rtol=1e-14)


def test_poisson_entropy_of_a_large_batch_takes_little_memory():
    rates = np.geomspace(1e-3, 1e9, 3000)
    entropies = Poisson(rates).entropy()
    np.testing.assert_allclose(entropies[::700], [Poisson(r).entropy() for r in rates[::700]])


@pytest.mark.parametrize("rate", [0.2, 3.3, 200.0, 1e7, 1e12])
def test_poisson_quantiles_jump_where_the_cdf_does(rate):
    d = Poisson(rate)
    q = np.array([1e-9, 0.05, 0.3, 0.5, 0.9, 1 - 1e-9])
    x = d.quantile(q)
    assert np.all(d.cdf(x) >= q)
    assert np.all(d.cdf(x - 1.0) < q)
    np.testing.assert_array_equal(d.quantile([0.0, 1.0]), [0.0, np.inf])


def test_poisson_cdf_between_and_beyond_the_points():
    d = Poisson(2.0)
    np.testing.assert_array_equal(d.cdf([-np.inf, -0.5, np.inf]), [0.0, 0.0, 1.0])
    np.testing.assert_array_equal(d.cdf(2.9), d.cdf(2.0))


def test_poisson_edges():
    d = Poisson(4.0)
    assert d.mode == 4.0
    assert Poisson(3.9).mode == 3.0
    np.testing.assert_allclose(d.log_prob(3.0), d.log_prob(4.0))  # a whole rate has two modes
    for call, message in (
        (lambda: Poisson(0.0), "rate must be positive"),
        (lambda: Poisson.from_natural(-np.inf), "rate must be positive"),
        (lambda: Poisson.from_natural(1e4), "rate must be finite"),
        (lambda: Poisson.fit([0, 0]), "mean of the counts"),
        (lambda: Poisson.fit([1, 2.5]), "support of Poisson"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_statistics_carry_the_part_without_parameters():
    x = np.array([3.0, 0.0, 5.0])
    sums = Poisson.statistics(x)
    likelihood = sums.sums[0] * np.log(2.0) - 2.0 * sums.count + sums.log_carrier
    np.testing.assert_allclose(likelihood, Poisson(2.0).log_prob(x).sum())
    sums = Binomial.statistics(x, np.array([1.0, 2.0, 1.0]), trials=6)
    d = Binomial(6, 0.3)
    likelihood = sums.sums[0] * d.natural[0] - sums.count * d.log_normalizer() + sums.log_carrier
    np.testing.assert_allclose(likelihood, d.log_prob(x) @ [1.0, 2.0, 1.0])
    rows = np.array([[1.0, 3.0], [2.0, 2.0]])
    counts = Multinomial.statistics(rows)
    m = Multinomial(4, [0.3, 0.7])
    likelihood = counts.sums[0] @ m.natural[0] + counts.log_carrier
    np.testing.assert_allclose(likelihood, m.log_prob(rows).sum())


# -- binomial ----------------------------------------------------------------------------------


def binomial(x, n, p):
    choose = loggamma(n + 1) - loggamma(x + 1) - loggamma(n - x + 1)
    return choose + x * log(p) + (n - x) * log(1 - p)


@pytest.mark.parametrize(
    ("trials", "p"),
    [(12, 0.3), (1000, 1e-3), (10**9, 0.3), (10**9, 1e-6), (10**9, 0.999), (2**50, 0.5)],
)
def test_binomial_log_prob_keeps_its_digits(trials, p):
    d = Binomial(trials, p)
    x = np.minimum(around(d.mean, d.std), trials)
    expected = [high_precision(binomial, v, trials, p) for v in x]
    np.testing.assert_allclose(d.log_prob(x), expected, rtol=1e-12)
    np.testing.assert_array_equal(d.log_prob(x), [d.log_prob(v) for v in x])


@pytest.mark.parametrize(("trials", "p"), [(1, 0.2), (12, 0.3), (5000, 1e-3), (5000, 0.6)])
def test_binomial_entropy_is_the_sum_over_the_support(trials, p):
    logs = stats.binom(trials, p).logpmf(np.arange(trials + 1.0))
    expected = -np.sum(np.exp(logs) * np.maximum(logs, -1e6))
    np.testing.assert_allclose(Binomial(trials, p).entropy(), expected, rtol=1e-10)


def test_binomial_entropy_of_many_trials_is_that_of_its_normal_limit():
    d = Binomial(10**12, 0.3)
    limit = 0.5 * np.log(2 * np.pi * np.e * d.variance)
    np.testing.assert_allclose(d.entropy(), limit, rtol=1e-12)


def test_binomial_at_certainty():
    never, always, none = Binomial(5, 0.0), Binomial(5, 1.0), Binomial(0, 0.3)
    np.testing.assert_array_equal(never.log_prob([0, 1]), [0.0, -np.inf])
    np.testing.assert_array_equal(always.log_prob([5, 4]), [0.0, -np.inf])
    assert none.log_prob(0) == 0.0
    for d, x in ((never, 0.0), (always, 5.0), (none, 0.0)):
        assert d.entropy() == 0.0
        assert d.variance == 0.0
        assert d.mode == d.quantile(0.3) == d.quantile(1.0) == d.median == x
        np.testing.assert_array_equal(d.cdf([x - 0.5, x, 9.0]), [0.0, 1.0, 1.0])
        np.testing.assert_array_equal(d.sample(3, rng=0), [x] * 3)
    assert never.kl(always) == np.inf
    assert never.kl(never) == 0.0
    assert never.kl(Binomial(5, 0.5)) == pytest.approx(5 * np.log(2))
    np.testing.assert_array_equal(never.from_natural(*never.natural).probability, 0.0)
    np.testing.assert_array_equal(always.from_natural(*always.natural).probability, 1.0)


@pytest.mark.parametrize(("trials", "p"), [(7, 0.4), (1000, 0.01), (10**9, 0.3)])
def test_binomial_quantiles_jump_where_the_cdf_does(trials, p):
    d = Binomial(trials, p)
    q = np.array([1e-9, 0.05, 0.3, 0.5, 0.9, 1 - 1e-9])
    x = d.quantile(q)
    assert np.all(d.cdf(x) >= q)
    assert np.all(d.cdf(x - 1.0) < q)
    np.testing.assert_array_equal(d.quantile([0.0, 1.0]), [0.0, trials])
    np.testing.assert_allclose(d.cdf(x), stats.binom(trials, p).cdf(x), rtol=1e-9)


def test_binomial_trials_are_known():
    d = Binomial([5, 20], [0.2, 0.5])
    np.testing.assert_allclose(d.from_natural(*d.natural).probability, d.probability)
    np.testing.assert_allclose(d.from_mean_params(*d.mean_params).probability, d.probability)
    np.testing.assert_allclose(Binomial.from_natural(0.0, trials=3).mean, 1.5)
    np.testing.assert_allclose(Binomial.from_mean_params(1.5, trials=3).probability, 0.5)
    both = Binomial.fit([[2, 1], [3, 3]], trials=[5, 8])
    np.testing.assert_allclose(both.probability, [0.5, 0.25])
    for call in (
        lambda: Binomial.from_natural(0.0),
        lambda: Binomial.from_mean_params(1.0),
        lambda: Binomial.fit([1, 2]),
        lambda: Binomial.statistics(np.array([1.0])),
    ):
        with pytest.raises(TypeError, match=r"known number of trials.*trials=n"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Binomial(2.5, 0.3), "trials must be a whole number"),
        (lambda: Binomial(-1, 0.3), "trials must be a whole number"),
        (lambda: Binomial(3, 1.5), "probability must lie between 0 and 1"),
        (lambda: Binomial(3, 0.5).kl(Binomial(4, 0.5)), "equal trials, got 3 and 4"),
        (lambda: Binomial.fit([11], trials=10), "support of Binomial, got 11 successes in 10"),
        (lambda: Binomial.fit([0], trials=0), "no trials say nothing"),
        (lambda: Binomial.from_mean_params(4.0, trials=3), "between 0 and trials"),
        (lambda: Binomial(3, 0.5).log_prob([1.0, np.nan]), "NaN"),
        (lambda: Multinomial(3, [0.5, 0.5]).kl(Multinomial(4, [0.5, 0.5])), "equal trials"),
        (lambda: Multinomial(3, [0.5, 0.4]), "probabilities must sum to 1"),
        (
            lambda: Multinomial.fit([[1, 2], [1, 3]]),
            "support of Multinomial.*sum to 3 trials, got 4",
        ),
        (lambda: Multinomial.fit([[1, 2]], trials=5), "sum to 5 trials, got 3"),
        (lambda: Multinomial.fit([[0, 0]]), "positive number of trials"),
        (lambda: Multinomial(3, [0.5, 0.5]).log_prob([1.0, np.nan]), "NaN"),
        (lambda: Multinomial(3, [0.5, 0.5]).log_prob([[1.0, np.nan], [1.0, 2.0]]), "NaN"),
    ],
)
def test_bad_counts_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# -- the kernel of counts ----------------------------------------------------------------------


def test_the_kernel_of_counts_at_the_edges():
    x, rate = np.array([0.0, 1.0, 20.0, 0.0]), np.array([0.0, 0.0, 0.0, 50.0])
    np.testing.assert_array_equal(poisson_kernel(x, rate), [0.0, -np.inf, -np.inf, -50.0])
    for v, u in zip(x, rate, strict=True):
        assert poisson_kernel(v, u) == poisson_kernel(np.array([v]), u)[0]
    assert np.isnan(poisson_kernel(np.float64(np.nan), np.float64(2.0)))
    assert np.isnan(poisson_kernel(np.array([np.nan]), np.float64(2.0)))


def test_the_kernel_of_counts_is_the_same_for_numbers_and_arrays():
    rates = np.array([1e-3, 0.5, 3.0, 15.5, 16.0, 40.0, 1e3, 1e7])
    x = np.array([0.0, 1.0, 2.0, 15.0, 16.0, 17.0, 39.0, 1e3, 1e7])
    table = poisson_kernel(x[:, None], rates)
    for (i, v), (j, u) in product(enumerate(x), enumerate(rates)):
        assert poisson_kernel(v, u) == pytest.approx(table[i, j], rel=1e-14)


@pytest.mark.parametrize("count", [0.3, 7.5, 50.0])
@pytest.mark.parametrize("mean", [1e-6, 2.0, 1e3, 1e9, 1e17])
def test_negative_binomial_cdf_keeps_its_digits(count, mean):
    """P(X <= x) = I_p(r, x + 1) with p = r/(r + μ), which rounds to 0 or 1 in one of two forms."""
    x = np.floor(0.7 * mean)
    with workdps(40):
        p = mpf(count) / (mpf(count) + mpf(mean))
        exact = float(betainc(count, x + 1.0, 0, p, regularized=True))
    assert NegativeBinomial(count, mean=mean).cdf(x) == pytest.approx(exact, rel=2e-13)


@pytest.mark.parametrize("mean", [1e3, 1e10, 1e17, 1e40])
@pytest.mark.parametrize("q", [0.05, 0.5, 0.95])
def test_quantiles_of_huge_counts(mean, q):
    """A negative binomial of large mean is a Gamma distribution; a Poisson is its mean."""
    found = NegativeBinomial(mean=mean, count=3.0).quantile(q)
    expected = float(stats.gamma(3.0).ppf(q)) * mean / 3.0
    assert found == pytest.approx(expected, rel=1e-2 if mean < 1e4 else 1e-6)
    assert Poisson(mean).quantile(q) == pytest.approx(mean, abs=8.0 * np.sqrt(mean), rel=1e-12)


def test_one_boundless_member_does_not_spoil_the_others():
    with np.errstate(all="ignore"):
        found = NegativeBinomial(3.0, mean=[2.0, 1e308, 5.0]).quantile(0.9)
    assert list(found[[0, 2]]) == [stats.nbinom(3.0, 3.0 / (3.0 + m)).ppf(0.9) for m in (2, 5)]
    assert found[1] > 1e290
