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
from posteriori.numerics.random import spawn_generators
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.threads import thread_count
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["boost_members"]

#: From this many rows on members come one after another: each needs memory of its own.
_LONG = 300_000


def boost_members(
    table: BoostingTable,
    loss: Loss,
    schedule: Schedule,
    n_members: int,
    rng: np.random.Generator,
    progress: Progress,
    helpers: ThreadPoolExecutor | None = None,
) -> list[BoostedTrees]:
    """Return the members, side by side in threads; of one member no rows are left out.

    One alone, or one after another where rows are many, they divide sums among ``helpers`` instead.

    Ctrl-C ends all of them after the rounds that they are in.
    """
    folds, streams = _deal_folds(table.y, n_members, rng), spawn_generators(rng, n_members)
    stopped, rounds = threading.Event(), [0]
    width = 1 if len(table.y) >= _LONG else min(thread_count(), n_members)

    def tell(added: int) -> None:
        rounds[0] += added

    def goes_on() -> bool:
        return not stopped.is_set()

    def one(m: int) -> BoostedTrees:
        left_out = folds == m
        rows, others = (np.flatnonzero(part).astype(np.int32) for part in (~left_out, left_out))
        given = table, loss, schedule, rows, others, streams[m]
        return boost(*given, pool=helpers, goes_on=goes_on, tell=tell)

    with ThreadPoolExecutor(width) as pool:
        futures = [pool.submit(one, m) for m in range(n_members)]
        _wait(futures, stopped, rounds, progress)
        members = [future.result() for future in futures]
    return _those_that_learned(members) if stopped.is_set() else members


def _deal_folds(y: Array, n_members: int, rng: np.random.Generator) -> Any:
    """Return the fold of each row, (N,): all folds have their share of small and of large targets."""
    if n_members == 1:
        return np.full(len(y), -1, dtype=np.int16)
    order = np.lexsort((rng.random(len(y)), y))
    blocks = -(-len(y) // n_members)
    dealt = rng.permuted(np.tile(np.arange(n_members), (blocks, 1)), axis=1).ravel()
    folds = np.empty(len(y), dtype=np.int16)
    folds[order] = dealt[: len(y)]
    return folds


def _wait(
    futures: list[Future[BoostedTrees]],
    stopped: threading.Event,
    rounds: list[int],
    progress: Progress,
) -> None:
    try:
        pending = set(futures)
        while pending:
            finished, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
            if any(future.exception() for future in finished):
                stopped.set()
            progress.say(f"{rounds[0]} rounds of {len(futures)} members")
    except KeyboardInterrupt:
        stopped.set()
    finally:
        progress.close()


def _those_that_learned(members: list[BoostedTrees]) -> list[BoostedTrees]:
    """Return the members that have trees, and warn that they were interrupted."""
    learned = [member for member in members if member.trees]
    if not learned:
        raise KeyboardInterrupt
    rounds = ", ".join(str(member.n_trees) for member in learned)
    warnings.warn(
        f"boosting was interrupted: {len(learned)} of {len(members)} members are kept, with {rounds} "
        "trees; fit again for all",
        ConvergenceWarning,
        stacklevel=4,
    )
    return learned
