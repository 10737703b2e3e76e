"""What people wait for at first: start, first and final verdict, report, compilation, and a script of their own.

Each figure is of a process of its own; processor seconds include those of all processes that it started.
"Cold" is with an empty cache of machine code, "warm" with one that lacks nothing; compilation is what cold
takes beyond warm. Modules are loaded from byte code; products of matrices have one thread. Usage:
``bench_first_contact.py [WORD …]``: only the parts whose names contain a word. It fails when a figure is
above its bar.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from first_contact_data import make_effects, make_exchange, make_months, make_penguins
from processes import compiled, make_byte_code, run, run_warm, show, spent

__all__ = ["main"]

COMMAND = ("-c", "from posteriori.cli import main; main()")
#: Runs of what takes less than a second.
ROUNDS = 7
MILLION = (1_000_000, 9)
#: Beside a script: rows and columns.
SIZES = ((442, 10), (1_500, 10), (5_000, 20), (20_000, 30))

#: What each figure may be at most: seconds of processor time, or what its name says.
BARS = {
    "import posteriori": 0.06,
    "posteriori --help": 0.3,
    "diabetes: imports": np.inf,
    "diabetes: first verdict": 4.0,
    "diabetes: final verdict": 12.0,
    "diabetes: report alone": 4.0,
    "diabetes: compare --html": 16.0,
    "diabetes: compare --html, MB": 420.0,
    "diabetes: compare --html, compilation": 15.0,
    "cluster": 2.8 / 3.0,  # of what these three took before
    "cluster, compilation": 8.0,
    "segment": 20.7 / 3.0,
    "segment, compilation": 8.0,
    "forecast": 12.6 / 3.0,
    "forecast, compilation": 8.0,
    "HiddenMarkovModel, compilation": 3.0,
    "GaussianProcessRegressor, compilation": 3.0,
    "BayesianNetwork.marginals, compilation": 3.0,
    "1,000 × 20: wall over processor": 0.65,
    "10⁶ × 9: constant and linear": 20.0,
    "10⁶ × 9: after the last model": np.inf,
    "10⁶ × 9: MB": 710.0,
    "10⁶ × 9 in 120 s: constant is the verdict": 0.0,
    **{f"{rows:,} × {columns}: ours over a script": 1.5 for rows, columns in SIZES},
    **{f"{rows:,} × {columns}: standard errors behind it": 1.0 for rows, columns in SIZES},
}


# -- in a process of its own ----------------------------------------------------------------------


def ask_diabetes() -> dict[str, float]:
    from posteriori.analysis import compare
    from posteriori.cli.demo import load_demo

    quick, imports = [], spent()

    def note(outcome: Any, *_: Any) -> None:
        if outcome.candidate.quick:
            quick.append(spent())

    analysis = compare(load_demo(), "progression", on_outcome=note)
    final, first = _told(analysis), max(quick)
    analysis.html()
    names = ("imports", "first verdict", "final verdict", "report alone")
    return dict(zip(names, (imports, first, final, spent() - final), strict=True))


def ask_million(path: str) -> dict[str, float]:
    from posteriori.analysis import compare

    stamps = []
    analysis = compare(
        pd.read_csv(path),
        "y",
        models=["constant", "linear"],
        on_outcome=lambda *_: stamps.append(spent()),
    )
    final = _told(analysis)
    return {"constant and linear": final, "after the last model": final - stamps[-1]}


def ask_in_time(path: str, seconds: float) -> dict[str, float]:
    from posteriori.analysis import compare

    analysis = compare(pd.read_csv(path), "y", time_limit=seconds)
    return {"constant is the verdict": float(analysis.ranking.best == analysis.baseline)}


def ask_table(path: str, out: str) -> dict[str, float]:
    from posteriori.analysis import compare

    analysis = compare(pd.read_csv(path), "y")
    np.save(out, analysis.outcomes[analysis.ranking.best].unseen.log_density)
    return {"verdict": _told(analysis)}


def _told(analysis: Any) -> float:
    """Return when the ranking and the verdict can be read."""
    assert analysis.verdict in repr(analysis)
    return spent()


def function(name: str, *arguments: object) -> tuple[str, ...]:
    """Return what runs a function of this file, which prints numbers by name, in a process of its own."""
    told = ", ".join(map(repr, arguments))
    return "-c", f"import json, bench_first_contact as b; print(json.dumps(b.{name}({told})))"


# -- parts ----------------------------------------------------------------------------------------


def start(folder: Path) -> dict[str, float]:
    """Medians of short runs."""
    asked = {
        "import posteriori": ("-c", "import posteriori"),
        "posteriori --help": (*COMMAND, "--help"),
    }
    return {
        name: statistics.median(run(code, folder).processor for _ in range(ROUNDS))
        for name, code in asked.items()
    }


def diabetes(folder: Path) -> dict[str, float]:
    from posteriori.cli.demo import load_demo

    load_demo().to_csv(folder / "diabetes.csv", index=False)
    told = json.loads(run_warm(function("ask_diabetes"), folder / "cache").said)
    page = ("--target", "progression", "--html", str(folder / "page.html"))
    warm, compilation = compiled((*COMMAND, "compare", str(folder / "diabetes.csv"), *page))
    return {
        **{f"diabetes: {name}": value for name, value in told.items()},
        "diabetes: compare --html": warm.processor,
        "diabetes: compare --html, MB": warm.megabytes,
        "diabetes: compare --html, compilation": compilation,
    }


def _of_command(name: str, make: Callable[[], pd.DataFrame], *options: str) -> Callable[..., Any]:
    """Return a part: a command on a table, warm, and what it compiles."""

    def part(folder: Path) -> dict[str, float]:
        path = folder / f"{name}.csv"
        make().to_csv(path, index=False)
        warm, compilation = compiled((*COMMAND, name, str(path), *options))
        return {name: warm.processor, f"{name}, compilation": compilation}

    return part


def estimators(folder: Path) -> dict[str, float]:
    uses = {
        "HiddenMarkovModel": "learn_hidden_states",
        "GaussianProcessRegressor": "learn_process",
        "BayesianNetwork.marginals": "ask_network",
    }
    return {
        f"{name}, compilation": compiled(("-c", f"import bench_compilation as b; b.{use}()"))[1]
        for name, use in uses.items()
    }


def cores(folder: Path) -> dict[str, float]:
    path = folder / "cores.csv"
    make_effects(1_000, 20).to_csv(path, index=False)
    warm = run_warm(function("ask_table", str(path), str(folder / "ours.npy")), folder / "cache")
    return {"1,000 × 20: wall over processor": warm.wall / warm.processor}


def million(folder: Path) -> dict[str, float]:
    path = folder / "million.csv"
    make_effects(*MILLION).to_csv(path, index=False)
    warm = run_warm(function("ask_million", str(path)), folder / "cache")
    told = {**json.loads(warm.said), "MB": warm.megabytes}
    return {f"10⁶ × 9: {name}": value for name, value in told.items()}


def limit(folder: Path) -> dict[str, float]:
    path = folder / "million.csv"
    make_effects(*MILLION).to_csv(path, index=False)
    told = json.loads(run(function("ask_in_time", str(path), 120.0), folder / "cache").said)
    return {f"10⁶ × 9 in 120 s: {name}": value for name, value in told.items()}


def _beside_script(rows: int, columns: int) -> Callable[..., Any]:
    """Return a part: ours and a script on one table, and how far ours is behind the best of the script's."""

    def part(folder: Path) -> dict[str, float]:
        path, ours, theirs = (folder / name for name in ("table.csv", "ours.npy", "theirs.npz"))
        _table_of(rows, columns).to_csv(path, index=False)
        mine = run_warm(function("ask_table", str(path), str(ours)), folder / "cache")
        other = run(("usual_script.py", str(path), "y", str(theirs)), folder / "cache")
        show(script=other)
        gap = max(np.load(theirs).values(), key=np.sum) - np.load(ours)
        error = gap.std(ddof=1) * np.sqrt(rows)
        print(f"    {gap.sum():.1f} ± {error:.1f} nats behind {other.said}", flush=True)
        return {
            f"{rows:,} × {columns}: ours over a script": mine.processor / other.processor,
            f"{rows:,} × {columns}: standard errors behind it": gap.sum() / error,
        }

    return part


