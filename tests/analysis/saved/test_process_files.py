"""Files of Gaussian processes: small, since their factors are computed anew, and refused where forged."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posteriori.analysis import compare, save_model
from posteriori.analysis.saved import object_tree
from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.gaussian_process import GaussianProcessRegressor
from tests.analysis.tables import mixed_table
from tests.tampering import forged, reshaped
from tests.test_tampered_files import faults, show_model


@cache
def process(n: int = 80, hyperparameters: str = "type-II") -> Any:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=n)
    return GaussianProcessRegressor(hyperparameters=hyperparameters).fit(x, y)


def bytes_of(tree: Any, blocks: list[bytes]) -> int:
    return len(str(tree)) + sum(map(len, blocks))


def require_same(one: Any, other: Any) -> None:
    new = np.random.default_rng(1).normal(size=(5, 2))
    for name in ("mean", "variance"):
        found, wanted = (getattr(m.predict_dist(new), name) for m in (one, other))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert float(one.log_evidence_) == pytest.approx(float(other.log_evidence_), rel=1e-12)


@pytest.mark.parametrize("hyperparameters", ["type-II", "integrated"])
def test_a_process_of_80_rows_takes_little_and_answers_as_before(hyperparameters: str) -> None:
    model = process(hyperparameters=hyperparameters)
    tree, blocks = to_tree(model)
    assert bytes_of(tree, blocks) < 200_000
    require_same(from_tree(tree, b"".join(blocks)), model)


def test_what_was_written_whole_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """As files were written before, with all factors, and as processes of many rows are."""
    monkeypatch.setattr(object_tree, "_MOST_MADE", 0)
    monkeypatch.setattr(object_tree, "_WORTH_ONCE", np.inf)
    tree, blocks = to_tree(process())
    assert bytes_of(tree, blocks) > 80 * 80 * 8
    assert "made" not in str(tree)
    assert "again" not in str(tree)
    require_same(from_tree(tree, b"".join(blocks)), process())


def test_further_rows_are_kept_as_they_were_learned() -> None:
    rng = np.random.default_rng(2)
    model = GaussianProcessRegressor(hyperparameters="fixed").fit(
        rng.normal(size=(9, 2)), rng.normal(size=9)
    )
    model.partial_fit(rng.normal(size=(4, 2)), rng.normal(size=4))
    tree, blocks = to_tree(model)
    require_same(from_tree(tree, b"".join(blocks)), model)


def test_a_file_cannot_ask_for_large_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    tree, blocks = to_tree(process(12))
    monkeypatch.setattr(object_tree, "_MOST_MADE", 100)
    with pytest.raises(ValueError, match="its processes are too large"):
        from_tree(tree, b"".join(blocks))


def test_forged_processes_are_refused_or_harmless(tmp_path: Path) -> None:
    table = mixed_table()[["x", "colour", "flag", "count"]]  # a date has four inputs more
    found = compare(table, "count", models=["Gaussian process"], folds=2, jobs=1)
    save_model(found.model, tmp_path / "m.po")
    content = (tmp_path / "m.po").read_bytes()
    assert b'"made"' in content
    assert len(content) < 200_000
    for tamper in (forged, reshaped):
        assert not faults(show_model, [content], tamper, tmp_path / "file", range(5))
