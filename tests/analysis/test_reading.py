"""Files of every kind that people have, whole and broken."""

import bz2
import gzip
import io
import lzma
import sys

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import reading
from posteriori.analysis.reading import read_table

ROWS = [("a", 1.5, "Zürich"), ("b", 2.5, "Oslo, Norway"), ("c", None, "Rome")]


def text(delimiter=","):
    lines = [delimiter.join(("name", "number", "city"))]
    for name, number, city in ROWS:
        quoted = f'"{city}"' if delimiter in city else city
        lines.append(delimiter.join((name, "" if number is None else str(number), quoted)))
    return "\n".join(lines) + "\n"


def require_rows(frame):
    assert list(frame.columns) == ["name", "number", "city"]
    assert list(frame["name"]) == ["a", "b", "c"]
    np.testing.assert_array_equal(frame["number"], [1.5, 2.5, np.nan])
    assert list(frame["city"]) == [city for _, _, city in ROWS]


@pytest.mark.parametrize(
    ("delimiter", "word"), [(",", "commas"), ("\t", "tabs"), (";", "semicolons"), ("|", "bars")]
)
def test_delimiters(tmp_path, delimiter, word):
    (tmp_path / "t").write_text(text(delimiter), encoding="utf-8")
    table = read_table(tmp_path / "t")
    require_rows(table.frame)
    assert any(f"separated by {word}" in note for note in table.notes)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_encodings(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes(text().encode(encoding))
    require_rows(read_table(tmp_path / "t.csv").frame)


@pytest.mark.parametrize(
    ("pack", "word"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")]
)
def test_compressed(tmp_path, pack, word):
    (tmp_path / "t").write_bytes(pack(text().encode()))
    table = read_table(tmp_path / "t")
    require_rows(table.frame)
    assert f"compressed with {word}" in table.notes


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_truncated_archives_are_refused(tmp_path, pack):
    content = pack(text().encode() * 2000)
    (tmp_path / "t").write_bytes(content[: len(content) // 2])
    with pytest.raises(ValueError, match="broken compressed file"):
        read_table(tmp_path / "t")


def test_json_lines(tmp_path):
    frame = pd.DataFrame(ROWS, columns=["name", "number", "city"])
    frame.to_json(tmp_path / "t", orient="records", lines=True)
    table = read_table(tmp_path / "t")
    require_rows(table.frame)
    assert "read as JSON lines" in table.notes


@pytest.mark.parametrize("line", ['{"a": 1}\n{"a": ', '{"a": 1} x', "{nonsense}"])
def test_broken_json_is_refused(tmp_path, line):
    (tmp_path / "t").write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match="looks like JSON lines, but"):
        read_table(tmp_path / "t")


def test_nested_json_is_refused(tmp_path):
    (tmp_path / "t").write_text('{"a": [1, 2]}\n{"a": 3}\n', encoding="utf-8")
    with pytest.raises(ValueError, match="'a' holds lists or objects"):
        read_table(tmp_path / "t")


def test_standard_input(monkeypatch):
    class Given:
        buffer = io.BytesIO(text().encode())

    monkeypatch.setattr(sys, "stdin", Given())
    require_rows(read_table("-").frame)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame(ROWS, columns=["name", "number", "city"]).to_parquet(tmp_path / "t")
    require_rows(read_table(tmp_path / "t").frame)
    content = (tmp_path / "t").read_bytes()
    (tmp_path / "t").write_bytes(content[:-20])
    with pytest.raises(ValueError, match="broken Parquet file"):
        read_table(tmp_path / "t")


def test_parquet_without_its_library_names_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t").write_bytes(b"PAR1....PAR1")
    with pytest.raises(ValueError, match=r"needs pyarrow: pip install 'posteriori\[parquet\]'"):
        read_table(tmp_path / "t")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n", "has a header but no rows"),
        (b"a,b", "has a header but no rows"),
        (b"a,b\n1,2\n\0\0\0", "NUL bytes"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "NUL bytes"),
        (b"a,b\n1,2,3,4\n", "cannot be read as a table"),
        (b'a,b\n1,"2\n', "cannot be read as a table"),
    ],
)
def test_broken_files_are_refused(tmp_path, content, message):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "t")


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        read_table(tmp_path)


def test_repeated_headers_are_told_apart(tmp_path):
    (tmp_path / "t").write_text("x,x,,y\n1,2,3,4\n", encoding="utf-8")
    table = read_table(tmp_path / "t")
    assert list(table.frame.columns) == ["x", "x (2)", "column 3", "y"]
    assert any("the header repeats 'x'" in note for note in table.notes)


def test_too_many_columns_are_refused_before_they_are_parsed(tmp_path):
    header = ",".join(f"c{k}" for k in range(100_000))
    (tmp_path / "t").write_text(header + "\n" + "1," * 99_999 + "1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="100,000 columns; at most 10,000"):
        read_table(tmp_path / "t")


def test_large_files_are_refused_or_read_in_part(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 10_000)
    rows = "\n".join(f"{k},{k}" for k in range(5_000))
    (tmp_path / "t").write_text("x,y\n" + rows, encoding="utf-8")
    with pytest.raises(ValueError, match="--max-rows"):
        read_table(tmp_path / "t")
    assert len(read_table(tmp_path / "t", max_rows=100).frame) == 100


def test_a_small_archive_of_a_large_file_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "MOST_BYTES", 1 << 20)
    (tmp_path / "t").write_bytes(gzip.compress(b"x,y\n" + b"1,2\n" * 1_000_000))
    with pytest.raises(ValueError, match="holds more than"):
        read_table(tmp_path / "t")


def test_max_rows_must_be_positive(tmp_path):
    with pytest.raises(ValueError, match="max_rows must be at least 1, got 0"):
        read_table(tmp_path / "t", max_rows=0)
