"""Arrays of saved models that were turned, cut, grown, exchanged or recoded: refused, or harmless."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import is_dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from posteriori.analysis import save_model
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.saved.saved_classes import CLASSES
from posteriori.analysis.saved.stated_shapes import annotations_of, stated_shapes
from posteriori.distributions.statistics import Moments
from tests.analysis.densities.described_tables import density_of
from tests.analysis.forecasts.dated_tables import saved_forecasts
from tests.analysis.groups.grouped_tables import groups_of
from tests.analysis.saved.test_model_files import TARGETS, content_of, fitted, forge_content
from tests.analysis.saved.test_tree_files import tree_models
from tests.analysis.segments.segment_tables import segments_of
from tests.analysis.tables import analysis_of
from tests.tampering import reshaped
from tests.test_tampered_files import faults, show_model

#: Reads forged files one after another; the seed of the one at hand is printed first.
CHILD = """
import faulthandler, sys, warnings
from pathlib import Path
import numpy as np
from tests.tampering import reshaped
from tests.test_tampered_files import fault_of, show_model
faulthandler.enable()
warnings.simplefilter("ignore")
folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
files = sorted(folder.glob("*.po"))
path = folder / f"{first}.forged"
for seed in range(first, last):
    print(seed, flush=True)
    path.write_bytes(reshaped(np.random.default_rng(seed), files[seed % len(files)].read_bytes()))
    fault = fault_of(show_model, path)
    assert not fault, (seed, fault)
"""


def forecasts() -> list[Any]:
    return list(saved_forecasts())


def every_kind() -> Iterator[Any]:
    """Yield a model of every candidate and every command."""
    for (task, name), target in TARGETS.items():
        yield fitted(target, task, name)
    yield analysis_of("five", "classification", "logistic").table_model("logistic")
    yield from (groups_of(kind).model for kind in ("blobs", "mixed"))
    yield from (segments_of(kind).model for kind in ("regimes", "mixed", "one category"))
    yield from map(density_of("people").table_model, (*density_of("people").outcomes, AVERAGE))
    yield from (*saved_forecasts(), *tree_models())


def records_in(tree: Any, name: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a class in a tree."""
    if isinstance(tree, dict) and tree.get("record") == name:
        yield tree
    for item in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(item, (list, dict)):
            yield from records_in(item, name)


def test_every_record_of_files_states_the_shapes_of_its_arrays() -> None:
    """All but batches, whose shapes are those of their first axes."""
    silent = []
    for module, names in CLASSES.items():
        for name in names:
            cls = getattr(import_module(module), name)
            if cls is Moments or not (issubclass(cls, tuple) or is_dataclass(cls)):
                continue
            hints = annotations_of(cls)
            arrays = {k for k, v in hints.items() if v in ("Array", "IntArray", "Array | None")}
            silent += [f"{name}.{k}" for k in sorted(arrays - stated_shapes(cls).keys())]
    assert not silent, "say in the docstring: name : (K, D)"


def test_a_belief_of_a_series_that_is_turned_round_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.po"
    save_model(forecasts()[0], path)
    content, numbers = content_of(path)
    belief = next(records_in(content, "SeriesBelief"))
    belief["fields"][3]["shape"].reverse()
    forge_content(path, content, numbers)
    with pytest.raises(
        ValueError, match=r"SeriesBelief\.means has shape \(1, \d+\), which does not"
    ):
        show_model(path)


@pytest.mark.parametrize("kind", ["value", "by", "time"])
def test_columns_that_are_none_are_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "m.po"
    save_model(segments_of("mixed").model if kind == "time" else forecasts()[0], path)
    content, numbers = content_of(path)
    content[kind] = 0.5
    forge_content(path, content, numbers)
    with pytest.raises(ValueError, match="no column"):
        show_model(path)


@pytest.mark.parametrize("part", range(2))
def test_forged_arrays_of_some_kinds(part: int, tmp_path: Path) -> None:
    models = forecasts()[:2] if part else [groups_of("mixed").model, segments_of("mixed").model]
    files = []
    for model in models:
        save_model(model, tmp_path / "m.po")
        files.append((tmp_path / "m.po").read_bytes())
    assert not faults(show_model, files, reshaped, tmp_path / "file", range(40))


@pytest.mark.slow
def test_no_forged_array_ends_the_process(tmp_path: Path) -> None:
    for place, model in enumerate(every_kind()):
        save_model(model, tmp_path / f"{place:03d}.po")
    run = partial(subprocess.run, capture_output=True, text=True, check=False)
    done = run([sys.executable, "-c", CHILD, str(tmp_path), "0", "2000"], cwd=Path.cwd())
    last = done.stdout.split()[-1:]
    assert done.returncode == 0, f"seed {last}: code {done.returncode}\n{done.stderr[-3000:]}"
    assert np.array_equal(last, ["1999"])
