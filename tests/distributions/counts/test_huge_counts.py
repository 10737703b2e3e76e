"""Masses and evidences of counts from 1 to 10¹⁵ keep their digits: against 60 digits of mpmath."""

from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from scipy import special

from posteriori import Model
from posteriori.distributions import (
    Bernoulli,
    Beta,
    BetaBinomial,
    Binomial,
    Dirichlet,
    DirichletMultinomial,
    Gamma,
    Multinomial,
    NegativeBinomial,
    Poisson,
    bayes,
)
from posteriori.distributions.conjugate.pair import list_pairs

SIZES = [1.0, 7.0, 30.0, 1e3, 1e6, 1e9, 1e12, 1e15]
SHARES = [0.0, 0.3, 0.999_999, 1.0]


@pytest.fixture(autouse=True)
def many_digits():
    with mpmath.workdps(60):
        yield


def exactly(*numbers):
    return [mpmath.mpf(float(x)) for x in numbers]


def log_beta(*numbers):
    return sum(mpmath.loggamma(x) for x in numbers) - mpmath.loggamma(sum(numbers))


def log_coefficient(*counts):
    factorials = sum(mpmath.loggamma(x + 1) for x in counts)
    return mpmath.loggamma(sum(counts) + 1) - factorials


def close(found, exact):
    """Thirteen digits of a log mass, or of 1 where it is smaller."""
    assert abs(float(found) - exact) < 1e-13 * max(1, abs(exact))


def binomial_evidence(rows, alpha):
    """Of rows of counts of K outcomes under a Dirichlet prior."""
    rows = [exactly(*row) for row in rows]
    total = [
        a + sum(column) for a, column in zip(exactly(*alpha), zip(*rows, strict=True), strict=True)
    ]
    return (
        sum(log_coefficient(*row) for row in rows) + log_beta(*total) - log_beta(*exactly(*alpha))
    )


def poisson_evidence(counts, exposures, shape, rate):
    a, b = exactly(shape, rate)
    x, e = exactly(*counts), exactly(*exposures)
    rows = sum(k * mpmath.log(t) - mpmath.loggamma(k + 1) for k, t in zip(x, e, strict=True))
    after = mpmath.loggamma(a + sum(x)) - (a + sum(x)) * mpmath.log(b + sum(e))
    return rows + after - mpmath.loggamma(a) + a * mpmath.log(b)


class Case(NamedTuple):
    """A conjugate pair at a size: prior, likelihood, rows of data, and their evidence."""

    prior: Any
    likelihood: Any
    data: Any
    exact: Any


def split(n, share):
    x = float(np.floor(n * share))
    return x, n - x


def binomial_case(n, shares):
    rows = [split(n, share) for share in shares]
    data = [x for x, _ in rows]
    exact = binomial_evidence(rows, [2.0, 3.5])
    return Case(Beta(2.0, 3.5), lambda p: Binomial(n, p), data, exact)


def multinomial_case(n, shares):
    rows = [(*split(x, 0.4), rest) for x, rest in (split(n, share) for share in shares)]
    exact = binomial_evidence(rows, [1.5, 0.5, 4.0])
    return Case(Dirichlet([1.5, 0.5, 4.0]), lambda p: Multinomial(n, p), rows, exact)


def poisson_case(n, shares):
    counts = [split(n, share)[0] for share in shares]
    exact = poisson_evidence(counts, [2.5] * len(counts), 2.0, 3.0)
    return Case(Gamma(2.0, 3.0), lambda rate: Poisson(2.5 * rate), counts, exact)


CASES = {
    "BetaBinomialPair": binomial_case,
    "DirichletMultinomialPair": multinomial_case,
    "GammaPoisson": poisson_case,
}
each_pair = pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())


def test_every_pair_of_counts_without_bound_has_a_row():
    counts = {Binomial, Multinomial, Poisson}
    assert set(CASES) == {p.__name__ for p in list_pairs() if p.likelihood_family in counts}


@each_pair
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_the_evidence_of_one_row(make, n, share):
    case = make(n, [share])
    close(bayes(case.prior, case.likelihood, case.data).log_evidence, case.exact)


@each_pair
@pytest.mark.parametrize("n", SIZES)
def test_the_evidence_of_several_rows_at_once_in_parts_and_merged(make, n):
    case = make(n, [0.3, 0.30001, 0.29999, 0.3])
    whole = bayes(case.prior, case.likelihood, case.data)
    stream = bayes(case.prior, case.likelihood, iter([case.data[:1], case.data[1:]]))
    merged = bayes(case.prior, case.likelihood, case.data[:2]).update(case.data[2:])
    for result in (whole, stream, merged):
        close(result.log_evidence, case.exact)
    np.testing.assert_array_equal(merged.posterior.mean, whole.posterior.mean)


@each_pair
@pytest.mark.parametrize("n", SIZES)
def test_what_is_taken_out_of_the_statistics_leaves_those_of_the_rest(make, n):
    case = make(n, [0.3, 0.300_000_1])
    result, last = bayes(case.prior, case.likelihood, case.data), case.data[1:]
    rest = result.statistics.without(bayes(case.prior, case.likelihood, last).statistics)
    found = result.pair.log_evidence(result.pair.update(case.prior, rest), rest)
    close(found, make(n, [0.3]).exact)


