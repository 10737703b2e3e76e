"""Sums of random variables on grids against one Fourier transform of that size."""

from __future__ import annotations

from typing import Any

import numpy as np
from harness import Comparison, compare, peak_memory, report
from scipy import special, stats

import posteriori.distributions as pd

POINTS = 100_000
RNG = np.random.default_rng(0)
NORMAL = pd.Normal(1.0, variance=0.25)


def sums() -> list[tuple[str, Any, Any]]:
    """Pairs that no family holds, or that are computed as if none did."""
    return [
        ("Gamma + Normal", pd.Gamma(2.0, 3.0), NORMAL),
        ("Laplace + Normal", pd.Laplace(0.0, 1.0), NORMAL),
        ("Uniform + Exponential", pd.Uniform(0.0, 1.0), pd.Exponential(2.0)),
        ("StudentT + Normal", pd.StudentT(5.0, scale=1.0), NORMAL),
    ]


def check() -> None:
    from posteriori.distributions.algebra.convolution import convolve

    known = convolve(pd.Normal(2.0, variance=1.0), pd.Normal(2.0, variance=0.25), POINTS)
    x = np.linspace(0.0, 8.0, 101)
    np.testing.assert_allclose(
        np.exp(known.log_prob(x)), stats.norm(4.0, np.sqrt(1.25)).pdf(x), atol=1e-8
    )
    z = pd.sum_of(pd.Gamma(2.0, 3.0), NORMAL, points=POINTS)
    slow = [
        np.trapezoid(
            stats.gamma(2.0, scale=1 / 3).pdf(u := np.linspace(0.0, 12.0, 200_001))
            * stats.norm(1.0, 0.5).pdf(at - u),
            u,
        )
        for at in (0.5, 1.5, 3.0)
    ]
    np.testing.assert_allclose(np.exp(z.log_prob([0.5, 1.5, 3.0])), slow, rtol=1e-6)
    product = pd.product_of(pd.Normal(0.0, variance=1.0), pd.Normal(0.0, variance=1.0))
    at = np.array([0.01, 0.5, 1.0, 3.0])
    np.testing.assert_allclose(np.exp(product.log_prob(at)), special.k0(at) / np.pi, rtol=1e-7)


def rows() -> list[Comparison]:
    signal = RNG.random(POINTS)
    return [
        compare(
            f"sum_of {name}, 10^5 points / np.fft.rfft",
            lambda p=p, q=q: pd.sum_of(p, q, points=POINTS),
            lambda: np.fft.rfft(signal),
            bar=20.0,
            faster=False,
            calls=3,
        )
        for name, p, q in sums()
    ]


if __name__ == "__main__":
    check()
    report("Sums by convolution", rows())
    _, p, q = sums()[0]
    peak = peak_memory(lambda: pd.sum_of(p, q, points=POINTS))
    print(f"  peak {peak / 1e6:.1f} MB for {POINTS} points")
    for points in (25_000, 100_000, 400_000):
        signal = RNG.random(points)
        report(
            f"Growth, {points} points",
            [
                compare(
                    "sum_of Gamma + Normal / np.fft.rfft",
                    lambda n=points: pd.sum_of(p, q, points=n),
                    lambda s=signal: np.fft.rfft(s),
                    bar=20.0,
                    faster=False,
                )
            ],
        )
