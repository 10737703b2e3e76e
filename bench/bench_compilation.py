"""The compiler's bill: every kernel that a first use compiles, with its seconds and who asked for it.

Each use runs in a process of its own with an empty cache, and once more with the cache that ``posteriori warm`` fills.
Usage: ``bench_compilation.py [WORD …]``: only the uses whose names contain a word. It fails when the total of a use is
above its bar, in seconds of processor time.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from first_contact_data import make_exchange, make_months, make_penguins

__all__ = ["main"]

#: Kernels that are shown of each use.
SHOWN = 12
#: Seconds that a use may compile after ``posteriori warm``.
LEFT = 0.5
#: The package, and the files of it that compile for others.
PACKAGE = Path("src") / "posteriori"
COMPILERS = ("numerics/compilation.py", "numerics/machine_code/kernel_compilers.py")


class Use(NamedTuple):
    """A first use: what is run, and how many seconds it may compile."""

    run: Callable[[], object]
    bar: float


class Compiled(NamedTuple):
    """A kernel, the types that it was compiled for, who asked, and seconds without those of its parts."""

    name: str
    types: str
    asked: str
    seconds: float


# -- what is used ---------------------------------------------------------------------------------


def compare_numbers() -> None:
    from posteriori.analysis import compare
    from posteriori.cli.demo import load_demo

    compare(load_demo(), "progression", jobs=1).html()


def compare_classes() -> None:
    from posteriori.analysis import compare

    compare(make_penguins(), "species", jobs=1).html()


def describe_table() -> None:
    from posteriori.analysis import compare

    compare(make_penguins(), task="density", jobs=1).html()


def find_groups() -> None:
    from posteriori.analysis import cluster

    cluster(make_penguins()).html()


def find_states() -> None:
    from posteriori.analysis import segment

    segment(make_exchange()).html()


def forecast_months() -> None:
    from posteriori.analysis import forecast

    forecast(make_months(1), time="month", value="passengers", horizon=12).html()


def learn_hidden_states() -> None:
    from posteriori.sequence import HiddenMarkovModel

    rows = make_exchange(20_000).to_numpy()
    model = HiddenMarkovModel(3).fit(rows)
    model.predict(rows)


def learn_process() -> None:
    from posteriori.gaussian_process import GaussianProcessRegressor

    rng = np.random.default_rng(0)
    x = rng.uniform(size=(400, 3))
    GaussianProcessRegressor().fit(x, np.sin(5 * x).sum(axis=1)).predict_dist(x)


def learn_chain() -> None:
    from posteriori.gaussian_process import GaussianProcessRegressor
    from posteriori.kernels import Matern

    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0, 100, size=20_000))[:, None]
    y = np.sin(x[:, 0]) + rng.normal(size=len(x))
    GaussianProcessRegressor(Matern(nu=1.5)).fit(x, y).predict_dist(x[:100])


def ask_network() -> None:
    from posteriori.networks import BayesianNetwork
    from posteriori.tables import ConditionalTable

    rng, names, made = np.random.default_rng(0), [f"v{i}" for i in range(300)], []
    for i, name in enumerate(names):
        given = [names[p] for p in rng.permutation(range(max(0, i - 9), i))[:4]]
        cells = rng.dirichlet(np.ones(3), size=(3,) * len(given))
        made.append(ConditionalTable(name, given, cells))
    BayesianNetwork(*made).marginals({"v5": 1})


USES = {
    "compare, a number": Use(compare_numbers, 15.0),
    "compare, classes": Use(compare_classes, 15.0),
    "compare, density": Use(describe_table, 8.0),
    "cluster": Use(find_groups, 8.0),
    "segment": Use(find_states, 8.0),
    "forecast": Use(forecast_months, 8.0),
    "HiddenMarkovModel": Use(learn_hidden_states, 3.0),
    "GaussianProcessRegressor": Use(learn_process, 3.0),
    "GaussianProcessRegressor, a chain": Use(learn_chain, 3.0),
    "BayesianNetwork.marginals": Use(ask_network, 3.0),
}


# -- in a process of its own ----------------------------------------------------------------------


def record(use: Use) -> list[Compiled]:
    """Run a use in this process, and note what it compiles."""
    from numba.core import event

    made: list[Compiled] = []
    running: list[list[Any]] = []  # kernel, start, seconds of its parts

    class Recorder(event.Listener):
        def on_start(self, what: Any) -> None:
            running.append([what.data, _who_asks(), time.thread_time(), 0.0])

        def on_end(self, what: Any) -> None:
            data, asked, start, inner = running.pop()
            seconds = time.thread_time() - start
            if running:
                running[-1][-1] += seconds
            function = data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            made.append(Compiled(name, str(data["args"]), asked, seconds - inner))

    event.register("numba:compile", Recorder())
    use.run()
    return made


def _who_asks() -> str:
    """Return the function of the package that called the kernel."""
    frame = sys._getframe(1)
    while frame is not None:
        file = Path(frame.f_code.co_filename)
        if PACKAGE.as_posix() in file.as_posix() and not file.as_posix().endswith(COMPILERS):
            return f"{file.stem}.{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"


# -- all of them ----------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """Print the bill of each use; return 1 when one is above its bar."""
    late = []
    chosen = {n: use for n, use in USES.items() if not words or any(word in n for word in words)}
    with tempfile.TemporaryDirectory() as warmed:
        _warm(warmed)
        for name, use in chosen.items():
            with tempfile.TemporaryDirectory() as empty:
                late += _judge(name, _in_a_process(name, empty), use.bar)
            late += _judge(f"{name}, after warm", _in_a_process(name, warmed), LEFT)
    verdict = "ABOVE THE BAR: " + "; ".join(late) if late else "All bills are below their bars."
    print("\n" + verdict)
    return bool(late)


def _warm(folder: str) -> None:
    start = os.times()
    call = [sys.executable, "-c", "from posteriori.cli import main; main()", "warm"]
    subprocess.run(call, env=_surroundings(folder), check=True)
    end = os.times()
    seconds = end.children_user + end.children_system - start.children_user - start.children_system
    print(f"posteriori warm: {seconds:.1f} s of processor time, with imports and small fits")


def _judge(name: str, made: list[Compiled], bar: float) -> list[str]:
    total = sum(one.seconds for one in made)
    _show(name, made, total, bar)
    return [f"{name}: {total:.1f} s of {bar:g}"] if total > bar else []


def _in_a_process(name: str, folder: str) -> list[Compiled]:
    out = Path(folder) / "compiled.json"
    code = f"import bench_compilation as b; b.write({name!r}, {str(out)!r})"
    here = Path(__file__).parent
    subprocess.run([sys.executable, "-c", code], cwd=here, env=_surroundings(folder), check=True)
    return [Compiled(*row) for row in json.loads(out.read_text())]


def _surroundings(folder: str) -> dict[str, str]:
    return {**os.environ, "NUMBA_CACHE_DIR": folder, "OPENBLAS_NUM_THREADS": "1"}


def write(name: str, out: str) -> None:
    """Run a use in this process, and write what it compiles to a file."""
    Path(out).write_text(json.dumps(record(USES[name])))


def _show(name: str, made: list[Compiled], total: float, bar: float) -> None:
    print(f"\n{name}: {total:.1f} s for {len(made)} kernels (bar {bar:g} s)")
    if not made:
        return
    rows = pd.DataFrame(made)
    by_name = rows.groupby("name").agg(
        seconds=("seconds", "sum"), times=("types", "size"), asked=("asked", "first")
    )
    for kernel, row in by_name.nlargest(SHOWN, "seconds").iterrows():
        again = f"  compiled {row.times} times" if row.times > 1 else ""
        print(f"  {row.seconds:6.2f} s  {kernel}  (for {row.asked}){again}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
