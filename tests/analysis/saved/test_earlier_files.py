"""Files that earlier versions have written are read, and answer as they did."""

from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name

import pytest

from posteriori.analysis import load_model
from posteriori.analysis.saved.column_reader import SAVED
from posteriori.analysis.saved.object_tree import from_tree
from posteriori.analysis.saved.saved_classes import CLASSES, EARLIER_ATTRIBUTES

#: Written before files named the kind of model that they hold.
FILES = sorted((Path(__file__).parent / "earlier").glob("*.po"))


def test_there_is_a_file_of_every_kind() -> None:
    kinds = {kind for kind, place in SAVED.items() if place.startswith("posteriori.")}
    assert {file.stem for file in FILES} == kinds


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_earlier_files_are_read(file: Path) -> None:
    model = load_model(file)  # compares its answers with those in the file
    assert type(model) is resolve_name(SAVED[file.stem])
    assert model.describe()[0].startswith("learned from")


#: Values of attributes that are others now.
CHANGED = {"restarts": (2, 3), "covariance": ("per-class", "full")}


@pytest.mark.parametrize(
    ("name", "attribute"),
    [(name, attribute) for name, table in EARLIER_ATTRIBUTES.items() for attribute in table],
)
def test_attributes_of_earlier_files_are_read(name: str, attribute: str) -> None:
    (module,) = (module for module, names in CLASSES.items() if name in names)
    before, now = CHANGED.get(attribute, ("as it was", "as it was"))
    model = from_tree({"object": name, "state": {attribute: before}}, b"")
    current = EARLIER_ATTRIBUTES[name][attribute].name
    assert vars(model) == {current: now}
    assert current in getattr(import_module(module), name)._get_param_names()
