"""Files of every kind that people have, whole and broken."""

import bz2
import gzip
import io
import lzma
import os
import sys
import threading
import tracemalloc
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.table import parquet, reading
from posteriori.analysis.table.reading import read_table

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


def test_warnings_of_pandas_about_texts_like_times_are_not_repeated(tmp_path, monkeypatch):
    read = pd.read_json

    def warn_as_before_pandas_3(*args, **options):
        message = "The behavior of 'to_datetime' with 'unit' when parsing strings is deprecated."
        warnings.warn(message, FutureWarning, stacklevel=2)
        return read(*args, **options)

    (tmp_path / "t").write_text('{"modified": "1e5"}\n{"modified": "x"}\n', encoding="utf-8")
    assert list(read_table(tmp_path / "t").frame["modified"]) == ["1e5", "x"]
    monkeypatch.setattr(pd, "read_json", warn_as_before_pandas_3)
    assert list(read_table(tmp_path / "t").frame["modified"]) == ["1e5", "x"]


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


def test_endless_lines_are_refused_also_where_few_rows_are_wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "LONGEST_LINE", 1 << 17)
    for start in (b"x,y\n1,2\n", b'{"x": 1}\n{"x": "'):
        (tmp_path / "t").write_bytes(gzip.compress(start + b"3" * (1 << 26)))
        tracemalloc.start()
        with pytest.raises(ValueError, match="a line of more than 0 MB: it is no table"):
            read_table(tmp_path / "t", max_rows=10)
        assert tracemalloc.get_traced_memory()[1] < 1 << 25
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b"\n", b" \t\r\n\n", b"\xef\xbb\xbf\n", b" " * 100_000])
def test_blank_files_are_said_to_be_blank(tmp_path, content):
    (tmp_path / "t").write_bytes(content)
    with pytest.raises(ValueError, match="is blank: it holds no table"):
        read_table(tmp_path / "t")


@pytest.fixture
def tall_parquet(tmp_path):
    """A few kilobytes with two million rows."""
    arrow = pytest.importorskip("pyarrow")
    write = pytest.importorskip("pyarrow.parquet").write_table
    write(arrow.table({"x": np.zeros(2_000_000)}), tmp_path / "t")
    assert (tmp_path / "t").stat().st_size < 100_000
    return tmp_path / "t"


def test_parquet_is_measured_by_its_footer(tall_parquet, monkeypatch):
    monkeypatch.setattr(parquet, "MOST_BYTES", 10_000_000)
    with pytest.raises(ValueError, match=r"holds more than .* --max-rows"):
        read_table(tall_parquet)
    assert len(read_table(tall_parquet, max_rows=100_000).frame) == 100_000
    arrow = pytest.importorskip("pyarrow")
    before = arrow.default_memory_pool().max_memory()
    table = read_table(tall_parquet, max_rows=7)
    assert len(table.frame) == 7
    assert table.notes[-1] == "only the first 7 rows were read, as asked: there are more"
    assert arrow.default_memory_pool().max_memory() - before < 1_000_000


