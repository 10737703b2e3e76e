"""Saved models go on with further rows, or say what to do instead."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from posteriori.analysis import cluster, compare, forecast, load_model, save_model
from posteriori.cli import app
from tests.analysis.groups.grouped_tables import blobs, groups_of
from tests.analysis.segments.segment_tables import mixed, segments_of
from tests.analysis.tables import analysis_of


def loaded(model: Any, folder: Path) -> Any:
    save_model(model, folder / "m.po")
    return load_model(folder / "m.po")


def test_groups_go_on_with_further_rows(tmp_path: Path) -> None:
    """Clouds that lie apart are learned in parts as they are at once, under the prior of the first part."""
    further = blobs(60, seed=7)[0]
    model = loaded(groups_of("blobs").model, tmp_path)
    before = model.predict(further)
    updated = loaded(model.updated(further), tmp_path)
    pd.testing.assert_frame_equal(model.predict(further), before)  # it is as it was
    assert updated.facts["added"] == 60.0
    assert updated.describe()[0].startswith("learned from 120 rows, and 60 more since with")
    assert not any("evidence" in line for line in updated.describe())
    np.testing.assert_array_equal(updated.predict(further)["cluster"], before["cluster"])
    both = pd.concat([blobs()[0], further])
    first = model.pipeline[-1].posterior_.weights.concentration
    after = updated.pipeline[-1].posterior_.weights.concentration
    assert after.sum() == pytest.approx(first.sum() + 60.0)
    means = updated.pipeline[-1].means_
    labels = updated.predict(both)["cluster"].to_numpy()
    members = np.concatenate([[k] * n for k, n in enumerate(updated.members, start=1)])
    for place, k in zip(updated.order, members, strict=True):
        if updated.members[k - 1] == 1:
            mine = both.to_numpy()[labels == k]
            np.testing.assert_allclose(means[place], mine.mean(axis=0), atol=0.1)
    again = updated.updated(further)
    assert again.facts["added"] == 120.0


def test_rows_with_gaps_are_learned_from_and_others_refused(tmp_path: Path) -> None:
    model = groups_of("blobs").model
    further = blobs(20, seed=8)[0]
    further.iloc[3, 1] = None
    assert model.updated(further).facts["added"] == 20.0
    with pytest.raises(ValueError, match="the table lacks 'height'"):
        model.updated(further.drop(columns="height"))
    with pytest.raises(ValueError, match="the table has no rows"):
        model.updated(further.iloc[:0])


def test_forecasts_go_on_with_further_values(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    days = pd.date_range("2024-01-01", periods=50)
    table = pd.DataFrame({"day": days, "y": np.cumsum(rng.normal(size=50))})
    found = forecast(table.iloc[:40], time="day", value="y", models=["walk"], jobs=1)
    model = loaded(found.model, tmp_path)
    updated = loaded(model.updated(table.iloc[40:]), tmp_path)
    later = pd.DataFrame({"day": pd.date_range("2024-02-20", periods=3), "y": np.nan})
    whole = model.predict(pd.concat([table.iloc[40:], later]))
    pd.testing.assert_frame_equal(updated.predict(later), whole.iloc[10:])
    assert updated.facts["added"] == 10.0
    assert "days up to 2024-02-19" in updated.describe()
    with pytest.raises(ValueError, match="no value of 'y' after the last step"):
        updated.updated(table)


def test_sums_go_on_with_further_rows(tmp_path: Path) -> None:
    """What is believed after both parts is what conjugate regression says of all rows, columns as at first."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(90, 2)), columns=["a", "b"])
    table["y"] = 2.0 * table["a"] - table["b"] + rng.normal(size=90)
    first, further = table.iloc[:60], table.iloc[60:].copy()
    model = loaded(compare(first, "y", models=["linear"], folds=2, jobs=1).model, tmp_path)
    updated = loaded(model.updated(further), tmp_path)
    final, columns = model.pipeline[-1], model.pipeline[:-1]
    both = clone(final).fit(columns.transform(model.read(table)), table["y"])
    expected = both.predict(columns.transform(model.read(further)))
    np.testing.assert_allclose(updated.predict(further)["y_mean"], expected, rtol=1e-9)
    assert updated.facts["log_evidence"] == pytest.approx(float(both.log_evidence_))
    further.iloc[:29, 2] = np.nan
    assert model.updated(further).facts["added"] == 1.0
    for wrong, said in (
        (further.drop(columns="y"), "lacks 'y', from which the model learns"),
        (further.iloc[:29], "every entry of 'y' is missing"),
        (further.assign(y="high"), "should hold a number"),
    ):
        with pytest.raises(ValueError, match=said):
            model.updated(wrong)


REFUSED: dict[str, tuple[Any, Any, str]] = {
    "latent classes": (lambda: groups_of("mixed").model, mixed, "cluster"),
    "states": (lambda: segments_of("mixed").model, mixed, "segment"),
    "targets": (
        lambda: analysis_of("two", "classification", "class frequencies", "logistic").model,
        None,
        "compare",
    ),
    "averages": (
        lambda: analysis_of("count", "regression", "constant", "linear").model,
        None,
        "compare",
    ),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_learns_from_all_rows_at_once_says_what_to_do(kind: str) -> None:
    model, _, command = REFUSED[kind]
    with pytest.raises(
        ValueError, match=rf"learns from all rows at once .* run posteriori {command}"
    ):
        model().updated({})


def test_the_command_writes_the_model_anew(tmp_path: Path) -> None:
    def run(*arguments: Any) -> Any:
        return CliRunner().invoke(app, [str(a) for a in arguments])

    table, further = blobs()[0], tmp_path / "further.csv"
    blobs(60, seed=7)[0].to_csv(further, index=False)
    path, other = tmp_path / "m.po", tmp_path / "other.po"
    save_model(cluster(table, clusters=3).model, path)
    before = path.read_bytes()
    done = run("update", path, further, "--save", other)
    assert done.exit_code == 0, done.output
    said = " ".join(done.output.split())
    assert f"“normal mixture” has learned from 60 further rows: saved to {other}" in said
    assert path.read_bytes() == before
    assert run("update", path, further).exit_code == 0
    assert path.read_bytes() == other.read_bytes()
    assert "and 60 more since" in run("show", path).output
    save_model(groups_of("mixed").model, path)
    before = path.read_bytes()
    refused = run("update", path, further)
    assert refused.exit_code == 1
    assert "run posteriori cluster again" in " ".join(refused.stderr.split())
    assert path.read_bytes() == before
    assert run("update", path, path.parent / "none.csv").exit_code == 1
