"""Claims: one process makes a file, the others wait; a claim ends with its process."""

import signal
import subprocess
import sys
import time

import pytest

from posteriori.numerics.machine_code import claims

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="locks of POSIX")

_HOLD = """
import sys, time
from pathlib import Path
from posteriori.numerics.machine_code.claims import claim
claim(Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def held(tmp_path):
    """A file that another process has claimed, and the process."""
    path = tmp_path / "loop.code"
    call = [sys.executable, "-c", _HOLD, str(path)]
    with subprocess.Popen(call, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "held\n"
        yield path, process
        process.kill()


def test_another_process_is_waited_for(held, monkeypatch):
    path, _ = held
    monkeypatch.setattr(claims, "_PATIENCE", 0.2)
    start = time.monotonic()
    claims.claim(path)
    assert time.monotonic() - start >= 0.2
    assert path not in claims._claims  # in the end both compile


def test_a_claim_ends_with_its_process(held):
    path, process = held
    process.send_signal(signal.SIGKILL)
    process.wait()
    claims.claim(path)
    assert path in claims._claims
    claims.give_up(path)


def test_a_claim_may_be_repeated_and_leaves_nothing(tmp_path):
    path = tmp_path / "loop.code"
    claims.claim(path)
    claims.claim(path)  # an interrupted compilation that begins anew does not wait for itself
    claims.give_up(path)
    claims.give_up(path)
    assert not list(tmp_path.iterdir())


def test_where_there_is_no_place_nothing_is_claimed(tmp_path):
    (tmp_path / "folder").write_text("in the way")
    path = tmp_path / "folder" / "loop.code"
    claims.claim(path)
    assert path not in claims._claims
