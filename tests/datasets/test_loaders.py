"""The data sets that ship with the package against their CSV text, read here independently."""

import csv
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from posteriori import datasets
from posteriori.datasets import (
    Dataset,
    list_datasets,
    load_coal_disasters,
    load_dataset,
    load_galaxies,
    load_mauna_loa_co2,
    load_nile,
    load_old_faithful,
    load_radon,
    yearly_counts,
)

FOLDER = Path(datasets.__file__).parent / "data"

# name: rows, columns, index, first row, last row (without the index), first and last index
FACTS = {
    "air_passengers": (144, ("passengers",), "time", (112,), (432,), 1949, 1960 + 11 / 12),
    "coal_disasters": (191, ("date",), None, (1851.20260095825,), (1962.21971252567,), None, None),
    "galaxies": (82, ("velocity",), None, (9172,), (34279,), None, None),
    "mauna_loa_co2": (468, ("co2",), "time", (315.42,), (364.34,), 1959, 1997 + 11 / 12),
    "nile": (100, ("flow",), "year", (1120,), (740,), 1871, 1970),
    "old_faithful": (272, ("eruptions", "waiting"), None, (3.6, 79), (4.467, 74), None, None),
    "radon": (
        919,
        ("county", "floor", "radon", "uranium"),
        None,
        (0, 1, 2.2, 0.502054),
        (84, 0, 2.9, 1.42659),
        None,
        None,
    ),
    "sunspots": (289, ("sunspots",), "year", (5,), (100.2,), 1700, 1988),
}


def read_text(name):
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_file_is_listed_and_has_a_loader():
    assert {path.stem for path in FOLDER.glob("*.csv")} == set(list_datasets()) == set(FACTS)
    assert {f"load_{name}" for name in FACTS} < set(datasets.__all__)


def test_every_file_has_its_provenance():
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, (rows, *_) in FACTS.items():
        line = next(line for line in page.splitlines() if line.startswith(f"| {name}.csv |"))
        assert f"| {rows} |" in line


@pytest.mark.parametrize("name", FACTS)
def test_shape_and_ends(name):
    rows, names, index_name, first, last, start, end = FACTS[name]
    table = getattr(datasets, f"load_{name}")()
    assert isinstance(table, Dataset)
    assert table.data.shape == (rows, len(names))
    assert table.data.dtype == np.float64
    assert table.names == names
    assert len(table) == rows
    assert table.data[0].tolist() == list(first)
    assert table.data[-1].tolist() == list(last)
    assert table.index_name == index_name
    if index_name is not None:  # the months of the text drift by 3e-9 of a year
        np.testing.assert_allclose(table.index[[0, -1]], [start, end], rtol=0, atol=1e-8)
        np.testing.assert_allclose(
            np.diff(table.index), (end - start) / (rows - 1), rtol=0, atol=1e-9
        )


@pytest.mark.parametrize("name", FACTS)
def test_every_number_of_the_text_is_there(name):
    text = read_text(name)
    table = load_dataset(name)
    for column in text[0]:
        assert [float(row[column]) for row in text] == table[column].tolist()
        total = sum(Decimal(row[column]) for row in text)
        np.testing.assert_allclose(table[column].sum(), float(total), rtol=1e-13)


@pytest.mark.parametrize("name", FACTS)
def test_the_description_has_the_reference(name):
    table = load_dataset(name)
    assert table.description.startswith(list_datasets()[name])
    assert len(table.description) > len(list_datasets()[name]) + 20
    assert table.truth == {}


@pytest.mark.parametrize("name", FACTS)
def test_data_cannot_be_changed_by_accident(name):
    table = load_dataset(name)
    with pytest.raises(ValueError, match="read-only"):
        table.data[0] = 0.0
    with pytest.raises(ValueError, match="read-only"):
        table[table.names[0]][0] = 0.0
    if table.index is not None:
        with pytest.raises(ValueError, match="read-only"):
            table.index[0] = 0


@pytest.mark.parametrize("name", FACTS)
def test_frame_holds_the_same_table(name):
    table = load_dataset(name)
    assert tuple(table.frame.columns) == table.names
    np.testing.assert_array_equal(table.frame.to_numpy(), table.data)
    assert table.frame.index.name == table.index_name
    if table.index is not None:
        np.testing.assert_array_equal(table.frame.index, table.index)
    assert table.frame is table.frame


def test_a_changed_frame_changes_neither_the_data_nor_the_next_load():
    nile = load_nile()
    nile.frame.loc[1871, "flow"] = -1.0
    assert nile["flow"][0] == 1120
    assert load_nile().frame.loc[1871, "flow"] == 1120


def test_pandas_is_loaded_only_for_the_frame():
    code = (
        "import sys; from posteriori import datasets as d;"
        "tables = [d.load_dataset(n) for n in d.list_datasets()] + [d.make_fruit(rng=0)];"
        "assert 'pandas' not in sys.modules;"
        "tables[0].frame; assert 'pandas' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_years_are_whole_and_months_are_fractions():
    assert load_nile().index.dtype.kind == "i"
    assert load_mauna_loa_co2().index.dtype.kind == "f"


def test_unknown_name_is_met_with_the_nearest():
    with pytest.raises(ValueError, match=r"no data set 'galaxy', there are .*mean 'galaxies'\?"):
        load_dataset("galaxy")
    with pytest.raises(ValueError, match=r"no data set 'iris', there are air_passengers, [^?]*$"):
        load_dataset("iris")


def test_unknown_column_is_named_with_the_known_ones():
    with pytest.raises(KeyError, match="no column 'year'; the columns are date"):
        load_coal_disasters()["year"]
    with pytest.raises(KeyError, match="the columns are flow; the index is year"):
        load_nile()["level"]


def test_old_faithful_has_the_moments_of_the_lecture():
    data = load_old_faithful().data
    np.testing.assert_allclose(data.mean(axis=0), [3.48778309, 70.89705882], rtol=0, atol=5e-9)
    np.testing.assert_allclose(
        np.cov(data.T, bias=True),
        [[1.29793889, 13.92641885], [13.92641885, 184.14381488]],
        rtol=0,
        atol=5e-9,
    )


def test_known_peculiarities_are_as_described():
    assert load_galaxies()["velocity"][77] == 26690
    co2, time = load_mauna_loa_co2()["co2"], load_mauna_loa_co2()["time"]
    january = int(np.argmin(np.abs(time - 1964)))
    np.testing.assert_allclose(np.diff(co2[january : january + 5], n=2), 0, atol=0.011)


def test_coal_disasters_are_in_order():
    date = load_coal_disasters()["date"]
    assert np.all(np.diff(date) >= 0)
    assert date.min() >= 1851
    assert date.max() < 1963


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


def test_radon_has_one_soil_for_each_county():
    radon = load_radon()
    pairs = {(row[0], row[3]) for row in radon.data}
    assert sorted(county for county, _ in pairs) == list(range(85))
    assert set(radon["floor"]) == {0.0, 1.0}
    assert np.bincount(radon["county"].astype(int)).min() == 1
