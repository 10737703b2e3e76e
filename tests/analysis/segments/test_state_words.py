"""The verdict on states, in words, case by case."""

from typing import Any

import pytest

from posteriori.analysis.counted.counted_finding import NumberWords
from posteriori.analysis.counted.profiles import Trait
from posteriori.analysis.segments.regimes import Regime, StateWords
from tests.analysis.sentences import MOST, count_sentences


def number(name: str, mean: float, sd: float = 1.0, overall: float = 15.0) -> Trait:
    return Trait(name, "number", "", mean, mean, mean, overall, 5.0, sd)


MODE = Trait("mode", "category", "eco", 0.9, 0.8, 0.95, 0.5, 0.5)
FULL = MODE._replace(mean=0.15)


def state(k: int, *traits: Trait, rows: int = 120, in_doubt: int = 0, runs: int = 4) -> Regime:
    return Regime(k, 0.5, rows, in_doubt, traits, runs, 30.0, ())


def words(*regimes: Regime, chances: dict[int, float] | None = None, **more: Any) -> StateWords:
    told = chances or {1: 0.002, 2: 0.99, 3: 0.008}
    asked, stopped = more.pop("asked", False), more.pop("interrupted", False)
    count = sum(regime.rows for regime in regimes)
    number = NumberWords("state", told, asked, stopped, more.pop("larger", ""))
    return StateWords(number, regimes, count, **more)


