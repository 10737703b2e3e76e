"""A second process that compiles what a command needs later, while its first models are fitted.

Both keep their code in the same folder, and neither compiles what the other has claimed
(:mod:`posteriori.numerics.machine_code.claims`). The second one ends with the first: its input is a pipe that
nobody writes to, which the system closes when the first one is gone, however it went.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori import analysis, gaussian_process, kernels, networks, sequence, tables
from posteriori.analysis.comparisons.table_problem import read_target
from posteriori.numerics.compilation import STAYS_PLAIN
from posteriori.numerics.machine_code.claims import give_up_all
from posteriori.numerics.machine_code.kernel_cache import cache_folder, listeners, writing
from posteriori.numerics.threads import processor_count
from posteriori.numerics.types import Array
from posteriori.selection.candidates import CANDIDATES, Candidate

__all__ = [
    "RECIPES",
    "Recipe",
    "compiling_ahead",
    "follow",
    "grown_recipes",
    "note_done",
    "work_ahead",
]


_CODE = "import sys\nfrom posteriori.analysis.warming.compiling_ahead import work_ahead\nwork_ahead(sys.argv[1:])"
#: Seconds that the process may take to end.
_PATIENCE = 5.0


@contextmanager
def compiling_ahead(find: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Let another process compile what is needed later, where that is not done and there is a processor for it.

    Those who listen to the compiler of this process hear of the other's kernels as well, from a thread.

    Parameters
    ----------
    find : callable
        Returns the names of the recipes that are needed.
    """
    recipes = [name for name in find() if not _note(name).exists()]
    if not recipes or not _can_help():
        yield
        return
    with _start(recipes) as process:
        listener = threading.Thread(target=_pass_on, args=(process,), daemon=True)
        try:
            listener.start()
            yield
        finally:
            _end(process)
            if listener.ident is not None:  # it was started
                listener.join()


