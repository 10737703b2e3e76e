"""What everybody reads of a class that is to be found, case by case."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from posteriori.analysis.targets.class_costs import Stakes, cost_matrix
from posteriori.analysis.targets.decided_classes import Decided
from posteriori.analysis.targets.decided_words import costs_to_tell, reasons_on_class, said_of_class
from posteriori.analysis.targets.reasons import alarms_hold
from tests.analysis.sentences import count_sentences

TWO, THREE = ["no", "yes"], ["a", "b", "c"]


def decided(
    found: int, missed: int, alarms: int, rest: int, rule: Any = None, *, told: bool = True
) -> Decided:
    """Return decisions on the last of the classes, all others of which are taken for the first."""
    last = 1 if rule is None else len(rule) - 1
    said = np.repeat([last, 0, last, 0], [found, missed, alarms, rest])
    codes = np.repeat([last, last, 0, 0], [found, missed, alarms, rest])
    return Decided(last, rule, told, said, codes)


TEN = cost_matrix({"yes:no": 10}, TWO)
NINE = cost_matrix({"yes:no": 9}, TWO)
RARE = cost_matrix({"c:a": 2, "c:b": 2}, THREE)


@pytest.mark.parametrize(
    ("what", "classes", "words"),
    [
        (
            decided(41, 33, 22, 1904, NINE, told=False),
            TWO,
            "“fraud” is “yes” in 74 of 2,000 rows (3.7%): 41 are found, for 22 false alarms, if “yes” is "
            "said from a probability of 0.1 on; it depends most on hour.",
        ),
        (
            decided(1, 7, 1, 291, NINE, told=False),
            TWO,
            "“fraud” is “yes” in 8 of 300 rows (2.7%): 1 is found (of new ones 4% to 43%, as far as so few rows "
            "tell), for 1 false alarm, if “yes” is said from a probability of 0.1 on; it depends most on hour.",
        ),
        (
            decided(5, 69, 0, 1926, NINE, told=False)._replace(rule=None),
            TWO,
            "“fraud” is “yes” in 74 of 2,000 rows (3.7%), and the columns do not tell which: no threshold finds "
            "these better than chance.",
        ),
        (
            decided(50, 24, 126, 1800, TEN),  # 240 + 126 of 2,000
            TWO,
            "“fraud” is “yes” in 74 of 2,000 rows (3.7%): 50 are found, for 126 false alarms, if “yes” "
            "is said from a probability of 0.091 on, which costs 0.183 a row, where always saying “no” costs 0.37; it depends most on hour.",
        ),
        (
            decided(10, 64, 200, 1726, TEN),  # 640 + 200: dearer than 740
            TWO,
            "“fraud” is “yes” in 74 of 2,000 rows (3.7%): 10 are found, for 200 false alarms, if “yes” "
            "is said from a probability of 0.091 on, which costs 0.42 a row, and always saying “no” costs 0.37, so that predictions save nothing; it depends most on hour.",
        ),
        (
            decided(0, 74, 0, 1926, TEN),
            TWO,
            "“fraud” is “yes” in 74 of 2,000 rows (3.7%): no row is probable enough to be called “yes”, "
            "which costs 0.37 a row, and always saying “no” costs 0.37, so that "
            "predictions save nothing; it depends most on hour.",
        ),
        (
            decided(0, 74, 3, 1923, NINE, told=False),
            TWO,
            "“fraud” is “yes” in 74 of 2,000 rows (3.7%): none is found, for 3 false alarms, if “yes” is "
            "said from a probability of 0.1 on; it depends most on hour.",
        ),
        (
            decided(30, 30, 10, 930, RARE, told=False),
            THREE,
            "“fraud” is “c” in 60 of 1,000 rows (6%): 30 are found, for 10 false alarms, if “c” is said "
            "where it is at least 0.5 times as probable as any other; it depends most on hour.",
        ),
        (
            decided(30, 30, 10, 930, RARE),
            THREE,
            "“fraud” is “c” in 60 of 1,000 rows (6%): 30 are found, for 10 false alarms, if what costs "
            "least is said, which costs 0.07 a row, where always saying “a” costs 0.12; it depends most on hour.",
        ),
    ],
)
def test_words(what: Decided, classes: list[str], words: str) -> None:
    assert said_of_class("fraud", classes, what, "; it depends most on hour") == words
    assert count_sentences(words) == 1


@pytest.mark.parametrize(
    ("what", "classes", "words"),
    [
        (
            decided(41, 33, 22, 1904, NINE, told=False),
            TWO,
            'say how much: --cost "yes:no=10" (costs=)',
        ),
        (
            decided(30, 30, 10, 930, RARE, told=False),
            THREE,
            'say how much: --cost "c:a=10" (costs=)',
        ),
        (decided(41, 33, 22, 1904, NINE), TWO, ""),  # that was told
        (
            decided(0, 74, 0, 1926, TEN, told=False)._replace(rule=None),
            TWO,
            "",
        ),  # it would change nothing
    ],
)
def test_costs_are_asked_for_where_they_matter(
    what: Decided, classes: list[str], words: str
) -> None:
    assert costs_to_tell(what, classes).endswith(words)
    assert bool(costs_to_tell(what, classes)) == bool(words)


@pytest.mark.parametrize(("found", "judged"), [(10, -1), (25, 0), (31, 0), (45, 1)])
def test_alarms_are_as_often_true_as_promised(found: int, judged: int) -> None:
    what = decided(found, 20, 100 - found, 900, NINE)
    p = np.where(what.said == 1, 0.3, 0.001)  # of 100 alarms 30 ± 4.6 are promised
    assert alarms_hold(np.stack([1.0 - p, p], axis=1), what) == judged


def test_without_an_alarm_all_rows_are_asked() -> None:
    what = decided(0, 30, 0, 70, NINE)
    assert alarms_hold(np.tile([0.7, 0.3], (100, 1)), what) == 0
    assert alarms_hold(np.tile([0.99, 0.01], (100, 1)), what) == -1


# -- for statisticians -----------------------------------------------------------------------------


def compared(what: Decided, kept: dict[str, float], other: dict[str, float]) -> Any:
    """Return what reasons ask of a comparison of two models."""
    stakes = Stakes(1, what.rule if what.told else None)
    return SimpleNamespace(
        kept="mine",
        decided={"mine": what},
        metrics={"mine": kept, "other": other},
        problem=SimpleNamespace(classes=TWO),
        target=SimpleNamespace(stakes=stakes),
        leading=("cost", "AUC") if what.told else ("AUC",),
        words=lambda name: name,
    )


def errors(area: float, precision: float, cost: float = 0.0) -> dict[str, float]:
    return {"AUC": area, "average precision": precision, "cost": cost}


@pytest.mark.parametrize(
    ("what", "kept", "other", "words"),
    [
        (
            decided(41, 33, 22, 1904, NINE, told=False),
            errors(0.9, 0.612),
            errors(0.95, 0.62),
            [
                "“yes” against all other classes, on unseen rows: area under the ROC curve 0.900 (chance 0.5), average "
                "precision 0.612 (chance 0.037).",
                "With a probability of 90%, 46% to 65% of new rows of “yes” are found, and 55% to 74% of alarms are "
                "true (Beta beliefs from 74 rows and 63 alarms; that the threshold was chosen, too, is not in them).",
                "The threshold has the largest F₁, the harmonic mean of the share found and the share of true alarms: "
                "a miss weighs as 9 false alarms. Each fold was judged by the threshold of the others.",
            ],
        ),
        (
            decided(41, 33, 22, 1904, NINE, told=False)._replace(rule=None),
            errors(0.5, 0.04),
            errors(0.5, 0.04),
            [
                "“yes” against all other classes, on unseen rows: area under the ROC curve 0.500 (chance 0.5), average "
                "precision 0.040 (chance 0.037).",
            ],
        ),
        (
            decided(50, 24, 126, 1800, TEN),
            errors(0.9, 0.612, 0.183),
            errors(0.8, 0.5, 0.17),
            [
                "“yes” against all other classes, on unseen rows: area under the ROC curve 0.900 (chance 0.5), average "
                "precision 0.612 (chance 0.037).",
                "With a probability of 90%, 58% to 76% of new rows of “yes” are found, and 23% to 34% of alarms are "
                "true (Beta beliefs from 74 rows and 176 alarms).",
                # 50 rows save 10 each and 126 cost 1: 374; their variance is (50·100 + 126)/2000 − 0.187²
                "Costs: “yes” taken for “no” 10, other mistakes 1. Beside always saying “no”, all rows together save "
                "374 ± 71. What is said costs least by the stated probabilities; no threshold was fitted to the rows.",
                "By cost “other” is ahead (0.17 against 0.183); models are ranked by all that their probabilities say.",
            ],
        ),
    ],
)
def test_reasons(
    what: Decided, kept: dict[str, float], other: dict[str, float], words: list[str]
) -> None:
    assert reasons_on_class(compared(what, kept, other)) == words


@pytest.mark.parametrize(("precision", "named"), [(0.65, True), (0.615, False), (0.5, False)])
def test_another_model_is_named_where_it_is_ahead(precision: float, named: bool) -> None:
    what = decided(41, 33, 22, 1904, NINE, told=False)
    said = reasons_on_class(compared(what, errors(0.9, 0.612), errors(0.9, precision)))
    assert any("“other” is ahead" in text for text in said) == named
