"""Profiles against tables of one group's rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.stats import ttest_1samp

from posteriori.analysis.counted.drawn_intervals import with_drawn_intervals
from posteriori.analysis.counted.profiles import make_profiles
from posteriori.analysis.fitting.preparation import CodeColumns
from posteriori.analysis.table.columns import describe_columns
from tests.analysis.groups.grouped_tables import groups_of, mixed


def profiled(frame: pd.DataFrame, shares: np.ndarray):
    columns = describe_columns(frame)
    encoder = CodeColumns({c.name: c.kind for c in columns})
    table = frame.assign(
        **{c.name: frame[c.name].astype("category") for c in columns if c.kind == "category"}
    )
    return make_profiles(columns, encoder, encoder.fit_transform(table), shares)


def test_sure_rows_have_the_usual_intervals() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(5, 2, 40), "k": ["a", "b", "c", "b"] * 10})
    frame.loc[4, "x"] = np.nan
    mine = np.arange(40) < 25
    first, second = profiled(frame, np.column_stack([mine, ~mine]).astype(float))
    assert (first.rows, second.rows, first.expected_rows) == (25, 15, 25.0)
    x = frame["x"][mine].dropna()
    trait = next(t for t in first.traits if t.column == "x")
    interval = ttest_1samp(x, 0.0).confidence_interval(0.9)
    np.testing.assert_allclose((trait.mean, trait.low, trait.high), (x.mean(), *interval))
    assert trait.distance == pytest.approx((x.mean() - frame["x"].mean()) / frame["x"].std(ddof=0))


def test_intervals_over_equal_partitions_are_the_usual_ones() -> None:
    """Draws that agree say what one partition says; one that a row changes sides in widens the interval."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"x": rng.normal(5, 2, 40), "k": ["a", "b", "c", "b"] * 10})
    mine = (np.arange(40) >= 25).astype(np.int64)
    columns = describe_columns(frame)
    encoder = CodeColumns({c.name: c.kind for c in columns})
    table = frame.assign(k=frame["k"].astype("category"))
    codes = encoder.fit_transform(table)
    usual = make_profiles(columns, encoder, codes, np.eye(2)[mine])
    drawn = with_drawn_intervals(usual, columns, encoder, codes, np.tile(mine, (400, 1)), 0)
    for before, after in zip(usual, drawn, strict=True):
        for old in before.traits:
            new = next(trait for trait in after.traits if trait.column == old.column)
            reach = old.high - old.low
            np.testing.assert_allclose([new.low, new.high], [old.low, old.high], atol=0.06 * reach)
    moved = np.tile(mine, (400, 1))
    moved[::2, 25:31] = 0
    wider = with_drawn_intervals(usual, columns, encoder, codes, moved, 0)[1].traits
    old, new = (
        next(trait for trait in traits if trait.column == "x")
        for traits in (drawn[1].traits, wider)
    )
    assert new.high - new.low > old.high - old.low


def test_shares_have_intervals_of_their_posterior() -> None:
    frame = pd.DataFrame({"k": ["a"] * 12 + ["b"] * 18})
    mine = np.arange(30) < 14
    trait = profiled(frame, np.column_stack([mine, ~mine]).astype(float))[0].traits[0]
    inside = 12 if trait.level == "a" else 2
    assert trait.mean == pytest.approx(inside / 14)

    def density(share: float) -> float:
        return share ** (inside - 0.5) * (1 - share) ** (14 - inside - 0.5)

    total = quad(density, 0, 1)[0]
    assert quad(density, 0, trait.low)[0] / total == pytest.approx(0.05, abs=1e-6)
    assert quad(density, trait.high, 1)[0] / total == pytest.approx(0.05, abs=1e-6)


def test_rows_count_by_their_probability() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=30)})
    shares = rng.dirichlet([1, 1], size=30)
    for k, profile in enumerate(profiled(frame, shares)):
        assert profile.traits[0].mean == pytest.approx(np.average(frame["x"], weights=shares[:, k]))
        assert profile.expected_rows == pytest.approx(shares[:, k].sum())
    assert sum(p.in_doubt for p in profiled(frame, shares)) == (shares.max(axis=1) < 0.9).sum()


def test_profiles_tell_what_sets_apart_first() -> None:
    for profile in groups_of("mixed").profiles:
        distances = [abs(trait.distance) for trait in profile.traits]
        assert distances == sorted(distances, reverse=True)
    table, truth = mixed()
    spent = next(t for t in groups_of("mixed").profiles[1].traits if t.column == "spent")
    assert spent.low < table["spent"][truth == 1].mean() < spent.high