def test_packed_parquet_is_no_larger_than_other_files(tall_parquet, tmp_path, monkeypatch):
    packed = tmp_path / "t.gz"
    packed.write_bytes(gzip.compress(tall_parquet.read_bytes()))
    assert len(read_table(packed).frame) == 2_000_000
    monkeypatch.setattr(reading, "MOST_BYTES", len(tall_parquet.read_bytes()) // 2)
    with pytest.raises(ValueError, match="holds more than"):
        read_table(packed)


def test_repeated_texts_of_parquet_are_measured_before_they_are_made(tmp_path, monkeypatch):
    arrow = pytest.importorskip("pyarrow")
    write = pytest.importorskip("pyarrow.parquet").write_table
    rows = arrow.DictionaryArray.from_arrays(np.zeros(5000, dtype=np.int32), ["x" * 10_000])
    write(arrow.table({"text": rows.cast(arrow.string()), "n": [1.0, None] * 2500}), tmp_path / "t")
    monkeypatch.setattr(parquet, "MOST_BYTES", 10_000_000)
    with pytest.raises(ValueError, match="holds more than"):
        read_table(tmp_path / "t")
    frame = read_table(tmp_path / "t", max_rows=3).frame
    assert frame["text"].tolist() == ["x" * 10_000] * 3
    np.testing.assert_array_equal(frame["n"], [1.0, np.nan, 1.0])


def test_texts_of_parquet_that_are_no_utf8_are_refused(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    table = arrow.table({"x": ["abcdefgh"] * 3 + ["b"] * 3})
    parquet.write_table(table, path, compression="none", write_statistics=False)
    path.write_bytes(path.read_bytes().replace(b"abcdefgh", b"abc\x8cefgh"))
    with pytest.raises(ValueError, match=r"broken Parquet file: .*UTF8"):
        read_table(path)


def test_max_rows_must_be_positive(tmp_path):
    with pytest.raises(ValueError, match="max_rows must be at least 1, got 0"):
        read_table(tmp_path / "t", max_rows=0)


# -- headers, and rows that do not fit them ------------------------------------------------------


def written(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_names_may_hold_line_breaks_and_separators(tmp_path):
    path = written(tmp_path, 'x,"new\nline","a,b"\n1,2,3\n4,5,6\n')
    frame = read_table(path).frame
    assert list(frame.columns) == ["x", "new\nline", "a,b"]
    np.testing.assert_array_equal(frame, [[1, 2, 3], [4, 5, 6]])


def test_empty_lines_above_the_header(tmp_path):
    frame = read_table(written(tmp_path, "\n\nx,y\n1,2\n")).frame
    assert list(frame.columns) == ["x", "y"]
    np.testing.assert_array_equal(frame, [[1, 2]])


def test_comments_above_the_header_are_left_out_and_said(tmp_path):
    path = written(tmp_path, '# of "2024\n\n# by someone\nx,y\n1,2\n3,4\n5\n')
    table = read_table(path)
    assert list(table.frame.columns) == ["x", "y"]
    assert len(table.frame) == 3
    assert "2 lines before the header, beginning with #, left out" in table.notes
    assert any("(line 7)" in note for note in table.notes)


def test_a_header_may_begin_with_the_sign_of_a_comment(tmp_path):
    frame = read_table(written(tmp_path, "#id,y\n1,2\n3,4\n")).frame
    assert list(frame.columns) == ["#id", "y"]


def test_a_header_of_decimals_may_be_a_row(tmp_path):
    (_, note) = read_table(written(tmp_path, "0.5,a\n0.7,b\n")).notes
    assert note == (
        "the first line is taken as names, such as '0.5': if it is a row, put a line with names "
        "above it"
    )
    assert len(read_table(written(tmp_path, "2019,2020\n0.7,1\n")).notes) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n1,2,3,4\n", "line 3 has 4 cells, more than the 2 of the header"),
        ('a,b\n"1\n1",2\n1,2,3\n', "line 4 has 3 cells, more than the 2 of the header"),
        ("a,b\n1,2,5\n3,4,\n", "line 2 has 3 cells, .*end no line with the separator"),
        ("Report\na,b\n1,2\n3,4\n", "line 2 has 2 cells, more than the 1 of the header"),
        ('a,b\n1,2\n3,"4\n5,6\n', "a quotation mark in line 3 is never closed; close it, or rem"),
    ],
)
def test_lines_that_do_not_fit_are_named(tmp_path, content, message):
    with pytest.raises(ValueError, match=message):
        read_table(written(tmp_path, content))


def test_separators_at_the_end_of_every_line_make_no_column(tmp_path):
    frame = read_table(written(tmp_path, "a,b\n1,2,\n3,4,\n")).frame
    np.testing.assert_array_equal(frame, [[1, 2], [3, 4]])


def test_an_endless_first_cell_is_refused(tmp_path):
    with pytest.raises(ValueError, match="cannot be read as a table"):
        read_table(written(tmp_path, '"' + "a,\n" * 100_000))


def test_short_rows_are_said(tmp_path):
    table = read_table(written(tmp_path, "a,b,c\n1,2,3\n4\n\n5,6\n7,8,\n"))
    np.testing.assert_array_equal(table.frame["a"], [1, 4, 5, 7])
    assert (
        "2 rows with fewer cells than the 3 of the header (the first in line 3): their other cells "
        "are missing"
    ) in table.notes
    one = read_table(written(tmp_path, "a,b\n1,2\n4\n"))
    assert one.notes[-1].endswith("(line 3): its other cells are missing")
    assert len(read_table(written(tmp_path, "a,b\n1,2\n4,\n")).notes) == 1


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_rows_that_were_not_read_are_said(tmp_path, kind):
    frame = pd.DataFrame({"x": np.arange(10.0), "y": np.arange(10.0)})
    path = tmp_path / "t"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    part = read_table(path, max_rows=4)
    np.testing.assert_array_equal(part.frame, frame[:4])
    assert "only the first 4 rows were read, as asked: there are more" in part.notes
    whole = read_table(path, max_rows=10)
    assert len(whole.frame) == 10
    assert not any("were read" in note for note in whole.notes)


# -- archives and pipes --------------------------------------------------------------------------


def zipped(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def test_a_zip_archive_of_one_file(tmp_path):
    files = {"folder/": b"", "folder/t.csv": text().encode(), "__MACOSX/t.csv": b"\0"}
    table = read_table(zipped(tmp_path / "t.zip", files))
    require_rows(table.frame)
    assert "compressed with zip" in table.notes


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"a.csv": b"x\n1\n", "b.csv": b"x\n1\n"},
            r"a zip archive of 2 files \(a.csv, b.csv\); unpack it and name one of them",
        ),
        ({"folder/": b""}, "a zip archive of 0 files; unpack it"),
        ({"xl/workbook.xml": b"", "a": b""}, "is a spreadsheet; save the sheet as CSV"),
    ],
)
def test_other_archives_are_refused(tmp_path, files, message):
    with pytest.raises(ValueError, match=message):
        read_table(zipped(tmp_path / "t.zip", files))


