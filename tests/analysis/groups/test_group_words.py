"""The verdict on groups, in words, case by case."""

from typing import Any

import pytest

from posteriori.analysis.counted.counted_finding import NumberWords
from posteriori.analysis.counted.profiles import ClusterProfile, Trait
from posteriori.analysis.groups.cluster_words import GroupWords
from tests.analysis.sentences import MOST, count_sentences


def number(name: str, mean: float, sd: float = 1.0) -> Trait:
    return Trait(name, "number", "", mean, mean, mean, 15.0, 5.0, sd)


PLAN = Trait("plan", "category", "year", 0.9, 0.8, 0.95, 0.5, 0.5)
PAID = Trait("paid", "boolean", "yes", 0.2, 0.1, 0.3, 0.5, 0.5)
SINCE = Trait("since", "date", "", 2022.5, 2022.4, 2022.6, 2020.0, 2.0, 0.5)


def group(k: int, rows: int, *traits: Trait, in_doubt: int = 0) -> ClusterProfile:
    return ClusterProfile(k, rows, float(rows), in_doubt, traits)


def words(*profiles: ClusterProfile, chances: dict[int, float] | None = None, **more: Any) -> str:
    said = words_of(*profiles, chances=chances, **more)
    return said.verdict()


def words_of(
    *profiles: ClusterProfile, chances: dict[int, float] | None = None, **more: Any
) -> GroupWords:
    told = chances or {1: 0.01, 2: 0.98, 3: 0.01}
    asked, stopped = more.get("asked", False), more.get("interrupted", False)
    number = NumberWords("group", told, asked, stopped, more.get("larger", ""))
    examples = more.get("examples", [f"row {10 * p.cluster}" for p in profiles])
    count = sum(profile.rows for profile in profiles)
    return GroupWords(
        number, profiles, count, examples, more.get("components", [1] * len(profiles))
    )


SURE = "There is hardly any doubt about that number"
BIG, SMALL = group(1, 179, number("wait", 20.0)), group(2, 93, number("wait", 9.0))
TWO = (
    "These 272 rows form 2 groups: group 1 (179 rows such as row 10; wait high, about 20) and group 2 "
    "(93 rows such as row 20; wait low, about 9)."
)
CASES = {
    "one": (
        words(group(1, 60), chances={1: 0.99, 2: 0.01}),
        "These 60 rows form one group: nothing speaks for more.",
    ),
    "one, in doubt": (
        words(group(1, 60), chances={1: 0.6, 2: 0.3, 3: 0.1}),
        "Most likely these 60 rows form one group. There may be 2 or 3 as well.",
    ),
    "one, likely": (
        words(group(1, 60), chances={1: 0.9, 2: 0.09, 3: 0.01}),
        "Most likely these 60 rows form one group.",
    ),
    "two": (words(BIG, SMALL), f"{TWO} {SURE}; no row lies in between."),
    "two, some rows in between": (
        words(BIG._replace(in_doubt=5), SMALL),
        f"{TWO} {SURE}; 5 rows (2%) lie in between.",
    ),
    "two, a row in between": (
        words(BIG, SMALL._replace(in_doubt=1)),
        f"{TWO} {SURE}; 1 row lies in between.",
    ),
    "two, likely": (
        words(BIG, SMALL, chances={1: 0.05, 2: 0.8, 3: 0.15}),
        f"{TWO} That number is likely, not certain: there may be 3; no row lies in between.",
    ),
    "two, nothing beside them possible": (
        words(BIG, SMALL, chances={1: 0.02, 2: 0.92, 3: 0.06}),
        f"{TWO} That number is likely, not certain; no row lies in between.",
    ),
    "two, open": (
        words(BIG, SMALL, chances={1: 0.3, 2: 0.45, 3: 0.25}),
        f"{TWO} How many there are is open: there may be 1 or 3 as well; no row lies in between.",
    ),
    "as many as were tried": (
        words(
            *(BIG, SMALL),
            chances={1: 0.01, 2: 0.99},
            larger="--max-clusters 4 (max_clusters=4)",
        ),
        f"{TWO} No larger number was tried, and there may be more groups: ask for --max-clusters 4 (max_clusters=4); "
        "no row lies in between.",
    ),
    "as many as so few rows can tell apart": (
        words(BIG, SMALL, chances={1: 0.01, 2: 0.99}),
        f"{TWO} So few rows cannot tell more groups apart; no row lies in between.",
    ),
    "asked for": (
        words(BIG, SMALL, chances={2: 1.0}, asked=True),
        TWO.replace("These 272 rows form", "As asked, these 272 rows are told apart as")
        + " No row lies in between.",
    ),
    "one, asked for": (
        words(group(1, 60), chances={1: 1.0}, asked=True),
        "As asked, these 60 rows form one group.",
    ),
    "interrupted": (
        words(BIG, SMALL, chances={1: 0.01, 2: 0.99}, interrupted=True),
        f"{TWO} The search was stopped: larger numbers were not tried; no row lies in between.",
    ),
    "categories, truth values and dates": (
        words(group(1, 64, PLAN, PAID), group(2, 36, SINCE)),
        "These 100 rows form 2 groups: group 1 (64 rows such as row 10; plan is year in 90%; paid is yes "
        f"only in 20%) and group 2 (36 rows such as row 20; since late, about 2022-07-02). {SURE}; no row lies in between.",
    ),
    "one inside the other": (
        words(group(1, 64, number("x", 15.1, 2.0)), group(2, 36, number("x", 14.9, 9.0))),
        "These 100 rows form 2 groups: group 1 (64 rows such as row 10; x calm, sd 2) and group 2 (36 rows such "
        f"as row 20; x wild, sd 9). {SURE}; no row lies in between.",
    ),
    "hardly apart": (
        words(group(1, 64, number("x", 15.1, 5.0)), group(2, 36, number("x", 14.9, 5.0))),
        "These 100 rows form 2 groups: group 1 (64 rows such as row 10; hardly apart in any single column) and "
        f"group 2 (36 rows such as row 20; hardly apart in any single column). {SURE}; no row lies in between.",
    ),
    "many": (
        words(
            *(group(k, 10, number("x", 3.0 * k)) for k in range(1, 7)), chances={6: 0.97, 7: 0.03}
        ),
        "These 60 rows form 6 groups: group 1 (10 rows such as row 10; x low, about 3), group 2 (10 rows such as "
        "row 20; x low, about 6), group 3 (10 rows such as row 30; x low, about 9), group 4 (10 rows such as row "
        f"40; x low, about 12) and 2 smaller ones. {SURE}; no row lies in between.",
    ),
    "an empty one": (
        words(BIG, group(2, 0), chances={2: 1.0}, asked=True, examples=["row 10", ""]),
        "As asked, these 179 rows are told apart as 2 groups: group 1 (179 rows such as row 10; wait high, about "
        "20) and group 2 (0 rows; hardly apart in any single column). No row lies in between.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_words(case: str) -> None:
    said, expected = CASES[case]
    assert said == expected
    assert count_sentences(said) <= MOST


def test_reasons_are_for_statisticians() -> None:
    assert words_of(BIG, SMALL._replace(in_doubt=3), components=[2, 1]).reasons() == [
        "probability of each number of groups, all equally probable before: 1: 0.01, 2: 0.98, 3: 0.01",
        "3 rows are in doubt: no group has a probability of 0.9",
        "the shape of group 1 takes 2 components, with no gap between them",
    ]
    assert words_of(BIG, SMALL, asked=True).reasons() == []
