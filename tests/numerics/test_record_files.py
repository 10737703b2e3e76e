"""Record files: whole or not at all, and nothing believed that was not checked."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
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
    with pytest.raises(OSError, match="No space left") as refused:
        write_whole(path, b"new")
    assert refused.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.html"]


def test_a_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    write_whole(tmp_path / "ours", b"")
    (tmp_path / "theirs").write_bytes(b"")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "theirs").stat().st_mode


@pytest.mark.parametrize("platform", ["linux", "other"])
def test_permissions_are_set_without_touching_the_mask_of_the_process(
    tmp_path: Path, monkeypatch, platform: str
) -> None:
    """The mask belongs to all threads: what others write meanwhile would be open to everybody."""
    before = os.umask(0o027)
    monkeypatch.setattr(sys, "platform", platform)
    try:
        with monkeypatch.context() as patch:
            patch.delattr(os, "umask")
            write_whole(tmp_path / "ours", b"")
    finally:
        os.umask(before)
    assert (tmp_path / "ours").stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_full_device_is_named() -> None:
    with pytest.raises(OSError, match="No space left") as full:
        write_whole("/dev/full", b"content")
    assert full.value.filename == "/dev/full"


def test_a_replaced_file_hands_on_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.write_bytes(b"old")
    path.chmod(0o600)
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600


def test_links_stay_and_lead_to_the_new_content(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("folder") / "file")
    write_whole(link, b"new")  # its end did not exist
    write_whole(link, b"newer")
    assert link.is_symlink()
    assert (tmp_path / "folder" / "file").read_bytes() == b"newer"
    assert [p.name for p in (tmp_path / "folder").iterdir()] == ["file"]


def test_links_in_a_circle_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError, match="symbolic links"):
        write_whole(tmp_path / "a", b"")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(pipe.read_bytes)
        write_whole(pipe, b"content")
        assert reading.result(60) == b"content"
    assert pipe.is_fifo()


def test_a_device_stays_a_device() -> None:
    write_whole("/dev/null", b"content")
    assert Path("/dev/null").is_char_device()


def test_long_names_are_written(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 125)
    write_whole(path, b"content")
    assert path.read_bytes() == b"content"


def test_files_without_names_are_not_needed(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "platform", "other")
    write_whole(tmp_path / "a", b"content")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


#: Is killed when all is written but nothing is in place.
_KILLED = """
import os, signal, sys
from posteriori.numerics.record_files import write_whole
os.fsync = lambda file: os.kill(os.getpid(), signal.SIGKILL)
write_whole(sys.argv[1], b"content")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name")
def test_a_kill_while_writing_leaves_nothing(tmp_path: Path) -> None:
    run = subprocess.run([sys.executable, "-c", _KILLED, tmp_path / "a"], check=False, timeout=300)
    assert run.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_what_has_no_end_is_read_no_further_than_its_first_line() -> None:
    with pytest.raises(ValueError, match="not a saved test"):
        read_record("/dev/zero", FORM)


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


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="the folder does not exist") as refused:
        write_whole(tmp_path / "nowhere" / "file", b"content")
    assert refused.value.filename == str(tmp_path / "nowhere")