def _table_of(rows: int, columns: int) -> pd.DataFrame:
    """Return diabetes where that is the size, or a table that is made."""
    from posteriori.cli.demo import load_demo

    diabetes = load_demo().rename(columns={"progression": "y"})
    return diabetes if len(diabetes) == rows else make_effects(rows, columns)


PARTS: dict[str, Callable[[Path], dict[str, float]]] = {
    "start": start,
    "diabetes": diabetes,
    "cluster": _of_command("cluster", make_penguins),
    "segment": _of_command("segment", make_exchange),
    "forecast": _of_command(
        "forecast", make_months, "--time", "month", "--value", "passengers", "--by", "series"
    ),
    "estimators": estimators,
    "cores": cores,
    "million": million,
    "limit": limit,
    **{f"script {rows}": _beside_script(rows, columns) for rows, columns in SIZES},
}


# -- all of them ----------------------------------------------------------------------------------


def main(words: list[str]) -> int:
    """Print each figure with its bar; return 1 when one is above it."""
    late = []
    make_byte_code()
    with tempfile.TemporaryDirectory() as folder:
        for name, part in PARTS.items():
            if words and not any(word in name for word in words):
                continue
            print(f"{name}  (load {os.getloadavg()[0]:.1f})", flush=True)
            for figure, value in part(Path(folder)).items():
                missed = value > BARS[figure]
                late += [figure] if missed else []
                bar = f"bar {BARS[figure]:.3g}" if np.isfinite(BARS[figure]) else ""
                flag = "MISSED" if missed else ""
                print(f"  {figure:44} {value:8.2f}  {bar:10} {flag}", flush=True)
    print(
        "\n"
        + ("ABOVE THE BAR: " + "; ".join(late) if late else "All figures are below their bars.")
    )
    return bool(late)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
