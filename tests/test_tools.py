"""The scripts behind the make targets: which tests to run, under which kernels, with which cache."""

from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from unittest import SkipTest

import pytest
from tools import rooms
from tools.under_other_kernels import choose_kernels

import posteriori
from tests.scikit_learn_checks import fail_briefly
from tests.seconds import (
    MOST,
    ROUND,
    Clock,
    allowed,
    most_here,
    quickest_round,
    seconds_of_rooms,
    seconds_of_tests,
    sum_up,
    too_long,
    work,
)

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


def test_seconds_are_added_by_room():
    tests = Counter(
        {
            "tests/a/test_x.py::test": 1.0,
            "tests/a/b/test_y.py::test[1/2]": 2.0,
            "tests/test_z.py::t": 4,
        }
    )
    assert seconds_of_rooms(tests) == {"a": 3.0, "(the whole package)": 4.0}


def report(test, when, own, others=0.0, compiling=0.0, kernels=0, **marks):
    spent = [own, others, compiling, kernels]
    return SimpleNamespace(nodeid=test, when=when, spent=spent, keywords=marks)


REPORTS = [
    report("long", "setup", 1.0),
    report("long", "call", 4.0, others=2.0),
    report("compiled", "call", 1.0, compiling=30.0, kernels=7),
    report("fixture", "setup", 9.0),
    report("fixture", "call", 0.5),
    report("apart", "call", 0.5, others=8.0),
    report("marked", "call", 60.0, slow=1),
]


def test_a_test_has_the_seconds_of_its_fixtures_and_processes():
    assert seconds_of_tests(REPORTS[:2]) == {"long": 7.0}


def test_tests_are_too_long_by_themselves_and_without_compiling():
    assert too_long(REPORTS, 3.0) == {"long": 4.0}
    assert too_long(REPORTS, 4.0) == {}


def test_a_machine_half_as_fast_is_allowed_twice_as_much():
    once = quickest_round(work)
    assert 1.6 < quickest_round(lambda: (work(), work())) / once < 2.4
    assert allowed(2.0 * ROUND) == pytest.approx(2.0 * MOST)
    assert allowed(0.5 * ROUND) == MOST
    assert most_here() >= MOST


def test_a_cache_is_cold_where_kernels_were_compiled():
    assert (
        sum_up(REPORTS[:2]) == "7 s of processor time in tests; the cache of machine code was warm"
    )
    assert sum_up(REPORTS[:3]).endswith("was cold: 7 kernels compiled in 30 s")


def test_the_clock_counts_work_and_leaves_out_compiling():
    clock = Clock()
    sum(range(300_000))
    worked = clock.lap()
    assert worked.own > 0.0
    assert (worked.compiling, worked.kernels) == (0.0, 0)
    assert clock.lap().own < worked.own


def test_expected_failures_are_told_without_their_places():
    def check(found):
        if found != "sound":
            raise found

    fail_briefly(check, "sound")
    with pytest.raises(AssertionError, match="ValueError: no columns") as told:
        fail_briefly(check, ValueError("no columns"))
    assert told.traceback[-1].name == "fail_briefly"
    assert told.value.__suppress_context__
    with pytest.raises(SkipTest):
        fail_briefly(check, SkipTest("not here"))
