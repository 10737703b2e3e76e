"""Fits in processes give what fits in this one give, and leave nothing behind."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_info, threadpool_limits

from posteriori.analysis.comparisons.comparing import fit_target
from posteriori.analysis.comparisons.table_problem import Problem
from posteriori.analysis.fitting import running, workers
from posteriori.analysis.fitting.running import run_candidates
from posteriori.analysis.fitting.workers import (
    COPIES,
    Workers,
    beside,
    in_new_processes,
    in_processes,
)
from posteriori.numerics.machine_code import kernel_cache
from posteriori.regression import RobustRegressor
from posteriori.selection.candidates import candidates_for
from posteriori.selection.cross_validation import split_rows


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=90), "b": pd.Categorical(rng.choice(list("uvw"), 90))})
    y = X["a"].to_numpy() + rng.normal(size=90)
    kinds = {"a": "number", "b": "category"}
    return Problem(X, y, kinds, None, split_rows(y, 3, 0, classes=False))


def double(data, factor):
    return factor * data


def name_process(data):
    return os.getpid()


def die(data):
    os.kill(os.getpid(), signal.SIGKILL)


def fail(data):
    raise ValueError("not this")


def sleep(data):
    time.sleep(600)


def die_as_fit(problem, fit, candidate, fold):
    die(problem)


def sleep_as_fit(problem, fit, candidate, fold):
    sleep(problem)


def in_one_process(data):
    return in_processes(data, 1)


def in_one_new_process(data):
    return in_new_processes(data, 1, 1)


@pytest.mark.parametrize("place", [beside, in_one_process, in_one_new_process])
def test_results_and_errors_come_back(place):
    with place(np.arange(3.0)) as (submit, _):
        results = [submit(double, k) for k in range(4)]
        failed = submit(fail)
        for k, result in enumerate(results):
            np.testing.assert_array_equal(result.result(60), k * np.arange(3.0))
        assert str(failed.exception(60)) == "not this"


def in_two_new_processes(data):
    return in_new_processes(data, 2, 1)


def in_two_processes(data):
    return in_processes(data, 2)


@pytest.mark.parametrize("place", [in_two_processes, in_two_new_processes])
def test_processes_are_ended_in_the_midst_of_their_work(place):
    start = time.monotonic()
    with place(np.arange(3.0)) as (submit, _):
        submit(sleep)
        there = submit(name_process).result(60)
    assert time.monotonic() - start < 60
    assert there != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(there, 0)


def test_new_processes_share_the_data():
    table = pd.DataFrame({"x": np.arange(2.0e5)})
    with in_new_processes(table, 1, 1) as (submit, _):
        assert submit(_memory_kind).result(60) == "memmap"


only_copies = pytest.mark.skipif(not COPIES, reason="processes are no copies on this system")


@only_copies
def test_copies_have_the_data_without_being_sent_them():
    with in_processes(threading.Lock(), 1) as (submit, _):  # a lock cannot be sent
        assert submit(_is_locked).result(60) is False


def _is_locked(lock):
    return lock.locked()


def _threads(data):
    return os.environ["OMP_NUM_THREADS"], {pool["num_threads"] for pool in threadpool_info()}


@only_copies
def test_copies_share_the_processors(monkeypatch):
    monkeypatch.setattr(workers, "processor_count", lambda: 4)
    with in_processes(None, 2) as (submit, _):
        assert submit(_threads).result(60) == ("2", {1})


def group(rows):
    return KMeans(2, n_init=1, random_state=0).fit(rows).inertia_


@only_copies
def test_copies_do_not_wait_for_threads_of_openmp():
    rows = np.random.default_rng(0).normal(size=(600, 2))
    with threadpool_limits(2):
        here = group(rows)
    with in_processes(rows, 1) as (submit, _):
        assert submit(group).result(60) == pytest.approx(here)


@only_copies
def test_one_copy_that_dies_takes_only_its_own_fit_along():
    with in_processes(2.0, 2) as (submit, alive):
        lost, kept = submit(die), [submit(double, 3.0) for _ in range(4)]
        assert isinstance(lost.exception(60), BrokenExecutor)
        assert [one.result(60) for one in kept] == [6.0] * 4
        assert alive()
        assert isinstance(submit(die).exception(60), BrokenExecutor)
        for _ in range(600):
            if not alive():
                return
            time.sleep(0.1)
        raise AssertionError("no copy is left, and that is not said")


def _compile(data):
    for listener in kernel_cache.listeners:
        listener("some.kernel")
    return data


@only_copies
def test_what_copies_compile_is_told_here():
    heard = []
    kernel_cache.listeners.append(lambda name: heard.append((os.getpid(), name)))
    try:
        with in_processes(3.0, 1) as (submit, _):
            assert submit(_compile).result(60) == 3.0
            assert submit(fail).exception(60).args == ("not this",)
    finally:
        kernel_cache.listeners.pop()
    assert heard == [(os.getpid(), "some.kernel")]


def test_where_there_is_no_room_for_a_copy_a_thread_works(monkeypatch):
    def refuse(data, count, environment):
        raise OSError("no room")

    monkeypatch.setattr(workers, "COPIES", True)
    monkeypatch.setattr(workers, "Copies", refuse)
    with in_processes(2.0, 2) as (submit, _):
        assert submit(name_process).result(60) == os.getpid()


@pytest.mark.parametrize(
    ("names", "expected"), [(["constant", "linear"], False), (["constant", "splines"], True)]
)
def test_costly_models_of_small_tables_have_processes_where_these_are_copies(
    problem, monkeypatch, names, expected
):
    asked = []

    @contextmanager
    def ask(data, count):
        asked.append(count)
        with beside(data) as working:
            yield working

    monkeypatch.setattr(running, "in_processes", ask)
    for copies in (True, False):
        monkeypatch.setattr(running, "COPIES", copies)
        run_candidates(candidates_for("regression", names), problem, fit=fit_target, jobs=2)
        assert bool(asked) is (expected and copies)
        asked.clear()


def _memory_kind(table):
    base = table["x"].to_numpy()
    while isinstance(base.base, np.ndarray):
        base = base.base
    return type(base).__name__


def test_both_ways_give_the_same(problem, monkeypatch):
    candidates = candidates_for("regression", ["constant", "linear", "splines"])
    here, _ = run_candidates(candidates, problem, fit=fit_target)
    monkeypatch.setattr(running, "_WORTH_PROCESSES", 0)
    there, ended = run_candidates(candidates, problem, fit=fit_target, jobs=2)
    assert ended == ""
    found = {outcome.name: outcome for outcome in there}
    for one in here:
        other = found[one.name]
        assert float(other.evidence) == pytest.approx(float(one.evidence), rel=1e-12)
        np.testing.assert_allclose(other.unseen.log_density, one.unseen.log_density, rtol=1e-10)
        np.testing.assert_allclose(other.model.predict(problem.X), one.model.predict(problem.X))


@pytest.mark.parametrize(
    ("names", "ends"),
    [
        (["constant", "linear", "splines"], ["linear"]),
        (["constant", "linear"], []),
        (["splines"], []),
    ],
)
def test_the_last_of_the_quick_models_is_marked(problem, names, ends):
    heard = []
    found, _ = run_candidates(
        candidates_for("regression", names),
        problem,
        fit=fit_target,
        on_outcome=lambda o, *_: heard.append(o),
    )
    assert heard == found
    assert [o.name for o in heard] == names
    assert [o.name for o in heard if o.ends_quick] == ends


def test_a_process_that_dies_is_told(problem, monkeypatch):
    monkeypatch.setattr(running, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(running, "_fit", die_as_fit)
    candidates = candidates_for("regression", ["constant", "linear"])
    outcomes, ended = run_candidates(candidates, problem, fit=fit_target, jobs=2)
    assert ended == ""
    assert sorted(outcome.name for outcome in outcomes) == ["constant", "linear"]
    assert all("died, perhaps for lack of memory" in outcome.failure for outcome in outcomes)


def test_a_thread_that_dies_is_told(problem, monkeypatch):
    """It may lack the memory even to say so: what it was to do is not waited for."""

    @contextmanager
    def lost(data, threads):
        yield Workers(lambda *call: Future(), lambda: False)

    monkeypatch.setattr(running, "beside", lost)
    outcomes, ended = run_candidates(
        candidates_for("regression", ["constant", "linear"]), problem, fit=fit_target
    )
    assert ended == ""
    assert all("died, perhaps for lack of memory" in outcome.failure for outcome in outcomes)
    assert len(outcomes) == 2


def test_the_time_limit_ends_fits_in_processes(problem, monkeypatch):
    monkeypatch.setattr(running, "_WORTH_PROCESSES", 0)
    monkeypatch.setattr(running, "_fit", sleep_as_fit)
    start = time.monotonic()
    outcomes, ended = run_candidates(
        candidates_for("regression", ["linear"]), problem, fit=fit_target, jobs=2, time_limit=0.5
    )
    assert (outcomes, ended) == ([], "time")
    assert time.monotonic() - start < 60


def test_warnings_are_kept_with_the_candidate(problem, monkeypatch):
    def complain(self, X, y):
        warnings.warn("so\nso", UserWarning, stacklevel=1)
        return honest(self, X, y)

    honest = RobustRegressor.fit
    monkeypatch.setattr(RobustRegressor, "fit", complain)
    candidates = candidates_for("regression", ["constant", "robust linear"])
    outcomes, _ = run_candidates(candidates, problem, fit=fit_target)
    assert {outcome.name: outcome.warnings for outcome in outcomes} == {
        "constant": (),
        "robust linear": ("so so",),
    }


@pytest.mark.parametrize(("module", "heard"), [("joblib.externals.loky.x", []), ("elsewhere", [1])])
def test_the_death_of_the_manager_is_told_once(module, heard, monkeypatch):
    """Its thread would print how it ended; what fits are lost is said by ``alive``."""
    told = []
    monkeypatch.setattr(threading, "excepthook", lambda died: told.append(1))
    kind = type("Thread", (threading.Thread,), {"__module__": module, "run": lambda self: 1 / 0})
    with in_new_processes({}, 1, 1):
        thread = kind()
        thread.start()
        thread.join()
    assert told == heard


def test_what_tidies_up_after_processes_is_silent(monkeypatch):
    warning = "import warnings; warnings.warn('resource_tracker: There appear to be 1 leaked')"
    for usual in (None, "default"):
        monkeypatch.delenv("PYTHONWARNINGS", raising=False)
        if usual is not None:
            monkeypatch.setenv("PYTHONWARNINGS", usual)
        with in_new_processes({}, 1, 1):
            told = subprocess.run([sys.executable, "-c", warning], capture_output=True, check=True)
        assert told.stderr == b""
        assert os.environ.get("PYTHONWARNINGS") == usual
