"""Rules of the house that a linter does not know, read from the syntax of the source."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

import posteriori

ROOT = Path(posteriori.__file__).parent

#: The one file that may invert a matrix: it says when that is right.
INVERTS = "numerics/linalg.py"

#: Ways to write the inverse of a matrix.
INVERSES = {"np.linalg.inv", "numpy.linalg.inv", "linalg.inv", "scipy.linalg.inv", "inv"}

CONSTANT = re.compile(r"_?[A-Z][A-Z0-9_]*\Z")

#: How a line begins that may assign to one.
ASSIGNS = re.compile(r"^[(\[]?_?[A-Z][A-Z0-9_]*\s*[:=,]", re.MULTILINE)


def calls(tree: ast.Module) -> list[tuple[int, str]]:
    """Return line and spelling of every call."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(node.lineno, ast.unparse(node.func)) for node in found]


def constants(tree: ast.Module) -> list[ast.Assign | ast.AnnAssign]:
    """Return assignments of numbers to names in capitals, at the level of the module."""
    found = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    return [node for node in found if _is_named_in_capitals(node) and _is_numeric(node.value)]


def is_explained(node: ast.stmt, lines: list[str]) -> bool:
    """Tell whether a comment stands on the line of a statement, or right above it."""
    own = lines[node.lineno - 1 : node.end_lineno]
    above = lines[node.lineno - 2] if node.lineno > 1 else ""
    return any("#" in line for line in own) or above.lstrip().startswith("#")


def _is_named_in_capitals(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [name for target in targets for name in _names(target)]
    return bool(names) and all(CONSTANT.match(name) for name in names)


def _names(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Tuple):
        return [name for element in target.elts for name in _names(element)]
    return [target.id] if isinstance(target, ast.Name) else [""]


def _is_numeric(value: ast.expr | None) -> bool:
    """Tell whether an expression is made of numbers: literals, their arithmetic, tuples of them."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int | float | complex) and not isinstance(number, bool)
        case ast.UnaryOp(operand=inner):
            return _is_numeric(inner)
        case ast.BinOp(left=left, right=right):
            return _is_numeric(left) or _is_numeric(right)
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            return bool(elements) and all(map(_is_numeric, elements))
        case ast.Call(args=arguments):
            return bool(arguments) and all(map(_is_numeric, arguments))
    return False


@cache
def sources() -> dict[str, str]:
    """Return the text of each file of the package."""
    files = sorted(ROOT.rglob("*.py"))
    return {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in files}


def inversions(text: str) -> list[tuple[int, str]]:
    """Return line and spelling of every call that inverts a matrix."""
    if "inv(" not in text:  # most files, which need not be parsed
        return []
    return [(line, call) for line, call in calls(ast.parse(text)) if call in INVERSES]


def silent_constants(text: str) -> list[tuple[int, str]]:
    """Return line and text of every numeric constant without a reason beside it."""
    if not ASSIGNS.search(text):  # most files, which need not be parsed
        return []
    lines = text.splitlines()
    found = [node for node in constants(ast.parse(text)) if not is_explained(node, lines)]
    return [(node.lineno, lines[node.lineno - 1]) for node in found]


def test_nothing_is_tracked_that_is_ignored():
    """An environment or a cache that is tracked takes the place of the real one where it is checked out."""
    project = Path(__file__).parents[1]
    if not (project / ".git").exists():
        pytest.skip("this is no checkout")
    told = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split() == []


def test_matrices_are_inverted_in_one_place():
    found = {name: inversions(text) for name, text in sources().items()}
    assert len(found.pop(INVERTS)) == 1
    assert not {name: places for name, places in found.items() if places}, (
        "use solve, or a function of numerics.linalg"
    )


def test_constants_say_why():
    found = {name: silent_constants(text) for name, text in sources().items()}
    assert not {name: places for name, places in found.items() if places}, (
        "put a line '#: …' above that says what it is for"
    )


def test_the_rules_see_what_they_forbid():
    text = (
        "A = 1e-3\n#: Why.\nB = 2\nC = 3\n\nD, E = 1, -2.0\nF = 4  # why\nG = 'text'\nH: int = 5\n"
    )
    tree, lines = ast.parse(text), text.splitlines()
    found = {node.lineno: is_explained(node, lines) for node in constants(tree)}
    assert found == {1: False, 3: True, 4: False, 6: False, 7: True, 9: False}
    assert silent_constants(text) == [
        (1, "A = 1e-3"),
        (4, "C = 3"),
        (6, "D, E = 1, -2.0"),
        (9, "H: int = 5"),
    ]
    assert inversions("x = np.linalg.inv(a) @ b") == [(1, "np.linalg.inv")]
