"""Say after a run where the time went: seconds per room beside a budget, and the slowest tests.

``pytest --room-budget 30`` prints the table. The seconds are those of the tests with their
fixtures, added over all processes; they say what tests cost where nothing else is running.
"""

from collections import Counter
from collections.abc import Iterable

import pytest
from _pytest.terminal import TerminalReporter  # public as pytest.TerminalReporter since 8.4

SLOWEST = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--room-budget",
        type=float,
        metavar="SECONDS",
        help="print the seconds of each room's tests and warn about rooms that take more",
    )


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    budget = terminalreporter.config.getoption("--room-budget")
    reports = [r for kind in terminalreporter.stats.values() for r in kind]
    tests = seconds_of_tests(r for r in reports if isinstance(r, pytest.TestReport))
    if budget is None or not tests:
        return
    terminalreporter.section(f"seconds per room (budget {budget:g})")
    for room, seconds in seconds_of_rooms(tests).most_common():
        over = "" if seconds <= budget else f"  over the budget by {seconds - budget:.0f} s"
        terminalreporter.line(f"{seconds:8.1f}  {room}{over}", yellow=bool(over))
    terminalreporter.section(f"the {SLOWEST} slowest tests")
    for test, seconds in tests.most_common(SLOWEST):
        terminalreporter.line(f"{seconds:8.1f}  {test}")


def seconds_of_tests(reports: Iterable[pytest.TestReport]) -> Counter[str]:
    """Return what each test took, with the fixtures that were made and ended for it."""
    tests: Counter[str] = Counter()
    for report in reports:
        tests[report.nodeid] += report.duration
    return tests


def seconds_of_rooms(tests: Counter[str]) -> Counter[str]:
    """Return what the tests of each folder below ``tests`` took; those beside them are one room."""
    rooms: Counter[str] = Counter()
    for test, seconds in tests.items():
        folders = test.partition("::")[0].split("/")[1:-1]
        rooms[folders[0] if folders else "(the whole package)"] += seconds
    return rooms
