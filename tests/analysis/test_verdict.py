"""The verdict says which model, how surely, and what would change it."""

import math
from dataclasses import replace

import pytest

from posteriori.analysis.verdict import strength, verdict
from posteriori.selection.comparison import Row


def rows(gap: float, error: float) -> list[Row]:
    best = Row("a", elpd=-10.0, elpd_difference=0.0, elpd_difference_se=0.0)
    other = Row("b", elpd=-10.0 - gap, elpd_difference=-gap, elpd_difference_se=error)
    return [best, other]


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
        (6.0, 2.0, "a clear difference, which new rows like these would hardly change"),
        (0.0, 0.0, "“a” and “b” predict unseen rows equally well."),
        (0.01, 10.0, "for prediction it does not matter which one is used"),
        (math.inf, math.nan, "“b” held some of them impossible."),
        (3.0, math.nan, "how sure that is cannot be told from so few rows"),
    ],
)
def test_words(gap: float, error: float, words: str) -> None:
    said = verdict(rows(gap, error), 100)
    assert words in said
    assert "inf" not in said


def test_rows_to_settle_it() -> None:
    # the difference grows as N, its error as √N: two errors are reached at N (2·6/4)² = 9 N
    said = verdict(rows(4.0, 6.0), 100)
    assert "do not decide between them; about 900 rows like these would settle it" in said
    said = verdict(rows(4.0, 3.0), 1000)  # N (2·3/4)² = 2250
    assert "a weak preference; about 2,200 rows like these would settle it" in said


def test_one_model_and_none() -> None:
    failed = Row("b", failure="no luck")
    assert "“a” is the only model that was fitted" in verdict([Row("a", elpd=-1.0), failed], 10)
    assert verdict([failed], 10) == "No model could be fitted; the notes say why."


def test_what_the_evidence_adds() -> None:
    best, second = rows(4.0, 1.0)
    best = replace(best, of="y|X", probability=0.25, log_evidence=-5.0)
    second = replace(second, of="y|X", probability=0.75, log_evidence=-4.0)
    assert "The evidence prefers “b” (probability 0.750 among 2 models)" in verdict(
        [best, second], 50
    )
    best, second = replace(best, probability=0.9999), replace(second, probability=0.0001)
    assert "The evidence agrees (probability more than 0.999 among 2 models)" in verdict(
        [best, second], 50
    )
    other = replace(second, of="X,y")  # of other data: it says nothing about the best
    assert "evidence" not in verdict([best, other], 50)
