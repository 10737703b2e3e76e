"""k-means beside scikit-learn and Intel's extension of it: same start, same iterations, equal inertia.

``--large``: rows from a memory-mapped file, up to 10⁷ × 10; time grows with their number, and what is
held beside the file stays below 200 MB.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import harness
import numpy as np
from sklearn.cluster import KMeans as Reference

from posteriori.mixture import KMeans

ROWS, COLUMNS, CLUSTERS, ITERATIONS = 200_000, 20, 50, 50
harness.ROUNDS = 7


def make_data(kind: str) -> np.ndarray:
    """Rows of one normal, or of fifty that overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    if kind == "overlapping clusters":
        X += 0.7 * rng.normal(size=(CLUSTERS, COLUMNS))[rng.integers(CLUSTERS, size=ROWS)]
    return X


def peers() -> dict[str, type]:
    found: dict[str, type] = {"scikit-learn": Reference}
    try:
        from sklearnex.cluster import KMeans as Extended
    except ImportError as missing:
        print(f"scikit-learn-intelex is left out: {missing}")
    else:
        found["scikit-learn-intelex"] = Extended
    return found


def compare_all() -> None:
    rows: list[harness.Comparison] = []
    for kind in ("one normal", "overlapping clusters"):
        X = make_data(kind)
        start = X[np.random.default_rng(1).choice(ROWS, CLUSTERS, replace=False)]
        same = {"init": start, "n_init": 1, "max_iter": ITERATIONS, "tol": 0.0}
        ours = KMeans(CLUSTERS, split_merge=False, **same)
        inertia = ours.fit(X).inertia_
        for name, peer in peers().items():
            theirs = peer(CLUSTERS, algorithm="lloyd", **same)
            other = theirs.fit(X).inertia_
            print(f"{kind}: inertia {inertia:.6f}, {name} {other:.6f}, {ours.n_iter_} iterations")
            assert abs(inertia - other) <= 1e-6 * other, (inertia, other)
            both = partial(ours.fit, X), partial(theirs.fit, X)
            rows.append(harness.compare(f"{kind}, {name}", *both, bar=1.2, faster=True))
    title = f"k-means, {ROWS} x {COLUMNS}, {CLUSTERS} clusters, {ITERATIONS} iterations"
    harness.report(title, rows)


def fit_mapped(path: str, moves: bool) -> None:
    """Fit rows of a file and print seconds of processor time and the most megabytes beyond it.

    Pages of the file that are in memory count to the process: they are taken off where all were read.
    """
    X = np.load(path, mmap_mode="r")
    KMeans(10, random_state=0, max_iter=2).fit(np.random.default_rng(0).normal(size=(30_000, 10)))
    before = _held()
    start, begin = time.perf_counter(), time.process_time()
    model = KMeans(10, random_state=0, split_merge=moves, max_iter=20, tol=0.0).fit(X)
    spent = time.process_time() - begin
    print(
        f"  {len(X):>10,} rows: {time.perf_counter() - start:6.2f} s, processor {spent:6.2f} s, "
        f"{model.n_iter_} iterations, at most {_most() - before:5.0f} MB beyond the file"
    )


def _held() -> float:
    """Return megabytes of memory of its own, without pages of files."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.split("RssAnon:")[1].split()[0]) / 1e3


def _most() -> float:
    """Return the most megabytes held at one time, less the pages of files that are held now."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    files = float(status.split("RssFile:")[1].split()[0]) / 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3 - files


def grow() -> None:
    print("k-means of rows from a file, 10 columns, 10 clusters, 20 iterations at most")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npy"
        for n in (10**5, 10**6, 10**7):
            rng = np.random.default_rng(0)
            X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, 10))
            for first in range(0, n, 10**5):
                X[first : first + 10**5] = rng.normal(size=(10**5, 10))
            X.flush()
            del X
            subprocess.run([sys.executable, __file__, "--file", str(path)], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--file")
    asked = parser.parse_args()
    if asked.file:
        fit_mapped(asked.file, split_merge=True)
    elif asked.large:
        grow()
    else:
        compare_all()


if __name__ == "__main__":
    main()
