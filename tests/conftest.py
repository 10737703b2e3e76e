"""Let the tests import their own oracles and case tables as ``tests.…``, and keep their bytecode."""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

PROJECT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(PROJECT))

# Rewriting the assertions of all tests takes longer than running those of most rooms. Where the
# shell forbids bytecode beside the sources, it is kept in the cache of the project.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    sys.pycache_prefix = str(PROJECT / ".cache" / "bytecode")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

from tests.seconds import (  # noqa: E402, F401
    pytest_addoption,
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_terminal_summary,
)

# The same examples on every machine and run; no deadline, since a shared core may stall. Few in every
# run, many in that of the slow tests.
for profile, examples in (("posteriori", 25), ("thorough", 200)):
    hypothesis.settings.register_profile(
        profile, derandomize=True, deadline=None, max_examples=examples, print_blob=True
    )
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "posteriori"))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep what is collected out of the search for garbage: millions of objects that stay.

    Without it a quarter of the time of collection goes into that search, and each full one between
    tests takes half a second.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
