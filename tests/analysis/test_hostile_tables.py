"""Hostile tables: read and understood, or refused in words; what is fitted to them answers in numbers."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from posteriori.analysis import read_table
from posteriori.analysis.comparisons.table_problem import Problem, make_problem, read_target
from posteriori.analysis.table.columns import describe_columns
from posteriori.cli import app
from tests.analysis.hostile_tables import hostile_file

#: Seconds that a case may take on a busy machine; alone it takes milliseconds.
LONGEST = 20.0

#: Cheap models of each task.
MODELS = {
    "regression": "constant,linear",
    "classification": "class frequencies,naive Bayes",
    "density": "normal,Student t",
}


def fault_of(work: Callable[[], Any]) -> str:
    """Return what is wrong with the end of some work: nothing for an answer and for a refusal in words."""
    start = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            work()
        except (ValueError, TypeError) as refused:
            if not str(refused) or isinstance(refused, (UnicodeError, np.linalg.LinAlgError)):
                return repr(refused)
        except Exception as error:
            return repr(error)
    seconds = time.monotonic() - start
    return f"{seconds:.0f} s" if seconds > LONGEST else ""


def understand(path: Path, rng: np.random.Generator) -> tuple[pd.DataFrame, str, Problem]:
    """Read a table and prepare the prediction of one of its columns, as ``compare`` does."""
    frame = read_table(path).frame
    target = str(frame.columns[int(rng.integers(frame.shape[1]))])
    goal = read_target(frame, target)
    problem = make_problem(frame, goal, describe_columns(frame, (), target), 3, 0)
    for name, kind in problem.kinds.items():
        assert kind == "category" or not np.isinf(problem.X[name]).any(), name
    assert goal.classes is not None or np.isfinite(problem.y).all()
    return frame, target, problem


def compare(path: Path, rng: np.random.Generator) -> None:
    """Compare cheap models, keep the best and predict the table with it, all by the command."""
    frame, target, problem = understand(path, rng)
    task = "regression" if problem.classes is None else "classification"
    task = "density" if task == "regression" and rng.random() < 0.2 else task
    model, out = path.with_name("model"), path.with_name("out.csv")
    for old in (model, out):
        old.unlink(missing_ok=True)
    options = ["--task", task, "--models", MODELS[task], "--jobs", "1", "--save", str(model)]
    told = run("compare", str(path), "--target", target, *options)
    assert "encountered in" not in told, told  # a warning of NumPy
    if not model.exists():
        return
    run("show", str(model))
    run("predict", str(model), str(path), "--out", str(out))
    if out.exists():
        labels = task == "classification"  # the first of the new columns; one may be "inf"
        made = pd.read_csv(out).iloc[:, frame.shape[1] + labels :]
        assert np.isfinite(made.select_dtypes("number")).all(axis=None), made


def run(*words: str) -> str:
    """Return what the command prints, whose errors are one line."""
    result = CliRunner().invoke(app, words)
    failed = [line for line in result.output.splitlines() if line.startswith("posteriori: ")]
    assert (result.exit_code, len(failed)) in ((0, 0), (1, 1)), result.output
    assert "defect of posteriori" not in result.output, result.output
    assert "Traceback" not in result.output, result.output
    return result.output


def faults(tmp_path: Path, ask: Callable[..., Any], seeds: range) -> list[str]:
    path, found = tmp_path / "table", []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        path.write_bytes(hostile_file(rng))
        if fault := fault_of(lambda rng=rng: ask(path, rng)):  # type: ignore[misc]
            found.append(f"seed {seed}: {fault}")
    return found


def test_hostile_tables_are_understood_or_refused(tmp_path: Path) -> None:
    assert not faults(tmp_path, understand, range(200))


def test_hostile_tables_are_compared_or_refused(tmp_path: Path) -> None:
    assert not faults(tmp_path, compare, range(1000, 1015))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_many_hostile_tables_are_understood_or_refused(tmp_path: Path, part: int) -> None:
    start = 10_000 * (part + 1)
    assert not faults(tmp_path, understand, range(start, start + 4_000))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_many_hostile_tables_are_compared_or_refused(tmp_path: Path, part: int) -> None:
    start = 100_000 * (part + 1)
    assert not faults(tmp_path, compare, range(start, start + 400))
