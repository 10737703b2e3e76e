"""Break the source in one place at a time and see whether the tests notice.

``python tools/mutants.py`` applies each mutant of ``mutants.toml`` to a copy of the source, runs
the tests that are named beside it, and says which of them no test has noticed. A word after the
command picks the mutants whose file has it in its name; ``-n`` says how many run side by side.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

PROJECT = Path(__file__).resolve().parents[1]
PACKAGE = PROJECT / "src" / "posteriori"
LIST = Path(__file__).with_suffix(".toml")

#: What pytest says with its exit status: tests failed, or could not even be imported …
_NOTICED = {1, 2}
#: … or none was asked for.
_NO_TESTS = 5
#: Seconds after which tests have noticed an error by never ending.
_PATIENCE = 120


class Mutant(NamedTuple):
    """One line of one file, what stands there instead, and the tests that must notice."""

    file: str
    old: str
    new: str
    tests: str

    def applied(self, text: str) -> str | None:
        """Return the text of the file with the error, or None where the line is not found once."""
        return text.replace(self.old, self.new) if text.count(self.old) == 1 else None


def main(arguments: list[str]) -> int:
    """Run the mutants and return 0 where all of them were noticed."""
    choice = _parse(arguments)
    mutants = [m for m in read_mutants() if choice.part in m.file]
    start, unnoticed = time.perf_counter(), []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for mutant, verdict in _verdicts(mutants, choice.n, Path(folder)):
            print(f"{verdict:9} {mutant.file}: {mutant.new.strip()}", flush=True)
            if verdict != "noticed":
                unnoticed.append((mutant, verdict))
    print(f"{len(mutants) - len(unnoticed)} of {len(mutants)} mutants were noticed", end=" ")
    print(f"in {time.perf_counter() - start:.0f} s")
    for mutant, verdict in unnoticed:
        print(f"{verdict.upper()} {mutant.file}\n  old: {mutant.old}\n  new: {mutant.new}")
        print(f"  pytest -m 'not slow' {mutant.tests}")
    return int(bool(unnoticed))


def read_mutants() -> list[Mutant]:
    """Return the list, in its order."""
    with LIST.open("rb") as file:
        return [Mutant(**row) for row in tomllib.load(file)["mutant"]]


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="part of the name of a file")
    parser.add_argument("-n", type=int, default=2, help="how many run side by side")
    return parser.parse_args(arguments)


def _verdicts(mutants: list[Mutant], number: int, folder: Path) -> Iterator[tuple[Mutant, str]]:
    """Yield each mutant with what became of it, from as many copies of the source."""
    copies: SimpleQueue[Path] = SimpleQueue()
    for k in range(number):
        copies.put(folder / str(k))
        shutil.copytree(PACKAGE, folder / str(k) / PACKAGE.name)

    def judge(mutant: Mutant) -> str:
        copy = copies.get()
        try:
            return _judge(mutant, copy)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(number) as pool:
        yield from zip(mutants, pool.map(judge, mutants), strict=True)


def _judge(mutant: Mutant, copy: Path) -> str:
    file = copy / PACKAGE.name / mutant.file
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    wrong = mutant.applied(text)
    if wrong is None:
        return "not found"
    file.write_text(wrong, encoding="utf-8")
    try:
        status = _run_tests(mutant, copy)
    finally:
        file.write_text(text, encoding="utf-8")
    if status == _NO_TESTS:
        return "untested"
    return "noticed" if status in _NOTICED else "survived"


def _run_tests(mutant: Mutant, copy: Path) -> int:
    """Run the tests on a copy; bytecode goes by dates of whole seconds, so none is kept of it."""
    for old in (copy / PACKAGE.name / mutant.file).parent.glob("__pycache__/*"):
        if old.name.startswith(f"{Path(mutant.file).stem}."):
            old.unlink()
    variables = {
        "PYTHONPATH": str(copy),
        "NUMBA_CACHE_DIR": str(PROJECT / ".cache" / "numba"),  # a changed kernel has another name
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    options = "-m pytest -q -x -m 'not slow' -p no:cacheprovider"
    try:
        done = subprocess.run(
            [sys.executable, *shlex.split(options), *shlex.split(mutant.tests)],
            cwd=PROJECT,
            env=os.environ | variables,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return min(_NOTICED)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
