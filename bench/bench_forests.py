"""Forests of full trees beside scikit-learn and Intel's extension of it.

Accuracies on new rows are compared first. Both have two threads; then one, where processor time counts.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from harness import Comparison, compare, report, use_threads
from sklearn.ensemble import RandomForestClassifier as Reference

from posteriori.ensemble import RandomForestClassifier

ROWS, COLUMNS, TREES = 50_000, 20, 100


def make_data(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Two classes whose log odds bend, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    f = 2.0 * (X[:, 0] + X[:, 1] * X[:, 2] - np.abs(X[:, 3]) + 0.8)
    return X, (rng.random(rows) < 1.0 / (1.0 + np.exp(-f))).astype(int)


def peers() -> dict[str, tuple[type, float, int]]:
    """Return classes with the ratio that is the goal, and how many runs there is time for."""
    found: dict[str, tuple[type, float, int]] = {"scikit-learn": (Reference, 9.0, 3)}
    try:
        from sklearnex.ensemble import RandomForestClassifier as Extended
    except ImportError as missing:
        print(f"scikit-learn-intelex is left out: {missing}")
    else:
        found["scikit-learn-intelex"] = (Extended, 1.3, 7)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=TREES)
    trees = parser.parse_args().trees
    X, y = make_data(ROWS, COLUMNS)
    new, truth = make_data(20_000, COLUMNS, seed=1)
    ours = RandomForestClassifier(trees, random_state=0)
    accuracy = ours.fit(X, y).score(new, truth)
    rows: list[Comparison] = []
    for name, (peer, bar, runs) in peers().items():
        theirs = peer(trees, random_state=0, n_jobs=2)
        other = theirs.fit(X, y).score(new, truth)
        print(f"accuracy on new rows: {accuracy:.4f}, {name} {other:.4f}", flush=True)
        # over a hundred trees chance moves it less; fewer are for a quick look
        assert trees < TREES or abs(accuracy - other) <= 0.003, (accuracy, other)
        for threads in (2, 1):
            theirs.set_params(n_jobs=threads)
            both = partial(ours.fit, X, y), partial(theirs.fit, X, y)
            with use_threads(threads):
                title = f"{trees} full trees, {name}, threads: {threads}"
                few = runs if threads == 2 else 1 + runs // 3
                timed = compare(title, *both, bar=bar, faster=True, rounds=few, warm=False)
            rows.append(timed)
    report(f"forests, {ROWS} x {COLUMNS}", rows)


if __name__ == "__main__":
    main()
