"""Saved models of segments answer as before, or are refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import Segmentation, SegmentModel, load_model, save_model
from tests.analysis.saved.test_model_files import content_of, forge_content, require_cheap_refusal
from tests.analysis.segments.segment_tables import mixed, regimes, segments_of


@pytest.fixture
def found(kind: str) -> Segmentation:
    return segments_of(kind)


@pytest.mark.parametrize(("kind", "table"), [("regimes", regimes), ("mixed", mixed)])
def test_models_answer_as_before(found: Segmentation, table: Any, tmp_path: Path) -> None:
    new = table(40, seed=5)[0]
    save_model(found.model, tmp_path / "m.po")
    again = load_model(tmp_path / "m.po")
    assert isinstance(again, SegmentModel)
    told = again.predict(new)
    assert list(told) == ["state", "state_probability"]
    pd.testing.assert_frame_equal(told, found.model.predict(new), rtol=1e-10)
    for part in ("name", "columns", "order", "symbols", "time", "by", "facts", "working"):
        assert getattr(again, part) == getattr(found.model, part)


def test_rows_without_a_place_in_a_series_have_no_state() -> None:
    table, _ = mixed()
    table.loc[3, "machine"] = None
    told = segments_of("mixed").model.predict(table)
    assert told["state"].isna().tolist() == [k == 3 for k in range(len(table))]
    assert told["state_probability"].isna().sum() == 1


def test_what_is_lacking_or_new_is_told() -> None:
    model, (table, _) = segments_of("mixed").model, mixed()
    with pytest.raises(ValueError, match=r"the table lacks 'alarm'; the model tells states by 'lo"):
        model.predict(table.drop(columns="alarm"))
    with pytest.raises(ValueError, match="the table lacks 'machine', by which"):
        model.predict(table.drop(columns="machine"))
    assert "turbo" in " ".join(model.notes_on(table.assign(mode="turbo")))
    told = model.predict(table.assign(mode="turbo"))  # a level that nobody has seen says nothing
    known = model.predict(table.assign(mode=None))
    np.testing.assert_allclose(told["state_probability"], known["state_probability"])


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "good.po"
    save_model(segments_of("mixed").model, path)
    return path


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("name", 7),
        ("pipeline", None),
        ("pipeline", {"pipeline": [["model", "passthrough"]]}),
        ("columns", []),
        ("facts", {"dict": []}),
        ("order", {"tuple": [0]}),
        ("order", [0, 1]),
        ("symbols", 7),
        ("symbols", {"dict": [[9, {"tuple": [0.0]}]]}),
        ("symbols", {"dict": [["x", {"tuple": [0.0]}]]}),
        ("symbols", {"dict": []}),
        ("time", [1, 2]),
        ("by", ["x", "number", "", "many", 3, ""]),
        ("working", 1),
        ("min_length", 0),
        ("min_length", 10**9),
        ("trial", {"dict": []}),
        ("answers", {"dict": []}),
    ],
)
def test_forged_parts_are_refused(part: str, value: Any, good: Path, tmp_path: Path) -> None:
    content, numbers = content_of(good)
    content[part] = value
    forge_content(tmp_path / "m.po", content, numbers)
    require_cheap_refusal(tmp_path / "m.po")


def test_changed_numbers_are_noticed(good: Path, tmp_path: Path) -> None:
    content, numbers = content_of(good)
    told = np.frombuffer(numbers, dtype=np.float64).copy()
    told[np.isfinite(told)] *= 1.001
    forge_content(tmp_path / "m.po", content, told.tobytes())
    require_cheap_refusal(tmp_path / "m.po")
