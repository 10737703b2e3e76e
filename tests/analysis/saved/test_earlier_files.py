"""Files that earlier versions have written are read, and answer as they did."""

from pathlib import Path

import pytest

from posteriori.analysis import load_model
from posteriori.analysis.saved.column_reader import SAVED
from posteriori.analysis.saved.object_tree import from_tree, to_tree
from posteriori.classification import GaussianDiscriminant

#: Written before files named the kind of model that they hold.
FILES = sorted((Path(__file__).parent / "earlier").glob("*.po"))


def test_there_is_a_file_of_every_kind() -> None:
    kinds = {kind for kind, made in SAVED.items() if made.__module__.startswith("posteriori.")}
    assert {file.stem for file in FILES} == kinds


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_earlier_files_are_read(file: Path) -> None:
    model = load_model(file)  # compares its answers with those in the file
    assert type(model) is SAVED[file.stem]
    assert model.describe()[0].startswith("learned from")


def test_earlier_values_are_read() -> None:
    model = GaussianDiscriminant("full").fit([[0.0], [1.0], [3.0], [5.0]], [0, 0, 1, 1])
    tree, blocks = to_tree(model)
    tree["state"]["covariance"] = "per-class"
    assert from_tree(tree, b"".join(blocks)).covariance == "full"
