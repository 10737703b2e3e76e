"""Name the tests that a change of one room can break.

``python tools/rooms.py modeling`` prints the folders of tests of that room and of every room that
imports it, directly or through others, and the tests of the package as a whole. Without a room it
prints the folder of all tests.
"""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "src" / "posteriori"


def main(arguments: list[str]) -> None:
    """Print the paths of the tests to run, or say which rooms there are."""
    if not arguments:
        print("tests")
        return
    imports = read_imports()
    if arguments[0] not in imports:
        sys.exit(f"There is no room {arguments[0]!r}. Name one of: {', '.join(imports)}.")
    rooms = find_rooms_above(arguments[0], imports)
    folders = [f"tests/{room}" for room in rooms if (PROJECT / "tests" / room).is_dir()]
    print(*folders, *(f"tests/{path.name}" for path in (PROJECT / "tests").glob("test_*.py")))


def find_rooms_above(room: str, imports: dict[str, set[str]]) -> list[str]:
    """Return the room and all rooms that import it, directly or through others, sorted."""
    found, fresh = {room}, {room}
    while fresh:
        fresh = {above for above, below in imports.items() if below & fresh} - found
        found |= fresh
    return sorted(found)


@cache
def read_imports() -> dict[str, set[str]]:
    """Return for each room of the package the rooms that its files import or name."""
    names = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))
    return {room: _imported_rooms(room) for room in names}


def _imported_rooms(room: str) -> set[str]:
    names = {name for path in (PACKAGE / room).rglob("*.py") for name in _names(path)}
    return {parts[1] for parts in map(_parts, names) if len(parts) > 1} - {room}


def _parts(name: str) -> list[str]:
    parts = name.split(".")
    return parts if parts[0] == PACKAGE.name else []


def _names(path: Path) -> Iterator[str]:
    """Yield what a file imports and its strings: tables name estimators by their dotted path."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from (f"{module}.{alias.name}" for alias in names)
            case ast.Constant(value=str(text)):
                yield text


if __name__ == "__main__":
    main(sys.argv[1:])
