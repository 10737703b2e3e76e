"""Sums over all trees, which no other library has: seconds against a goal.

The log evidence is compared with its known value first, then the parts are timed one by one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.datasets import load_diabetes

from posteriori.tree import BayesianTreeRegressor

ROUNDS = 7
#: Seconds of a fit, 442 rows, 10 columns, depth 3, 8 bins.
GOAL = 0.5


def median_seconds(run: Callable[[], object]) -> tuple[float, float]:
    """Return the medians of time and of processor time."""
    times, busy = [], []
    for _ in range(ROUNDS):
        start, begin = time.perf_counter(), time.process_time()
        run()
        times.append(time.perf_counter() - start)
        busy.append(time.process_time() - begin)
    return statistics.median(times), statistics.median(busy)


def tell(name: str, run: Callable[[], object], goal: float | None = None) -> None:
    seconds, busy = median_seconds(run)
    flag = (
        "" if goal is None else f"   (goal <= {goal:g} s){'' if seconds <= goal else '   MISSED'}"
    )
    print(f"  {name:44} {seconds:7.3f} s, processor {busy:7.3f} s{flag}")


def all_trees() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = BayesianTreeRegressor(max_depth=3, max_bins=8, search="exact").fit(X, y)
    assert abs(float(model.log_evidence_) + 2436.762) < 5e-4, model.log_evidence_
    first = model.predict_dist(X)  # finds the leaves
    assert np.isfinite(first.log_prob(y)).all()
    print(f"\nall trees, 442 x 10, depth 3, 8 bins  (medians of {ROUNDS} runs)")
    fresh = BayesianTreeRegressor(max_depth=3, max_bins=8, search="exact")
    tell("fit: evidence, columns, the best tree", lambda: fresh.fit(X, y), GOAL)
    tell("fit, and the means of all rows", lambda: fresh.fit(X, y).predict(X))
    tell("log densities of all rows", lambda: model.predict_dist(X).log_prob(y))
    tell("intervals of 20 rows", lambda: model.predict_dist(X[:20]).interval(0.9))
    tell("1000 trees drawn", lambda: model.sample_trees(1000, rng=0))
    greedy = BayesianTreeRegressor(max_depth=8, max_bins=8, search="greedy")
    tell("greedy, depth 8", lambda: greedy.fit(X, y))


if __name__ == "__main__":
    all_trees()
