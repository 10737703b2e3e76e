"""Say after a run where the time went: per room beside a budget, compiling, and the dearest tests.

``pytest --room-budget 30`` prints it, and fails where a test that is not slow takes too long. All
seconds are of the processor, of a test and of the processes that it started, without those in which
kernels were compiled: they mean the same on a machine that has other things to do, and with a cold cache.
What a test may take is of the machine: a round of fixed work is timed, and one that is half as fast is
allowed twice as much.
"""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from _pytest.terminal import TerminalReporter  # public as pytest.TerminalReporter since 8.4

from posteriori.numerics.machine_code.kernel_cache import listeners

#: Tests that are shown.
DEAREST = 10
#: Seconds that a test may take without the mark ``slow``: its own, not those of fixtures and processes.
#: They are meant where a round of work takes ROUND, and grow with it on slower machines.
MOST, ROUND = 3.0, 0.018
#: Rounds that are timed: the quickest of them was disturbed least.
_ROUNDS = 7


class Spent(NamedTuple):
    """Processor seconds: of the tests, of processes that they started, of compiling; and kernels compiled."""

    own: float
    others: float
    compiling: float
    kernels: int

    def __sub__(self, before: tuple[Any, ...]) -> "Spent":
        return Spent(*(now - then for now, then in zip(self, before, strict=True)))


class Clock:
    """What the process has spent since it was last asked."""

    def __init__(self) -> None:
        self._compiling, self._kernels, self._watching = 0.0, 0, False
        self._started: list[float] = []
        self._last = self._now()

    def lap(self) -> Spent:
        now = self._now()
        self._last, before = now, self._last
        return now - before

    def notice_kernel(self, name: str) -> None:
        """Count a kernel of the package; watch the compiler from the first of all on, which loads Numba."""
        if not self._watching:
            self._watching = True
            self._watch_compiler()
        self._kernels += name.startswith("posteriori.")

    def _watch_compiler(self) -> None:
        from numba.core.event import Listener, register

        class Watch(Listener):
            def on_start(_, event: Any) -> None:  # noqa: N805
                self._started.append(time.process_time())

            def on_end(_, event: Any) -> None:  # noqa: N805
                start = self._started.pop()
                if not self._started:  # the parts of a kernel are compiled inside of it
                    self._compiling += time.process_time() - start

        register("numba:compile", Watch())

    def _now(self) -> Spent:
        times = os.times()
        own = time.process_time() - self._compiling
        others = times.children_user + times.children_system
        return Spent(own, others, self._compiling, self._kernels)


_CLOCK = Clock()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--room-budget",
        type=float,
        metavar="SECONDS",
        help="print the seconds of each room's tests and warn about rooms that take more",
    )


def pytest_configure() -> None:
    if _CLOCK.notice_kernel not in listeners:
        listeners.append(_CLOCK.notice_kernel)


def pytest_collection_finish() -> None:
    """Leave out collection, which the first test would have taken otherwise."""
    _CLOCK.lap()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Iterator[Any]:
    report = yield
    report.spent = list(_CLOCK.lap())  # a list, since workers hand reports over as JSON
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if (
        session.config.getoption("--room-budget")
        and reporter
        and too_long(_reports(reporter), most_here())
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    budget = terminalreporter.config.getoption("--room-budget")
    reports = _reports(terminalreporter)
    if budget is None or not reports:
        return
    tests = seconds_of_tests(reports)
    terminalreporter.section(f"processor seconds per room (budget {budget:g})")
    for room, seconds in seconds_of_rooms(tests).most_common():
        over = "" if seconds <= budget else f"  over the budget by {seconds - budget:.0f} s"
        terminalreporter.line(f"{seconds:8.1f}  {room}{over}", yellow=bool(over))
    terminalreporter.section(f"the {DEAREST} dearest tests")
    for test, seconds in tests.most_common(DEAREST):
        terminalreporter.line(f"{seconds:8.1f}  {test}")
    terminalreporter.line(sum_up(reports))
    for test, seconds in too_long(reports, most_here()).items():
        words = f"{seconds:.1f} s, here {most_here():.1f} are allowed. Make it smaller, or mark it slow."
        terminalreporter.line(f"FAILED {test}: {words}", red=True)


def sum_up(reports: Iterable[pytest.TestReport]) -> str:
    """Return what all tests took, and whether the cache of kernels was cold."""
    own, others, compiling, kernels = map(sum, zip(*(r.spent for r in reports), strict=True))
    cache = f"cold: {kernels} kernels compiled in {compiling:.0f} s" if kernels else "warm"
    return f"{own + others:.0f} s of processor time in tests; the cache of machine code was {cache}"


def too_long(reports: Iterable[pytest.TestReport], most: float) -> dict[str, float]:
    """Return the tests that took more seconds than they may, with these."""
    calls = {r.nodeid: r.spent[0] for r in reports if r.when == "call" and "slow" not in r.keywords}
    return {test: seconds for test, seconds in calls.items() if seconds > most}


@cache
def most_here() -> float:
    """Return the seconds that a test may take on this machine."""
    return allowed(quickest_round(work))


def allowed(quickest: float) -> float:
    """Return what a test may take where a round of work takes so long; quick machines ask no more of it."""
    return MOST * max(1.0, quickest / ROUND)


def quickest_round(work: Callable[[], object]) -> float:
    """Return the processor seconds of a round of work, the least of several."""
    clock = [time.process_time()]
    for _ in range(_ROUNDS):
        work()
        clock.append(time.process_time())
    return float(np.diff(clock).min())


def work() -> None:
    """Do what tests do: loops of Python, calls for short arrays, some linear algebra."""
    lengths: dict[int, int] = {}
    for i in range(40_000):
        lengths[i % 97] = lengths.get(i % 97, 0) + len(str(i))
    x = np.linspace(0.0, 1.0, 200)
    for _ in range(1_500):
        x = np.exp(-x * x) / (1.0 + x.sum())
    square = np.eye(150) + 1e-3
    for _ in range(20):
        np.linalg.solve(square, square)


def seconds_of_tests(reports: Iterable[pytest.TestReport]) -> Counter[str]:
    """Return what each test took, with the fixtures that were made and ended for it."""
    tests: Counter[str] = Counter()
    for report in reports:
        tests[report.nodeid] += report.spent[0] + report.spent[1]
    return tests


def seconds_of_rooms(tests: Counter[str]) -> Counter[str]:
    """Return what the tests of each folder below ``tests`` took; those beside them are one room."""
    rooms: Counter[str] = Counter()
    for test, seconds in tests.items():
        folders = test.partition("::")[0].split("/")[1:-1]
        rooms[folders[0] if folders else "(the whole package)"] += seconds
    return rooms


def _reports(reporter: TerminalReporter) -> list[Any]:
    found = [report for kind in reporter.stats.values() for report in kind]
    return [report for report in found if isinstance(report, pytest.TestReport)]
