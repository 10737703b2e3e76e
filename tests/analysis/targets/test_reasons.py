"""Reasons say by how much a model is ahead, how sure that is, and what would change it."""

import math
from dataclasses import replace

import pytest

from posteriori.analysis.targets.reasons import differences, strength
from posteriori.selection.comparison import Row


def rows(gap: float, error: float) -> list[Row]:
    best = Row("a", elpd=-10.0, elpd_difference=0.0, elpd_difference_se=0.0)
    other = Row("b", elpd=-10.0 - gap, elpd_difference=-gap, elpd_difference_se=error)
    return [best, other]


def said(*given, **options) -> str:
    return " ".join(differences(*given, **options))


@pytest.mark.parametrize(
    ("difference", "error", "word"),
    [
        (0.9, 1.0, "not decided"),
        (1.0, 1.0, "weak"),
        (1.9, 1.0, "weak"),
        (2.0, 1.0, "clear"),
        (3.9, 1.0, "clear"),
        (4.0, 1.0, "very clear"),
        (1.0, 0.0, "clear"),
        (0.0, 0.0, "none"),
        (1.0, math.nan, "not known"),
    ],
)
def test_strength_counts_standard_errors(difference: float, error: float, word: str) -> None:
    assert strength(difference, error) == word


@pytest.mark.parametrize(
    ("gap", "error", "words"),
    [
        (10.0, 2.0, "“a” predicts unseen rows best, by 10.0 ± 2.0 nats over “b”: a very clear"),
        (3.0, 1.0, "a small difference, which hardly matters for prediction."),
        (6.0, 2.0, "a clear difference, which new rows like these would hardly change"),
        (0.0, 0.0, "“a” and “b” predict unseen rows equally well."),
        (0.3, 10.0, "do not decide between them, and for prediction it hardly matters which"),
        (math.inf, math.nan, "“b” held some of them impossible."),
        (3.0, math.nan, "how sure that is cannot be told from so few rows"),
    ],
)
def test_words(gap: float, error: float, words: str) -> None:
    told = said(rows(gap, error), 100)
    assert words in told
    assert "inf" not in told


def test_rows_to_settle_it() -> None:
    # the difference grows as N, its error as √N: two errors are reached at N (2·6/4)² = 9 N
    told = said(rows(4.0, 6.0), 100)
    assert "do not decide between them; about 900 rows like these would settle it" in told
    told = said(rows(4.0, 3.0), 1000)  # N (2·3/4)² = 2250
    assert "a weak preference; about 2,200 rows like these would settle it" in told


def test_one_model_and_none() -> None:
    failed = Row("b", failure="no luck")
    assert differences([Row("a", elpd=-1.0), failed], 10) == []
    assert differences([failed], 10) == []


def test_what_the_evidence_adds() -> None:
    best, second = rows(4.0, 1.0)
    best = replace(best, of="y|X", probability=0.25, log_evidence=-5.0)
    second = replace(second, of="y|X", probability=0.75, log_evidence=-4.0)
    assert "The evidence prefers “b” (probability 0.750 among 2 models)" in said([best, second], 50)
    best, second = replace(best, probability=0.9999), replace(second, probability=0.0001)
    assert "The evidence agrees (probability more than 0.999 among 2 models)" in said(
        [best, second], 50
    )
    other = replace(second, of="X,y")  # of other data: it says nothing about the best
    assert "evidence" not in said([best, other], 50)
    third = replace(second, name="c", elpd_difference=-9.0)
    told = said([best, other, third], 50)
    assert "The evidence cannot compare these two; it prefers “a” in its group of 2" in told


def test_evidences_that_nearly_tie_are_not_quoted() -> None:
    best, second = rows(4.0, 1.0)
    best = replace(best, of="y|X", probability=0.4, log_evidence=-5.0)
    second = replace(second, of="y|X", probability=0.6, log_evidence=-4.6)
    assert "evidence" not in said([best, second], 50)


def test_the_columns_must_help() -> None:
    best, second = rows(4.0, 1.0)
    flat = replace(second, name="constant", elpd_difference=-8.0, elpd_difference_se=5.0)
    told = said([best, second, flat], 100, baseline="constant")
    assert told.startswith("The columns tell next to nothing that these rows show: “a” predicts")
    assert "by 8.0 ± 5.0 nats over “constant”, which ignores them." in told
    clear = replace(flat, elpd_difference_se=3.0)
    assert "ignores" not in said([best, second, clear], 100, baseline="constant")
    told = said([best, second], 100, baseline="a")
    assert told == "“a” predicts unseen rows best: no model finds help in the columns."


def test_few_rows_do_not_tell_how_many_are_needed() -> None:
    told = said(rows(4.0, 6.0), 9)
    assert told.endswith("the data do not decide between them.")
