"""Let the tests import their own oracles and case tables as ``tests.…``, and keep their bytecode.

How many examples laws have is decided in ``tests/examples.py``, and what tests may take in ``tests/seconds.py``.
"""

import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

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

from tests.examples import pytest_runtest_call  # noqa: E402, F401
from tests.seconds import (  # noqa: E402, F401
    pytest_addoption,
    pytest_collection_finish,
    pytest_configure,
    pytest_runtest_makereport,
    pytest_sessionfinish,
    pytest_terminal_summary,
)


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
