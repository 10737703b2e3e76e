"""Whether `posteriori cluster` finds as many groups as there are, and is as sure as it is right.

    python bench/bench_groups_calibration.py             # 7 kinds of populations x 1 to 4 groups x 6 tables
    python bench/bench_groups_calibration.py 2 100       # 2 tables of each, from seed 100 on
    python bench/bench_groups_calibration.py 6 0 out.csv # and what was said of each table

Every table is drawn anew: 2 to 4 columns, 100 to 500 rows, groups of one shape. Of answers that are said
with probability p, p should be right, overall and in each bin of p: beside the share that is right stands the
standard error that it has if probabilities are as claimed, and a bin misses the goal where it is off by more than
the goal and that error together. The log loss is that of the true number.
"""

from __future__ import annotations

import math
import sys
import time
from itertools import pairwise

import numpy as np
import pandas as pd
from populations import POPULATIONS, make_population

#: What was measured while p(number) was that of components, by bounds of evidence: mean log loss, share
#: that was right, and probability that was claimed.
BEFORE = (3.11, 0.50, 0.84)

#: Edges of the bins of claimed probabilities, and how far what is claimed may lie from what is right.
EDGES, GOAL = (0.0, 0.5, 0.7, 0.9, 1.0001), 0.1

#: What a mean log loss may be of that by bounds.
LOSS_GOAL = 0.7

#: No probability is taken as smaller in the log loss: what is printed as < 0.01 is not known better.
LEAST = 1e-3


def answer(kind: str, groups: int, seed: int) -> dict[str, object]:
    from posteriori.analysis import cluster

    rng = np.random.default_rng([seed, groups, list(POPULATIONS).index(kind)])
    columns, rows = int(rng.integers(2, 5)), int(rng.integers(100, 501))
    table, truth = make_population(kind, groups, columns, rows, rng)
    begin = time.process_time()
    found = cluster(table)
    chances = dict(zip(found.numbers, found.number_probabilities.tolist(), strict=True))
    return {
        "kind": kind,
        "groups": groups,
        "seed": seed,
        "columns": columns,
        "rows": rows,
        "said": found.n_clusters,
        "claimed": max(chances.values()),
        "true_chance": chances.get(groups, 0.0),
        "seconds": time.process_time() - begin,
        "agreement": _rand(truth, found.labels),
    }


def _rand(truth: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth, labels))


def told(results: pd.DataFrame) -> pd.Series:
    right = results["said"] == results["groups"]
    loss = -np.log(np.maximum(results["true_chance"], LEAST))
    return pd.Series(
        {
            "tables": len(results),
            "right": right.mean(),
            "claimed": results["claimed"].mean(),
            "too many": (results["said"] > results["groups"]).mean(),
            "too few": (results["said"] < results["groups"]).mean(),
            "log loss": loss.mean(),
            "agreement": results["agreement"].mean(),
            "seconds": results["seconds"].mean(),
        }
    )


def show_bins(results: pd.DataFrame) -> bool:
    """Print what is right in each bin of claimed probabilities; tell whether all bins keep the goal."""
    right = (results["said"] == results["groups"]).astype(float)
    kept = True
    print(f"claimed      tables  claimed  right ± standard error (goal: within {GOAL})")
    for edge, end in pairwise(EDGES):
        here = right[(results["claimed"] >= edge) & (results["claimed"] < end)]
        if here.empty:
            continue
        given = results["claimed"][here.index]
        share, claimed = here.mean(), given.mean()
        error = math.sqrt((given * (1.0 - given)).sum()) / len(here)
        off = abs(share - claimed)
        kept &= off <= GOAL + error
        flag = "" if off <= GOAL else "  within the error" if off <= GOAL + error else "  MISSED"
        print(
            f"{edge:.1f} to {min(end, 1.0):.1f} {len(here):9} {claimed:8.2f} {share:6.2f} ± {error:.2f}{flag}"
        )
    return kept


def main(tables: int, first: int, out: str | None) -> int:
    results = pd.DataFrame(
        [
            answer(kind, groups, seed)
            for seed in range(first, first + tables)
            for kind in POPULATIONS
            for groups in range(1, 5)
        ]
    )
    if out is not None:
        results.to_csv(out, index=False)
    with pd.option_context("display.width", 140, "display.precision", 2):
        print(pd.DataFrame({k: told(part) for k, part in results.groupby("kind")}).T)
        print(pd.DataFrame({k: told(part) for k, part in results.groupby("groups")}).T)
    kept = show_bins(results)
    whole = told(results)
    close = abs(whole["right"] - whole["claimed"]) <= GOAL
    ratio = whole["log loss"] / BEFORE[0]
    print(
        f"all: right {whole['right']:.2f}, claimed {whole['claimed']:.2f} (goal: within {GOAL})"
        + ("" if close else "  MISSED")
    )
    print(
        f"log loss {whole['log loss']:.2f}, {ratio:.2f} of what bounds gave (goal: at most {LOSS_GOAL})"
        + ("" if ratio <= LOSS_GOAL else "  MISSED")
    )
    return 0 if kept and close and ratio <= LOSS_GOAL else 1


if __name__ == "__main__":
    given = [*sys.argv[1:], *("6", "0")[len(sys.argv) - 1 :]] if len(sys.argv) < 3 else sys.argv[1:]
    sys.exit(main(int(given[0]), int(given[1]), given[2] if len(given) > 2 else None))
