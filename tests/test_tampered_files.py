"""Tampered files: what was saved, or a refusal that names the file; never code, never much memory."""

import tracemalloc
import warnings
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Categorical, Dirichlet, Gamma, Model, MvNormal, Normal
from posteriori.analysis import compare, load_model, save_model
from posteriori.modeling import load_posterior
from tests.analysis.tables import INPUTS, mixed_table
from tests.tampering import damaged, forged

#: Models whose files are tampered with, by target: each has other classes in it.
MODELS = {
    "count": ("constant", "linear", "splines", "robust linear"),
    "two": ("naive Bayes", "logistic", "average"),
}

#: Bytes that reading a file of a few thousand may take.
MOST_BYTES = 20_000_000


@cache
def saved_models() -> list[bytes]:
    """Return the content of files with models."""
    files = []
    for target, names in MODELS.items():
        single = [name for name in names if name != "average"]
        table = mixed_table()[[*INPUTS, target]]
        analysis = compare(table, target, models=single, folds=2, jobs=1)
        models = [analysis.table_model(name) for name in names]
        files += [_content(partial(save_model, model)) for model in models]
    return files


@cache
def saved_posteriors() -> list[bytes]:
    """Return the content of a file with marginals of many families."""
    m = Model()
    m.mu, m.tau = Normal(0.0, variance=4.0), Gamma(2.0, 1.0)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    m.new = Normal(m.mu, precision=m.tau).iid(2)
    m.p = Beta(1.0, 1.0)
    m.b = Bernoulli(m.p).iid("k")
    m.w = Dirichlet(np.ones(3))
    m.z = Categorical(m.w, labels=("a", "b", "c")).iid("q")
    m.u = MvNormal(np.zeros(2), cov=np.eye(2))
    post = m.infer(y=[1.0, 2.0, 3.0], b=[0, 1, 1], z=["a", "b"])
    return [_content(post.save)]


def _content(save: Callable[[Path], None]) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        save(path)
        return path.read_bytes()


def show_model(path: Path) -> None:
    model = load_model(path)
    assert all(isinstance(line, str) for line in model.describe())


def show_posterior(path: Path) -> None:
    post = load_posterior(path)
    assert repr(post).startswith("SavedPosterior")
    for name in post.names:
        drawn = post[name].sample(3, rng=0)
        assert drawn.dtype.kind != "f" or not np.isnan(drawn).any()


def fault_of(show: Callable[[Path], None], path: Path) -> str:
    """Return what is wrong with reading a file: nothing if it can be shown or is refused by name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            show(path)
    except ValueError as refused:
        return "" if str(refused).startswith(str(path)) else repr(refused)
    except Exception as error:
        return repr(error)
    return ""


def faults(
    show: Callable[[Path], None],
    files: list[bytes],
    tamper: Callable[[np.random.Generator, bytes], bytes],
    path: Path,
    seeds: range,
) -> list[str]:
    """Return what is wrong with reading tampered files, each by the seed that made it."""
    found = []
    for seed in seeds:
        path.write_bytes(tamper(np.random.default_rng(seed), files[seed % len(files)]))
        if fault := fault_of(show, path):
            found.append(f"seed {seed}: {fault}")
    return found


KINDS = pytest.mark.parametrize(
    ("show", "files"),
    [(show_model, saved_models), (show_posterior, saved_posteriors)],
    ids=["models", "posteriors"],
)


@KINDS
@pytest.mark.parametrize("tamper", [damaged, forged])
def test_tampered_files(show: Any, files: Any, tamper: Any, tmp_path: Path) -> None:
    assert not faults(show, files(), tamper, tmp_path / "file", range(60))


@KINDS
def test_forged_files_take_little_memory(show: Any, files: Any, tmp_path: Path) -> None:
    files()
    for seed in range(100, 160):
        tracemalloc.start()
        try:
            assert not faults(show, files(), forged, tmp_path / "file", range(seed, seed + 1))
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES, seed
        finally:
            tracemalloc.stop()


@KINDS
def test_damage_never_goes_unnoticed(show: Any, files: Any, tmp_path: Path) -> None:
    path = tmp_path / "file"
    for seed in range(60):
        path.write_bytes(damaged(np.random.default_rng(seed), files()[seed % len(files())]))
        with pytest.raises(ValueError, match=r"not a saved|version|damaged"):
            show(path)


@pytest.mark.slow
@KINDS
def test_many_damaged_files(show: Any, files: Any, tmp_path: Path) -> None:
    assert not faults(show, files(), damaged, tmp_path / "file", range(1_000_000, 1_030_000))


@pytest.mark.slow
@KINDS
@pytest.mark.parametrize("part", range(2))
def test_many_forged_files(show: Any, files: Any, part: int, tmp_path: Path) -> None:
    start = 2_000_000 + 10_000 * part
    assert not faults(show, files(), forged, tmp_path / "file", range(start, start + 6_000))
