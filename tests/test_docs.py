"""What the pages for builders say of files, modules, layers and walks is true."""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from posteriori import Input, Model, MvNormal, Normal
from tests.test_architecture import FILES, import_graph
from tests.test_topics import resolve

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "posteriori"
HOUSE = ROOT / "docs" / "howto" / "the_house.md"
PAGES = [
    *sorted((ROOT / "docs" / "howto").glob("*.md")),
    ROOT / "docs" / "notation.md",
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
]

#: What pages write between backticks that looks like a file or a folder.
NAMED_FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md|rst|csv|toml)|(?:[\w-]+/){2,})`")
MODULE = re.compile(r"\bposteriori(?:\.\w+)+")


def load(path: Path) -> ModuleType:
    """Import a file that belongs to no package, together with the files beside it."""
    sys.path.insert(0, str(path.parent))
    try:
        spec = spec_from_file_location(path.stem, path)
        module = module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(path.parent))


def is_there(name: str) -> bool:
    """Tell whether a path leads somewhere from the project, the package, or by its name alone."""
    if "/" not in name:
        return any(ROOT.glob(name)) or any(p.name == name for p in known_files())
    return (ROOT / name).exists() or (PACKAGE / name).exists()


def known_files() -> list[Path]:
    folders = [PACKAGE, ROOT / "tests", ROOT / "docs", ROOT / "bench"]
    return [path for folder in folders for path in folder.rglob("*.*")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_file_that_a_page_names_is_there(page):
    names = set(NAMED_FILE.findall(page.read_text("utf-8")))
    assert not [name for name in sorted(names) if not is_there(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_module_that_a_page_names_is_there(page):
    for name in sorted(set(MODULE.findall(page.read_text("utf-8")))):
        resolve(name)


def test_files_and_modules_are_seen():
    found = NAMED_FILE.findall("`a/b.py`, `src/a/`, `b.csv`, `x / y`, `n/`, `p(y|X)`, `make test`")
    assert found == ["a/b.py", "src/a/", "b.csv"]
    assert not is_there("modeling/no_such_file.py")
    assert is_there("modeling/model.py")
    assert is_there("bound.py")
    assert MODULE.findall("from posteriori.a.b import c; posteriori") == ["posteriori.a.b"]


def glossary() -> list[tuple[str, str]]:
    """Return the words of the glossary, each with the file that is said to define it."""
    text = (
        (ROOT / "docs" / "notation.md").read_text("utf-8").partition("## Words of the house\n")[2]
    )
    rows = re.findall(r"^\| (.+?) \| .+ \| `(.+)` \|$", text, re.MULTILINE)
    plain = [(re.sub(r"\(.*?\)|`|\bto ", "", words), file) for words, file in rows]
    return [(word.strip(), file) for words, file in plain for word in words.split(",")]


def test_words_are_used_in_the_files_that_define_them():
    words = glossary()
    assert len(words) > 60
    for word, name in words:
        path = ROOT / name if (ROOT / name).exists() else PACKAGE / name
        spelt = word.replace(" ", "[ _]?")
        assert re.search(spelt, path.read_text("utf-8"), re.IGNORECASE), (word, name)


# -- the house -------------------------------------------------------------------------------


def table_below(heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading of the page, without its head."""
    text = HOUSE.read_text("utf-8").partition(heading + "\n")[2]
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@cache
def read_house(package: str) -> Any:
    """Return a package by its layers, as the map shows it."""
    return load(ROOT / "docs" / "_ext" / "house.py").read_house(package)


def test_the_map_has_every_room_and_no_import_that_leads_upwards():
    found = read_house("posteriori")
    level = {part: i for i, layer in enumerate(found.layers) for part in layer}
    assert set(level) == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert all(level[a] < level[b] for a, b in found.imports)
    assert sum(found.files.values()) == len(FILES) - 1  # the top of the package is no room
    assert all(found.summaries.values())


@pytest.mark.parametrize(
    "package", ["posteriori", "posteriori.modeling", "posteriori.modeling.variational"]
)
def test_the_map_has_every_import_between_parts(package):
    depth = package.count(".") + 1
    pairs = {
        (a.split(".")[depth], b.split(".")[depth])
        for a, b in import_graph().edges
        if a.startswith(f"{package}.") and b.startswith(f"{package}.")
    }
    assert set(read_house(package).imports) == {(a, b) for a, b in pairs if a != b}


def test_imports_of_a_file_lead_to_parts_wherever_they_stand(tmp_path):
    house = load(ROOT / "docs" / "_ext" / "house.py")
    file = tmp_path / "file.py"
    file.write_text("import p.a\n\n\ndef f():\n    from p import b\n", encoding="utf-8")
    assert list(house.imported_parts(file, "p")) == ["a", "b"]


def test_the_map_is_drawn():
    drawing = load(ROOT / "docs" / "_ext" / "house_drawing.py")
    found = read_house("posteriori.modeling")
    svg = ET.fromstring(drawing.draw(found, "A & B"))
    texts = {element.text for element in svg.iter("text")}
    assert texts >= set(found.files)
    arrows = [path for path in svg.iter("path") if path.get("class") != "implied"]
    assert len(arrows) > len(found.layers)


def test_layers_are_told_in_their_order():
    told = [re.findall(r"`(\w+)`", cells[0]) for cells in table_below("## Rooms and layers")]
    layers = read_house("posteriori").layers
    assert [set(layer) for layer in told] == [set(layer) for layer in layers]


# -- walks -----------------------------------------------------------------------------------


def infer_regression() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.y = Normal(m.X @ m.w, variance=0.1)
    post = m.infer(X=X, y=X @ [2.0, -1.0])
    assert post.w.mean.shape == (2,)
    assert np.isfinite(float(post.log_evidence))


WALKS: dict[str, Callable[[ModuleType], Callable[[], object]]] = {
    "## From a model to its posterior": lambda walks: infer_regression,
    "### Where no exact kind fits": lambda walks: walks.infer_mixture(),
    "## From a table to a verdict": lambda walks: walks.compare_one_model(),
}


@pytest.mark.parametrize("heading", WALKS)
def test_files_of_a_walk_are_entered_in_the_order_of_the_page(heading):
    walks = load(ROOT / "bench" / "walks.py")
    told = [NAMED_FILE.findall(cells[0])[0] for cells in table_below(heading)]
    walked = walks.follow(WALKS[heading](walks)).files
    assert not set(told) - set(walked), "these files are not entered"
    assert told == [file for file in walked if file in told], "this is the order of first calls"


#: Files and hops that a walk has at most, and beside it the goal; who shortens a walk lowers its ceiling.
CEILINGS = {
    "compare": (56, 184),  # 45, 130
    "forecast": (69, 256),  # 50
    "infer": (25, 78),
    "predict": (21, 62),
    "mixture": (67, 227),
    "fit": (10, 15),
}


def test_every_walk_has_a_ceiling():
    assert CEILINGS.keys() == load(ROOT / "bench" / "walks.py").WALKS.keys()


@pytest.mark.parametrize("name", CEILINGS)
def test_walks_do_not_grow(name):
    walks = load(ROOT / "bench" / "walks.py")
    walk = walks.follow(walks.WALKS[name]())
    files, hops = CEILINGS[name]
    assert len(walk.files) <= files
    assert walk.hops <= hops
