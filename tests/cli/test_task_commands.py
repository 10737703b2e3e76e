"""Commands are made of the functions of tasks: neither can have what the other has not."""

import inspect
import json
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import typer
from tests.cli import two_samples
from typer.testing import CliRunner

import posteriori
from posteriori.analysis.tasks.as_data import SCHEMA
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.analysis.tasks.listed import TASKS, Task
from posteriori.cli import app
from posteriori.cli.signatures import REQUIRED, read_signature
from posteriori.cli.task_commands import add_task

#: What commands have beside the keywords of the function.
APART = {"data", "html", "save", "out", "max_rows", "json", "verbose"}


def function_of(task: Task) -> Any:
    module, _, name = task.function.partition(":")
    return getattr(import_module(module), name)


def options_of(task: Task) -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    return {str(p.name): p for p in group.commands[task.name].params}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_signatures_are_read_as_python_has_them(task: Task) -> None:
    first, *others = inspect.signature(function_of(task)).parameters.values()
    read = read_signature(task.function)
    assert first.name == "table"
    assert [p.name for p in read.parameters] == [p.name for p in others]
    for mine, its in zip(read.parameters, others, strict=True):
        assert mine.kind == its.annotation
        assert mine.default == (REQUIRED if its.default is its.empty else its.default)
        assert mine.words or "Callable" in mine.kind, f"{mine.name} has no words"
    assert function_of(task).__doc__.startswith(read.summary[:40])


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_command_and_function_have_one_name(task: Task) -> None:
    assert function_of(task) is getattr(posteriori, task.name)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_keyword_is_an_option_and_no_other(task: Task) -> None:
    keywords = {
        name
        for name, p in inspect.signature(function_of(task)).parameters.items()
        if name != "table" and "Callable" not in str(p.annotation)
    }
    options = options_of(task)
    assert set(options) - APART - {"help"} == keywords
    for name in keywords:
        default = inspect.signature(function_of(task)).parameters[name].default
        assert options[name].required == (default is inspect.Parameter.empty)
        if isinstance(default, int | float):
            assert options[name].default == default


def test_the_answer_is_printed_as_json(tmp_path: Path) -> None:
    x = np.linspace(0.0, 1.0, 40)
    pd.DataFrame({"x": x, "y": x + 0.1 * np.cos(40 * x)}).to_csv(tmp_path / "t.csv", index=False)
    asked = ("--target", "y", "--models", "constant,linear", "--json")
    done = CliRunner().invoke(app, ["compare", str(tmp_path / "t.csv"), *asked])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["schema"], told["task"], told["failure"]) == (SCHEMA, "compare", None)
    assert told["answer"]["ranking"][0]["name"] == "linear"
    best, *_, last = told["answer"]["ranking"]
    assert best["elpd"] > last["elpd"]
    assert last["elpd_difference"] == pytest.approx(last["elpd"] - best["elpd"])
    assert best["waic"] is None  # not known
    assert best["errors"]["R²"] > 0.8


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_results_are_of_one_kind(task: Task) -> None:
    returned = inspect.signature(function_of(task)).return_annotation
    module = import_module(task.function.partition(":")[0])
    kinds = [getattr(module, name.strip()) for name in returned.split("|") if name.strip() != "Any"]
    assert all(issubclass(kind, TaskResult) for kind in kinds)


# -- a task of one's own -------------------------------------------------------------------------


@pytest.fixture
def own() -> typer.Typer:
    """A command line that has the task of ``two_samples`` beside another one."""
    made = typer.Typer()
    add_task(made, two_samples.TASK)
    add_task(made, TASKS[0])
    return made


@pytest.fixture
def columns(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=50), "b": 3.0 + rng.normal(size=50)}
    pd.DataFrame(table).to_csv(tmp_path / "c.csv", index=False)
    return tmp_path / "c.csv"


def test_a_task_of_ones_own_has_a_command_and_a_page(own: typer.Typer, columns: Path) -> None:
    page = columns.parent / "page.html"
    asked = ["differ", str(columns), "--first", "a", "--second", "b", "--html", str(page)]
    done = CliRunner().invoke(own, asked)
    assert done.exit_code == 0, done.output
    assert "“a” and “b” are different (probability 1.00)." in " ".join(done.output.split())
    assert "The two columns" in page.read_text(encoding="utf-8")
    assert "differ(table, first=&#x27;a&#x27;" in page.read_text(encoding="utf-8")
    assert "evidence" not in done.output
    assert "evidence" in CliRunner().invoke(own, [*asked, "--verbose"]).output


def test_a_task_of_ones_own_answers_in_json_and_notebooks(own: typer.Typer, columns: Path) -> None:
    asked = ["differ", str(columns), "--first", "a", "--second", "b", "--json"]
    told = json.loads(CliRunner().invoke(own, asked).stdout)
    assert told["answer"]["probability"] > 0.99
    assert told["answer"]["means"]["b"] == pytest.approx(pd.read_csv(columns)["b"].mean())
    found = two_samples.differ(pd.read_csv(columns), first="a", second="a")
    assert "are alike" in repr(found)
    assert found._repr_html_().startswith("<iframe")


def test_a_task_of_ones_own_refuses_in_a_line(own: typer.Typer, columns: Path) -> None:
    done = CliRunner().invoke(own, ["differ", str(columns), "--first", "a", "--second", "z"])
    assert done.exit_code == 1
    assert "there is no column 'z'" in done.output


def test_a_task_of_ones_own_saves_models(own: typer.Typer, columns: Path) -> None:
    saved = columns.parent / "m.po"
    asked = ["differ", str(columns), "--first", "a", "--second", "b", "--save", str(saved)]
    assert "“two samples” saved to" in CliRunner().invoke(own, asked).output
    shown = CliRunner().invoke(app, ["show", str(saved)])
    assert "two samples: predicts log ratios" in shown.output
    done = CliRunner().invoke(app, ["predict", str(saved), str(columns)])
    lines = done.stdout.splitlines()
    assert lines[0] == "a,b,log_ratio"
    ratios = pd.read_csv(StringIO(done.stdout))["log_ratio"]
    assert (ratios > 0.0).mean() > 0.9  # most of "a" are rather drawn as "a" is


def test_the_example_is_short() -> None:
    assert len(Path(two_samples.__file__).read_text(encoding="utf-8").splitlines()) <= 150
