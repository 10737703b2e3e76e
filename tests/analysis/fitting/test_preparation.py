"""What models see of a table is learned from the rows that they are fitted to."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from posteriori import compare
from posteriori.analysis.fitting.preparation import CodeColumns, NoColumns, NumberColumns
from posteriori.regression import PolynomialBasis, SplineBasis

KINDS = {"x": "number", "t": "date", "flag": "boolean", "colour": "category"}


def table(**columns):
    """Return a converted table: numbers as they are, texts as categories."""
    return pd.DataFrame(
        {
            name: pd.Categorical(values) if isinstance(values[0], str) else np.array(values, float)
            for name, values in columns.items()
        }
    )


TRAIN = table(
    x=[1.0, 2.0, 3.0, np.nan, 4.0, 5.0],
    t=[2000.0, 2001.0, 2002.0, 2003.0, 2004.0, 2005.0],
    flag=[0.0, 1.0, 0.0, 1.0, 1.0, 1.0],
    colour=["red", "red", "red", "blue", "blue", "once"],
)


def names_and_values(columns, frame):
    return dict(zip(columns.get_feature_names_out(), columns.transform(frame).T, strict=True))


def test_numbers_are_standardised_and_gaps_marked():
    found = names_and_values(NumberColumns(KINDS).fit(TRAIN), TRAIN)
    x = TRAIN["x"].to_numpy()
    expected = np.nan_to_num((x - np.nanmean(x)) / np.nanstd(x))
    np.testing.assert_allclose(found["x"], expected, rtol=1e-12)
    np.testing.assert_array_equal(found["x missing"], [0, 0, 0, 1, 0, 0])
    assert "t missing" not in found


def test_levels_have_a_column_each_but_the_most_frequent():
    found = names_and_values(NumberColumns(KINDS).fit(TRAIN), TRAIN)
    assert [name for name in found if name.startswith("colour")] == [
        "colour = blue",
        "colour = (other)",
    ]
    np.testing.assert_array_equal(found["colour = blue"], [0, 0, 0, 1, 1, 0])
    np.testing.assert_array_equal(found["colour = (other)"], [0, 0, 0, 0, 0, 1])


def test_only_training_rows_are_learned_from():
    columns = NumberColumns(KINDS).fit(TRAIN)
    alone = columns.transform(TRAIN)
    other = table(x=[1e9], t=[3000.0], flag=[0.0], colour=["green"])
    both = pd.concat([TRAIN.astype({"colour": object}), other.astype({"colour": object})])
    both["colour"] = both["colour"].astype("category")
    np.testing.assert_array_equal(columns.transform(both)[: len(TRAIN)], alone)


def test_new_levels_and_gaps_belong_to_the_rest():
    columns = NumberColumns(KINDS).fit(TRAIN)
    new = table(x=[np.nan, 1.0], t=[np.nan, 2000.0], flag=[np.nan, 0.0], colour=["green", "blue"])
    new["colour"] = new["colour"].cat.add_categories(["red"])
    new.loc[1, "colour"] = None
    found = names_and_values(columns, new)
    np.testing.assert_array_equal(found["colour = (other)"], [1, 1])
    np.testing.assert_array_equal(found["colour = blue"], [0, 0])
    assert (found["x"][0], found["t"][0], found["flag"][0]) == (0.0, 0.0, 0.0)  # at the mean
    assert np.isfinite(columns.transform(new)).all()


def test_missing_levels_are_a_level():
    train = TRAIN.copy()
    train.loc[[0, 3], "colour"] = None
    found = names_and_values(NumberColumns(KINDS).fit(train), train)
    np.testing.assert_array_equal(found["colour = (missing)"], [1, 0, 0, 1, 0, 0])


def test_columns_that_are_constant_in_a_fold_are_left_out():
    fold = TRAIN.iloc[[0, 1, 2]].assign(x=3.0, flag=np.nan)
    columns = NumberColumns(KINDS).fit(fold)
    assert list(columns.get_feature_names_out()) == ["t"]
    assert columns.transform(TRAIN).shape == (6, 1)


def test_a_fold_without_information_has_one_input_that_is_always_0():
    fold = TRAIN.iloc[[0, 0, 0]]
    columns = NumberColumns(KINDS).fit(fold)
    np.testing.assert_array_equal(columns.transform(TRAIN), np.zeros((6, 1)))
    assert len(columns.get_feature_names_out()) == 0


TARGETS = ("number", "count", "two classes", "three classes")
KINDS_OF_LONE = ("number", "category", "boolean")
QUICK = [
    ("number", "number", ()),
    (
        "count",
        "category",
        ("Poisson", "negative binomial", "boosted counts"),
    ),  # those of counts alone
    ("two classes", "boolean", ()),
    (
        "three classes",
        "category",
        ("class frequencies", "naive Bayes", "logistic"),
    ),
]


@pytest.mark.parametrize(
    ("target", "kind", "models"),
    [
        *QUICK,
        *(
            pytest.param(target, kind, (), marks=pytest.mark.slow)
            for target in TARGETS
            for kind in KINDS_OF_LONE
            if (target, kind, ()) not in QUICK
        ),
    ],
)
def test_a_column_that_is_constant_within_a_fold_ends_no_model(target, kind, models):
    """All but one row are alike: without that row a model knows of no column."""
    rng, lone = np.random.default_rng(0), np.arange(60) == 7
    column = {"number": lone * 3.0, "category": np.where(lone, "a", "b"), "boolean": lone}[kind]
    y = {
        "number": rng.normal(size=60),
        "count": rng.poisson(2.0, 60),
        "two classes": rng.choice(["p", "q"], 60),
        "three classes": rng.choice(["p", "q", "r"], 60),
    }[target]
    found = compare(pd.DataFrame({"c": column, "y": y}), "y", models=models, folds=2, jobs=1)
    assert not [(one.name, one.failure) for one in found.outcomes.values() if one.failure]


@pytest.mark.parametrize("scale", [1e-300, 1e-8, 1.0, 1e8, 1e300])
def test_extreme_numbers_stay_in_range(scale):
    columns = NumberColumns({"x": "number"})
    found = columns.fit_transform(table(x=[scale, 2 * scale, 3 * scale]))
    np.testing.assert_allclose(found[:, 0], np.array([-1, 0, 1]) * np.sqrt(1.5), rtol=1e-12)


@pytest.mark.parametrize("basis", [PolynomialBasis(degree=2), SplineBasis(n_knots=3)])
def test_a_basis_takes_numbers_and_dates_only(basis):
    columns = NumberColumns(KINDS, basis=basis).fit(TRAIN)
    names = list(columns.get_feature_names_out())
    values = columns.transform(TRAIN)
    assert values.shape == (6, len(names))
    straight = NumberColumns(KINDS).fit(TRAIN)
    kept = names_and_values(straight, TRAIN)
    tail = ["flag", "x missing", "colour = blue", "colour = (other)"]
    assert names[-4:] == tail
    np.testing.assert_allclose(values[:, -4:].T, [kept[name] for name in tail], rtol=1e-12)
    scaled = np.column_stack([kept["x"], kept["t"]])
    np.testing.assert_allclose(values[:, :-4], clone(basis).fit_transform(scaled), rtol=1e-12)


def test_only_so_many_levels_are_kept_apart():
    levels = [f"l{k:02d}" for k in range(30) for _ in range(40 - k)]
    columns = NumberColumns({"c": "category"}, max_levels=5).fit(table(c=levels))
    assert list(columns.get_feature_names_out()) == [
        *(f"c = l{k:02d}" for k in range(1, 5)),
        "c = (other)",
    ]


def test_entries_beyond_all_that_was_seen_are_bounded():
    columns = NumberColumns({"x": "number"}).fit(pd.DataFrame({"x": [1e-293, 2e-293, 3e-293]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inputs = columns.transform(pd.DataFrame({"x": [2e-293, 5.0, -1.7e308, np.nan]}))
    np.testing.assert_allclose(inputs[:, 0], [0.0, 1e30, -1e30, 0.0], atol=1e-9)


def test_codes_keep_gaps_open_and_pool_new_levels():
    columns = CodeColumns(KINDS).fit(TRAIN)
    assert columns.columns == ["normal", "normal", "bernoulli", "categorical"]
    new = TRAIN.copy()
    new["colour"] = pd.Categorical(["red", "blue", "once", "green", None, "red"])
    codes = columns.transform(new)
    np.testing.assert_array_equal(codes[:, 3], [1, 2, 0, 0, np.nan, 1])
    np.testing.assert_array_equal(codes[:, 0], TRAIN["x"])
    assert list(columns.get_feature_names_out()) == list(KINDS)


def test_no_columns():
    columns = NoColumns().fit(TRAIN)
    np.testing.assert_array_equal(columns.transform(TRAIN), np.zeros((6, 1)))
    assert len(columns.get_feature_names_out()) == 0


def test_groups_are_codes_of_all_levels():
    columns = NumberColumns(KINDS, grouped=True).fit(TRAIN)
    assert list(columns.get_feature_names_out())[-1] == "colour"
    assert columns.group_names() == ["colour"]
    assert columns.transform(TRAIN)[:, -1].tolist() == [0, 0, 0, 1, 1, 2]
    new = TRAIN.assign(colour=pd.Categorical(["green", None, "red", "blue", "once", "red"]))
    assert columns.transform(new)[:, -1].tolist() == [-1, -1, 0, 1, 2, 0]
    gaps = TRAIN.assign(colour=pd.Categorical(["red", None, "red", "blue", None, "red"]))
    learned = NumberColumns(KINDS, grouped=True).fit(gaps)
    assert learned.transform(gaps)[:, -1].tolist() == [0, 2, 0, 1, 2, 0]


def test_where_many_groups_cross_the_smaller_ones_keep_their_most_frequent_levels():
    n = 4000
    frame = table(a=[f"a{k}" for k in range(n)], b=[f"b{k % 1000}" for k in range(n)])
    columns = NumberColumns({"a": "category", "b": "category"}, grouped=True).fit(frame)
    sizes = {part.name: len(part.levels) for part in columns.levels_}
    assert sizes["a"] == n
    assert sizes["b"] ** 2 * n <= 2.1e8
    assert columns.level_for_new("b") == "(other)"
    codes = columns.transform(frame)
    assert codes.min() == 0.0
    assert len(np.unique(codes[:, 1])) == sizes["b"]


def test_with_many_classes_the_largest_group_keeps_its_most_frequent_levels():
    frame = table(a=[f"a{k}" for k in range(600)] * 2, b=["x", "y", "z"] * 400)
    kinds = {"a": "category", "b": "category"}
    few = NumberColumns(kinds, grouped=True, outputs=2).fit(frame)
    assert [len(part.levels) for part in few.levels_] == [600, 3]
    many = NumberColumns(kinds, grouped=True, outputs=99).fit(frame)
    largest, smallest = (len(part.levels) for part in many.levels_)
    assert (largest - 1) * 99**2 <= 2e6
    assert smallest == 2  # one of three, and the rest
    assert many.level_for_new("a") == "(other)"
