"""How long the package is: lines of code, docstrings, comments, imports and blanks of each room.

    python bench/lines.py               # this tree
    python bench/lines.py /other/src    # another one, to compare

A line of an import or of ``__all__`` is an import, a line of a docstring is a docstring even if it is
blank, and a comment is a line of its own. Stubs (``.pyi``) are counted apart.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
KINDS = ("code", "docstring", "comment", "import", "blank")


def count_lines(text: str) -> Counter[str]:
    """Return the number of lines of each kind."""
    kinds = dict(_marked(ast.parse(text)))
    return Counter(kinds.get(i) or _plain(line) for i, line in enumerate(text.splitlines(), 1))


def _marked(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the lines of docstrings and imports."""
    for node in ast.walk(tree):
        match node:
            case ast.Import() | ast.ImportFrom() | ast.Assign(targets=[ast.Name(id="__all__")]):
                yield from ((i, "import") for i in range(node.lineno, (node.end_lineno or 0) + 1))
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                match node.body[:1]:
                    case [ast.Expr(value=ast.Constant(value=str())) as text]:
                        last = (text.end_lineno or 0) + 1
                        yield from ((i, "docstring") for i in range(text.lineno, last))


def _plain(line: str) -> str:
    if not line.strip():
        return "blank"
    return "comment" if line.lstrip().startswith("#") else "code"


def main(source: Path) -> None:
    package = source / "posteriori"
    rooms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(package.rglob("*.py")):
        room = path.relative_to(package).parts[0] if path.parent != package else "."
        rooms[room] += count_lines(path.read_text(encoding="utf-8"))
    print(f"{'room':<16}{'lines':>8}" + "".join(f"{kind:>11}" for kind in KINDS))
    for room, counts in [*rooms.items(), ("sum", sum(rooms.values(), Counter()))]:
        print(f"{room:<16}{counts.total():>8}" + "".join(f"{counts[k]:>11}" for k in KINDS))
    stubs = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in package.rglob("*.pyi"))
    print(f"{'stubs':<16}{stubs:>8}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if sys.argv[1:] else SOURCE)
