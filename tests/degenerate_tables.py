"""Degenerate tables, and what an estimator says of them: its answers, or what is wrong with these.

A case is made by its seed alone: a table, targets, weights, and documented options of the estimator.
"""

import inspect
import linecache
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, clone

import posteriori

__all__ = ["TABLES", "TARGETS", "WEIGHTS", "Case", "case_of", "fault_of", "options_of"]

#: Rows and columns of a table that is not degenerate otherwise.
N, D = 9, 2
#: Processor seconds that a case may take; kernels that are compiled count.
MOST_SECONDS = 20.0
#: Where an error may be raised: here, or where scikit-learn checks.
OURS = tuple(str(Path(module.__file__).parent) for module in (posteriori, sklearn))
#: What an error may speak of, beside the parameters of the estimator.
ARGUMENTS = r"X|y|sample_weight|Sample weights|sequences?|lengths|time|columns?|rows?|class(es)?|samples?|features?|targets?|inputs?"
#: Fewer steps than by default, for the sake of time.
SMALL = {
    **{"n_estimators": 4, "n_members": 2, "max_iter": 25, "n_init": 2, "draws": 40, "cells": 20},
    **{"max_bins": 6, "inducing": 4, "n_frequencies": 2, "n_centers": 4, "random_state": 0},
}


class Case(NamedTuple):
    """An estimator with its options, and the data that it is fitted to."""

    model: BaseEstimator
    x: Any
    y: Any
    weight: Any
    words: str


def _gaps(x: Any, rng: np.random.Generator) -> Any:
    return np.where(rng.random(x.shape) < 0.4, np.nan, x)


def _column(x: Any, value: Any) -> Any:
    return np.column_stack([x[:, :-1], np.broadcast_to(value, len(x))])


def _entry(x: Any, value: float) -> Any:
    made = x.copy()
    made[0, 0] = value
    return made


#: Tables by their name: functions of ordinary rows (N, D) and a generator.
TABLES: dict[str, Callable[[Any, np.random.Generator], Any]] = {
    "one row": lambda x, rng: x[:1],
    "two rows": lambda x, rng: x[:2],
    "a constant column": lambda x, rng: _column(x, 3.0),
    "constant": lambda x, rng: np.full_like(x, 0.1),
    "zeros": lambda x, rng: np.zeros_like(x),
    "duplicates": lambda x, rng: x[np.zeros(len(x), dtype=int)],
    "two kinds of rows": lambda x, rng: x[rng.integers(2, size=len(x))],
    "huge": lambda x, rng: 1e150 * x / np.abs(x).max(),
    "tiny": lambda x, rng: 1e-150 * x / np.abs(x).max(),
    "large": lambda x, rng: 1e60 * x,
    "small": lambda x, rng: 1e-60 * x,
    "mixed scales": lambda x, rng: x * np.geomspace(1e-150, 1e149, x.shape[1]) / np.abs(x).max(),
    "far from zero": lambda x, rng: x + 1e12,
    "one huge entry": lambda x, rng: _entry(x, 1e150),
    "one entry beyond": lambda x, rng: _entry(x, 1e200),
    "one vanishing entry": lambda x, rng: _entry(x, 5e-324),
    "gaps": _gaps,
    "a column of gaps": lambda x, rng: _column(x, np.nan),
    "a row of gaps": lambda x, rng: np.where(np.arange(len(x))[:, None] == 0, np.nan, x),
    "only gaps": lambda x, rng: np.full_like(x, np.nan),
    "more columns than rows": lambda x, rng: np.hstack([x] * 3)[:4] + rng.normal(size=(4, 3 * D)),
    "codes": lambda x, rng: (x > 0).astype(float),
    "whole numbers": lambda x, rng: np.floor(np.abs(3 * x)),
    "ordinary": lambda x, rng: x,
}

#: Targets by their name: functions of ordinary ones.
TARGETS: dict[str, Callable[[Any], Any]] = {
    "ordinary": lambda y: y,
    "constant": lambda y: np.full_like(y, y[0]),
    "huge": lambda y: y * 1e149 if y.dtype.kind == "f" else y,
    "tiny": lambda y: y * 1e-149 if y.dtype.kind == "f" else y,
    "zeros": lambda y: y * 0 if y.dtype.kind == "f" else y,
    "one is another": lambda y: np.where(np.arange(len(y)) == 0, y[0], y[-1]),
}

