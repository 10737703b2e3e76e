"""The command as a process: where it writes, and what Ctrl-C leaves behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

import pytest

#: Jobs in the background of a shell are told to ignore Ctrl-C, those of nohup a lost terminal, and so are
#: those that they start.
_TAKES_INTERRUPTS = """import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
"""


def start(code: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Run the command by some code, in a group of processes of its own, which takes Ctrl-C."""
    fixed = {"PYTHONIOENCODING": "utf-8", "COLUMNS": "200"}
    return subprocess.Popen(
        [sys.executable, "-u", "-c", _TAKES_INTERRUPTS + code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, **fixed, **environment},
    )


def _wait_for(process: subprocess.Popen[str], stream: TextIO | None, words: str) -> None:
    assert stream is not None
    while words not in stream.readline():
        assert process.poll() is None


def test_errors_go_to_standard_error(tmp_path: Path) -> None:
    code, path = "from posteriori.cli import main; main()", tmp_path / "no.csv"
    process = start(code, "compare", str(path), "--target", "y")
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err == f"posteriori: {path} does not exist\n"


#: Makes one candidate wait, so that Ctrl-C comes while it is being fitted.
_SLOW = """
import time
from posteriori.regression import RobustRegressor
def wait(self, X, y):
    while True:
        time.sleep(0.05)
RobustRegressor.fit = wait
from posteriori.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for a child")
@pytest.mark.parametrize(
    "models",
    ["constant,robust linear", pytest.param("robust linear", marks=pytest.mark.slow)],
)
def test_interrupted_runs_tell_what_is_done(table: Path, tmp_path: Path, models: str) -> None:
    saved = ["--html", str(tmp_path / "r.html"), "--save", str(tmp_path / "m.po")]
    options = [
        "compare",
        str(table),
        "--target",
        "y",
        "--models",
        models,
        "--jobs",
        "1",
    ]
    process = start(_SLOW, *options, *saved)
    if "constant" in models:
        _wait_for(process, process.stderr, "constant: score")
    else:
        _wait_for(process, process.stdout, "  · read as text")
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    _require_told(err)
    assert "straight lines (robust): interrupted" in out
    assert list(tmp_path.iterdir()) == []
    verdict = "“constant” is the only model" if "constant" in models else "No model could be fitted"
    assert verdict in out


#: The same with processes; Ctrl-C reaches these too.
_SLOW_PROCESSES = """
import time
from posteriori.analysis.fitting import running
running._WORTH_PROCESSES = 0
honest = running._fit
def wait(problem, fit, candidate, fold):
    if candidate.name == "linear":
        time.sleep(600)
    return honest(problem, fit, candidate, fold)
running._fit = wait
from posteriori.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT for a child")
@pytest.mark.slow
def test_interrupted_processes_leave_nothing(table: Path, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = ["--target", "y", "--models", "constant,linear", "--jobs", "2"]
    process = start(_SLOW_PROCESSES, "compare", str(table), *options, TMPDIR=str(scratch))
    _wait_for(process, process.stderr, "constant: score")
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    _require_told(err)
    assert "straight lines: interrupted" in out
    assert list(scratch.iterdir()) == []
    _require_group_ends(process.pid)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize(
    "name",
    ["SIGKILL", *(pytest.param(n, marks=pytest.mark.slow) for n in ("SIGTERM", "SIGHUP"))],
)
def test_killed_commands_leave_nothing(table: Path, tmp_path: Path, name: str) -> None:
    """Only the command itself is killed; its processes notice."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = ["--target", "y", "--models", "constant,linear", "--jobs", "2"]
    process = start(_SLOW_PROCESSES, "compare", str(table), *options, TMPDIR=str(scratch))
    _wait_for(process, process.stderr, "constant: score")
    process.send_signal(getattr(signal, name))
    process.communicate(timeout=60)
    assert process.returncode == -getattr(signal, name)
    _require_group_ends(process.pid)
    assert list(scratch.iterdir()) == []


def _require_told(err: str) -> None:
    """The last line says why it ended; those before, what was done."""
    *done, last = err.splitlines()
    assert last == "posteriori: stopped by Ctrl-C: nothing was written"
    assert all(line.startswith("  1 of ") for line in done)


def _require_group_ends(group: int) -> None:
    """Wait for the processes that see to it that nothing of their parent is left."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError(f"processes of the group {group} are alive")
