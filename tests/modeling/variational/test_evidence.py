"""The bound against exact evidence: quadrature over precisions, enumeration of discrete states."""

import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from tests.modeling.variational.models import by_name

#: Nats that independent beliefs may cost on models as small as these, with ln K! for K classes.
LOOSE = 4.5

LOG_GRID = np.linspace(np.log(1e-4), np.log(300.0), 400)


def integrate(
    log_density: Callable[[np.ndarray], np.ndarray], grid: np.ndarray = LOG_GRID
) -> float:
    """Return ln ∫ exp(log_density(x)) dx over x > 0, by equal steps of ln x."""
    return float(logsumexp(log_density(np.exp(grid)) + grid) + np.log(grid[1] - grid[0]))


def log_gamma_density(x: np.ndarray, shape: float, rate: float) -> np.ndarray:
    return stats.gamma.logpdf(x, shape, scale=1.0 / rate)


def log_normal(x: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Return ln N(x | 0, cov) for many covariances."""
    _, logs = np.linalg.slogdet(cov)
    fit = np.einsum("i,...ij,j", x, np.linalg.inv(cov), x)
    return -0.5 * (len(x) * np.log(2.0 * np.pi) + logs + fit)


def log_dirichlet_counts(counts: np.ndarray, prior: np.ndarray) -> float:
    """Return the evidence of a sequence of categories under a Dirichlet prior."""
    total = gammaln(prior.sum()) - gammaln(prior.sum() + counts.sum())
    return float(total + (gammaln(prior + counts) - gammaln(prior)).sum())


def assignments(n: int, k: int) -> Iterator[np.ndarray]:
    return (np.array(z) for z in itertools.product(range(k), repeat=n))


def mixture(n: int, prior: np.ndarray, part: Callable[[np.ndarray], float]) -> float:
    """Sum over all classes of n rows; ``part`` is the evidence of the rows of one class."""
    k = len(prior)
    known: dict[bytes, float] = {}

    def evidence(rows: np.ndarray) -> float:
        key = rows.tobytes()
        if key not in known:
            known[key] = part(rows)
        return known[key]

    return float(
        logsumexp(
            [
                log_dirichlet_counts(np.bincount(z, minlength=k), prior)
                + sum(evidence(z == j) for j in range(k))
                for z in assignments(n, k)
            ]
        )
    )


def log_path(z: np.ndarray, k: int) -> float:
    """Return the evidence of a path whose start and rows of transitions have Dirichlet(1) priors."""
    ones = np.ones(k)
    total = log_dirichlet_counts(np.bincount(z[:1], minlength=k), ones)
    for j in range(k):
        after = z[1:][z[:-1] == j]
        total += log_dirichlet_counts(np.bincount(after, minlength=k), ones)
    return total


# -- exact evidence of models of the list ------------------------------------------------------


def mean_and_precision(x: np.ndarray) -> float:
    ones = np.ones((7, 7))

    def density(tau: np.ndarray) -> np.ndarray:
        cov = 4.0 * ones + np.eye(7) / tau[:, None, None]
        return log_gamma_density(tau, 2.0, 1.5) + log_normal(x - 1.0, cov)

    return integrate(density)


def unknown_variance(x: np.ndarray) -> float:
    def density(v: np.ndarray) -> np.ndarray:
        cov = 9.0 + np.eye(6) * v[:, None, None]
        return stats.invgamma.logpdf(v, 3.0, scale=2.0) + log_normal(x, cov)

    return integrate(density)


def eight_schools(noise: np.ndarray, y: np.ndarray) -> float:
    def density(tau: np.ndarray) -> np.ndarray:
        cov = 400.0 + np.diag(noise) + np.eye(8) / tau[:, None, None]
        return log_gamma_density(tau, 2.0, 20.0) + log_normal(y, cov)

    return integrate(density)


def ragged_groups(y: np.ndarray) -> float:
    group = np.array([0, 0, 1, 2, 2, 2, 3, 3, 0])
    same = (group[:, None] == group).astype(float)
    grid = LOG_GRID[::4]

    def given(between: float) -> float:
        def density(within: np.ndarray) -> np.ndarray:
            cov = 4.0 + same / between + np.eye(9) / within[:, None, None]
            return log_gamma_density(within, 3.0, 1.0) + log_normal(y, cov)

        return integrate(density, grid)

    return integrate(
        lambda b: log_gamma_density(b, 2.0, 1.0) + np.array([given(v) for v in b]), grid
    )


def rates_of_rates(y: np.ndarray) -> float:
    total = y.sum(axis=1)

    def density(b: np.ndarray) -> np.ndarray:
        each = 1.5 * np.log(b[:, None]) + gammaln(1.5 + total) - gammaln(1.5)
        each = each - (1.5 + total) * np.log(b[:, None] + 3.0)
        return log_gamma_density(b, 2.0, 1.0) + each.sum(axis=1) - gammaln(y + 1.0).sum()

    return integrate(density)


def chain_with_offset(y: np.ndarray) -> float:
    step = np.linalg.inv(np.eye(6) - 0.9 * np.eye(6, k=-1))
    first = np.diag(np.arange(6) == 0).astype(float)

    def density(q: np.ndarray) -> np.ndarray:
        noise = first + (np.eye(6) - first) / q[:, None, None]
        cov = 4.0 + 0.3 * np.eye(6) + step @ noise @ step.T
        return log_gamma_density(q, 3.0, 1.0) + log_normal(y, cov)

    return integrate(density)


def series_with_gaps(y: np.ndarray) -> float:
    seen = ~np.isnan(y)
    first = np.diag(np.arange(9) == 0).astype(float)
    grid = LOG_GRID[::2]

    def given(a: float) -> float:
        step = np.linalg.inv(np.eye(9) - a * np.eye(9, k=-1))

        def density(q: np.ndarray) -> np.ndarray:
            cov = step @ (first + (np.eye(9) - first) / q[:, None, None]) @ step.T
            return log_gamma_density(q, 3.0, 1.0) + log_normal(y[seen], cov[:, seen][:, :, seen])

        return integrate(density, grid)

    values = np.linspace(-4.0, 5.0, 181)
    logs = stats.norm.logpdf(values, 0.5, 1.0) + [given(a) for a in values]
    return float(logsumexp(logs) + np.log(values[1] - values[0]))


def poisson_part(x: np.ndarray, a: float, b: float) -> Callable[[np.ndarray], float]:
    def part(rows: np.ndarray) -> float:
        s = x[rows][~np.isnan(x[rows])]
        top = gammaln(a + s.sum()) - gammaln(a) + a * np.log(b)
        return float(top - (a + s.sum()) * np.log(b + len(s)) - gammaln(s + 1.0).sum())

    return part


def poisson_mixture(x: np.ndarray) -> float:
    return mixture(7, np.ones(3), poisson_part(x, 1.5, 0.5))


def exponential_mixture(x: np.ndarray) -> float:
    def part(rows: np.ndarray) -> float:
        n, s = rows.sum(), x[rows].sum()
        return float(gammaln(1.5 + n) - gammaln(1.5) - (1.5 + n) * np.log(1.0 + s))

    return mixture(6, np.ones(2), part)


def binomial_mixture(trials: np.ndarray, x: list[float]) -> float:
    counts = np.array(x)
    ways = gammaln(trials + 1.0) - gammaln(counts + 1.0) - gammaln(trials - counts + 1.0)

    def part(rows: np.ndarray) -> float:
        s, n = counts[rows].sum(), trials[rows].sum()
        return float(betaln(1.0 + s, 1.0 + n - s) - betaln(1.0, 1.0))

    return mixture(5, np.ones(2), part) + float(ways.sum())


def bernoulli_mixture(x: np.ndarray) -> float:
    def part(rows: np.ndarray) -> float:
        ones, zeros = (x[rows] == 1.0).sum(axis=0), (x[rows] == 0.0).sum(axis=0)
        return float((betaln(1.0 + ones, 1.5 + zeros) - betaln(1.0, 1.5)).sum())

    return mixture(7, np.ones(2), part)


def latent_class(x: np.ndarray) -> float:
    prior = np.array([0.5, 1.0, 2.0])

    def part(rows: np.ndarray) -> float:
        answers = x[rows].astype(int)
        counts = [np.bincount(column, minlength=3) for column in answers.T]
        return sum(log_dirichlet_counts(c, prior) for c in counts)

    return mixture(6, np.ones(2), part)


def univariate_mixture(x: np.ndarray) -> float:
    grid = LOG_GRID[::4]

    def part(rows: np.ndarray) -> float:
        s = x[rows][~np.isnan(x[rows])]

        def density(tau: np.ndarray) -> np.ndarray:
            cov = 9.0 + np.eye(len(s)) / tau[:, None, None]
            return log_gamma_density(tau, 2.0, 1.0) + log_normal(s, cov)

        return integrate(density, grid) if len(s) else 0.0

    return mixture(9, np.array([1.0, 2.0]), part)


def topic_model(w: np.ndarray) -> float:
    document = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2])
    words = w.astype(int)

    def given(z: np.ndarray) -> float:
        total = 0.0
        for d in range(3):
            total += log_dirichlet_counts(np.bincount(z[document == d], minlength=2), np.ones(2))
        for j in range(2):
            counts = np.bincount(words[z == j], minlength=4)
            total += log_dirichlet_counts(counts, 0.5 * np.ones(4))
        return total

    return float(logsumexp([given(z) for z in assignments(9, 2)]))


def categorical_hmm(x: np.ndarray) -> float:
    codes = x.astype(int)

    def given(z: np.ndarray) -> float:
        counts = [np.bincount(codes[z == j], minlength=4) for j in range(3)]
        return log_path(z, 3) + sum(log_dirichlet_counts(c, np.ones(4)) for c in counts)

    # states that change their names have the same probability: paths that begin in the first, times three
    paths = (np.append(0, rest) for rest in assignments(7, 3))
    return float(logsumexp([given(z) for z in paths]) + np.log(3.0))


def poisson_hmm(x: np.ndarray) -> float:
    part = poisson_part(x, 1.5, 0.3)
    logs = [log_path(z, 2) + sum(part(z == j) for j in range(2)) for z in assignments(8, 2)]
    return float(logsumexp(logs))


def gated(x: np.ndarray, designs: Iterable[tuple[float, np.ndarray]]) -> float:
    """Sum over paths with known log probabilities; means N(0, 9) by a design, one Gamma(2, 1)."""

    def given(design: np.ndarray) -> float:
        def density(tau: np.ndarray) -> np.ndarray:
            cov = 9.0 * design @ design.T + np.eye(len(x)) / tau[:, None, None]
            return log_gamma_density(tau, 2.0, 1.0) + log_normal(x, cov)

        return integrate(density, LOG_GRID[::4])

    return float(logsumexp([log_prior + given(design) for log_prior, design in designs]))


def change_point(x: np.ndarray) -> float:
    paths = []
    for first in range(1, 8):  # the time of the change, 7 for none
        z = (np.arange(7) >= first).astype(int)
        log_prior = np.log(0.9) * (min(first, 7) - 1) + np.log(0.1) * (first < 7)
        paths.append((log_prior, np.eye(2)[z]))
    return gated(x, paths)


def factorial_hmm(x: np.ndarray) -> float:
    slow, fast = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.4, 0.6], [0.7, 0.3]])

    def log_prior(start: list[float], table: np.ndarray, z: np.ndarray) -> float:
        return float(np.log(start[z[0]]) + np.log(table[z[:-1], z[1:]]).sum())

    return gated(
        x,
        (
            (
                log_prior([0.6, 0.4], slow, a) + log_prior([0.5, 0.5], fast, b),
                np.hstack([np.eye(2)[a], np.eye(2)[b]]),
            )
            for a in assignments(4, 2)
            for b in assignments(4, 2)
        ),
    )


EXACT = [
    mean_and_precision,
    unknown_variance,
    eight_schools,
    ragged_groups,
    rates_of_rates,
    chain_with_offset,
    series_with_gaps,
    poisson_mixture,
    exponential_mixture,
    binomial_mixture,
    bernoulli_mixture,
    latent_class,
    univariate_mixture,
    topic_model,
    categorical_hmm,
    poisson_hmm,
    change_point,
    factorial_hmm,
]


@pytest.mark.parametrize("exact", EXACT, ids=lambda f: f.__name__)
def test_the_bound_is_below_the_evidence(exact: Callable[..., float]) -> None:
    m, data = by_name(exact.__name__)
    bound = float(m.infer(data, tol=1e-4).log_evidence)
    evidence = exact(**data)
    assert bound < evidence
    assert evidence - bound < LOOSE
