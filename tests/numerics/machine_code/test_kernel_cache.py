"""Machine code on disk: found again when nothing changed, made anew when anything did."""

import importlib
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

from posteriori.numerics.machine_code import kernel_cache

_LOOP = """
from posteriori.numerics.compilation import kernel
from parts import SHIFT, shifted

@kernel
def add_up(a):
    \'\'\'Add up.\'\'\'
    total = 0.0
    for value in a:
        total += shifted(value) + SHIFT
    return total
"""
_PARTS = """
from posteriori.numerics.compilation import kernel

SHIFT = 0.0
STEP = 0.0

@kernel(called="kernels")
def shifted(x):
    return x + STEP
"""
_CALL = """
import numpy as np
from posteriori.numerics.machine_code import kernel_cache
import loop

made = []
kernel_cache.listeners.append(made.append)
print(loop.add_up(np.arange(4.0)), *sorted(made))
"""
#: Modules of Numba that only its compiler needs, and that take longer to load than the rest of it.
_OF_THE_COMPILER = """
import sys
print(*sorted({"numba.np.arraymath", "numba.cpython.unicode", "scipy.linalg"} & sys.modules.keys()))
"""


@pytest.fixture
def sources(tmp_path):
    (tmp_path / "loop.py").write_text(_LOOP, encoding="utf-8")
    (tmp_path / "parts.py").write_text(_PARTS, encoding="utf-8")
    return tmp_path


def call(sources):
    """Return what the loop gives when it is imported anew, and which kernels that compiled."""
    made = []
    with pytest.MonkeyPatch.context() as change:
        change.setenv("NUMBA_CACHE_DIR", str(sources / "cache"))
        change.setattr(sys, "dont_write_bytecode", True)
        change.setattr(kernel_cache, "cache_folder", kernel_cache.cache_folder.__wrapped__)
        change.setattr(kernel_cache, "listeners", [made.append])
        change.syspath_prepend(sources)
        for name in ("loop", "parts"):
            sys.modules.pop(name, None)
        answer = importlib.import_module("loop").add_up(np.arange(4.0))
    return answer, sorted(made)


def call_apart(sources, code=_CALL, **environment):
    """Return the same of a process of its own, and its complaints."""
    surroundings = {
        **os.environ,
        **_FRESH,
        "NUMBA_CACHE_DIR": str(sources / "cache"),
        **environment,
    }
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=sources, env=surroundings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    answer, *made = done.stdout.split()
    return float(answer), made, done.stderr


def edit(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


#: Bytecode goes by the second in which a file was edited.
_FRESH = {"PYTHONDONTWRITEBYTECODE": "1"}

#: What is kept: what Python calls, with its parts.
KEPT = ["loop.add_up"]


def test_code_is_kept_and_found_again(sources):
    assert call_apart(sources) == (6.0, KEPT, "")
    assert call_apart(sources) == (6.0, [], "")
    assert call(sources) == (6.0, [])


def test_kept_code_runs_without_the_compiler(sources):
    code = _CALL + _OF_THE_COMPILER
    assert "numba.np.arraymath" in call_apart(sources, code)[1]
    assert call_apart(sources, code) == (6.0, [], "")


@pytest.mark.parametrize(
    ("file", "old", "new", "answer", "made"),
    [
        ("loop.py", "total = 0.0", "total = 1.0", 7.0, KEPT),
        ("parts.py", "SHIFT = 0.0", "SHIFT = 1.0", 10.0, KEPT),
        ("parts.py", "STEP = 0.0", "STEP = 2.0", 14.0, KEPT),
        ("parts.py", "x + STEP", "x - STEP - 1.0", 2.0, KEPT),
        ("parts.py", '(called="kernels")', '(called="inlined")', 6.0, KEPT),
        ("loop.py", "Add up.", "Add all up.", 6.0, []),
        ("parts.py", "SHIFT = 0.0", "SHIFT = 0.0\nOTHER = 5.0  # of no kernel", 6.0, []),
    ],
)
def test_an_edit_compiles_what_it_changes_and_nothing_else(sources, file, old, new, answer, made):
    call(sources)
    edit(sources / file, old, new)
    assert call(sources) == (answer, made)


def test_versions_of_the_sources_share_a_folder(sources):
    call(sources)
    edit(sources / "parts.py", "STEP = 0.0", "STEP = 2.0")
    call(sources)
    edit(sources / "parts.py", "STEP = 2.0", "STEP = 0.0")
    assert call(sources) == (6.0, [])


def flip(place):
    """Return a function that changes one bit of a file at a share of its length."""

    def damage(content):
        at = int(place * len(content))
        return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]

    return damage


