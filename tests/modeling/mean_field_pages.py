"""Checks of pages of the gallery whose evidence is a bound.

Bound and beliefs are compared with updates written out by hand; what a page says about the truth,
with quadrature and sums over all cases.
"""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy import integrate, stats
from scipy.special import betaln, digamma, gammaln, logsumexp

from tests.modeling import mean_field as oracle

__all__ = ["PAGES", "sample_relevance_regression"]

Names = dict[str, Any]


def close(actual: Any, expected: Any, tol: float = 1e-7) -> None:
    np.testing.assert_allclose(actual, expected, rtol=tol, atol=tol)


def settle(page: Names, bound: float, **data: Any) -> Any:
    """Ascend to the end, and compare the bound; that of the page lies at most 1e-4 nats lower."""
    post = page["m"].infer(data, tol=1e-15, method="vmp")
    assert post.log_evidence.kind == "bound"
    close(float(post.log_evidence), bound, 1e-9)
    assert -1e-9 < float(post.log_evidence) - float(page["post"].log_evidence) < 1e-4
    return post


def hard(codes: Any, size: int) -> np.ndarray:
    """Responsibilities that put each row into one of ``size`` components."""
    return np.eye(size)[np.asarray(codes, int)]


def in_order(post: Any, exact: oracle.Mixture) -> tuple[np.ndarray, np.ndarray]:
    """Compare the shares, and return the components of both, the largest first."""
    ours, theirs = np.argsort(-post.pi.mean), np.argsort(-exact.counts)
    close(post.pi.concentration[ours], exact.counts[theirs], 1e-5)
    return ours, theirs


# -- a precision that takes turns ----------------------------------------------------------------


def check_independent_priors(page: Names) -> None:
    y = np.array(page["y"])
    exact = oracle.mean_and_precision(y, (10, 4), (2, 0.5))
    post = settle(page, exact.bound, y=y)
    close([post.mu.mean, post.mu.variance], [exact.mean[0], exact.cov[0, 0]])
    close([post.tau.shape, post.tau.rate], [exact.shape, exact.rate])

    def density(tau: float, power: int = 0) -> float:  # μ averaged over
        marginal = stats.multivariate_normal(np.full(5, 10.0), 4.0 + np.eye(5) / tau)
        return float(tau**power * stats.gamma(2, scale=2).pdf(tau) * marginal.pdf(y))

    total, first, second = (
        integrate.quad(density, 0, 60, args=(k,), points=[1, 4, 10], epsabs=0, epsrel=1e-10)[0]
        for k in range(3)
    )
    p, mu, tau, sd = page["p"], page["mu"], page["tau"], page["sd"]
    close(page["exact"], np.log(total), 1e-4)
    close((p * tau).sum(), first / total, 1e-4)
    close(sd(tau), np.sqrt(second / total - (first / total) ** 2), 1e-4)
    assert page["exact"] > float(post.log_evidence)
    assert post.mu.variance**0.5 < sd(mu)
    assert post.tau.variance**0.5 < sd(tau)


def check_ard_regression(page: Names) -> None:
    X, y = page["X"], page["y"]
    exact = oracle.relevance_regression(X, y, (0.5, 0.005), (0.01, 0.01))
    post = settle(page, exact.bound, X=X, y=y)
    close(post.w.mean, exact.mean)
    close(post.w.variance, np.diag(exact.cov))
    close(post.alpha.mean, exact.shape / exact.rate, 1e-5)
    for vague in (0.001, 0.01):  # the same inputs, at a price
        other = oracle.relevance_regression(X, y, (vague, vague), (0.01, 0.01))
        assert set(np.argsort(other.shape / other.rate)[:3]) == {0, 3, 6}
        assert other.bound < exact.bound - 10


