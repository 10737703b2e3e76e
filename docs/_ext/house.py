"""A package by layers: its parts, and which of them import which, read from its sources.

The layers are those of import-linter's contracts in ``pyproject.toml``. Import statements count
wherever they stand: inside functions, and in the stubs of rooms that load their names late; those for
type checkers alone do not.
"""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["House", "imported_parts", "read_house", "read_layers"]

ROOT = Path(__file__).parents[2]

#: Lines that may be imports within something: few files have any, and only these are searched.
_INDENTED = re.compile(r"^[ \t]+(?:import|from) ", re.MULTILINE)


class House(NamedTuple):
    """The parts of a package.

    Attributes
    ----------
    layers : list of lists of str
        Names of folders and files, from the top.
    files : dict
        How many files each part has.
    imports : dict
        How many import statements lead from one part to another.
    summaries : dict
        The first line of each part's docstring.
    """

    layers: list[list[str]]
    files: dict[str, int]
    imports: dict[tuple[str, str], int]
    summaries: dict[str, str]


def read_house(package: str, root: Path = ROOT) -> House:
    """Read the layers of a package from pyproject.toml and its imports from the sources."""
    folder = root / "src" / package.replace(".", "/")
    layers = [
        present for layer in read_layers(package, root) if (present := _present(layer, folder))
    ]
    sources = {part: _sources(folder, part) for layer in layers for part in layer}
    imports: dict[tuple[str, str], int] = {}
    for part, paths in sources.items():
        for other in (other for path in paths for other in imported_parts(path, package)):
            if other != part and other in sources:
                imports[part, other] = imports.get((part, other), 0) + 1
    files = {part: sum(p.suffix == ".py" for p in paths) for part, paths in sources.items()}
    return House(layers, files, imports, {p: _summary(folder, p) for p in sources})


def read_layers(package: str, root: Path = ROOT) -> list[list[str]]:
    """Return the layers of a package, planned rooms among them, from the top."""
    with (root / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    for contract in contracts:
        if contract["type"] == "layers" and package in contract["containers"]:
            return [re.findall(r"\w+", layer) for layer in contract["layers"]]
    raise ValueError(f"pyproject.toml has no contract of layers for {package}")


def imported_parts(path: Path, package: str) -> Iterator[str]:
    """Yield the part of a package that each import statement of a file leads to."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    for node in _run_time_nodes(tree) if _INDENTED.search(text) else tree.body:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == package:
            names = [f"{package}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module)]
        else:
            continue
        inside = (name for name in names if name.startswith(f"{package}."))
        yield from dict.fromkeys(name.removeprefix(f"{package}.").split(".")[0] for name in inside)


def _run_time_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement but those for type checkers."""
    for child in ast.iter_child_nodes(tree):
        if not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield child
            yield from _run_time_nodes(child)


def _present(layer: list[str], folder: Path) -> list[str]:
    return [part for part in layer if _sources(folder, part)]


def _sources(folder: Path, part: str) -> list[Path]:
    file = folder / f"{part}.py"
    inside = (path for path in (folder / part).rglob("*") if path.suffix in (".py", ".pyi"))
    return [file] if file.exists() else sorted(inside)


def _summary(folder: Path, part: str) -> str:
    first = folder / part / "__init__.py"
    path = first if first.exists() else folder / f"{part}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return text.partition("\n\n")[0].replace("``", "")
