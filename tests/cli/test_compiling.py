"""Commands say once that loops are compiled, and nothing where all is compiled."""

import pytest
from typer.testing import CliRunner

from posteriori.analysis.warming import warming
from posteriori.analysis.warming.compiling_ahead import RECIPES
from posteriori.cli import app
from posteriori.cli.output import told_compilation
from posteriori.numerics.machine_code.kernel_cache import cache_folder, listeners


def test_compilation_is_told_once_on_standard_error(capsys):
    before = list(listeners)
    with told_compilation("cluster"):
        for name in ("grow", "cut"):
            for listener in listeners:
                listener(name)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("compiling loops for this machine, once (about ")
    assert err.count("\n") == 1
    assert listeners == before


def test_nothing_is_told_where_all_is_compiled(capsys):
    with told_compilation("cluster"):
        pass
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def few(monkeypatch):
    """Only what hidden Markov models need."""
    monkeypatch.setattr(warming, "RECIPES", {"states": RECIPES["states"]})


def test_warm_says_how_many_loops_there_are_and_where(few, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    CliRunner().invoke(app, ["warm", "--jobs", "1"])
    again = CliRunner().invoke(app, ["warm", "--jobs", "1"])
    assert again.exit_code == 0, again.output
    kept = len(list(cache_folder().glob("*.code")))
    assert f"no loop compiled; machine code of {kept:,} loops in {cache_folder()}" in again.output


def test_warm_refuses_a_folder_that_cannot_be_written(few, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr(warming, "cache_folder", lambda: tmp_path / "file" / "cache")
    refused = CliRunner().invoke(app, ["warm"])
    assert refused.exit_code == 1
    assert "Not a directory" in refused.output
    assert "Traceback" not in refused.output