@pytest.mark.parametrize(
    "damage",
    [lambda _: b"", lambda _: b"no code", *map(flip, (0.1, 0.25, 0.5, 0.75, 0.9))],
    ids=["empty", "text", *(f"a bit flipped at {place}" for place in (0.1, 0.25, 0.5, 0.75, 0.9))],
)
def test_damaged_code_is_made_anew(sources, damage):
    call(sources)
    for kept in (sources / "cache").rglob("*.code"):
        kept.write_bytes(damage(kept.read_bytes()))
    assert call(sources) == (6.0, KEPT)
    assert call(sources) == (6.0, [])


def test_a_folder_that_cannot_be_written_to_is_told_once(sources):
    (sources / "cache").write_text("in the way")
    answer, made, told = call_apart(sources)
    assert (answer, made) == (6.0, KEPT)
    assert told.count("cannot be kept in") == 1
    assert "NUMBA_CACHE_DIR" in told


def test_processes_that_compile_at_once_leave_whole_files(sources):
    surroundings = {**os.environ, **_FRESH, "NUMBA_CACHE_DIR": str(sources / "cache")}
    start = {"cwd": sources, "env": surroundings, "stdout": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([sys.executable, "-c", _CALL], **start) for _ in range(2)]
    answers = [process.communicate()[0].split() for process in both]
    assert [answer[0] for answer in answers] == ["6.0", "6.0"]
    made = [name for answer in answers for name in answer[1:]]
    assert made == KEPT * (2 if sys.platform == "win32" else 1)  # one waits for the other
    kept = list((sources / "cache").rglob("*"))
    assert sum(path.suffix == ".code" for path in kept) == sum(path.is_file() for path in kept) == 1
    assert call(sources) == (6.0, [])


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_an_interrupted_compilation_leaves_nothing_half_written(sources):
    waits = _CALL.replace("made.append)", "lambda name: print(name, flush=True))")
    surroundings = {**os.environ, **_FRESH, "NUMBA_CACHE_DIR": str(sources / "cache")}
    start = {
        "cwd": sources,
        "env": surroundings,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }
    process = subprocess.Popen([sys.executable, "-c", waits], **start)
    assert process.stdout.readline()  # it has begun to compile
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert {path.suffix for path in (sources / "cache").rglob("*") if path.is_file()} <= {".code"}
    assert call(sources)[0] == 6.0


def test_nothing_is_compiled_where_that_is_asked_for(sources):
    assert call_apart(sources, POSTERIORI_NO_COMPILE="1") == (6.0, [], "")
    assert not (sources / "cache").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_kept_code_is_for_its_owner(sources):
    call(sources)
    modes = {stat.S_IMODE(path.stat().st_mode) for path in (sources / "cache").rglob("*.code")}
    assert modes == {0o600}


def test_without_a_name_the_folder_lies_in_the_cache_of_the_user(sources):
    home = {"NUMBA_CACHE_DIR": "", "XDG_CACHE_HOME": str(sources / "home")}
    if sys.platform != "linux":
        pytest.skip("the folder of Linux")
    call_apart(sources, **home)
    (folder,) = (sources / "home" / "posteriori").iterdir()
    assert "numba" in folder.name
    assert list(folder.glob("loop.add_up-*.code"))
