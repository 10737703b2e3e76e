"""How many examples a law is tried on: by what one of them costs.

Every law is tried on a few, and on more as long as these take little of the processor's time, so that cheap laws see
many and dear ones do not hold up the others. Which examples come first is the same on every machine and run; the run
of the slow tests takes all that its profile allows (``HYPOTHESIS_PROFILE=thorough``).
"""

import functools
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import hypothesis
import pytest
from hypothesis.errors import HypothesisException
from hypothesis.strategies import DataObject

#: Examples of every law, and those after which no law has more in a run of the quick tests, in a thorough one.
LEAST, MOST, THOROUGH = 8, 40, 200
#: Processor seconds after which a law has had enough, without its first example: that may load or compile.
ENOUGH = 0.1
#: The profile that knows no such limit.
_UNLIMITED = "thorough"

for _profile, _examples in (("posteriori", MOST), (_UNLIMITED, THOROUGH)):
    hypothesis.settings.register_profile(
        _profile, derandomize=True, deadline=None, max_examples=_examples, print_blob=True
    )
_CHOSEN = os.environ.get("HYPOTHESIS_PROFILE", "posteriori")
hypothesis.settings.load_profile(_CHOSEN)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    law = getattr(getattr(item, "obj", None), "hypothesis", None)
    if law is None or _CHOSEN == _UNLIMITED or "slow" in item.keywords:
        return (yield)
    whole = law.inner_test
    law.inner_test = until_enough(whole)
    try:
        return (yield)
    finally:
        law.inner_test = whole


def until_enough(law: Callable[..., None]) -> Callable[..., None]:
    """Return a law that holds of further examples unseen, once it has had enough and has held of all.

    One that draws within itself sees all: Hypothesis asks of it to draw the same whenever it begins alike.
    """
    tried, spent, broken = 0, 0.0, False

    @functools.wraps(law)
    def limited(*arguments: Any, **named: Any) -> None:
        nonlocal tried, spent, broken
        given = *arguments, *named.values()
        draws = any(isinstance(value, DataObject) for value in given)  # as it goes, each time alike
        if not draws and tried >= LEAST and spent > ENOUGH and not broken:
            return
        start = time.process_time()
        try:
            law(*arguments, **named)
        except HypothesisException:  # an example that is not meant
            raise
        except Exception:
            broken = True  # from now on smaller examples are looked for, and all of them are tried
            raise
        finally:
            spent += time.process_time() - start if tried else 0.0
            tried += 1

    return limited
