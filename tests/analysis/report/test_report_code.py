"""The code that a report shows repeats its analysis, however the table was read."""

import html
import io
import re
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from posteriori.analysis import Analysis, compare, read_table
from posteriori.analysis.comparisons.comparison_page import code_of
from posteriori.analysis.table.reading import reading_code
from posteriori.cli import app
from tests.analysis.tables import INPUTS, mixed_table

MODELS = ["constant", "linear"]


def table() -> pd.DataFrame:
    return mixed_table(60)[[*INPUTS, "y"]].rename(columns={"colour": "größe"})


def write_semicolons(path: Path) -> None:
    path.write_bytes(table().to_csv(sep=";", decimal=",", index=False).encode("cp1252"))


def write_tabs(path: Path) -> None:
    table().to_csv(path, sep="\t", index=False)


def write_lines(path: Path) -> None:
    table().to_json(path, orient="records", lines=True)


def write_parquet(path: Path) -> None:
    pytest.importorskip("pyarrow")
    table().to_parquet(path)


def run_code(code: str, **known: object) -> Analysis:
    exec(code, known)
    again = known["analysis"]
    assert isinstance(again, Analysis)
    return again


def require_equal(again: Analysis, first: Analysis) -> None:
    assert [row.name for row in again.ranking.rows] == [row.name for row in first.ranking.rows]
    np.testing.assert_allclose(
        [row.elpd for row in again.ranking.rows],
        [row.elpd for row in first.ranking.rows],
        rtol=1e-9,
    )


@pytest.mark.parametrize(
    ("name", "write", "rows"),
    [
        ("it's.csv", write_semicolons, None),
        ("t.tsv", write_tabs, None),
        ("t.tsv", write_tabs, 40),
        ("t.jsonl", write_lines, None),
        ("t.parquet", write_parquet, None),
        ("t.parquet", write_parquet, 40),
    ],
)
def test_files_of_every_format(
    name: str, write: Callable[[Path], None], rows: int | None, tmp_path: Path
) -> None:
    path = str(tmp_path / name)
    write(tmp_path / name)
    given = read_table(path, rows).frame
    first = compare(given, "y", models=MODELS, drop=["when"], seed=3, jobs=1)
    again = run_code(code_of(first, reading_code(path, rows)))
    assert len(again.problem.y) == (rows or 60)
    require_equal(again, first)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    first = compare(table(), "y", models=MODELS, jobs=1)
    given = io.BytesIO(table().to_csv(index=False).encode())
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(given))
    require_equal(run_code(code_of(first, reading_code("-"))), first)


def test_tables_of_python() -> None:
    first = compare(table(), "y", models=MODELS, folds=3, jobs=1, thorough=True)
    code = code_of(first)
    assert run_code(code, table=table()).thorough
    assert "# table: the data that were analysed" in code
    require_equal(run_code(code, table=table()), first)


def test_reports_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    write_semicolons(tmp_path / "data" / "t.csv")
    options = "compare data/t.csv --target y --models constant,linear --jobs 1 --html report.html"
    done = CliRunner().invoke(app, [*options.split(), "--max-rows", "40", "--seed", "3"])
    assert done.exit_code == 0, done.output
    page = Path("report.html").read_text(encoding="utf-8")
    code = re.search(r"<pre><code>(.*?)</code></pre>", page, flags=re.DOTALL)
    assert code is not None
    again = run_code(html.unescape(code[1]))
    rows = [re.findall(r"<td>([^<]*)</td>", row) for row in page.split("</tr>")]
    printed = [(row[-1], row[0]) for row in rows if row and row[-1] in again.outcomes]
    found = [(row.name, f"{row.elpd:.1f} ± {row.elpd_se:.1f}") for row in again.ranking.rows]
    assert printed == [(name, text.replace("-", "−")) for name, text in found]


def test_the_loss_is_asked_for_again() -> None:
    x = np.linspace(0.0, 1.0, 40)
    table = {"x": x, "y": 1.0 + x + 0.1 * np.cos(40.0 * x)}
    found = [compare(table, "y", models=["linear"], loss=loss) for loss in ("squared", "absolute")]
    assert ["loss='absolute'" in code_of(one) for one in found] == [False, True]
