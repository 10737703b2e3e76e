"""How long `posteriori cluster` takes on 20,000 rows, and how many times the table it needs.

    python bench/bench_groups.py            # 20,000 x 30: normal, mixed and skewed columns
    python bench/bench_groups.py 5000       # fewer rows, to see that it works

Each kind runs in a process of its own. What counts is the largest resident memory beyond that of a process
which has clustered two hundred rows, so that libraries are loaded, in units of the numbers of the table.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd

KINDS = ("normal", "mixed", "skewed")
COLUMNS, GROUPS, MOST_SECONDS, MOST_TIMES = 30, 4, 120.0, 6.0


def make_table(kind: str, rows: int) -> pd.DataFrame:
    """Return rows of four groups; half of the columns of "mixed" are texts, all "skewed" are log-normal."""
    rng = np.random.default_rng(0)
    centers = 1.2 * rng.normal(size=(GROUPS, COLUMNS))
    x = centers[rng.integers(GROUPS, size=rows)] + rng.normal(size=(rows, COLUMNS))
    frame = pd.DataFrame(x, columns=[f"c{d}" for d in range(COLUMNS)])
    if kind == "skewed":
        return np.exp(frame)
    for name in frame.columns[::2] if kind == "mixed" else ():
        frame[name] = pd.cut(frame[name], 4, labels=list("abcd")).astype(str)
    return frame


class Watch:
    """The largest resident memory while it watches, in bytes beyond that at its beginning."""

    def __init__(self) -> None:
        self.least = self.most = self._resident()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    @staticmethod
    def _resident() -> int:
        import psutil

        return psutil.Process().memory_info().rss

    def _look(self) -> None:
        while not self._over.wait(0.01):
            self.most = max(self.most, self._resident())


def run(kind: str, rows: int) -> None:
    from posteriori.analysis import cluster

    table = make_table(kind, rows)
    cluster(table.iloc[:200], max_clusters=3).html()
    with Watch() as watch:
        start, begin = time.perf_counter(), time.process_time()
        found = cluster(table)
        wall, busy = time.perf_counter() - start, time.process_time() - begin
        found.html()
    times = (watch.most - watch.least) / (8 * table.size)
    assert found.n_clusters == GROUPS or kind == "skewed", found.verdict
    flags = [
        text
        for wrong, text in ((wall > MOST_SECONDS, "TIME"), (times > MOST_TIMES, "MEMORY"))
        if wrong
    ]
    print(
        f"{kind:7} {rows} x {COLUMNS}: {found.n_clusters} groups, {wall:.0f} s (goal <= {MOST_SECONDS:.0f}), "
        f"processor time {busy:.0f} s, {times:.1f} times the table (goal <= {MOST_TIMES:.0f}) "
        + " ".join(flags)
    )


if __name__ == "__main__":
    if len(sys.argv) > 2:
        run(sys.argv[2], int(sys.argv[1]))
    else:
        size = sys.argv[1] if len(sys.argv) == 2 else "20000"
        for each in KINDS:
            subprocess.run([sys.executable, str(Path(__file__)), size, each], check=True)
