"""Gradient boosting beside LightGBM (classes) and NGBoost (mean and scale of numbers).

Log losses and densities on new rows are compared first. All have two threads; LightGBM is compared with
one, too, by processor time: on a busy machine its two threads wait for each other in loops.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np
from harness import Comparison, compare, peak_memory, report, use_threads
from sklearn.datasets import load_diabetes
from sklearn.metrics import log_loss
from sklearn.tree import DecisionTreeRegressor

from posteriori.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

ROWS, COLUMNS = 100_000, 20


def make_data(rows: int, columns: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two classes whose log odds bend, and numbers whose scale does."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns))
    f = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3.0 * X[:, 3])
    labels = (rng.random(rows) < 1.0 / (1.0 + np.exp(-f))).astype(int)
    return X, labels, f + np.exp(0.5 * X[:, 4]) * rng.normal(size=rows)


def compare_classes(rounds: int) -> list[Comparison]:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as missing:
        print(f"LightGBM is left out: {missing}")
        return []
    X, y, _ = make_data(ROWS, COLUMNS)
    new, truth, _ = make_data(50_000, COLUMNS, seed=1)
    ours = GradientBoostingClassifier(
        rounds, 0.1, max_leaves=31, subsample=1.0, max_features=1.0, n_members=1
    )
    theirs = LGBMClassifier(
        n_estimators=rounds, learning_rate=0.1, num_leaves=31, n_jobs=2, verbose=-1
    )
    both = [log_loss(truth, model.fit(X, y).predict_proba(new)) for model in (ours, theirs)]
    print(f"log loss on new rows: {both[0]:.4f}, LightGBM {both[1]:.4f}", flush=True)
    assert both[0] <= 1.01 * both[1], both
    found = []
    for threads, runs in ((2, 7), (1, 5)):
        theirs.set_params(n_jobs=threads)
        name = f"logistic, {rounds} x 31 leaves, threads: {threads}"
        both = partial(ours.fit, X, y), partial(theirs.fit, X, y)
        with use_threads(threads):
            found.append(compare(name, *both, bar=1.0, faster=True, rounds=runs, warm=False))
    return found


def compare_small() -> list[Comparison]:
    """A table of 442 rows with all members, and LightGBM with as many trees."""
    try:
        from lightgbm import LGBMRegressor
    except ImportError as missing:
        print(f"LightGBM is left out: {missing}")
        return []
    X, y = load_diabetes(return_X_y=True)
    ours = GradientBoostingRegressor(random_state=0)
    new = np.arange(len(y)) % 4 == 0
    mean = ours.fit(X[~new], y[~new]).predict(X[new])
    trees = len(ours.trees_.roots)
    theirs = LGBMRegressor(
        n_estimators=trees, learning_rate=10.0 / trees, num_leaves=4, n_jobs=1, verbose=-1
    )
    other = theirs.fit(X[~new], y[~new]).predict(X[new])
    errors = [float(np.sqrt(np.mean((y[new] - m) ** 2))) for m in (mean, other)]
    print(f"error on new rows: {errors[0]:.2f}, LightGBM {errors[1]:.2f}", flush=True)
    assert errors[0] <= 1.02 * errors[1], errors
    theirs.set_params(n_estimators=len(ours.fit(X, y).trees_.roots))
    with use_threads(1):
        start = time.process_time()
        ours.fit(X, y)
        each = (time.process_time() - start) / len(ours.trees_.roots)
        print(f"{len(ours.trees_.roots)} trees are kept, {1e6 * each:.0f} µs each")
        both = partial(ours.fit, X, y), partial(theirs.fit, X, y)
        return [compare("442 x 10, all members", *both, bar=1.5, faster=False, rounds=7)]


def compare_numbers(rounds: int) -> list[Comparison]:
    try:
        from ngboost import NGBRegressor
    except ImportError as missing:
        print(f"NGBoost is left out: {missing}")
        return []
    X, _, y = make_data(ROWS, COLUMNS)
    new, _, truth = make_data(50_000, COLUMNS, seed=1)
    ours = (
        GradientBoostingRegressor(  # NGBoost doubles its steps as long as that helps: so twice 0.1
            "normal",
            rounds,
            0.2,
            max_leaves=8,
            max_depth=3,
            subsample=1.0,
            max_features=1.0,
            n_members=1,
        )
    )
    theirs = NGBRegressor(
        n_estimators=rounds,
        learning_rate=0.1,
        Base=DecisionTreeRegressor(max_depth=3),
        verbose=False,
    )
    density = ours.fit(X, y).predict_dist(new).log_prob(truth).mean()
    other = theirs.fit(X, y).pred_dist(new).logpdf(truth).mean()
    print(f"log density on new rows: {density:.4f}, NGBoost {other:.4f}", flush=True)
    assert density >= other - 0.01 * abs(other), (density, other)
    name = f"mean and scale, {rounds} rounds of depth 3, NGBoost"
    both = partial(ours.fit, X, y), partial(theirs.fit, X, y)
    return [compare(name, *both, bar=40.0, faster=True, rounds=3, warm=False)]


def print_growth(sizes: list[int]) -> None:
    """Print how the cost of a row grows with the rows, and what it needs beside X."""
    print("\n20 rounds of 31 leaves: goal of the last size <= 3 times the first, by processor time")
    for members in (1, 5):
        model = GradientBoostingClassifier(
            20, 0.1, max_leaves=31, subsample=1.0, max_features=1.0, n_members=members
        )
        for rows in sizes if members == 1 else sizes[:2]:
            X, y, _ = make_data(rows, COLUMNS)
            start, begin = time.perf_counter(), time.process_time()
            held = peak_memory(partial(model.fit, X, y)) / rows
            seconds, busy = time.perf_counter() - start, time.process_time() - begin
            print(
                f"  members: {members}, {rows:>9} rows: {seconds:6.2f} s, of a processor "
                f"{1e6 * busy / rows:.2f} µs a row; {held:.0f} bytes a row beside X "
                f"(goal <= {COLUMNS + 120})",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="of LightGBM")
    parser.add_argument("--ngboost-rounds", type=int, default=10, help="2 s each")
    parser.add_argument("--large", action="store_true", help="10 million rows, too")
    asked = parser.parse_args()
    report(f"boosting, {ROWS} x {COLUMNS}", compare_classes(asked.rounds))
    report("boosting, 442 x 10", compare_small())
    report("NGBoost", compare_numbers(asked.ngboost_rounds))
    print_growth([100_000, 1_000_000, *([10_000_000] if asked.large else [])])


if __name__ == "__main__":
    main()
