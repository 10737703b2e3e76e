"""What is printed: to readers who leave, in poor encodings, without codes for the terminal."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import load_model
from posteriori.analysis.comparisons.table_problem import read_target
from posteriori.cli.output import plain

#: Prints far more than a pipe holds, then writes a file.
_PRINTS = """
import sys
from posteriori.cli.output import PatientConsole, tolerate_encodings
tolerate_encodings()
console = PatientConsole(highlight=False)
for _ in range(3000):
    console.print("− ±" + 60 * "x")
open(sys.argv[1], "w").close()
"""


def test_work_goes_on_when_the_reader_leaves(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _PRINTS, str(tmp_path / "done")],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith(b"? ?xxx")
    process.stdout.close()
    assert process.wait(300) == 0
    assert (tmp_path / "done").exists()


#: The command as its script starts it.
_COMMAND = "from posteriori.cli import main; main()"


@pytest.mark.slow
def test_readers_who_leave_do_not_cost_report_and_model(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    far = 17 * 10**17 + rng.integers(0, 10**6, 120)  # moments in nanoseconds, say
    table = pd.DataFrame({"x": x, "far": far, "y": 1.7e18 + 1e4 * (x + rng.normal(size=120))})
    table.to_csv(tmp_path / "t.csv", index=False)
    words = ["compare", "t.csv", "--target", "y", "--html", "r.html", "--save", "m.po"]
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, *words],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        cwd=tmp_path,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"t.csv: 120 rows, 3 columns\n"
    process.stdout.close()
    assert process.wait(300) == 0
    assert load_model(tmp_path / "m.po").target == "y"
    assert (tmp_path / "r.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_control_codes_are_not_printed() -> None:
    assert plain("a\x1b]0;title\x07b\r") == "a�]0;title�b�"
    assert plain("Zürich − ±") == "Zürich − ±"


def test_classes_may_be_any_two_numbers() -> None:
    for pair in ((0.5, 1.5), (1e19, 2e19)):
        frame = pd.DataFrame({"y": np.tile(pair, 10)})
        target = read_target(frame, "y")
        assert target.task == "classification"
        assert list(target.classes) == sorted(map(str, pair))
