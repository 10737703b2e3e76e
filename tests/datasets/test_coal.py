import subprocess
import sys

import numpy as np
import pytest

from posteriori.datasets import Dataset, load_coal_disasters, yearly_counts


def test_coal_disasters_are_whole_and_in_order():
    coal = load_coal_disasters()
    assert isinstance(coal, Dataset)
    assert coal.data.shape == (191, 1)
    assert coal.names == ("date",)
    assert len(coal) == 191
    assert np.all(np.diff(coal["date"]) >= 0)
    assert coal["date"].min() >= 1851
    assert coal["date"].max() < 1963


def test_data_cannot_be_changed_by_accident():
    coal = load_coal_disasters()
    with pytest.raises(ValueError, match="read-only"):
        coal.data[0] = 0.0


def test_frame_holds_the_same_table():
    coal = load_coal_disasters()
    assert list(coal.frame.columns) == ["date"]
    np.testing.assert_array_equal(coal.frame["date"], coal["date"])


def test_pandas_is_loaded_only_for_the_frame():
    code = (
        "import sys; from posteriori.datasets import load_coal_disasters as load; d = load();"
        "assert 'pandas' not in sys.modules; d.frame; assert 'pandas' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_column_is_named_with_the_known_ones():
    with pytest.raises(KeyError, match="no column 'year'; the columns are date"):
        load_coal_disasters()["year"]


def test_yearly_counts_agree_with_counting_one_by_one():
    dates = load_coal_disasters()["date"]
    years, counts = yearly_counts(dates, 1851, 1962)
    assert years.tolist() == list(range(1851, 1963))
    assert counts.tolist() == [sum(y <= d < y + 1 for d in dates) for y in years]
    assert counts.sum() == 191


def test_yearly_counts_refuse_dates_outside_the_years():
    with pytest.raises(ValueError, match="within 1900-1962; got 1851-1962"):
        yearly_counts(load_coal_disasters()["date"], 1900, 1962)


def test_yearly_counts_of_no_dates_are_zero():
    assert yearly_counts(np.array([]), 1900, 1902)[1].tolist() == [0, 0, 0]