#: Weights of N rows by their name.
WEIGHTS: dict[str, Callable[[int], Any]] = {
    "none": lambda n: None,
    "some zero": lambda n: np.arange(n) % 2.0,
    "all zero": np.zeros,
    "all but one zero": lambda n: (np.arange(n) == n - 1) * 1.0,
    "tiny": lambda n: np.full(n, 1e-150),
    "huge": lambda n: np.full(n, 1e150),
    "small": lambda n: np.full(n, 1e-9),
    "large": lambda n: np.full(n, 1e9),
}


def options_of(model: BaseEstimator) -> list[tuple[str, Any]]:
    """Return every value that the docstring lists for a parameter, and both of what is true or false."""
    text = inspect.getdoc(type(model)) or ""
    parameters = model.get_params(deep=False)
    found = [(name, not value) for name, value in parameters.items() if isinstance(value, bool)]
    for names, values in re.findall(r"^([a-z_]+(?:, [a-z_]+)*) : (.*)$", text, re.MULTILINE):
        listed = re.findall(r'"([^"]+)"', values)
        found += [(n, v) for n in names.split(", ") if n in parameters for v in listed]
    return found


def case_of(
    model: BaseEstimator, kind: str, seed: int, more: tuple[tuple[str, Any], ...] = ()
) -> Case:
    """Return the case of a seed; seeds in turn go through the tables and the options.

    Parameters
    ----------
    model : estimator
        In its usual configuration.
    kind : str
        Of targets, or "series", "sequences", "symbols".
    seed : int
    more : tuple of (parameter, value)
        Options that the docstring describes in words.
    """
    rng = np.random.default_rng([seed, *type(model).__name__.encode()])
    options = [*options_of(model), *more]
    chosen = {}
    if options and seed % 3:
        chosen = dict([options[(seed * 2 // 3) % len(options)]])
        chosen |= dict(option for option in options if rng.random() < 0.5 / len(options))
    known = model.get_params(deep=False)
    small = {name: value for name, value in SMALL.items() if name in known}
    made = clone(model).set_params(**small).set_params(**chosen)
    names = list(TABLES)
    table = names[seed % len(names)]
    x = TABLES[table](rng.normal(size=(N, D)), rng)
    target, weight = ("ordinary", "none") if seed % 2 else (_any(rng, TARGETS), _any(rng, WEIGHTS))
    y = TARGETS[target](_targets(kind, len(x), rng))
    words = f"seed {seed}: {chosen} on {table}, targets {target}, weights {weight}"
    return Case(made, x, y, WEIGHTS[weight](len(x)), words)


def _any(rng: np.random.Generator, table: dict[str, Any]) -> str:
    return list(table)[int(rng.integers(len(table)))]


def _targets(kind: str, n: int, rng: np.random.Generator) -> Any:
    numbers = rng.normal(size=n)
    if kind in ("numbers", "series", "symbols"):
        return numbers
    if kind == "positive":
        return np.exp(numbers)
    if kind == "counts":
        return rng.poisson(2.0, size=n).astype(float)
    classes = ["high", "low", "mid"] if kind == "labels" else ["no", "yes"]
    return np.array(classes)[np.arange(n) % len(classes)]


def fault_of(case: Case, kind: str) -> str:
    """Return what is wrong with the answers to a case: nothing if they are sound or refused in words."""
    try:
        with warnings.catch_warnings(), _Limit():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            warnings.simplefilter("ignore", np.exceptions.RankWarning)  # says what it does
            model = _fit(case, kind)
            for name, answer, sound in _answers(model, case, kind):
                if not sound(answer):
                    return f"{case.words}: {name} is {answer!r}"
    except (ValueError, TypeError) as error:
        return "" if _is_told(error, case.model) else f"{case.words}: {_place(error)}{error!r}"
    except Exception as error:
        return f"{case.words}: {_place(error)}{error!r}"
    return ""


class _Limit:
    """Raise a TimeoutError after too many seconds of processor time."""

    def __enter__(self) -> None:
        def stop(*_: Any) -> None:
            raise TimeoutError(f"no end after {MOST_SECONDS} s")

        self._before = signal.signal(signal.SIGVTALRM, stop)
        signal.setitimer(signal.ITIMER_VIRTUAL, MOST_SECONDS)

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, self._before)


def _is_told(error: Exception, model: BaseEstimator) -> bool:
    """Tell whether an error was raised on purpose, and names an argument."""
    if isinstance(error, np.linalg.LinAlgError | UnicodeError):
        return False
    frame = traceback.extract_tb(error.__traceback__)[-1]
    line = linecache.getline(frame.filename, frame.lineno or 0).strip()
    named = "|".join([ARGUMENTS, *model.get_params(deep=False)])
    return (
        frame.filename.startswith(OURS)
        and line.startswith("raise")
        and re.search(rf"\b({named})\b", str(error)) is not None
    )


def _place(error: Exception) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if OURS[0] in f.filename]
    shown = frames[-3:]
    return "".join(f"{f.filename.removeprefix(OURS[0])}:{f.lineno} " for f in shown)


def _fit(case: Case, kind: str) -> Any:
    if kind == "series":
        return case.model.fit(case.x[:, 0])
    if kind == "symbols":
        return case.model.fit(list(case.x.T))
    if kind == "sequences":
        return case.model.fit([case.x[k % len(case.x) :] for k in range(len(case.y))], case.y)
    takes = inspect.signature(case.model.fit).parameters
    weights = (
        {"sample_weight": case.weight}
        if "sample_weight" in takes and case.weight is not None
        else {}
    )
    return (
        case.model.fit(case.x, case.y, **weights)
        if "y" in takes
        else case.model.fit(case.x, **weights)
    )


# -- what is asked, and when an answer is sound ------------------------------------------------------


def _finite(answer: Any) -> bool:
    if isinstance(answer, list | tuple):
        return all(_finite(one) for one in answer)
    values = np.asarray(answer)
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def _not_nan(answer: Any) -> bool:
    if isinstance(answer, list | tuple):
        return all(_not_nan(one) for one in answer)
    return not np.isnan(np.asarray(answer, dtype=float)).any()


def _adds_up(answer: Any) -> bool:
    if isinstance(answer, list):
        return all(_adds_up(one) for one in answer)
    total = np.asarray(answer).sum(axis=-1)
    return bool((np.asarray(answer) >= 0).all() and (np.abs(total - 1.0) < 1e-9).all())


def _ordered(answer: Any) -> bool:
    low, high = answer
    return _not_nan(low) and _not_nan(high) and bool((np.asarray(low) <= np.asarray(high)).all())


ASKED: dict[str, Callable[[Any], bool]] = {
    "predict": _finite,
    "predict_proba": _adds_up,
    "predict_log_proba": _not_nan,
    "decision_function": _finite,
    "transform": _finite,
    "score_samples": _not_nan,
    "log_prob": _not_nan,
    "impute": _finite,
    "predict_interval": lambda answer: (
        _ordered(np.moveaxis(np.asarray(answer), -1, 0))
        if np.shape(answer)[0] != 2
        else _ordered(answer)
    ),
}


def _answers(model: Any, case: Case, kind: str) -> Iterator[tuple[str, Any, Callable[[Any], bool]]]:
    """Yield the name of each answer with it, and the check of what is sound."""
    if hasattr(model, "log_evidence_"):
        yield "log_evidence_", float(model.log_evidence_), _finite
    if kind == "series":
        yield from _of_distribution("forecast", model.forecast(2), None)
        yield "sample_paths", model.sample_paths(2, 3, rng=0), _finite
        return
    if kind == "symbols":
        yield "log_prob", model.log_prob([case.x[:, 0]]), _not_nan
        return
    seen = [case.x] if kind == "sequences" else case.x
    size = np.fmax.reduce(np.abs(case.x), axis=0, initial=0.0)
    drawn = np.random.default_rng(0).uniform(-0.9, 0.9, size=(3, case.x.shape[1]))
    ordinary = np.where(size > 0, size, 1.0) * drawn
    for x in (seen, [ordinary] if kind == "sequences" else ordinary):
        for name, sound in ASKED.items():
            if hasattr(model, name) and _is_asked_rows(model, name):
                odds = name == "decision_function" and hasattr(model, "predict_proba")
                yield name, getattr(model, name)(x), _not_nan if odds else sound
        if hasattr(model, "predict_dist"):
            yield from _of_distribution("predict_dist", model.predict_dist(x), case.y)
    if hasattr(model, "sample_targets"):
        yield "sample_targets", model.sample_targets(ordinary, 2, rng=0), _finite
    if hasattr(model, "inverse_transform"):
        yield "inverse_transform", model.inverse_transform(model.transform(ordinary)), _finite


def _is_asked_rows(model: Any, name: str) -> bool:
    return next(iter(inspect.signature(getattr(model, name)).parameters), "") in (
        "X",
        "x",
        "sequences",
    )


def _of_distribution(name: str, predicted: Any, y: Any) -> Iterator[Any]:
    if hasattr(predicted, "probabilities"):
        yield f"{name}.probabilities", predicted.probabilities, _adds_up
        return
    yield f"{name}.interval", predicted.interval(0.9), _ordered
    yield f"{name}.median", predicted.median, _finite
    if y is not None and np.shape(y)[:1] == predicted.batch_shape[:1]:
        yield f"{name}.log_prob", predicted.log_prob(y), _not_nan
