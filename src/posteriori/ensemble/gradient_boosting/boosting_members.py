"""Members of a boosted ensemble side by side: each leaves out a fold, which ends its rounds."""

from __future__ import annotations

import threading
import warnings
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any

import numpy as np

from posteriori.ensemble.gradient_boosting.boosting_rounds import (
    BoostedTrees,
    BoostingTable,
    Schedule,
    boost,
)
from posteriori.ensemble.gradient_boosting.losses import Loss
from posteriori.numerics.progress import Progress
from posteriori.numerics.threads import thread_count
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["boost_members"]

#: From this many rows on, the sums of one member are divided among threads.
_MANY_ROWS = 20_000


def boost_members(
    table: BoostingTable,
    loss: Loss,
    schedule: Schedule,
    n_members: int,
    rng: np.random.Generator,
) -> list[BoostedTrees]:
    """Return the members; of one member no rows are left out.

    Ctrl-C ends all of them after the round that they are in.
    """
    folds = _fold_rows(table.y, n_members, rng)
    seeds = rng.integers(2**31, size=n_members).tolist()
    stopped, done = threading.Event(), [0]
    threads = thread_count()
    beside = 2 if n_members == 1 and threads > 1 and len(table.y) >= _MANY_ROWS else 0

    def tell() -> None:
        done[0] += 1

    def one(m: int, pool: ThreadPoolExecutor | None) -> BoostedTrees:
        left_out = folds == m
        rows, others = (np.flatnonzero(part).astype(np.int32) for part in (~left_out, left_out))
        return boost(
            table, loss, schedule, rows, others, seeds[m], pool=pool, stopped=stopped, tell=tell
        )

    with (
        ThreadPoolExecutor(min(threads, n_members)) as members,
        ThreadPoolExecutor(max(beside, 1)) as helpers,
    ):
        pool = helpers if beside else None
        futures = [members.submit(one, m, pool) for m in range(n_members)]
        _wait(futures, stopped, done, schedule.rounds)
        return _those_that_learned([future.result() for future in futures], stopped)


def _fold_rows(y: Array, n_members: int, rng: np.random.Generator) -> Any:
    """Return the fold of each row, (N,): every fold has its share of small and large targets."""
    if n_members == 1:
        return np.full(len(y), -1)
    order = np.lexsort((rng.random(len(y)), y))
    blocks = -(-len(y) // n_members)
    dealt = rng.permuted(np.tile(np.arange(n_members), (blocks, 1)), axis=1).ravel()
    folds = np.empty(len(y), dtype=np.int64)
    folds[order] = dealt[: len(y)]
    return folds


def _wait(
    futures: list[Future[BoostedTrees]], stopped: threading.Event, done: list[int], rounds: int
) -> None:
    progress = Progress(None, kept="the trees")
    try:
        pending = set(futures)
        while pending:
            finished, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in finished):
                stopped.set()
            progress.say(f"{done[0]} rounds of at most {rounds * len(futures)}")
    except KeyboardInterrupt:
        stopped.set()
    finally:
        progress.close()


def _those_that_learned(
    members: list[BoostedTrees], stopped: threading.Event
) -> list[BoostedTrees]:
    if not stopped.is_set():
        return members
    learned = [member for member in members if member.trees]
    if not learned:
        raise KeyboardInterrupt
    rounds = ", ".join(str(len(member.trees)) for member in learned)
    warnings.warn(
        f"boosting was interrupted: {len(learned)} of {len(members)} members are kept, with {rounds} "
        "trees; fit again for all",
        ConvergenceWarning,
        stacklevel=4,
    )
    return learned
