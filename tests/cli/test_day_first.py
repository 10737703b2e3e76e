"""The order of dates in texts is an option of every command that reads a table."""

from inspect import signature
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

import posteriori.cli as commands
from posteriori.analysis import cluster, compare


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands.app, [str(argument) for argument in arguments])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Dates that both orders fit: days up to 12, in the summers of three years, or all over these."""
    rows = [
        f"{1 + 5 * n % 12:02d}/{6 + n % 3:02d}/{2017 + n % 3},{n % 7 + n / 40}" for n in range(40)
    ]
    path = tmp_path / "t.csv"
    path.write_text("d,y\n" + "\n".join(rows))
    return path


@pytest.mark.parametrize(
    "asked",
    [
        ("compare", "--target", "y", "--models", "constant"),
        ("compare", "--task", "density", "--models", "normal"),
        ("cluster", "--max-clusters", "1"),
    ],
    ids=["compare", "density", "cluster"],
)
def test_commands_say_which_order_they_took_and_take_the_other(
    asked: tuple[str, ...], table: Path
) -> None:
    name, *options = asked
    said = {}
    for order in ("", "--day-first", "--month-first"):
        done = run(name, table, *options, *order.split())
        assert done.exit_code == 0, done.output
        said[order] = " ".join(done.output.split())
    assert "dates, month first: used as decimal years; day first would fit as well" in said[""]
    assert "or choose the order with day_first" in said[""]
    assert "dates, day first: used as decimal years" in said["--day-first"]
    assert "would fit" not in said["--day-first"] + said["--month-first"]


def test_the_option_is_a_keyword() -> None:
    for function in (compare, cluster):
        assert signature(function).parameters["day_first"].default is None
