"""Costs and a class that is to be found: told to the command as to Python, applied by predict, named by show."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer
from click.testing import Result
from typer.testing import CliRunner

from posteriori.analysis import Analysis, compare, load_model
from posteriori.cli import app
from posteriori.cli.task_commands import _numbered


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def table(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, rows))
    fraud = rng.random(rows) < 1.0 / (1.0 + np.exp(3.6 - 1.7 * x))
    return pd.DataFrame({"x": x, "z": z, "fraud": np.where(fraud, "yes", "no")})


MODELS = ["class frequencies", "logistic"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("costs")
    table().to_csv(folder / "t.csv", index=False)
    told = ("--target", "fraud", "--models", ",".join(MODELS), "--jobs", 1)
    written = ("--save", folder / "m.po", "--html", folder / "r.html")
    done = run("compare", folder / "t.csv", *told, "--cost", "yes:no=10", *written)
    assert done.exit_code == 0, done.output
    (folder / "said.txt").write_text(done.output)
    return folder


@pytest.fixture(scope="module")
def found() -> Analysis:
    return compare(table(), "fraud", models=MODELS, jobs=1, costs={("yes", "no"): 10})


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["yes:no=10"], {"yes:no": 10.0}),
        (["yes:no=10, no:yes=.5"], {"yes:no": 10.0, "no:yes": 0.5}),
        (["a:b=1e3", "b:a=-2"], {"a:b": 1000.0, "b:a": -2.0}),
        (["1,5:x=y=2"], {"1,5:x=y": 2.0}),
        ([], None),
    ],
)
def test_names_with_numbers(texts: list[str], numbers: dict[str, float] | None) -> None:
    assert _numbered("cost", texts) == numbers


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (["yes:no"], "--cost takes names with numbers such as yes:no=10, got 'yes:no'"),
        (["yes:no=ten"], "got 'yes:no=ten'"),
        (["yes:no=1,,"], "got ','"),
        (["yes:no=1,yes:no=2"], "--cost tells of 'yes:no' twice"),
        (["yes:no=1", "yes:no=2"], "--cost tells of 'yes:no' twice"),
        (["=3"], "got '=3'"),
    ],
)
def test_malformed_names_with_numbers(
    texts: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit):
        _numbered("cost", texts)
    assert words in capsys.readouterr().err


def test_command_and_python_say_the_same(files: Path, found: Analysis) -> None:
    said = (files / "said.txt").read_text().replace("\n", " ")
    assert " ".join(found.verdict.split()[:30]) in " ".join(said.split())
    assert found.target.stakes.costs is not None
    model = load_model(files / "m.po")
    new = table(50, seed=1)
    pd.testing.assert_frame_equal(model.predict(new), found.model.predict(new))


def test_predict_applies_costs_and_show_names_them(files: Path) -> None:
    table(200, seed=1).to_csv(files / "new.csv", index=False)
    done = run("predict", files / "m.po", files / "new.csv", "--out", files / "told.csv")
    assert done.exit_code == 0, done.output
    told = pd.read_csv(files / "told.csv")
    yes = told["P(fraud=yes)"] > 1.0 / 11.0
    assert (told["fraud_predicted"] == np.where(yes, "yes", "no")).all()
    assert (yes & (told["P(fraud=yes)"] < 0.5)).sum() > 0  # another rule would say otherwise
    shown = run("show", files / "m.po").output
    assert "costs: “yes” taken for “no” 10, other mistakes 1" in shown
    assert "threshold: says “yes” from a probability of 0.0909 on" in shown


def test_the_report_has_the_curves(files: Path) -> None:
    page = (files / "r.html").read_text()
    assert "Share of true alarms against share found of yes" in page
    assert "Cost of a row against the threshold" in page


def test_the_ranking_leads_with_what_is_found(found: Analysis) -> None:
    header = found.__repr__().splitlines()[0].split()
    assert header[:7] == ["model", "cost", "AUC", "AP", "found", "precision", "score"]
    frame = found.ranking.to_frame()
    decided = found.decided["logistic"]
    assert frame.loc["logistic", "cost"] == pytest.approx(decided.spent.mean())
    assert frame.loc["logistic", "recall"] == decided.found / decided.rows
    assert {"AUC", "average precision", "Brier", "log loss"} <= set(frame.columns)
    told = found.data()["positive"]
    assert (told["class"], told["found"]) == ("yes", found.decided[found.kept].found)
    assert told["threshold"] == pytest.approx(1.0 / 11.0)


def test_the_code_of_the_report_leads_to_the_same(found: Analysis) -> None:
    names: dict[str, object] = {"table": table()}
    code = found.code("")
    assert "costs={'yes:no': 10.0}" in code
    exec(code, names)
    again = names["analysis"]
    assert isinstance(again, Analysis)
    assert again.verdict == found.verdict
    named = compare(table(), "fraud", models=MODELS, jobs=1, positive="no")
    assert "positive='no'" in named.code("")


def test_a_rare_class_needs_no_asking() -> None:
    plain = compare(table(), "fraud", models=MODELS, jobs=1)
    assert plain.target.stakes.positive == 1
    assert "costs" not in plain.code("")
    assert "positive" not in plain.code("")
    rule = plain.model.costs
    p = plain.model.predict(table(100, seed=2))
    said = p["P(fraud=yes)"] * rule[1, 0] > p["P(fraud=no)"]
    assert (p["fraud_predicted"] == np.where(said, "yes", "no")).all()
    counted = plain.decided[plain.kept]
    assert f": {counted.found} are found (" in plain.verdict
    assert f"), for {counted.alarms} false alarms, " in plain.verdict


def test_costs_without_a_target_are_refused(files: Path) -> None:
    for asked in (("--cost", "yes:no=10"), ("--positive", "yes")):
        done = run("compare", files / "t.csv", "--task", "density", *asked)
        assert done.exit_code == 1
        assert "costs and a positive class are for a target" in done.output