def test_damaged_and_locked_archives_are_refused(tmp_path):
    path = zipped(tmp_path / "t.zip", {"t.csv": text().encode() * 100})
    content = bytearray(path.read_bytes())
    content[60] ^= 255
    with pytest.raises(ValueError, match="broken compressed file"):
        read_table(written(tmp_path, bytes(content)))
    with pytest.raises(ValueError, match="broken compressed file"):
        read_table(written(tmp_path, bytes(content[:100])))
    locked = bytearray(path.read_bytes())
    locked[locked.index(b"PK\x01\x02") + 8] |= 1  # the flag of encryption in the directory
    with pytest.raises(ValueError, match="asks for a password; unpack it first"):
        read_table(written(tmp_path, bytes(locked)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_pipes(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(text().encode()))
    writer.start()
    require_rows(read_table(pipe).frame)
    writer.join()


def test_numbers_are_read_to_the_last_bit_and_long_exponents_are_texts(tmp_path):
    x = np.random.default_rng(0).normal(size=500)
    path = tmp_path / "t.csv"
    path.write_text("x\n" + "\n".join(map(repr, x.tolist())))
    np.testing.assert_array_equal(read_table(path).frame["x"], x)
    path.write_text("x\n1.5e+18711912555023299\n2\n")  # ended the process with pandas 2
    assert len(read_table(path).frame) == 2


def test_a_closed_standard_input_is_told(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(
        ValueError, match="standard input is closed: give it a table, or name a file"
    ):
        read_table("-")
