"""Kernel PCA beside the solvers of scikit-learn: equal answers first.

python bench/bench_kernels.py            # ratios
python bench/bench_kernels.py --quick    # the same from one run each: that all of it works
python bench/bench_kernels.py --large    # how time grows with rows
"""

from __future__ import annotations

import argparse
import time

import harness
import numpy as np
import sklearn.decomposition as peers

from posteriori.decomposition import KernelPCA
from posteriori.kernels import RBF

harness.ROUNDS = 7

#: Of scikit-learn, those that are made for few components of many rows.
SOLVERS = ("arpack", "randomized")


def clusters(rows: int, columns: int = 20) -> np.ndarray:
    """Return rows around twelve centers: ten components stand out, as they should where they are asked for."""
    rng = np.random.default_rng(0)
    centers = 2.0 * rng.normal(size=(12, columns))
    return centers[rng.integers(12, size=rows)] + rng.normal(size=(rows, columns))


def components(rows: int = 5000) -> list[harness.Comparison]:
    """5000 × 20, 10 components of a Gaussian kernel, with the coordinates of the rows."""
    x = clusters(rows)
    gamma = 1.0 / (x.shape[1] * x.var())
    ours = KernelPCA(10, RBF(scale=np.sqrt(0.5 / gamma)))
    found = ours.fit(x).eigenvalues_
    lines = []
    for solver in SOLVERS:
        peer = peers.KernelPCA(10, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0)
        theirs = peer.fit(x).eigenvalues_ / rows
        off = float(np.abs(theirs / found - 1.0).max())
        print(f"{solver}: eigenvalues differ by {off:.1e} of their size at most")
        assert off < (1e-9 if solver == "arpack" else 0.05)
        assert np.all(found >= theirs * (1.0 - 1e-9)), "ours are the larger ones"
        lines.append(
            harness.compare(
                f"kernel PCA {rows} x 20, 10 components, beside {solver}",
                lambda: ours.fit_transform(x),
                lambda peer=peer: peer.fit_transform(x),
                bar=1.0,
                faster=True,
                warm=False,
            )
        )
    return lines


def growth() -> None:
    for rows in (1000, 2000, 4000, 8000):
        x = clusters(rows)
        begin = time.perf_counter()
        KernelPCA(10).fit(x)
        print(f"{rows} rows: {time.perf_counter() - begin:.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--large", action="store_true")
    chosen = parser.parse_args()
    if chosen.quick:
        harness.ROUNDS = 1
    harness.report("Kernels", components(1000 if chosen.quick else 5000))
    if chosen.large:
        growth()


if __name__ == "__main__":
    main()
