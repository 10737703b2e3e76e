"""The second process compiles what is needed later, only where that helps, and ends with the first."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.warming import compiling_ahead as ahead
from posteriori.analysis.warming.compiling_ahead import RECIPES, grown_recipes

_PARENT = """
import time
from posteriori.analysis.warming import compiling_ahead as ahead

def show(process):
    print(process.pid, flush=True)

ahead._pass_on = show
with ahead.compiling_ahead(lambda: ["trees of numbers"]):
    time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.skipif(ahead.processor_count() < 2, reason="there is no processor for it")
def test_the_process_ends_with_its_parent(tmp_path):
    surroundings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    call = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(call, stdout=subprocess.PIPE, env=surroundings, text=True) as parent:
        child = int(parent.stdout.readline())
        assert is_running(child)
        parent.send_signal(signal.SIGKILL)
    end = time.monotonic() + 30
    while is_running(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not is_running(child)
    assert {path.suffix for path in tmp_path.rglob("*") if path.is_file()} <= {".code", ".claim"}


@pytest.fixture
def cold(tmp_path, monkeypatch):
    """A folder without machine code on two processors: there, compiling ahead is worth it."""
    monkeypatch.setattr(ahead, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(ahead, "processor_count", lambda: 2)
    assert ahead._can_help()
    return tmp_path


def test_what_is_done_is_not_done_again(cold, monkeypatch):
    started = []

    def start(recipes):
        started.append(recipes)
        raise OSError("no process is started here")

    monkeypatch.setattr(ahead, "_start", start)
    ahead.note_done("trees of numbers")
    with pytest.raises(OSError, match="no process"):
        ahead.compiling_ahead(lambda: ["trees of numbers", "cluster"]).__enter__()
    assert started == [["cluster"]]
    with ahead.compiling_ahead(lambda: ["trees of numbers"]):
        assert started == [["cluster"]]


def test_no_process_is_left_where_there_is_no_room_for_a_thread(cold, monkeypatch):
    started, start = [], ahead._start
    monkeypatch.setattr(
        ahead, "_start", lambda recipes: started.append(start(recipes)) or started[0]
    )

    def fail(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", fail)
    with (
        pytest.raises(RuntimeError, match="new thread"),
        ahead.compiling_ahead(lambda: ["cluster"]),
    ):
        raise AssertionError("it has begun")
    assert started[0].returncode is not None
    assert started[0].stdout.closed


def test_one_processor_is_left_to_the_command(cold, monkeypatch):
    monkeypatch.setattr(ahead, "processor_count", lambda: 1)
    assert not ahead._can_help()


def test_nothing_is_compiled_ahead_where_nothing_is_compiled(cold, monkeypatch):
    monkeypatch.setattr(ahead, "STAYS_PLAIN", True)
    assert not ahead._can_help()


def test_a_folder_that_cannot_be_made_is_no_error(cold, monkeypatch):
    (cold / "file").write_text("in the way")
    monkeypatch.setattr(ahead, "cache_folder", lambda: cold / "file" / "cache")
    assert not ahead._can_help()


TABLE = pd.DataFrame(
    {
        "size": np.arange(40.0) ** 1.5,
        "sort": ["a", "b", "c", "d"] * 10,
        "side": ["left", "right"] * 20,
    }
)


@pytest.mark.parametrize(
    ("target", "models", "expected"),
    [
        ("size", (), ["trees of numbers"]),
        ("sort", (), ["trees of classes"]),
        ("side", (), ["trees of two classes"]),
        ("side", "random forest", ["trees of two classes"]),
        ("size", ("linear", "random forest"), ["trees of numbers"]),
        ("size", ("constant", "linear"), []),
        (None, (), []),
    ],
)
def test_a_comparison_needs_the_trees_of_its_target(target, models, expected):
    found = grown_recipes(TABLE, target=target, models=models)
    assert found == expected
    assert set(found) <= set(RECIPES)


def test_the_density_of_a_column_needs_no_trees():
    assert grown_recipes(TABLE, target="size", task="density") == []