def _start(recipes: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CODE, *recipes],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for the process that asked
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def work_ahead(recipes: Sequence[str]) -> None:
    """Follow recipes in the process that was started for it, and note which are done."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listeners.append(lambda name: print(name, flush=True))
    for name in recipes:
        follow(RECIPES[name])
        note_done(name)


def note_done(recipe: str) -> None:
    """Note that all which a recipe needs is compiled."""
    _note(recipe).touch()


def _can_help() -> bool:
    if STAYS_PLAIN or processor_count() < 2:
        return False
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


def _note(recipe: str) -> Path:
    return cache_folder() / f"{recipe}.compiled"


def _pass_on(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        for tell in listeners:
            tell(line.strip())


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_with_parent() -> None:
    sys.stdin.read()
    with writing:  # no file is left half-written
        give_up_all()
        os._exit(1)


#: Rows of small tables, of series, and of those that a process takes as a chain.
_ROWS, _LONG, _LONGER = 60, 200, 3000


class Recipe(NamedTuple):
    """What is compiled, in words, and what to run for it."""

    words: str
    run: Callable[[], object]


def follow(recipe: Recipe) -> None:
    """Run a recipe. What a fit to so few rows warns of is of no interest."""
    with warnings.catch_warnings(action="ignore"):
        recipe.run()


# -- models of a table ----------------------------------------------------------------------------


def _inputs(rows: int = _ROWS) -> Array:
    return np.random.default_rng(0).normal(size=(rows, 3)).round(2)


def _fit_all(task: str, rooms: tuple[str, ...], targets: tuple[Array, ...]) -> None:
    """Fit the candidates of some rooms, the dearest first: the others will be fitted elsewhere by then."""
    chosen = [c for c in CANDIDATES if c.task == task and c.path.startswith(rooms)]
    for candidate in sorted(chosen, key=lambda c: -c.cost):
        for y in targets:
            _fit(candidate, y)


def _fit(candidate: Candidate, y: Array) -> None:
    x = _inputs()
    model = candidate.make().fit(x, y)
    if candidate.task == "classification":
        model.predict_proba(x)
    else:
        model.predict_dist(x).interval(0.9)


#: Rooms of models that are grown …
_TREES = ("posteriori.tree.", "posteriori.ensemble.")
#: … and targets for them: whole numbers above 0, which all families take …
_COUNTS = np.arange(_ROWS) % 7 + 1.0
#: … three classes, and two.
_THREE, _TWO = np.arange(_ROWS) % 3, np.arange(_ROWS) % 2


# -- the other commands ---------------------------------------------------------------------------


def _cluster() -> None:
    x = _inputs() + 9.0 * (np.arange(_ROWS) % 2)[:, None]  # two groups, so that all is told of them
    x[3, 0] = np.nan
    kind = np.where(np.arange(_ROWS) % 2, "left", "right")
    analysis.cluster({"a": x[:, 0], "b": x[:, 1], "kind": kind}, max_clusters=2).html()


def _segment() -> None:
    x = _inputs(_LONG)
    analysis.segment({"a": x[:, 0], "b": x[:, 1]}, states=(1, 2)).html()


def _forecast() -> None:
    months = np.arange("2015-01", "2020-01", dtype="datetime64[M]").astype("datetime64[ns]")
    sold = 40 + np.arange(len(months)) % 12
    table = {"month": months, "sold": sold}
    analysis.forecast(table, time="month", value="sold", horizon=2, origins=1).html()


# -- models that are used from Python -------------------------------------------------------------


def _learn_states() -> None:
    rows = _inputs(_LONG)
    model = sequence.HiddenMarkovModel(2, random_state=0).fit(rows)
    model.predict(rows)


def _learn_process() -> None:
    x, y = np.arange(_LONGER)[:, None], _inputs(_LONGER)[:, 0]
    for nu in (1.5, 2.5):  # that of two states has loops of its own
        process = gaussian_process.GaussianProcessRegressor(kernels.Matern(nu=nu), max_iter=2)
        process.fit(x, y).predict_dist(x[:5])


def _ask_network() -> None:
    names = [f"v{i}" for i in range(_ROWS)]
    cells = np.full((3, 3), 1.0 / 3.0)
    first = tables.ConditionalTable(names[0], (), cells[0])
    rest = [tables.ConditionalTable(b, (a,), cells) for a, b in pairwise(names)]
    networks.BayesianNetwork(first, *rest).marginals({names[3]: 1})


#: By what they are for, dearest first: side by side, the last ones are short.
RECIPES = {
    "trees of numbers": Recipe(
        "trees, forests and boosting", partial(_fit_all, "regression", _TREES, (_COUNTS,))
    ),
    "trees of classes": Recipe(
        "the same of classes", partial(_fit_all, "classification", _TREES, (_THREE,))
    ),
    "trees of two classes": Recipe(
        "the same of two classes", partial(_fit_all, "classification", _TREES, (_TWO,))
    ),
    "classes": Recipe(
        "other models of classes",
        partial(
            _fit_all, "classification", ("posteriori.classification.NaiveBayes",), (_THREE, _TWO)
        ),
    ),
    "cluster": Recipe("groups", _cluster),
    "segment": Recipe("states", _segment),
    "forecast": Recipe("series", _forecast),
    "states": Recipe("hidden Markov models", _learn_states),
    "process": Recipe("processes over time", _learn_process),
    "network": Recipe("networks", _ask_network),
}


def grown_recipes(
    frame: pd.DataFrame,
    *,
    target: str | None = None,
    task: str = "auto",
    models: Any = (),
    **_: Any,
) -> list[str]:
    """Return the recipes of trees that a comparison comes to when its cheap models are fitted.

    Parameters
    ----------
    frame, target, task, models
        As of :func:`posteriori.compare`, whose other options do not matter here.
    """
    names = (models,) if isinstance(models, str) else models or ()
    trees = [c for c in CANDIDATES if c.path.startswith(_TREES)]
    tasks = {c.task for c in trees if not names or c.name in names or c.words in names}
    if target is None or not tasks:
        return []
    goal = read_target(frame, target, task)
    if goal.task not in tasks:
        return []
    if goal.classes is None:
        return ["trees of numbers"]
    return ["trees of two classes" if len(goal.classes) == 2 else "trees of classes"]
