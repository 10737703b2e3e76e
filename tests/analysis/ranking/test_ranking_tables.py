"""The detailed ranking: evidences of learners are asked for when they are shown, in their own group."""

import html
from dataclasses import replace

import numpy as np
import pytest

from posteriori.analysis import compare
from posteriori.analysis.comparisons import conclusions
from posteriori.analysis.ranking.ranked_result import (
    detailed_table,
    explanations,
    ranking_table,
)
from posteriori.selection import prequential_evidence


@pytest.fixture
def analysis():
    rng = np.random.default_rng(0)
    x = rng.normal(size=90)
    table = {
        "x": x,
        "z": rng.normal(size=90),
        "y": np.where(x + rng.normal(size=90) > 0, "up", "down"),
    }
    models = ["class frequencies", "logistic", "nearest neighbours"]
    return compare(table, "y", models=models, jobs=1, thorough=True)


def test_a_model_without_evidence_has_a_prequential_one(analysis):
    rows = {row.name: row for row in analysis.detailed_rows}
    near = rows["nearest neighbours"]
    outcome, problem = analysis.outcomes[near.name], analysis.problem
    expected = prequential_evidence(outcome.model, problem.X, problem.y, problem.classes)
    assert near.log_evidence == pytest.approx(float(expected))
    assert (near.kind, near.of) == ("prequential", "y|X, prequential")
    assert near.probability == 1.0  # of its group alone
    assert rows["logistic"].probability + rows["class frequencies"].probability == pytest.approx(
        1.0
    )
    assert rows["logistic"] == analysis.ranking["logistic"]
    assert np.isnan(analysis.ranking[near.name].log_evidence)  # the ranking does not ask for it


def test_groups_are_told_apart_and_in_order(analysis):
    header, rows = detailed_table(analysis)
    cells = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
    assert [row[0] for row in rows] == [row[0] for row in ranking_table(analysis)[1]]
    near, line = cells["nearest neighbours"], cells["straight boundaries (logistic)"]
    assert near["kind"] == "prequential"
    assert near["prob."].strip() != line["prob."][-1]
    assert near["prob."].strip() in "ab"  # a letter, and no probability where nothing compares
    assert cells["average of the models"]["evidence"] == ""
    assert "each block of rows predicted by earlier ones" in " ".join(
        explanations(analysis, header, ())
    )


@pytest.fixture
def no_fit(monkeypatch):
    def never(*_args, **_options):
        raise AssertionError("asked for evidence")

    monkeypatch.setattr(conclusions, "prequential_evidence", never)
    monkeypatch.setattr(conclusions, "fit_in_parts", never)


@pytest.mark.usefixtures("no_fit")
def test_the_short_ranking_costs_no_fit(analysis):
    ranking_table(analysis)
    assert analysis.verdict


@pytest.mark.usefixtures("no_fit")
def test_what_takes_further_fits_waits_to_be_asked_for(analysis):
    brief = replace(analysis, thorough=False)
    header, rows = detailed_table(brief)
    kinds = {row[0]: row[header.index("kind")] for row in rows}
    assert kinds["nearest neighbours"] == ""
    assert kinds["straight boundaries (logistic)"] == "laplace"
    (line,) = (text for text in explanations(brief, header, ()) if "--thorough" in text)
    assert line in html.unescape(brief.html())
    assert "Sensitivity to the prior" not in brief.html()


def test_a_thorough_report_has_all_that_takes_further_fits(analysis):
    page = analysis.html()
    assert "Sensitivity to the prior" in page
    assert "<td>prequential</td>" in page
    assert "--thorough" not in page


@pytest.mark.parametrize("error", [ValueError("cannot"), KeyboardInterrupt()])
def test_what_fails_or_is_stopped_is_left_out(analysis, monkeypatch, error):
    def failing(*_args, **_options):
        raise error

    monkeypatch.setattr(conclusions, "prequential_evidence", failing)
    rows = {row.name: row for row in analysis.detailed_rows}
    assert rows["nearest neighbours"].of == ""
    assert rows["logistic"].kind == "laplace"


def test_an_impossible_row_leaves_no_evidence(analysis, monkeypatch):
    impossible = conclusions.LogEvidence(-np.inf, kind="prequential", of="y|X")
    monkeypatch.setattr(conclusions, "prequential_evidence", lambda *_args, **_options: impossible)
    assert {row.kind for row in analysis.detailed_rows} == {"", "laplace", "exact"}
