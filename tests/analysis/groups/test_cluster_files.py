"""Saved models of clusters answer as before, or are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import ClusterModel, load_model, save_model
from tests.analysis.groups.grouped_tables import blobs, groups_of, mixed
from tests.analysis.saved.test_model_files import content_of, forge_content, require_cheap_refusal


@pytest.mark.parametrize(("kind", "table"), [("blobs", blobs), ("mixed", mixed)])
def test_models_answer_as_before(kind: str, table: Any, tmp_path: Path) -> None:
    found, new = groups_of(kind), table(40, seed=5)[0]
    new.iloc[3] = None
    save_model(found.model, tmp_path / "m.po")
    again = load_model(tmp_path / "m.po")
    assert isinstance(again, ClusterModel)
    told = again.predict(new)
    assert list(told) == ["cluster", "cluster_probability", "log_density"]
    pd.testing.assert_frame_equal(told, found.model.predict(new), rtol=1e-10)
    assert (again.name, again.columns, again.order) == (
        found.model.name,
        found.model.columns,
        found.model.order,
    )
    assert again.facts == found.model.facts


def test_rows_are_told_as_they_were_found() -> None:
    found, table = groups_of("mixed"), mixed()[0]
    told = found.model.predict(table)
    np.testing.assert_array_equal(told["cluster"], found.labels)
    np.testing.assert_allclose(told["cluster_probability"], found.probabilities.max(axis=1))


def test_log_densities_integrate_to_one() -> None:
    """By a fine grid over all that has mass."""
    model = groups_of("blobs").model
    w, h = np.linspace(-25, 30, 221), np.linspace(-25, 35, 241)
    grid = pd.DataFrame({"width": np.repeat(w, len(h)), "height": np.tile(h, len(w))})
    mass = np.exp(model.predict(grid)["log_density"]).sum() * (w[1] - w[0]) * (h[1] - h[0])
    assert mass == pytest.approx(1.0, abs=2e-3)


def test_what_is_lacking_or_new_is_told() -> None:
    model = groups_of("blobs").model
    with pytest.raises(
        ValueError, match=r"the table lacks 'height'; the model tells clusters by 'w"
    ):
        model.predict({"width": [1.0]})
    with pytest.raises(ValueError, match="the table has no rows"):
        model.predict({"width": [], "height": []})
    assert "outside the range" in model.notes_on({"width": [1e9], "height": [0.0]})[0]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "good.po"
    save_model(groups_of("mixed").model, path)
    return path


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("name", 7),
        ("pipeline", None),
        ("pipeline", {"pipeline": [["model", "passthrough"]]}),
        ("columns", []),
        ("columns", [["x", "number", "", "many", 3, ""]]),
        ("facts", {"dict": []}),
        ("facts", 7),
        ("order", {"tuple": [0]}),
        ("order", {"tuple": [0, 0]}),
        ("order", {"tuple": [1, 0]}),
        ("order", [0, 1]),
        ("order", {"tuple": [True, False]}),
        ("trial", {"dict": []}),
        ("answers", {"dict": []}),
        ("target", "y"),
    ],
)
def test_forged_parts_are_refused(part: str, value: Any, good: Path, tmp_path: Path) -> None:
    content, numbers = content_of(good)
    if value == {"tuple": [1, 0]} and content["order"] == value:
        value = {"tuple": [0, 1]}
    content[part] = value
    forge_content(tmp_path / "m.po", content, numbers)
    require_cheap_refusal(tmp_path / "m.po")


def test_changed_numbers_are_noticed(good: Path, tmp_path: Path) -> None:
    content, numbers = content_of(good)
    told = np.frombuffer(numbers, dtype=np.float64).copy()
    told[np.isfinite(told)] *= 1.001
    forge_content(tmp_path / "m.po", content, told.tobytes())
    require_cheap_refusal(tmp_path / "m.po")
