"""The commands of network: answers, pictures, and what they refuse."""

import json
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from posteriori.cli import app
from posteriori.networks import BayesianNetwork
from posteriori.tables import ConditionalTable

YN = ["no", "yes"]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["network", *(str(a) for a in arguments)])


@pytest.fixture
def rain(tmp_path: Path) -> Path:
    bn = BayesianNetwork(
        ConditionalTable("rain", (), [0.8, 0.2], [YN]),
        ConditionalTable("wet", "rain", [[0.9, 0.1], [0.2, 0.8]], [YN, YN]),
    )
    bn.write(tmp_path / "rain.bif")
    return tmp_path / "rain.bif"


def test_answers_are_printed_a_line_a_state(rain):
    done = run("query", rain, "rain | wet=yes")
    assert done.exit_code == 0, done.output
    assert [line.split() for line in done.output.splitlines()] == [
        ["no", "0.333333"],
        ["yes", "0.666667"],
    ]
    found = json.loads(run("query", rain, "rain | wet=yes", "--json").output)
    assert found == {"no": pytest.approx(1 / 3), "yes": pytest.approx(2 / 3)}
    assert float(run("query", rain, "rain=yes | wet=yes").output) == pytest.approx(2 / 3, abs=1e-6)
    assert json.loads(run("query", rain, "rain=yes", "--json").output) == pytest.approx(0.2)
    joint = json.loads(run("query", rain, "rain, wet", "--json").output)
    assert joint["yes, yes"] == pytest.approx(0.16)


def test_pictures_are_written_by_suffix(rain, tmp_path):
    done = run("draw", rain, "--given", "wet=yes", "--out", tmp_path / "net.svg")
    assert done.exit_code == 0, done.output
    svg = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert svg.startswith("<svg")
    assert "66.7 %" in svg
    assert run("draw", rain, "--out", tmp_path / "net.dot").exit_code == 0
    assert "rain" in (tmp_path / "net.dot").read_text(encoding="utf-8")
    assert run("draw", rain).output.startswith("<svg")
    refused = run("draw", rain, "--out", tmp_path / "net.png")
    assert refused.exit_code == 1
    assert ".svg" in refused.stderr
    assert not (tmp_path / "net.png").exists()


def test_what_a_file_holds(rain):
    done = run("show", rain)
    assert "2 variables, 3 parameters" in done.output
    assert "given rain" in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("query", "{file}", "rian"), "rain"),
        (("query", "{file}", "rain | wet=maybe"), "maybe"),
        (("query", "nothing.bif", "rain"), "does not exist"),
        (("show", "{other}"), "suffix"),
    ],
)
def test_errors_are_a_line(rain, tmp_path, arguments, message):
    (tmp_path / "net.txt").write_text("network", encoding="utf-8")
    told = [str(a).format(file=rain, other=tmp_path / "net.txt") for a in arguments]
    done = run(*told)
    assert done.exit_code == 1
    assert done.stderr.startswith("posteriori: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2
