"""Do the 90 % intervals that `posteriori cluster` prints hold the means of the populations?

    python bench/bench_group_intervals.py           # 40 tables of each distance
    python bench/bench_group_intervals.py 10 100    # 10 tables, from seed 100 on

Two normal groups of 150 to 300 rows together, three columns of which one separates them; two groups are asked for.
Rows of groups that overlap do not tell how wide each group is. With a width that all groups share, and learn, wrong
divisions are less probable than the true one; while each was expected to be as wide as the whole columns, intervals
held 52 and 77 % at 2.5 and 3 standard deviations.
"""

from __future__ import annotations

import sys
import time

import numpy as np

#: Standard deviations between the groups.
DISTANCES = (2.5, 3.0, 4.0)
#: What 90 % intervals hold at least and at most, unless a note says that they are too narrow.
GOAL = (0.85, 0.94)


def make_table(distance: float, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng([seed, int(10 * distance)])
    rows, share = int(rng.integers(150, 301)), rng.uniform(0.35, 0.65)
    second = rng.random(rows) < share
    x = rng.normal(size=(rows, 3)) + np.outer(second, [distance, 0.0, 0.0])
    return dict(zip("abc", x.T, strict=True))


def judge(distance: float, seed: int) -> tuple[list[bool], list[bool], bool]:
    """Return which intervals of the separating column, and of the others, hold; and whether a note warns."""
    from posteriori.analysis import cluster

    found = cluster(make_table(distance, seed), clusters=2)
    groups = [{trait.column: trait for trait in profile.traits} for profile in found.profiles]
    apart, others = [], []
    for group, mean in zip(sorted(groups, key=lambda g: g["a"].mean), (0.0, distance), strict=True):
        apart.append(group["a"].low < mean < group["a"].high)
        others += [group[name].low < 0.0 < group[name].high for name in "bc"]
    return apart, others, any("too narrow" in note for note in found.notes)


def main(tables: int, first: int) -> None:
    for distance in DISTANCES:
        begin = time.process_time()
        judged = [judge(distance, seed) for seed in range(first, first + tables)]
        apart, others, said = (np.mean([one[k] for one in judged]) for k in range(3))
        seconds = (time.process_time() - begin) / tables
        missed = "" if GOAL[0] <= apart <= GOAL[1] else "   MISSED"
        print(
            f"{distance} standard deviations apart: the separating column {apart:.0%}, others {others:.0%}, "
            f"said in {said:.0%} of {tables} tables, {seconds:.2f} s a table{missed}"
        )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(*(*given, *(40, 0)[len(given) :]))
