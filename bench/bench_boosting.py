"""Gradient boosting beside LightGBM (classes) and NGBoost (mean and scale of numbers).

Log losses and densities on new rows are compared first. All have two threads.
"""

from __future__ import annotations

import argparse
import time
from functools import partial

import numpy as np
from harness import Comparison, compare, peak_memory, report
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


def compare_classes(rounds: int) -> Comparison | None:
    try:
        from lightgbm import LGBMClassifier
    except ImportError as missing:
        print(f"LightGBM is left out: {missing}")
        return None
    X, y, _ = make_data(ROWS, COLUMNS)
    new, truth, _ = make_data(50_000, COLUMNS, seed=1)
    ours = GradientBoostingClassifier(
        rounds, 0.1, max_leaves=31, subsample=1.0, max_features=1.0, n_members=1
    )
    theirs = LGBMClassifier(
        n_estimators=rounds, learning_rate=0.1, num_leaves=31, n_jobs=2, verbose=-1
    )
    both = [log_loss(truth, model.fit(X, y).predict_proba(new)) for model in (ours, theirs)]
    print(f"log loss on new rows: {both[0]:.4f}, LightGBM {both[1]:.4f}")
    assert both[0] <= 1.01 * both[1], both
    name = f"logistic, {rounds} x 31 leaves, LightGBM"
    return compare(name, partial(ours.fit, X, y), partial(theirs.fit, X, y), bar=1.0, faster=True)


def compare_numbers(rounds: int) -> Comparison | None:
    try:
        from ngboost import NGBRegressor
    except ImportError as missing:
        print(f"NGBoost is left out: {missing}")
        return None
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
        Base=DecisionTreeRegressor(criterion="friedman_mse", max_depth=3),
        verbose=False,
    )
    density = ours.fit(X, y).predict_dist(new).log_prob(truth).mean()
    other = theirs.fit(X, y).pred_dist(new).logpdf(truth).mean()
    print(f"log density on new rows: {density:.4f}, NGBoost {other:.4f}")
    assert density >= other - 0.01 * abs(other), (density, other)
    name = f"mean and scale, {rounds} rounds of depth 3, NGBoost"
    return compare(name, partial(ours.fit, X, y), partial(theirs.fit, X, y), bar=40.0, faster=True)


def print_growth() -> None:
    """Print how the cost of a row grows with the rows, and what it needs beside X."""
    model = GradientBoostingClassifier(
        20, 0.1, max_leaves=31, subsample=1.0, max_features=1.0, n_members=1
    )
    for rows in (100_000, 1_000_000):
        X, y, _ = make_data(rows, COLUMNS)
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        held = peak_memory(partial(model.fit, X, y)) / rows
        print(
            f"20 rounds of {rows:>9} rows: {seconds:.2f} s, {1e6 * seconds / rows:.2f} µs and "
            f"{held:.0f} bytes a row beside X (goal <= {COLUMNS + 120})"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="of LightGBM; NGBoost has 20")
    rounds = parser.parse_args().rounds
    found = [compare_classes(rounds), compare_numbers(20)]
    report(f"boosting, {ROWS} x {COLUMNS}", [one for one in found if one is not None])
    print_growth()


if __name__ == "__main__":
    main()
