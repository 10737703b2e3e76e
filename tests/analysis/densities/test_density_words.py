"""The verdict on all columns together, in words, case by case."""

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from tests.analysis.densities.described_tables import customers, people, with_gaps
from tests.analysis.sentences import FOR_STATISTICIANS, MOST, count_sentences, without_numbers

TOGETHER = (
    "The columns go together, “{}” and “{}” most closely: an unseen row is typically # times as likely for a model that "
    "knows how they do as for one that takes each column alone."
)
PEOPLE = TOGETHER.format("height", "weight")
BEST = "“{}” is the one to use: it does clearly better than “independent columns”."
NORMAL = ("independent columns", "normal")


def odd(**entries: tuple[int, float]) -> pd.DataFrame:
    """Return a table with such entries in such rows."""
    table = people(240)
    for name, (row, entry) in entries.items():
        table.loc[row, name] = entry
    return table


def apart() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({name: rng.normal(size=80) for name in "abc"})


CASES = {
    "columns that go together": (
        people(),
        NORMAL,
        f"{PEOPLE} {BEST.format('normal')} No row is odd.",
    ),
    "columns that tell nothing of one another": (
        apart(),
        NORMAL,
        "The columns tell next to nothing of one another, as far as the rows show. “independent columns” is the one to "
        "use: “normal” does about as well, so that the choice hardly matters. No row is odd.",
    ),
    "a column": (
        people()[["height"]],
        ("normal",),
        "“normal” is the only model that was fitted: there is nothing to compare it with. No row is odd.",
    ),
    "gaps": (
        with_gaps(),
        NORMAL,
        f"{PEOPLE} {BEST.format('normal')} # row is odd, row # (luck #, expected # ± #): look whether "
        "it is an error; # gaps in height, weight, luck were filled in.",
    ),
    "columns of all kinds": (
        customers(),
        ("independent columns", "latent classes"),
        f"{TOGETHER.format('spent', 'since')} {BEST.format('latent classes')} No row is odd; # gaps in plan, paid, "
        "spent, since were filled in.",
    ),
    "an odd row": (
        odd(height=(17, 178.0)),
        ("Student t",),
        "“Student t” is the only model that was fitted: there is nothing to compare it with. # row is odd, row # (height "
        "#, expected # ± #): look whether it is an error.",
    ),
    "several odd rows": (
        odd(luck=(50, 15.0), height=(3, 2.6), weight=(17, 1e3)),
        ("independent columns",),
        "“independent columns” is the only model that was fitted: there is nothing to compare it with. # rows are odd, "
        "row # (luck #, expected # ± #), row # (height #, expected # ± #), row # (weight #, expected # ± #) and # more: "
        "look whether they are errors.",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_case_has_its_words(case: str) -> None:
    table, models, expected = CASES[case]
    said = compare(table, task="density", models=models, jobs=1).verdict
    assert without_numbers(said) == without_numbers(expected)
    assert count_sentences(said) <= MOST
    assert not FOR_STATISTICIANS.search(said.replace("± ", ""))


@pytest.mark.slow
def test_of_all_candidates_there_are_no_more_sentences() -> None:
    for table in (people(), customers(), odd(height=(17, 178.0))):
        assert count_sentences(compare(table, task="density", jobs=1).verdict) <= MOST
