"""scikit-learn's checks: a configuration of each class in every run, the others in slow runs."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any
from unittest import SkipTest

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

Failures = Callable[[BaseEstimator], dict[str, str]]


def every_check(
    estimators: Iterable[BaseEstimator], expected_failures: Failures | None = None
) -> pytest.MarkDecorator:
    """Call a test with each (estimator, check); all but the first of a class are marked slow.

    So the list names the usual configuration of a class first. The checks ask for what a class
    promises (input, clones, attributes, labels), which its configurations seldom change.
    """
    seen: set[type] = set()
    cases: list[Any] = []
    for estimator in estimators:
        mark = parametrize_with_checks([estimator], expected_failed_checks=expected_failures)
        names, found = mark.args
        name_of = mark.kwargs["ids"]
        model = name_of(estimator)  # once, not for each check: a quarter of the time of collection
        marks = [pytest.mark.slow] if type(estimator) in seen else []
        cases += [_named(case, model, name_of, marks) for case in found]
        seen.add(type(estimator))
    return pytest.mark.parametrize(names, cases)


def _named(case: Any, model: str, name_of: Callable[[Any], str], more: list[Any]) -> Any:
    values, marks = (case.values, case.marks) if hasattr(case, "marks") else (case, ())
    estimator, check = values
    run = partial(fail_briefly, check) if marks else check
    return pytest.param(estimator, run, marks=[*marks, *more], id=f"{model}-{name_of(check)}")


def fail_briefly(check: Callable[[BaseEstimator], object], estimator: BaseEstimator) -> None:
    """Run a check that is expected to fail, without the places in scikit-learn where it does.

    pytest reads the source of each place, and parses these long files anew for every failure.
    """
    try:
        check(estimator)
    except SkipTest:
        raise
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}") from None
