"""Record files: whole or not at all, and nothing believed that was not checked."""

import os
from pathlib import Path

import pytest

from posteriori.numerics.record_files import Format, read_record, write_record, write_whole

FORM = Format("posteriori test", 3, "test")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_record(tmp_path / "a", FORM, {"α": [1, None]}, [b"12345678", b"x\n"])
    assert read_record(tmp_path / "a", FORM) == ({"α": [1, None]}, b"12345678x\n")


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "a.html"
    path.write_text("old", encoding="utf-8")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", b"")
    (tmp_path / "theirs").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


def test_any_flipped_byte_is_noticed(tmp_path: Path) -> None:
    write_record(tmp_path / "a", FORM, [1.5], [b"12345678"])
    content = (tmp_path / "a").read_bytes()
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 1
        (tmp_path / "b").write_bytes(changed)
        with pytest.raises(ValueError, match=r"not a saved test|format version|damaged"):
            read_record(tmp_path / "b", FORM)


def test_any_truncation_is_noticed(tmp_path: Path) -> None:
    write_record(tmp_path / "a", FORM, [1.5], [b"12345678"])
    content = (tmp_path / "a").read_bytes()
    for length in range(len(content)):
        (tmp_path / "b").write_bytes(content[:length])
        with pytest.raises(ValueError, match=r"not a saved test|format version|damaged"):
            read_record(tmp_path / "b", FORM)
