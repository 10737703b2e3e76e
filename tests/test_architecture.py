"""The house as a map: files form no cycle, folders are small, one word means one thing.

Imports are read from the sources, wherever they stand: those inside functions count, those for
type checkers alone do not.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import networkx as nx
import pytest

from posteriori.analysis.tasks.listed import TASKS

SRC = Path(__file__).parents[1] / "src"
PACKAGE = SRC / "posteriori"
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
#: Lines that may be imports within something: few files have any, and only these are searched.
INDENTED = re.compile(r"^[ \t]+(?:import|from) ", re.MULTILINE)
#: Files in a folder beside its ``__init__``.
MOST_FILES = 16


def module_of(path: Path) -> str:
    """Return the dotted name of a file; of an ``__init__`` that of its folder."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def stub_of(module: str) -> dict[str, str]:
    """Return where each name of a room's stub comes from; nothing where there is no stub."""
    stub = FILES[module].with_suffix(".pyi")
    if not stub.exists():
        return {}
    body = ast.parse(stub.read_text(encoding="utf-8")).body
    imports = [node for node in body if isinstance(node, ast.ImportFrom)]
    return {str(alias.asname): str(node.module) for node in imports for alias in node.names}


def run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Return every part of a program that is ever run."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            yield from (node for other in child.orelse for node in ast.walk(other))
        else:
            yield child
            yield from run_time_nodes(child)


def source_of(module: str, name: str) -> str:
    """Return the file that an imported name is found in, through the stubs of lazy rooms."""
    if f"{module}.{name}" in FILES:
        return f"{module}.{name}"
    source = stub_of(module).get(name) if module in FILES else None
    return module if source is None or source == module else source_of(source, name)


class Contents(NamedTuple):
    """What is read of a file: the files of the package that it imports, and what it defines for others."""

    imports: set[str]
    public: list[str]


@cache
def contents_of(module: str) -> Contents:
    """Return what a file imports, now or when it is used, and defines; it is parsed once."""
    text = FILES[module].read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = run_time_nodes(tree) if INDENTED.search(text) else tree.body
    found = imported_names(nodes) | set(stub_of(module).values())
    return Contents((found & FILES.keys()) - {module}, public_definitions(tree.body))


def imported_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the files that import statements lead to."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {source_of(str(node.module), alias.name) for alias in node.names}
    return found


def public_definitions(body: list[ast.stmt]) -> list[str]:
    """Return the classes and functions that a file defines and lists in ``__all__``."""
    public: set[str] = set()
    for node in body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            public = set(ast.literal_eval(node.value))
    defined = [node.name for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [name for name in dict.fromkeys(defined) if name in public]


@cache
def import_graph() -> nx.DiGraph:
    graph = nx.DiGraph()
    graph.add_nodes_from(FILES)
    graph.add_edges_from(
        (module, other) for module in FILES for other in contents_of(module).imports
    )
    return graph


def test_no_file_imports_one_that_imports_it():
    graph = import_graph()
    knots = [knot for knot in nx.strongly_connected_components(graph) if len(knot) > 1]
    paths = [" -> ".join(a for a, _ in nx.find_cycle(graph.subgraph(knot))) for knot in knots]
    assert not paths, "these files import one another in a circle:\n" + "\n".join(paths)


def test_imports_are_read_as_they_run(tmp_path):
    code = (
        "import a\nif TYPE_CHECKING:\n    import b\nelse:\n    import c\n"
        "def f():\n    if x:\n        from d import e\n"
    )
    names = [
        alias.name
        for node in run_time_nodes(ast.parse(code))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    ]
    assert names == ["a", "c", "e"]


def test_only_files_that_import_within_something_are_searched():
    assert not INDENTED.search(
        '"""It leads\n\nfrom here to there."""\n\nimport a\n\nfrom b import c\n'
    )
    assert INDENTED.search("def f():\n    from a import b\n")
    assert "posteriori.cli.demo" in contents_of("posteriori.cli").imports


def test_names_of_lazy_rooms_lead_to_their_files():
    assert source_of("posteriori", "Normal") == "posteriori.distributions.numbers.normal"
    assert source_of("posteriori", "modeling") == "posteriori.modeling"
    assert source_of("posteriori.modeling", "views") == "posteriori.modeling.views"


def test_no_two_modules_of_a_room_have_one_name():
    files: dict[tuple[str, str], list[str]] = defaultdict(list)
    for path in FILES.values():
        place = path.relative_to(PACKAGE)
        if path.stem != "__init__":
            files[place.parts[0], path.stem].append(str(place))
    assert not [twins for twins in files.values() if len(twins) > 1]


@cache
def homonyms() -> dict[str, list[str]]:
    """Return the names that several files of one room define, with these files."""
    found: dict[str, list[str]] = defaultdict(list)
    for module in FILES:
        for name in contents_of(module).public:
            found[f"{module.split('.')[1]}.{name}"].append(module)
    return {name: modules for name, modules in found.items() if len(modules) > 1}


@pytest.mark.parametrize("room", ROOMS)
def test_one_word_means_one_thing_in_a_room(room):
    here = {name: files for name, files in homonyms().items() if name.startswith(f"{room}.")}
    assert not here, "several files define these names; rename all but one"


@pytest.mark.parametrize("folder", sorted({p.parent for p in FILES.values()}), ids=module_of)
def test_a_folder_is_small_and_says_what_it_is(folder):
    modules = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(modules) <= MOST_FILES, "a folder of so many files wants to be two"
    tree = ast.parse((folder / "__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_with_a_folder_of_its_own_is_five_files(task):
    """Problem, candidates with their scores, conclusions, pages with figures, and the function."""
    folder = FILES[task.function.partition(":")[0]].parent
    files = [path for path in folder.glob("*.py") if path.stem != "__init__"]
    assert len(files) <= 5
    assert all(len(path.read_text(encoding="utf-8").splitlines()) < 400 for path in files)