@each_pair
@pytest.mark.parametrize("small_first", [True, False])
def test_small_and_large_counts_merge(make, small_first):
    """Small counts are added up as they are, large ones in another form."""
    small, large = make(12.0, [0.3]), make(1e12, [0.3])
    parts = [bayes(c.prior, c.likelihood, c.data).statistics for c in (small, large)]
    total = parts[0].merge(parts[1]) if small_first else parts[1].merge(parts[0])
    pair = bayes(small.prior, small.likelihood, small.data).pair
    found = pair.log_evidence(pair.update(small.prior, total), total)
    middle = bayes(small.prior, small.likelihood, small.data).posterior
    after = bayes(middle, large.likelihood, large.data)
    exact = small.exact + mpmath.mpf(float(after.log_evidence))
    close(found, exact)


@pytest.mark.parametrize("last", ["coins", "counts"])
def test_large_counts_beside_another_family(last):
    """Coins and counts see one probability: the evidence is that of both, whichever comes last."""
    n, x = 1e12, 3e11
    m = Model()
    m.p = Beta(2.0, 3.5)
    if last == "coins":
        m.y = Binomial(n, m.p)
    m.c = Bernoulli(m.p).iid(3)
    if last == "counts":
        m.y = Binomial(n, m.p)
    # the order of three tosses is known, so that their coefficient is 1
    exact = binomial_evidence([(x, n - x), (2.0, 1.0)], [2.0, 3.5]) - mpmath.log(3)
    close(m.infer(y=x, c=[1.0, 0.0, 1.0]).log_evidence, exact)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("index", [None, [0, 0], [1, 0]], ids=["one", "shared", "apart"])
def test_the_evidence_in_the_model_language(n, index):
    x = np.array([split(n, share)[0] for share in (0.3, 0.30001)])
    m = Model()
    if index is None:
        m.p = Beta(2.0, 3.5)
        m.y = Binomial(n, m.p).iid(2)
    else:
        m.p = Beta(2.0, 3.5).iid(2)
        m.y = Binomial(n, m.p[index])
    rows = [(k, n - k) for k in x]
    together = index in (None, [0, 0])
    exact = (
        binomial_evidence(rows, [2.0, 3.5])
        if together
        else sum(binomial_evidence([row], [2.0, 3.5]) for row in rows)
    )
    close(m.infer(y=x).log_evidence, exact)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
def test_masses(n, share):
    x, rest = split(n, share)
    a, b, c = 2.0, 3.5, 0.75
    close(BetaBinomial(n, a, b).log_prob(x), binomial_evidence([(x, rest)], [a, b]))
    parts = (*split(x, 0.4), rest)
    close(DirichletMultinomial(n, [a, b, c]).log_prob(parts), binomial_evidence([parts], [a, b, c]))
    # with its mean as a whole number of steps from the count, both are numbers of the machine
    mean = 2.0 * n
    shape, rate = exactly(a, a / mean)
    exact = poisson_evidence([x], [1.0], shape, rate)
    close(NegativeBinomial(a, mean=mean).log_prob(x), exact)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.25, 0.5])
def test_masses_of_known_probabilities(n, share):
    x = float(np.floor(n * share) + np.floor(np.sqrt(n)))
    p, q, k, m = exactly(share, 1.0 - share, x, n - x)
    exact = log_coefficient(k, m) + k * mpmath.log(p) + m * mpmath.log(q)
    close(Binomial(n, share).log_prob(x), exact)
    close(Multinomial(n, [share, 1.0 - share]).log_prob([x, n - x]), exact)
    rate = n * share
    close(
        Poisson(rate).log_prob(x),
        k * mpmath.log(rate) - mpmath.mpf(rate) - mpmath.loggamma(k + 1),
    )


@pytest.mark.parametrize(
    ("a", "b"), [(2.5, 3.5), (0.1, 0.1), (1e3, 1e5), (1e8, 1e8), (300.0, 1.0), (1e-3, 5.0)]
)
def test_the_distribution_function_of_many_trials_is_that_of_few(a, b):
    """Beyond 10⁵ trials it is an integral; at 10⁵ it is still a sum."""
    few, many = BetaBinomial(10**5, a, b), BetaBinomial([10**5, 10**9], a, b)
    k = np.floor(np.linspace(-1.0, 1e5 + 1.0, 40))
    np.testing.assert_allclose(many.cdf(k[:, None])[:, 0], few.cdf(k), rtol=1e-10, atol=1e-14)


def test_quantiles_of_many_trials():
    d = BetaBinomial(10**9, 2.5, 3.5)
    levels = np.array([0.001, 0.3, 0.9])
    found = d.quantile(levels)
    assert (d.cdf(found) >= levels).all()
    assert (d.cdf(found - 1.0) < levels).all()


@pytest.mark.parametrize(("count", "mean"), [(3e8, 2e8), (2e8, 9e8), (4e9, 3e8), (5e8, 5e8)])
def test_distribution_functions_go_on_where_sums_would_be_long(count, mean):
    """Beyond 10⁸ by an expansion, which is compared with the continued fraction of SciPy."""
    x = np.floor(
        mean + np.sqrt(mean + mean**2 / count) * np.array([-5.0, -1.0, 0.0, 1e-9, 0.5, 6.0])
    )
    expected = special.betainc(count, x + 1.0, count / (count + mean))
    found = NegativeBinomial(count, mean=mean).cdf(x)
    np.testing.assert_allclose(found, expected, atol=2e-10)
