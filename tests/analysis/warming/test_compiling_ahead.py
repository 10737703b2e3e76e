"""The second process compiles what is needed later, only where that helps, and ends with the first."""

import os
import signal
import subprocess
import sys
import time

import pytest

from posteriori.analysis.warming import compiling_ahead as ahead
from posteriori.analysis.warming.recipes import NEEDED, RECIPES
from posteriori.selection.candidates import CANDIDATES

_PARENT = """
import time
from posteriori.analysis.warming import compiling_ahead as ahead

def show(process, tell):
    print(process.pid, flush=True)

ahead._pass_on = show
with ahead.compiling_ahead("demo", print):
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
    assert ahead._is_worth_it("compare")
    return tmp_path


def test_what_is_done_is_not_done_again(cold):
    ahead.note_done("compare")
    assert not ahead._is_worth_it("compare")
    assert ahead._is_worth_it("demo")


def test_no_process_is_left_where_there_is_no_room_for_a_thread(cold, monkeypatch):
    started, start = [], ahead._start
    monkeypatch.setattr(
        ahead, "_start", lambda command: started.append(start(command)) or started[0]
    )

    def fail(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("threading.Thread.start", fail)
    with pytest.raises(RuntimeError, match="new thread"), ahead.compiling_ahead("demo", print):
        raise AssertionError("it has begun")
    assert started[0].returncode is not None
    assert started[0].stdout.closed


def test_one_processor_is_left_to_the_command(cold, monkeypatch):
    monkeypatch.setattr(ahead, "processor_count", lambda: 1)
    assert not ahead._is_worth_it("compare")


def test_nothing_is_compiled_ahead_where_nothing_is_compiled(cold, monkeypatch):
    monkeypatch.setattr(ahead, "STAYS_PLAIN", True)
    assert not ahead._is_worth_it("compare")


def test_a_folder_that_cannot_be_made_is_no_error(cold, monkeypatch):
    (cold / "file").write_text("in the way")
    monkeypatch.setattr(ahead, "cache_folder", lambda: cold / "file" / "cache")
    assert not ahead._is_worth_it("compare")


def test_commands_need_recipes_that_are_there():
    assert {name for names in NEEDED.values() for name in names} <= set(RECIPES)
    assert any(c.path.startswith("posteriori.ensemble.") for c in CANDIDATES)
