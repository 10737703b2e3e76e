"""Print a hash of the compiled kernels and of all that they are compiled from.

Numba notices an edit of the file that holds a cached function, but not of the functions and
constants that it uses from other files. A cache folder named after this hash is therefore safe: it
changes with every file that holds a compiled function and with every file of the package that such
a file imports, directly or through others. Edits of other files leave the cache as it is.
"""

import ast
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
KERNEL = re.compile(r"^\s*@(numba\.)?(kernel|njit|jit|vectorize|guvectorize)", re.MULTILINE)


def main() -> None:
    """Print sixteen hexadecimal digits."""
    key = hashlib.sha256()
    for path in find_compiled_sources():
        key.update(f"{path.relative_to(SOURCE)}\0".encode() + path.read_bytes())
    print(key.hexdigest()[:16])


def find_compiled_sources() -> list[Path]:
    """Return the files that hold kernels and those that they import, sorted."""
    fresh = {path for path in SOURCE.rglob("*.py") if KERNEL.search(path.read_text("utf-8"))}
    found = set(fresh)
    while fresh:
        fresh = {below for path in fresh for below in _imported_files(path)} - found
        found |= fresh
    return sorted(found)


def _imported_files(path: Path) -> Iterator[Path]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                yield from _files_of(name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files_of(alias.name)


def _files_of(name: str) -> Iterator[Path]:
    place = SOURCE.joinpath(*name.split("."))
    if place.is_dir():  # a room loads its names on use, so that any of its files may be meant
        yield from place.rglob("*.py")
    elif place.with_suffix(".py").is_file():
        yield place.with_suffix(".py")


if __name__ == "__main__":
    main()