LOW, HIGH = state(1, number("load", 10.0)), state(2, number("load", 20.0), runs=5)
SURE = "There is hardly any doubt about that number"
TWO = (
    "The series has 2 states: state 1 (load low, about 10; 4 times, for about 30 days) and state 2 "
    "(load high, about 20; 5 times, for about 24 days)."
)
CASES = {
    "one": (
        words(state(1, number("x", 15.0)), chances={1: 0.98, 2: 0.02}),
        "These 120 rows are in one state throughout: nothing speaks for more.",
    ),
    "one of several series": (
        words(state(1, number("x", 15.0)), chances={1: 0.98, 2: 0.02}, series=3),
        "These 120 rows of 3 series are in one state throughout: nothing speaks for more.",
    ),
    "one, in doubt": (
        words(state(1, number("x", 15.0)), chances={1: 0.8, 2: 0.2}),
        "Most likely these 120 rows are in one state throughout. There may be 2 as well.",
    ),
    "one that lasts": (
        words(state(1, number("x", 15.0)), chances={1: 1.0, 2: 0.0}, least=20),
        "These 120 rows are in one state throughout: nothing speaks for states that last 20 rows.",
    ),
    "two": (words(LOW, HIGH, steps="days"), f"{TWO} {SURE}; every row is clear."),
    "two that differ in how much they vary": (
        words(
            state(1, number("gain", 15.1, 2.5), runs=1),
            state(2, number("gain", 14.9, 9.5), in_doubt=12),
            steps="business days",
            end=(2, "1985-10-02"),
        ),
        "The series has 2 states: state 1 (gain calm, sd 2.5; once, for 120 business days) and state 2 "
        f"(gain wild, sd 9.5; 4 times, for about 30 business days). {SURE}; for 95% of the rows the state is clear. "
        "It ends in state 2, from 1985-10-02 on.",
    ),
    "several columns, those that differ most": (
        words(
            state(1, number("load", 10.0), MODE, number("heat", 15.2, 4.8)),
            state(2, number("load", 20.0), FULL, number("heat", 14.9, 5.1)),
            steps="rows",
            series=2,
        ),
        "The 2 series share 2 states: state 1 (load low, about 10; mode is eco in 90%; 4 times, for about 30 rows) "
        "and state 2 (load high, about 20; mode is eco only in 15%; 4 times, for about 30 rows). "
        f"{SURE}; every row is clear.",
    ),
    "a state that is in no row the likeliest, one like all rows, and one of a row": (
        words(
            state(1, number("x", 15.1, 5.0), rows=100, runs=0),
            state(2, number("x", 20.0), rows=1, runs=1),
        ),
        "The series has 2 states: state 1 (in no row the likeliest) and state 2 (x high, about 20; once, for 1 "
        f"row). {SURE}; every row is clear.",
    ),
    "many: the largest and those most unlike all rows": (
        words(
            *(state(k + 1, number("x", 3.0 * k), rows=120 + 10 * (k == 3)) for k in range(6)),
            chances={5: 0.3, 6: 0.6, 7: 0.1},
        ),
        "The series has 6 states: the largest is state 4 (x low, about 9; 4 times, for about 32 rows), and most unlike all "
        "rows are state 1 (x low, about 0; 4 times, for about 30 rows) and state 2 (x low, about 3; 4 times, for about "
        "30 rows). How many there are is open: there may be 5 or 7 as well; every row is clear.",
    ),
    "many, the most unlike by how much it varies": (
        words(
            *(state(k, number("x", 15.0 + k)) for k in range(1, 5)),
            state(5, number("x", 15.0, 40.0)),
            chances={5: 1.0, 6: 0.0},
        ),
        "The series has 5 states: the largest is state 1 (x calm, sd 1; 4 times, for about 30 rows), and most unlike all "
        "rows are state 5 (x wild, sd 40; 4 times, for about 30 rows) and state 4 (x high, about 19; 4 times, for "
        f"about 30 rows). {SURE}; every row is clear.",
    ),
    "as many as were tried": (
        words(
            *(LOW, HIGH),
            chances={1: 0.02, 2: 0.98},
            larger="--states 1-4 (states=(1, 4))",
            steps="days",
        ),
        f"{TWO} No larger number was tried, and there may be more states: ask for --states 1-4 (states=(1, 4)); "
        "every row is clear.",
    ),
    "as many as so few rows can tell apart": (
        words(LOW, HIGH, chances={1: 0.02, 2: 0.98}, steps="days"),
        f"{TWO} So few rows cannot tell more states apart; every row is clear.",
    ),
    "asked for": (
        words(LOW, HIGH, chances={2: 1.0}, asked=True, steps="days"),
        TWO.replace("The series has", "As asked, the 240 rows are divided among")
        + " Every row is clear.",
    ),
    "interrupted": (
        words(LOW, HIGH, chances={1: 0.01, 2: 0.99}, interrupted=True, steps="days"),
        f"{TWO} The search was stopped: larger numbers were not tried; every row is clear.",
    ),
    "one, interrupted": (
        words(state(1, number("x", 15.0)), chances={1: 1.0}, interrupted=True),
        "As far as was tried, these 120 rows are in one state throughout. The search was stopped: larger numbers "
        "were not tried.",
    ),
    "states that end soon": (
        words(LOW._replace(in_doubt=90, mean_run=5.3), HIGH._replace(in_doubt=60), steps="days"),
        TWO + f" {SURE}; for 62% of the rows the state is open, as states end soon: ask for "
        "longer ones by --min-length 12 (min_length=12).",
    ),
    "fewer states that are clearer": (
        words(
            LOW._replace(in_doubt=90, mean_run=5.3),
            HIGH._replace(in_doubt=60),
            steps="days",
            fewer=(2, 0.12),
        ),
        TWO + f" {SURE}; for 62% of the rows the state is open, as states end soon: ask for "
        "longer ones by --min-length 12 (min_length=12), or for 2 states, which leave 12% open.",
    ),
    "as many as were tried, that end soon: fewer or longer ones are asked for, not more": (
        words(
            LOW._replace(in_doubt=90, mean_run=5.3),
            HIGH._replace(in_doubt=60),
            chances={1: 0.02, 2: 0.98},
            larger="--states 1-4 (states=(1, 4))",
            steps="days",
        ),
        f"{TWO} No larger number was tried, and there may be more states; for 62% of the rows the state is open, as "
        "states end soon: ask for longer ones by --min-length 12 (min_length=12).",
    ),
    "an end of another kind": (
        words(LOW, HIGH, better=(3, 12.0), steps="days"),
        f"{TWO} {SURE}; every row is clear. The end of the series is unlike what came before.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_words(case: str) -> None:
    said, expected = CASES[case]
    assert said.verdict() == expected
    assert count_sentences(expected) <= MOST


@pytest.mark.parametrize("case", CASES)
def test_the_first_layer_needs_no_statistics(case: str) -> None:
    said = CASES[case][0].verdict().lower()
    assert not any(word in said for word in ("nats", "evidence", "probab", "posterior", "chain"))


def test_reasons_are_for_statisticians() -> None:
    assert words(LOW, HIGH._replace(in_doubt=3), better=(3, 12.0)).reasons() == [
        "probability of each number of states, all equally probable before: 1: < 0.01, 2: 0.99, 3: < 0.01",
        "3 rows are in doubt: no state has a probability of 0.9",
        "3 states predict the last fifth of the series better, by 12.0 nats",
    ]
    assert words(LOW, chances={1: 1.0}, asked=True).reasons() == []
