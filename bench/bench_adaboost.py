"""AdaBoost with stumps against scikit-learn: equal errors of every round first, then times.

Columns are of single precision, as scikit-learn rounds to it. By Gini impurity and between any two values
both make the same cuts. By least error, with 255 bins, the cuts are others; the last training error may
not be worse.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
from harness import Comparison, report, take_turns
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier as Peer

from posteriori.ensemble import AdaBoostClassifier

ROWS, COLUMNS, STUMPS = 50_000, 20, 200

#: A run of the peer takes half a minute.
ROUNDS = 3


def make_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, COLUMNS)).astype(np.float32).astype(np.float64)
    signal = x[:, :6].sum(axis=1) + 2.0 * np.abs(x[:, 6]) + rng.normal(size=rows)
    return x, (signal > 1.6).astype(np.int64)


def compare_answers(
    x: np.ndarray, y: np.ndarray, name: str, ours: AdaBoostClassifier, peer: Peer
) -> None:
    ours.fit(x, y)
    if ours.criterion == "gini":
        apart = np.abs(ours.estimator_errors_ - peer.estimator_errors_).max()
        print(f"  {name}: errors of {len(peer)} rounds differ by {apart:.1e} at most")
        assert apart <= 1e-9
    wrong = 1 - ours.score(x, y), 1 - peer.score(x, y)
    print(f"  {name}: training error {wrong[0]:.4f}, peer {wrong[1]:.4f}", flush=True)
    assert wrong[0] <= wrong[1] + 0.002


def growth() -> None:
    print("\nby least error with 255 bins, 50 stumps: microseconds per row")
    for rows in (10**4, 10**5, 10**6):
        x, y = make_rows(rows)
        model = AdaBoostClassifier(50)
        ((seconds, busy),) = take_turns([partial(model.fit, x, y)], ROUNDS)
        per_row = 1e6 / rows
        print(f"  {rows:>9,}   {per_row * seconds:.2f}, of a processor {per_row * busy:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stumps", type=int, default=STUMPS)
    stumps = parser.parse_args().stumps
    x, y = make_rows(ROWS)
    peer = Peer(n_estimators=stumps, random_state=0).fit(x, y)
    exact = AdaBoostClassifier(stumps, criterion="gini", max_bins=None)
    cases = [
        ("Gini, between any two values", exact, 25.0),
        ("least error, 255 bins", AdaBoostClassifier(stumps), 60.0),
    ]
    for name, model, _ in cases:
        compare_answers(x, y, name, model, peer)
    models = [*(model for _, model, _ in cases), clone(peer)]
    *ours, other = take_turns([partial(model.fit, x, y) for model in models], ROUNDS)
    lines = [
        Comparison(name, mine, other[0], bar, True, (busy, other[1]), ROUNDS)
        for (name, _, bar), (mine, busy) in zip(cases, ours, strict=True)
    ]
    report(f"AdaBoost, {stumps} stumps, {ROWS:,} x {COLUMNS}, vs scikit-learn", lines)
    growth()


if __name__ == "__main__":
    main()
