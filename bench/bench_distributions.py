"""Distributions against scipy.stats and plain NumPy: equal answers first, then ratios."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from harness import Comparison, compare, peak_memory, report, time_processes
from scipy import stats

import posteriori as po
from posteriori import distributions as room

RNG = np.random.default_rng(0)
N = 10**6
COV = np.array([[1.0, 0.3, 0.1], [0.3, 2.0, 0.2], [0.1, 0.2, 1.5]])


class Row(NamedTuple):
    """A member of ours, the same in scipy.stats, a point, and a million points."""

    ours: Any
    peer: Any
    point: Any
    points: Any


def univariate() -> list[Row]:
    normal = RNG.normal(size=N)
    positive = RNG.gamma(2.0, size=N) + 1e-6
    unit = RNG.uniform(0.01, 0.99, N)
    flips = (RNG.random(N) < 0.3) * 1.0
    counts = RNG.poisson(4.0, N) * 1.0
    return [
        Row(po.Normal(0.5, variance=4.0), stats.norm(0.5, 2.0), 0.3, normal),
        Row(po.StudentT(5.0, 0.5, scale=2.0), stats.t(5.0, 0.5, 2.0), 0.3, normal),
        Row(po.Gamma(2.0, 3.0), stats.gamma(2.0, scale=1 / 3), 0.7, positive),
        Row(po.InverseGamma(2.0, 3.0), stats.invgamma(2.0, scale=3.0), 0.7, positive),
        Row(po.Exponential(3.0), stats.expon(scale=1 / 3), 0.7, positive),
        Row(po.Beta(2.0, 3.0), stats.beta(2.0, 3.0), 0.4, unit),
        Row(po.Bernoulli(0.3), stats.bernoulli(0.3), 1.0, flips),
        Row(po.Binomial(20, 0.3), stats.binom(20, 0.3), 4.0, counts),
        Row(po.Poisson(4.0), stats.poisson(4.0), 3.0, counts),
        Row(room.Uniform(0.0, 1.0), stats.uniform(), 0.4, unit),
        Row(room.Laplace(0.5, 2.0), stats.laplace(0.5, 2.0), 0.3, normal),
        Row(room.Cauchy(0.5, 2.0), stats.cauchy(0.5, 2.0), 0.3, normal),
        Row(room.HalfNormal(2.0), stats.halfnorm(0.0, 2.0), 0.7, positive),
        Row(room.HalfCauchy(2.0), stats.halfcauchy(0.0, 2.0), 0.7, positive),
        Row(room.LogNormal(0.5, scale=2.0), stats.lognorm(2.0, scale=np.exp(0.5)), 0.7, positive),
        Row(room.Pareto(3.0, 0.5), stats.pareto(3.0, scale=0.5), 0.7, positive + 0.5),
        Row(room.VonMises(0.5, 2.0), stats.vonmises(2.0, 0.5), 0.3, unit),
        Row(
            room.TruncatedNormal(0.5, 0.0, 1.0, scale=2.0),
            stats.truncnorm(-0.25, 0.25, 0.5, 2.0),
            0.4,
            unit,
        ),
        Row(room.Geometric(0.3), stats.geom(0.3, loc=-1), 3.0, counts),
        Row(room.NegativeBinomial(2.5, 0.4), stats.nbinom(2.5, 0.4), 3.0, counts),
        Row(room.BetaBinomial(20, 2.0, 3.0), stats.betabinom(20, 2.0, 3.0), 3.0, counts),
    ]


def multivariate() -> list[Row]:
    vectors = RNG.normal(size=(N, 3))
    simplex = RNG.dirichlet([2.0, 3.0, 5.0], N)
    tables = RNG.multinomial(12, [0.2, 0.3, 0.5], N) * 1.0
    zeros = np.zeros(3)
    # scipy.stats evaluates Wishart densities at most a matrix at a time from an axis at the end
    return [
        Row(
            po.MvNormal(zeros, cov=COV), stats.multivariate_normal(zeros, COV), vectors[0], vectors
        ),
        Row(
            po.MvStudentT(5.0, zeros, scale=COV),
            stats.multivariate_t(zeros, COV, 5.0),
            vectors[0],
            vectors,
        ),
        Row(po.Dirichlet([2.0, 3.0, 5.0]), stats.dirichlet([2.0, 3.0, 5.0]), simplex[0], simplex),
        Row(
            po.Multinomial(12, [0.2, 0.3, 0.5]),
            stats.multinomial(12, [0.2, 0.3, 0.5]),
            tables[0],
            tables,
        ),
        Row(
            room.DirichletMultinomial(12, [2.0, 3.0, 5.0]),
            stats.dirichlet_multinomial([2, 3, 5], 12),
            tables[0],
            tables,
        ),
        Row(po.Wishart(5.0, COV), stats.wishart(5.0, COV), 4.0 * COV, None),
        Row(po.InverseWishart(6.0, COV), stats.invwishart(6.0, COV), 0.5 * COV, None),
    ]


def log_density(peer: Any) -> Any:
    return peer.logpdf if hasattr(getattr(peer, "dist", peer), "logpdf") else peer.logpmf


def scalar_rows(rows: Iterable[Row], bar: float) -> list[Comparison]:
    done = []
    for ours, peer, point, _ in rows:
        theirs = log_density(peer)
        arg = point.T if np.ndim(point) == 1 and isinstance(ours, po.Dirichlet) else point
        np.testing.assert_allclose(ours.log_prob(point), theirs(arg), rtol=1e-10)
        name = f"{type(ours).__name__}.log_prob of one point"
        done.append(
            compare(
                name,
                lambda o=ours, x=point: o.log_prob(x),
                lambda f=theirs, x=arg: f(x),
                bar=bar,
                faster=True,
                calls=300,
            )
        )
    return done


def array_rows(rows: Iterable[Row]) -> list[Comparison]:
    done = []
    for ours, peer, _, points in rows:
        if points is None:
            continue
        theirs = log_density(peer)
        arg = points.T if isinstance(ours, po.Dirichlet) else points
        np.testing.assert_allclose(
            ours.log_prob(points[:1000]),
            theirs(arg[..., :1000] if isinstance(ours, po.Dirichlet) else arg[:1000]),
            rtol=1e-9,
        )
        done.append(
            compare(
                f"{type(ours).__name__}.log_prob of 10^6 points",
                lambda o=ours, x=points: o.log_prob(x),
                lambda f=theirs, x=arg: f(x),
                bar=1.0,
                faster=True,
            )
        )
    return done


def weighted_fit() -> Comparison:
    x = RNG.normal(size=(N, 10)) + 3.0
    w = RNG.uniform(0.5, 2.0, N)

    def reference() -> tuple[Any, Any]:
        mean = x.mean(axis=0)
        centred = x - mean
        return mean, centred.T @ centred

    fit = po.MvNormal.fit(x, weights=w)
    mean = np.average(x, axis=0, weights=w)
    np.testing.assert_allclose(fit.mean, mean, rtol=1e-11)
    np.testing.assert_allclose(fit.cov, np.cov(x.T, aweights=w, ddof=0), rtol=1e-9)
    return compare(
        "MvNormal.fit weighted, 10^6 x 10",
        lambda: po.MvNormal.fit(x, weights=w),
        reference,
        bar=2.0,
        faster=False,
    )


def coin_flips() -> Comparison:
    flips = RNG.integers(0, 2, 10**7)
    ones = int(flips.sum())
    r = po.bayes(po.Beta(1, 1), po.Bernoulli, flips)
    assert r.posterior == po.Beta(1 + ones, 1 + 10**7 - ones)
    return compare(
        "bayes(Beta, Bernoulli) of 10^7 flips / np.sum",
        lambda: po.bayes(po.Beta(1, 1), po.Bernoulli, flips).posterior,
        flips.sum,
        bar=5.0,
        faster=False,
    )


def cold_import() -> Comparison:
    return time_processes(
        "cold `from posteriori import Normal, bayes`",
        "from posteriori import Normal, bayes",
        "import numpy, scipy.special, scipy.linalg",
        bar=1.5,
    )


def memory() -> None:
    x = RNG.normal(size=(N, 10))
    flips = RNG.integers(0, 2, 10**7)
    for name, size, work in (
        ("MvNormal.fit, 10^6 x 10", x.nbytes, lambda: po.MvNormal.fit(x)),
        (
            "bayes(Beta, Bernoulli), 10^7",
            flips.nbytes,
            lambda: po.bayes(po.Beta(1, 1), po.Bernoulli, flips).posterior,
        ),
    ):
        print(
            f"  {name:44} peak {peak_memory(work) / 1e6:8.2f} MB beside {size / 1e6:.0f} MB of data"
        )


if __name__ == "__main__":
    one, several = univariate(), multivariate()
    report("One point, univariate", scalar_rows(one, 10.0))
    report("One point, multivariate", scalar_rows(several, 3.0))
    report("A million points", array_rows([*one, *several]))
    report("Learning", [weighted_fit(), coin_flips()])
    report("Import", [cold_import()])
    print("\nMemory beside the data")
    memory()
