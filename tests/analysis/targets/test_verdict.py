"""The verdict in words that need no statistics, for every kind of target and every way that a comparison may end."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import Analysis, compare
from posteriori.analysis.comparisons.verdict_words import (
    choice_in_words,
    classes_in_words,
    columns_help,
    doubt_of,
    numbers_in_words,
)
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.targets.reasons import chances_hold, ranges_hold
from posteriori.selection.comparison import Comparison, Row
from tests.analysis.sentences import FOR_STATISTICIANS, MOST, count_sentences, without_numbers

# -- numbers and classes -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "simple", "drivers", "options", "words"),
    [
        (
            [1.0, 2.0, 3.0],
            [10.0, 20.0],
            ["a", "b", "c"],
            {},
            "“y” is predicted to within 2 on average, and to within 2.8 in nine of ten unseen rows, where always saying "
            "the same number would be off by 15; it depends most on a, b and c.",
        ),
        (
            [1234.0],
            [5678.0],
            [],
            {},
            "“y” is predicted to within 1,200 on average, and to within 1,200 in nine of ten unseen rows, where always "
            "saying the same number would be off by 5,700.",
        ),
        (
            [math.log(1.5)],
            [math.log(4.0)],
            ["a"],
            {"loss": "log"},
            "“y” is predicted to within a factor of 1.5 on average, and to within a factor of 1.5 in nine of ten unseen "
            "rows, where always saying the same number would be off by a factor of 4; it depends most on a.",
        ),
        (
            [2.0],
            [2.0],
            ["a"],
            {"helped": False},
            "These columns do not help to predict “y”, as far as the rows show: always saying the same number is off by "
            "2 on average, and no model does clearly better.",
        ),
    ],
)
def test_numbers(
    errors: list[float],
    simple: list[float],
    drivers: list[str],
    options: dict[str, Any],
    words: str,
) -> None:
    assert numbers_in_words("y", np.array(errors), np.array(simple), drivers, **options) == words


@pytest.mark.parametrize(
    ("labels", "came", "said", "drivers", "helped", "words"),
    [
        (
            ["no", "yes"],
            [0, 0, 0, 1, 1],
            [0, 0, 1, 1, 0],
            ["a"],
            True,
            "“y” is told right in 60% of unseen rows (“no” in 67%, “yes” in 50%), where always saying “no” is right in "
            "60%; it depends most on a.",
        ),
        (
            ["a", "b", "c"],
            [0, 1, 2, 2],
            [0, 1, 2, 2],
            [],
            True,
            "“y” is told right in 100% of unseen rows (“a” in 100%, “b” in 100%, “c” in 100%), where always saying “c” "
            "is right in 50%.",
        ),
        (
            ["a", "b", "c", "d"],
            [0, 1, 2, 3, 3],
            [0, 1, 3, 3, 3],
            ["x", "z"],
            True,
            "“y” is told right in 80% of unseen rows (least often “c”, in 0%), where always saying “d” is right in 40%; "
            "it depends most on x and z.",
        ),
        (
            ["no", "yes"],
            [0, 0, 1],
            [0, 0, 0],
            ["a"],
            False,
            "These columns do not help to tell “y”, as far as the rows show: always saying “no” is right in 67%, and no "
            "model does clearly better.",
        ),
    ],
)
def test_classes(
    labels: list[str],
    came: list[int],
    said: list[int],
    drivers: list[str],
    helped: bool,
    words: str,
) -> None:
    told = classes_in_words("y", labels, np.array(came), np.array(said), drivers, helped=helped)
    assert told == words


# -- which model ---------------------------------------------------------------------------------


def rows(*others: tuple[str, float, float], best: str = "a") -> list[Row]:
    first = Row(best, elpd=-10.0, elpd_difference=0.0, elpd_difference_se=0.0)
    behind = [
        Row(name, elpd=-10.0 - gap, elpd_difference=-gap, elpd_difference_se=error)
        for name, gap, error in others
    ]
    return [first, *behind]


NAMES = {name: name for name in "abcd"}


@pytest.mark.parametrize(
    ("ranking", "kept", "words"),
    [
        (
            rows(),
            "a",
            "“a” is the only model that was fitted: there is nothing to compare it with",
        ),
        (
            rows(("b", 50.0, 5.0)),
            "a",
            "“a” is the one to use: it does clearly better than “b”",
        ),
        (
            rows(("b", 50.0, 5.0), ("c", math.inf, math.nan)),
            "a",
            "“a” is the one to use: it does clearly better than the 2 others",
        ),
        (
            rows(("b", 8.0, 6.0), ("c", 50.0, 5.0)),
            "a",
            "“a” is the one to use: “b” does about as well, so that the choice hardly matters",
        ),
        (  # much for 100 rows, but not sure
            rows(("b", 50.0, 40.0), ("c", 90.0, 8.0)),
            "a",
            "“a” is the one to use: it does best, but “b” may do as well",
        ),
        (
            rows(("b", 50.0, 40.0), ("c", 90.0, math.nan)),
            "a",
            "“a” is the one to use: it does best, but 2 others may do as well",
        ),
        (  # a difference so small that it hardly matters, however consistent
            rows(("b", 3.0, 0.5), (AVERAGE, 0.1, 0.1), ("c", 2.0, math.nan), ("d", 9.0, 2.0)),
            "a",
            "“a” is the one to use: 2 others do about as well, so that the choice hardly matters",
        ),
        (
            rows(("a", 1.0, 2.0), ("b", 2.0, 2.0), best=AVERAGE),
            AVERAGE,
            "The average of the models is the one to use: 2 others do about as well, so that the choice hardly matters",
        ),
        (
            rows(("a", 40.0, 8.0), ("b", 50.0, 8.0), best=AVERAGE),
            AVERAGE,
            "The average of the models is the one to use: it does clearly better than the 2 others",
        ),
        (
            [*rows(("b", 50.0, 5.0)), Row("c", failure="no luck")],
            "a",
            "“a” is the one to use: it does clearly better than “b”",
        ),
    ],
)
def test_choices(ranking: list[Row], kept: str, words: str) -> None:
    assert choice_in_words(ranking, kept, NAMES, 100) == words


def test_a_better_score_with_larger_errors_is_no_choice() -> None:
    found = analysis_of("numbers", models=["constant", "linear", "splines"])
    best = found.ranking.best
    errors = {name: 2.0 * value for name, value in found.metrics["constant"].items()}
    spoiled = replace(found, metrics={**found.metrics, best: {**found.metrics[best], **errors}})
    kept = spoiled.words(spoiled.kept)
    assert spoiled.kept != best
    assert (
        f"“{kept}” is the one to use: what stands above it in the ranking is off by more than always saying the same "
        "number;"
    ).replace("“average of the models”", "The average of the models") in spoiled.verdict


@pytest.mark.parametrize(
    ("ranking", "baseline", "help_"),
    [
        (rows(("b", 50.0, 5.0)), "b", True),
        (rows(("b", 8.0, 5.0)), "b", False),
        (rows(("b", 2.0, 0.5)), "b", True),
        (rows(("b", 50.0, 5.0)), "a", False),
        (rows(("b", 1.0, 5.0)), "", True),  # what ignores all columns was not tried
    ],
)
def test_columns_must_do_clearly_better_than_none(
    ranking: list[Row], baseline: str, help_: bool
) -> None:
    assert columns_help(ranking, baseline) is help_


def test_promises_are_kept_up_to_two_standard_errors() -> None:
    """Of 100 rows 90 ± 3 lie in intervals of 90 %: 85 and 95 are as promised, 83 and 97 are not."""
    held = {count: np.where(np.arange(100) < count, 0.5, 0.99) for count in (83, 85, 95, 97)}
    assert {count: ranges_hold(level) for count, level in held.items()} == {
        83: -1,
        85: 0,
        95: 0,
        97: 1,
    }
    counts = {count: ranges_hold(level, counts=True) for count, level in held.items()}
    assert counts == {
        83: -1,
        85: 0,
        95: 0,
        97: 0,
    }  # of counts intervals hold more than they promise
    p = np.tile([0.2, 0.8], (100, 1))  # 80 ± 4 of the second class
    told = {n: chances_hold(p, (np.arange(100) < n).astype(int)) for n in (71, 73, 87, 89)}
    assert told == {71: -1, 73: 0, 87: 0, 89: 1}


# -- whole tables --------------------------------------------------------------------------------


def table(n: int = 90) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    x, z, noise = rng.normal(size=(3, n))
    return {
        "x": x,
        "z": z,
        "amount": 20.0 + 5.0 * x + noise,
        "count": rng.poisson(np.exp(1.5 + 0.6 * x)),
        "two": np.where(x + 0.4 * noise > 0.0, "up", "down"),
        "four": np.array(list("abcd"))[np.digitize(x + 0.3 * noise, [-0.7, 0.0, 0.7])],
        "luck": rng.normal(size=n),
        "day": pd.date_range("2020-01-01", periods=n).astype(str),
    }


#: Columns of the table, target, options, and the verdict without its numbers.
CASES: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "numbers": (
        "x z",
        "amount",
        {"models": ["constant", "linear"]},
        "“amount” is predicted to within # on average, and to within # in nine of ten unseen rows, where always saying the "
        "same number would be off by #; it depends most on x. {kept} is the one to use: {others}; the ranges that it "
        "gives for new rows can be relied upon.",
    ),
    "counts": (
        "x z",
        "count",
        {"models": ["constant", "Poisson"]},
        "“count” is predicted to within # on average, and to within # in nine of ten unseen rows, where always saying the "
        "same number would be off by #; it depends most on x. {kept} is the one to use: {others}; the ranges that it "
        "gives for new rows can be relied upon.",
    ),
    "two classes": (
        "x z",
        "two",
        {"models": ["class frequencies", "logistic"]},
        "“two” is told right in # of unseen rows (“down” in #, “up” in #), where always saying “{often}” is right in #; "
        "it depends most on x. {kept} is the one to use: {others}; the probabilities that it gives "
        "{chances}.",
    ),
    "several classes": (
        "x z",
        "four",
        {"models": ["class frequencies", "logistic"]},
        "“four” is told right in # of unseen rows (least often “{least}”, in #), where always saying “{often}” is right "
        "in #; it depends most on x. {kept} is the one to use: {others}; the probabilities that "
        "it gives {chances}.",
    ),
    "nothing predictable": (
        "x z",
        "luck",
        {"models": ["constant", "linear"]},
        "These columns do not help to predict “luck”, as far as the rows show: always saying the same number is off by "
        "# on average, and no model does clearly better. {kept} is the one to use: {others}; the ranges that it gives "
        "for new rows can be relied upon. Look for other columns, or collect more rows.",
    ),
    "one candidate": (
        "x z",
        "amount",
        {"models": ["linear"]},
        "“amount” is predicted to within # on average, and to within # in nine of ten unseen rows, where always saying the "
        "same number would be off by #; it depends most on x. “straight lines” is the only model that was fitted: there "
        "is nothing to compare it with; the ranges that it gives for new rows can be relied upon.",
    ),
    "a series": (
        "x day",
        "amount",
        {"models": ["constant", "linear"]},
        "“amount” is predicted to within # on average, and to within # in nine of ten unseen rows, where always saying the "
        "same number would be off by #; it depends most on x. {kept} is the one to use: {others}; the ranges that it "
        "gives for new rows can be relied upon. The rows are a series, and each was predicted from rows "
        "on both sides of it, which flatters: ask posteriori forecast what comes next, or predict each from earlier rows "
        "alone with --time day.",
    ),
    "one column": (
        "",
        "amount",
        {"task": "density", "models": ["normal", "Student t"]},
        "Nine of ten values of “amount” lie between # and #, half of them below #. {kept} is the one to use: {others}; "
        "the ranges that it gives for new rows can be relied upon.",
    ),
}


def choice(found: Analysis) -> dict[str, str]:
    """Return what is said of the choice, and what classes are named, by counting."""
    names = {name: found.words(name) for name in found.outcomes}
    which = choice_in_words(found.ranking.rows, found.kept, names, len(found.problem.y))
    kept, _, others = which.partition(" is the one to use: ")
    told = {"kept": kept, "others": others}
    if found.problem.classes is not None:
        came, p = found.problem.y, found.outcomes[found.kept].unseen.prediction
        said = found.problem.classes[p.argmax(axis=1)]
        recall = {label: np.mean(said[came == label] == label) for label in found.problem.classes}
        told["least"] = min(recall, key=recall.__getitem__)
        sure, right = p.max(axis=1), np.sum(said == came)
        apart = (right - sure.sum()) / np.sqrt(np.sum(sure * (1.0 - sure)))
        told["chances"] = "are too cautious" if apart > 2.0 else "can be relied upon"
        told["often"] = pd.Series(came).value_counts().index[0]
    return told


def analysis_of(case: str, n: int = 90, **options: Any) -> Analysis:
    columns, target, given, _ = CASES[case]
    frame = pd.DataFrame(table(n))[[*columns.split(), target]]
    return compare(frame, target, jobs=1, **{**given, **options})


@pytest.mark.parametrize("case", CASES)
def test_verdicts_of_whole_tables(case: str) -> None:
    found = analysis_of(case)
    expected = CASES[case][-1].format(**choice(found))
    assert without_numbers(found.verdict) == without_numbers(expected)
    assert not FOR_STATISTICIANS.search(found.verdict)
    assert count_sentences(found.verdict) <= MOST


def test_a_model_that_the_evidence_excludes_is_doubted() -> None:
    found = analysis_of("numbers", models=["constant", "linear", "splines"])
    known = [row for row in found.ranking.rows if row.probability == row.probability]
    kept, other = known[0].name, known[-1].name

    def told(least: float, error: float = 3.0, of: str = "y|X") -> str:
        """Return what is said of a lead of 5 nats."""
        chances = {kept: least, other: 1.0 - least}
        ranked = [
            Row(
                name,
                elpd=-gap,
                elpd_difference=-gap,
                elpd_difference_se=error * (gap > 0.0),
                probability=chances[name],
                of=of,
            )
            for name, gap in ((kept, 0.0), (other, 5.0))
        ]
        return doubt_of(replace(found, ranking=Comparison(ranked)))

    assert told(0.02) == ""
    assert told(0.004, error=1.0) == ""  # a clear lead is no luck
    assert told(0.004, of="X,y") == ""  # that is the probability of the columns, too
    assert told(0.004) == (
        f"but “{found.words(kept)}” may do so well by luck, as all that was seen, taken together, speaks for "
        f"“{found.words(other)}” instead"
    )


def test_reasons_hold_what_the_verdict_leaves_out() -> None:
    found = analysis_of("numbers")
    assert FOR_STATISTICIANS.search(" ".join(found.reasons))
    for reason in found.reasons:
        assert reason in found.html().replace("&#x27;", "'")


def test_few_rows_are_said() -> None:
    told = analysis_of("numbers", n=20).verdict
    assert told.endswith("With 20 rows all of this is rough: collect more.")
    assert "rough" not in analysis_of("numbers", n=30).verdict


def test_of_several_things_to_do_the_gravest_is_told_and_the_others_are_reasons() -> None:
    found = analysis_of("a series", n=20)
    assert found.verdict.endswith("or predict each from earlier rows alone with --time day.")
    assert found.reasons[0] == "With 20 rows all of this is rough: collect more."
    assert "rough" not in found.verdict


@pytest.mark.parametrize("why", [INTERRUPTED, OUT_OF_TIME])
def test_models_that_were_not_tried_are_counted(why: str) -> None:
    found = analysis_of("numbers")
    lost = {n: o if n == "linear" else o._replace(failure=why) for n, o in found.outcomes.items()}
    told = replace(found, outcomes=lost).verdict
    assert told.endswith(f"{len(lost) - 1} models were not tried and may do better.")


def test_nothing_was_fitted() -> None:
    found = analysis_of("numbers")
    none = Comparison([Row(row.name, failure="no luck") for row in found.ranking.rows])
    failed = replace(found, ranking=none)
    assert failed.verdict == "No model could be fitted; the notes say why."
    assert list(failed.reasons) == []
    assert failed.picture is None


def test_columns_that_give_the_target_away() -> None:
    found = analysis_of("numbers")
    one, both = (replace(found, revealing=names).verdict for names in (("x",), ("x", "z")))
    assert one.endswith(
        "But 'x' alone tells the target: if it is not known beforehand, leave it out."
    )
    assert both.endswith(
        "But 'x' and 'z' alone each tell the target: if they are not known beforehand, leave them out."
    )
