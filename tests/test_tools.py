"""The scripts behind the make targets: which tests to run, under which kernels, with which cache."""

from collections import Counter
from pathlib import Path

import pytest
from tools import kernel_key, rooms
from tools.under_other_kernels import choose_kernels

import posteriori
from tests.seconds import seconds_of_rooms

IMPORTS = {
    "cli": {"plots"},
    "plots": {"models"},
    "models": {"laws"},
    "data": {"laws"},
    "laws": set(),
}


@pytest.mark.parametrize(
    ("room", "above"),
    [
        ("cli", ["cli"]),
        ("models", ["cli", "models", "plots"]),
        ("data", ["data"]),
        ("laws", ["cli", "data", "laws", "models", "plots"]),
    ],
)
def test_rooms_above_import_a_room_directly_or_through_others(room, above):
    assert rooms.find_rooms_above(room, IMPORTS) == above


@pytest.fixture(scope="module")
def imports():
    return rooms.read_imports()


def test_all_rooms_lie_above_the_lowest(imports):
    folders = {path.parent.name for path in Path(posteriori.__file__).parent.glob("*/__init__.py")}
    assert set(rooms.find_rooms_above("numerics", imports)) == folders


def test_tables_that_name_estimators_by_path_lie_above_their_rooms(imports):
    assert "selection" in rooms.find_rooms_above("regression", imports)
    assert "regression" not in rooms.find_rooms_above("selection", imports)


def test_tests_of_rooms_and_of_the_whole_package_are_named(capsys):
    rooms.main(["cli"])
    named = set(capsys.readouterr().out.split())
    assert {"tests/cli", "tests/test_package.py"} <= named
    assert all((rooms.PROJECT / path).exists() for path in named)
    rooms.main([])
    assert capsys.readouterr().out == "tests\n"


def test_an_unknown_room_is_answered_with_those_there_are():
    with pytest.raises(
        SystemExit, match=r"no room 'modelling'\. Name one of: analysis, .*modeling"
    ):
        rooms.main(["modelling"])


@pytest.mark.parametrize(
    ("present", "instructions", "chosen"),
    [
        ({"Haswell"}, {"avx2", "fma"}, ["Nehalem"]),
        ({"SkylakeX"}, {"avx2", "fma", "avx512f"}, ["Haswell"]),
        ({"Sandybridge"}, {"avx"}, ["Nehalem"]),
        ({"Sandybridge"}, set(), ["Nehalem"]),
    ],
)
def test_kernels_are_those_that_the_processor_has_and_does_not_use(present, instructions, chosen):
    assert choose_kernels(present, instructions) == chosen


def test_newer_processors_run_both_sets():
    wide = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
    chosen = choose_kernels({"SapphireRapids"}, {"avx2", "fma"} | wide)
    assert chosen == ["Haswell", "SkylakeX"]


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """Return sources with one kernel that uses a constant by way of another file."""
    texts = {
        "loop": "from package.sizes import SIZE\n\n@compiled\ndef run(): ...\n",
        "sizes": "import package.units\n\nSIZE = 3 * package.units.ONE\n",
        "units": "ONE = 1\n",
        "other": "from package.loop import run\n",
        "room/__init__": "",
        "room/constants": "TWO = 2\n",
    }
    for name, text in texts.items():
        file = tmp_path / "package" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(kernel_key, "SOURCE", tmp_path)
    return tmp_path / "package"


def key(capsys) -> str:
    kernel_key.main()
    return capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "follows"), [("loop", True), ("sizes", True), ("units", True), ("other", False)]
)
def test_the_key_follows_kernels_and_what_they_import(sources, capsys, name, follows):
    before = key(capsys)
    with (sources / f"{name}.py").open("a", encoding="utf-8") as file:
        file.write("# an edit\n")
    assert (key(capsys) != before) == follows


def test_the_key_follows_all_files_of_a_room_that_loads_its_names_on_use(sources):
    (sources / "units.py").write_text("from package.room import TWO\n", encoding="utf-8")
    assert sources / "room" / "constants.py" in kernel_key.find_compiled_sources()


def test_every_file_that_compiles_is_in_the_key():
    files = kernel_key.find_compiled_sources()
    texts = {path: path.read_text("utf-8") for path in kernel_key.SOURCE.rglob("*.py")}
    compiling = {path for path, text in texts.items() if "import compiled" in text}
    assert compiling
    assert compiling <= set(files)


def test_seconds_are_added_by_room():
    tests = Counter(
        {
            "tests/a/test_x.py::test": 1.0,
            "tests/a/b/test_y.py::test[1/2]": 2.0,
            "tests/test_z.py::t": 4,
        }
    )
    assert seconds_of_rooms(tests) == {"a": 3.0, "(the whole package)": 4.0}
