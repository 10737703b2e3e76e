"""The top of the package: light to import, complete to look at, helpful when a name is wrong."""

import ast
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import posteriori
from posteriori import (
    analysis,
    classification,
    decision,
    distributions,
    inference,
    modeling,
    regression,
    selection,
)

ROOMS = set(posteriori._ROOMS)
HEAVY = ("numba", "pandas", "matplotlib", "sklearn", "networkx", "scipy.stats", "rich", "typer")


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_loads_no_room():
    loaded = run_python(
        "import sys, posteriori; print([m for m in sys.modules if m.startswith('posteriori.')])"
    )
    assert loaded == "[]"


def test_distributions_load_without_the_heavy_libraries():
    heavy = run_python(
        "import sys; from posteriori import Normal, bayes;"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert heavy == "[]"


def test_distributions_load_only_the_rooms_below():
    rooms = run_python(
        "import sys; from posteriori import Normal, bayes;"
        "print(sorted({m.split('.')[1] for m in sys.modules if m.startswith('posteriori.')}))"
    )
    assert rooms == "['distributions', 'numerics']"


def test_a_room_is_an_attribute_of_the_package():
    assert run_python("import posteriori; print(posteriori.numerics.__name__)") == (
        "posteriori.numerics"
    )


def test_every_room_on_disk_is_listed():
    root = Path(posteriori.__file__).parent
    assert {p.parent.name for p in root.glob("*/__init__.py")} == ROOMS


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_every_room_is_shown_in_the_readme_and_the_reference(room):
    project = Path(__file__).parents[1]
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert f"`src/posteriori/{room}/`" in readme
    reference = (project / "docs/reference/index.rst").read_text(encoding="utf-8")
    assert room == "cli" or f"   posteriori.{room}\n" in reference  # a command, not a library


@pytest.mark.parametrize("name", sorted(posteriori._ROOM_OF))
def test_every_public_name_resolves_to_the_object_of_its_room(name):
    room = getattr(posteriori, posteriori._ROOM_OF[name])
    assert getattr(posteriori, name) is getattr(room, name)
    assert name in room.__all__


def test_dir_lists_every_public_name_and_room():
    assert ROOMS | set(posteriori.__all__) | {"__version__"} <= set(dir(posteriori))
    assert not [name for name in dir(posteriori) if name.startswith("_") and name[1] != "_"]


def test_star_import_brings_every_public_name():
    names = run_python(
        "import posteriori; names = {}; exec('from posteriori import *', names);"
        "print(set(posteriori.__all__) <= set(names))"
    )
    assert names == "True"


def names_for_type_checkers(package: ModuleType) -> dict[str, str]:
    """Return each name of the TYPE_CHECKING block with the module it comes from."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    prefix = package.__name__
    return {
        alias.asname: node.module.removeprefix(prefix).removeprefix(".")
        for node in block.body
        for alias in node.names
    }


def test_type_checkers_see_the_same_names_as_the_table():
    seen = names_for_type_checkers(posteriori)
    assert seen == posteriori._ROOM_OF | dict.fromkeys(ROOMS, "")


@pytest.mark.parametrize(
    "room",
    [analysis, classification, decision, distributions, inference, modeling, regression, selection],
)
def test_rooms_that_load_on_use(room):
    table = {name: file for file, names in room._FILES.items() for name in names}
    assert table.keys().isdisjoint(room._FILES), "a file would hide the name that it defines"
    assert names_for_type_checkers(room) == table
    for name in room.__all__:
        assert getattr(room, name) is not None
    assert dir(room) == room.__all__
    with pytest.raises(AttributeError, match="has no attribute 'Nromal'"):
        _ = room.Nromal


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("normal", "Normal"),
        ("Gama", "Gamma"),
        ("distribution", "distributions"),
        ("Bayes", "bayes"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest_one(wrong, right):
    with pytest.raises(AttributeError, match=f"no attribute '{wrong}'; did you mean '{right}'"):
        getattr(posteriori, wrong)


def test_a_name_that_is_near_nothing_gets_no_guess():
    with pytest.raises(AttributeError, match=r"no attribute 'qqqq'$"):
        _ = posteriori.qqqq


def test_import_of_a_wrong_name_fails():
    with pytest.raises(ImportError, match="Gama"):
        from posteriori import Gama  # noqa: F401


def test_version_is_that_of_the_installed_distribution():
    from importlib.metadata import version

    assert posteriori.__version__ == version("posteriori")
