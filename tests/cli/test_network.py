"""The commands of network: answers, pictures, and what they refuse."""

import gzip
import json
from pathlib import Path

import numpy as np
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
        (("query", "{file}", "rain | wet"), "write wet=label, with one of 'no', 'yes'"),
        (("draw", "{file}", "--given", "wett=yes"), "no variable 'wett'"),
        (("show", "{other}"), "suffix"),
        (("show", "{folder}/none.bif"), "line 1: expected a network in the format BIF"),
        (("show", "{folder}/cycle.uai"), "cycle.uai: the conditionals form a cycle x0 → x1 → x0"),
        (("show", "{folder}/torn.bif.gz"), "torn.bif.gz cannot be unpacked"),
        (
            ("show", "{folder}/huge.uai"),
            "huge.uai declares tables of at least 9223372036854775808 bytes",
        ),
        (("query", "{folder}/sum.uai", "x0"), "line 1: p(x0) sums to 1.1, 0.1 too much"),
    ],
)
def test_errors_are_a_line(rain, tmp_path, arguments, message):
    pair = "2 0.5 0.5"
    texts = {
        "net.txt": "network",
        "none.bif": "network a { }",
        "cycle.uai": "BAYES 2 2 2 2  2 1 0 2 0 1  4 .5 .5 .5 .5 4 .5 .5 .5 .5",
        "huge.uai": f"BAYES 60 {'2 ' * 60} 60 60 {' '.join(map(str, range(59, -1, -1)))} "
        + " ".join(f"1 {i}" for i in range(1, 60))
        + f" 2 {pair} " * 60,
        "sum.uai": "BAYES 1 2 1  1 0  2 .3 .8",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "torn.bif.gz").write_bytes(gzip.compress(rain.read_bytes())[:-9])
    places = {"file": rain, "other": tmp_path / "net.txt", "folder": tmp_path}
    told = [str(a).format(**places) for a in arguments]
    done = run(*told)
    assert done.exit_code == 1
    assert done.stderr.startswith("posteriori: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 2


def test_a_network_that_no_machine_has_room_for_is_shown_and_refused(tmp_path):
    """Of 250 variables with three drawn parents each, cliques have more than 60 variables."""
    rng, lines = np.random.default_rng(0), []
    for i in range(250):
        lines.append(f"variable x{i} {{ type discrete [ 2 ] {{ a, b }}; }}")
        parents = rng.choice(i, size=min(i, 3), replace=False)
        given = " | " * bool(i) + ", ".join(f"x{j}" for j in parents)
        lines.append(f"probability ( x{i}{given} ) {{ default 0.3, 0.7; }}")
    path = tmp_path / "dense.bif"
    path.write_text("\n".join(lines))
    shown = run("show", path)
    assert shown.exit_code == 0, shown.output
    assert "all marginals: an exact answer needs tables of more than 1.15e+18 cells" in shown.output
    asked = run("query", path, "x249")
    assert asked.exit_code == 1
    assert "an exact answer needs tables of more than" in asked.output
    assert "Observe more variables" in asked.output
