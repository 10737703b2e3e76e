"""Saved densities answer as before, or are refused."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from posteriori.analysis import DensityModel, load_model, save_model
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.selection.candidates import CANDIDATES
from tests.analysis.densities.described_tables import customers, density_of, people, with_gaps
from tests.analysis.saved.test_model_files import content_of, forge_content, require_cheap_refusal

NAMES = [c.name for c in CANDIDATES if c.task == "joint"]


@pytest.fixture
def model(kind: str, name: str) -> Any:
    return density_of(kind).table_model(name)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("people", name) for name in [*NAMES, AVERAGE]]
    + [("customers", name) for name in ("independent columns", "latent classes", AVERAGE)],
)
def test_models_answer_as_before(kind: str, model: Any, tmp_path: Path) -> None:
    new = with_gaps(20, seed=4) if kind == "people" else customers(30, seed=4)
    save_model(model, tmp_path / "m.po")
    again = load_model(tmp_path / "m.po")
    assert isinstance(again, DensityModel)
    pd.testing.assert_frame_equal(again.predict(new), model.predict(new), rtol=1e-10)
    assert (again.name, again.columns, again.facts) == (model.name, model.columns, model.facts)


def test_new_levels_and_ranges_are_told() -> None:
    model, new = density_of("customers").model, customers(20, seed=4)
    new.loc[2, "plan"] = "week"
    told = model.predict(new)
    assert told["log_density"].notna().all()
    assert "never seen" in " ".join(model.notes_on(new))
    with pytest.raises(ValueError, match="lacks 'weight', 'luck'; the model describes 'height'"):
        density_of("people").model.predict({"height": [1.8]})
    with pytest.raises(ValueError, match="the table has no rows"):
        density_of("people").model.predict(people(5).head(0))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("models") / "good.po"
    save_model(density_of("customers").model, path)
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
        ("trial", {"dict": []}),
        ("answers", {"dict": []}),
        ("order", {"tuple": [0, 1]}),
        ("target", "y"),
    ],
)
def test_forged_parts_are_refused(part: str, value: Any, good: Path, tmp_path: Path) -> None:
    content, numbers = content_of(good)
    content[part] = value
    forge_content(tmp_path / "m.po", content, numbers)
    require_cheap_refusal(tmp_path / "m.po")