def sample_relevance_regression(
    X: Any, y: Any, n_draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw weights of the relevance regression of the page by Gibbs sampling."""
    alpha, tau, draws = np.ones(X.shape[1]), 1.0, []
    for _ in range(n_draws + 500):
        precision = np.diag(alpha) + tau * X.T @ X
        root = np.linalg.cholesky(precision)
        noise = np.linalg.solve(root.T, rng.normal(size=len(alpha)))
        w = np.linalg.solve(precision, tau * X.T @ y) + noise
        alpha = rng.gamma(0.5 + 0.5, 1 / (0.005 + 0.5 * w**2))
        tau = rng.gamma(0.01 + len(y) / 2, 1 / (0.01 + 0.5 * np.sum((y - X @ w) ** 2)))
        draws.append(w)
    return np.array(draws[500:])


# -- mixtures ------------------------------------------------------------------------------------


def check_gaussian_mixture(page: Names) -> None:
    x = page["x"]
    start = hard(page["minutes"][:, 0] < 3, 6)  # short and long eruptions
    update = oracle.with_normals(x, 10 * np.eye(2), 5, np.eye(2))
    exact = oracle.ascend_mixture(0.1 * np.ones(6), start, update)
    post = settle(page, exact.bound, x=x)
    for k, j in zip(*in_order(post, exact), strict=True):
        mean, cov, dof, scale = exact.components[j]
        close(post.mu.mean[k], mean, 1e-5)
        close(post.mu.cov[k], cov, 1e-5)
        close(post.L.mean[k], dof * scale, 1e-5)


def check_bernoulli_mixture(page: Names) -> None:
    votes = page["votes"]
    update = oracle.with_tables([(votes[:, d], 2) for d in range(8)])
    exact = oracle.ascend_mixture(0.1 * np.ones(6), hard(page["faction"], 6), update)
    post = settle(page, exact.bound, votes=votes)
    ours, theirs = in_order(post, exact)
    for d, table in enumerate(exact.components):
        yes = table[theirs, 1] / table[theirs].sum(axis=1)
        close(post.p.mean[ours, d], yes, 1e-5)
    r = exact.responsibilities[:, theirs]
    close(post.z.probabilities[:, ours[:3]], r[:, :3], 1e-5)


def check_poisson_mixture(page: Names) -> None:
    calls = page["calls"]
    update = oracle.with_rates(calls, 1, 0.1)
    exact = oracle.ascend_mixture(np.ones(2), hard(calls > 5, 2), update)
    post = settle(page, exact.bound, calls=calls)
    ours, theirs = in_order(post, exact)
    shape, rate = exact.components
    close(post.rate.shape[ours], shape[theirs], 1e-5)
    close(post.rate.rate[ours], rate[theirs], 1e-5)
    # the page's sum over all assignments, on six days where they can be listed one by one
    few = calls[:6]
    ways, log_prob = count_ways(few), page["log_prob"]
    k, s = np.ogrid[:7, : few.sum() + 1]
    short = ways + betaln(1 + k, 7 - k) + log_prob(k, s) + log_prob(6 - k, few.sum() - s)
    each = []
    for z in map(np.array, product((0, 1), repeat=6)):
        n, total = z.sum(), few[z == 1].sum()
        parts = log_prob(n, total) + log_prob(6 - n, few.sum() - total)
        each.append(betaln(1 + n, 7 - n) + parts)
    close(logsumexp(short), logsumexp(each), 1e-10)
    close(logsumexp(page["ways"]), 150 * np.log(2), 1e-10)
    # the rate averaged over, by quadrature
    average = integrate.quad(lambda r: 0.1 * np.exp(-0.1 * r) * r**9 * np.exp(-3 * r), 0, 40)[0]
    close(log_prob(3, 9), np.log(average), 1e-9)
    assert page["exact"] - float(post.log_evidence) > np.log(2)
    # the rate of busy days, where these are the component with more calls a day
    k, s = page["k"], page["s"]
    more = s * (page["days"] - k) > k * (page["total"] - s)
    p = np.where(more, np.exp(page["terms"] - page["terms"].max()), 0.0)
    p /= p.sum()
    mean = (1 + s) / (0.1 + k)
    square = mean * (2 + s) / (0.1 + k)
    sd = np.sqrt((p * square).sum() - (p * mean).sum() ** 2)
    close([np.sqrt(post.rate.variance).max(), sd], [0.44, 0.62], 0.01)  # as the page says
    drawn, busy = page["post"].rate, np.argmax(page["post"].rate.mean)
    assert abs(drawn.mean[busy] - (p * mean).sum()) < 0.15 * sd
    assert abs(drawn.std[busy] / sd - 1.0) < 0.1


def count_ways(counts: Any) -> np.ndarray:
    """Logarithm of the number of subsets of each size and sum, by listing them."""
    found = np.zeros((len(counts) + 1, counts.sum() + 1))
    for z in map(np.array, product((0, 1), repeat=len(counts))):
        found[z.sum(), counts[z == 1].sum()] += 1
    with np.errstate(divide="ignore"):
        return np.log(found)


def check_latent_classes(page: Names) -> None:
    data = {name: page[name] for name in ("reads", "voted", "trust")}
    update = oracle.with_tables(zip(data.values(), (4, 2, 3), strict=True))
    exact = oracle.ascend_mixture(np.ones(2), hard(page["class_of"], 2), update)
    post = settle(page, exact.bound, **data)
    ours, theirs = in_order(post, exact)
    for name, table in zip(("reading", "voting", "trusting"), exact.components, strict=True):
        close(post[name].concentration[ours], table[theirs], 1e-4)
    close(post.z.probabilities[:, ours], exact.responsibilities[:, theirs], 1e-4)


def check_mixture_of_regressions(page: Names) -> None:
    X, y = page["X"], page["y"]
    update = oracle.with_regressions(X, y, 10 * np.eye(2), 1, 0.1)
    exact = oracle.ascend_mixture(np.ones(2), hard(page["down"], 2), update)
    post = settle(page, exact.bound, X=X, y=y)
    ours, theirs = in_order(post, exact)
    for k, j in zip(ours, theirs, strict=True):
        mean, cov, a, b = exact.components[j]
        close(post.w.mean[k], mean, 1e-5)
        close(post.w.cov[k], cov, 1e-5)
        close([post.tau.shape[k], post.tau.rate[k]], [a, b], 1e-5)
    close(post.z.probabilities[:, ours], exact.responsibilities[:, theirs], 1e-5)


def check_change_point(page: Names) -> None:
    """All years of the change, one by one, for the belief about the states and for the truth."""
    counts, best = page["counts"], page["best"]
    n, total = len(counts), counts.sum()
    t = np.arange(1, n + 1)  # years before the change; n: never
    prior = stats.geom(0.01).logpmf(t)
    prior[-1] = stats.geom(0.01).logsf(n - 1)
    before = np.cumsum(counts)
    shape, rate = np.array([50.0, 50.0]), np.array([20.0, 80.0])
    for _ in range(300):
        logs = digamma(shape) - np.log(rate)
        mean = shape / rate
        each = prior + before * logs[0] - t * mean[0] + (total - before) * logs[1]
        each -= (n - t) * mean[1] + gammaln(counts + 1).sum()
        q = np.exp(each - logsumexp(each))
        divergence = np.sum(oracle.gamma_divergence(shape, rate, 1.0, 1.0))
        bound = logsumexp(each) - divergence
        shape = 1 + np.array([q @ before, q @ (total - before)])
        rate = 1 + np.array([q @ t, q @ (n - t)])
    apart = page["m"].infer(counts=counts, method="vmp", tol=1e-15)
    assert apart.log_evidence.kind == page["apart"].log_evidence.kind == "bound"
    close(float(apart.log_evidence), float(bound), 1e-9)
    assert -1e-9 < float(apart.log_evidence) - float(page["apart"].log_evidence) < 1e-4
    close(apart.rate.shape, shape, 1e-6)
    close(apart.rate.rate, rate, 1e-6)
    close(np.diff(apart.z.probabilities[:, 1]), q[:-1], 1e-6)
    # given the year, the counts are predicted one by one: negative binomials
    truth = prior + [predicted_one_by_one(counts[:k]) + predicted_one_by_one(counts[k:]) for k in t]
    close(page["exact"], logsumexp(truth), 1e-9)
    close(page["truth"][best], np.exp(truth - logsumexp(truth))[:-1][best], 1e-9)
    post, weights = page["post"], np.exp(truth - logsumexp(truth))
    close(float(post.log_evidence), logsumexp(truth), 1e-9)
    close(page["change"], weights[:-1], 1e-9)
    shapes, years = np.array([1 + before, 1 + total - before]), np.array([1 + t, 1 + n - t])
    mean = shapes / years @ weights
    close(post.rate.mean, mean, 1e-5)
    close(post.rate.variance, (shapes * (shapes + 1) / years**2) @ weights - mean**2, 1e-5)
    assert page["truth"][best[0]] < np.diff(page["apart"].z.probabilities[:, 1])[best[0]]


def predicted_one_by_one(counts: Any) -> float:
    """Ln p of counts with one Gamma(1, 1) rate, each predicted from those before it."""
    seen = np.concatenate([[0], np.cumsum(counts)[:-1]]) if len(counts) else np.zeros(0)
    years = np.arange(len(counts))
    predicted = stats.nbinom(1 + seen, (1 + years) / (2 + years))
    return float(predicted.logpmf(counts).sum())


PAGES: dict[str, Callable[[Names], None]] = {
    "ard_regression": check_ard_regression,
    "bernoulli_mixture": check_bernoulli_mixture,
    "change_point": check_change_point,
    "gaussian_mixture": check_gaussian_mixture,
    "independent_priors": check_independent_priors,
    "latent_classes": check_latent_classes,
    "mixture_of_regressions": check_mixture_of_regressions,
    "poisson_mixture": check_poisson_mixture,
}
