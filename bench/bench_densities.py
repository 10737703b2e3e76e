"""Kernel densities against scikit-learn, and how long an adaptive histogram takes.

scikit-learn sums to a relative error of 1e-6 (``rtol``) in a k-d tree. Before times are compared, both must
agree with the sum over all pairs at a thousand points, of which some lie far from all rows. One run of
scikit-learn at all points takes minutes: there is one of each, and seven alternating ones in which it is asked
about every twentieth point only, so that the ratio is that of a twentieth of its work.
"""

from __future__ import annotations

import time
from functools import partial

import numpy as np
from harness import Comparison, compare, peak_memory, report
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity as Peer

from posteriori.density import AdaptiveHistogram, KernelDensity

ROWS, RUNS, EVERY = 100_000, 7, 20


def all_pairs(x: np.ndarray, h: float, at: np.ndarray) -> np.ndarray:
    made = [logsumexp(-0.5 * (((q - x) / h) ** 2).sum(axis=1)) for q in at]
    return np.array(made) - np.log(len(x)) - 0.5 * x.shape[1] * np.log(2 * np.pi * h**2)


def kernel_cases(columns: int, bar: float) -> list[Comparison]:
    rng = np.random.default_rng(0)
    x, at = rng.normal(size=(2, ROWS, columns))
    h = ROWS ** (-1.0 / (columns + 4))
    ours = KernelDensity(h).fit(x)
    peer = Peer(bandwidth=h, rtol=1e-6).fit(x)
    some = np.concatenate([at[:990], at[:10] * 5.0])
    expected = all_pairs(x, h, some)
    # many points at once take the grid, as in the timed runs
    found = ours.score_samples(np.concatenate([some, at]))[: len(some)]
    np.testing.assert_allclose(found, expected, atol=1e-6)
    np.testing.assert_allclose(peer.score_samples(some[:990]), expected[:990], atol=1e-5)
    return [
        compare(
            f"{ROWS} rows at {ROWS} points (theirs {ROWS // every}), D={columns}",
            lambda: KernelDensity(h).fit(x).score_samples(at),
            lambda every=every: Peer(bandwidth=h, rtol=1e-6).fit(x).score_samples(at[::every]),
            bar=bar,
            faster=True,
            rounds=rounds,
            warm=False,
        )
        for every, rounds in ((EVERY, RUNS), (1, 1))
    ]


def histogram_case() -> None:
    x = np.random.default_rng(0).normal(size=ROWS)
    model = AdaptiveHistogram(500, max_segments=50)
    model.fit(x)
    spans = []
    for _ in range(RUNS):
        start, begin = time.perf_counter(), time.process_time()
        model.fit(x)
        spans.append((time.perf_counter() - start, time.process_time() - begin))
    wall, busy = np.median(spans, axis=0)
    flag = "" if wall <= 1.0 else "   MISSED"
    print(f"\nadaptive histogram, {ROWS} rows, 500 cells, 50 segments: {wall:.2f} s", end="")
    print(f" (goal <= 1 s), processor time {busy:.2f} s{flag}")


def growth() -> None:
    print("\nkernel density by likelihood, fit and as many points, two columns")
    for rows in (10_000, 100_000, 1_000_000):
        x = np.random.default_rng(0).normal(size=(rows, 2))
        model, begin = KernelDensity(), time.process_time()
        model.fit(x)
        fitted = time.process_time()
        held = peak_memory(partial(model.score_samples, x))
        print(
            f"  {rows:>9} rows: fit {fitted - begin:6.2f} s, points "
            f"{time.process_time() - fitted:6.2f} s of processor time, {held / 1e6:6.0f} MB"
        )


def main() -> None:
    histogram_case()
    growth()
    report("kernel densities (scikit-learn, rtol=1e-6)", kernel_cases(2, 10.0))


if __name__ == "__main__":
    main()
