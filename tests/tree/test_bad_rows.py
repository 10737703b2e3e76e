"""What trees cannot learn from is refused in words; what is merely odd is learned from."""

import numpy as np
import pytest

from posteriori.tree import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(20, 2)), RNG.normal(size=20)
LABELS = Y > 0
KINDS = [DecisionTreeClassifier, DecisionTreeRegressor, DecisionStump]
each = pytest.mark.parametrize("kind", KINDS)


def targets(kind):
    return Y if kind is DecisionTreeRegressor else LABELS


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionStump])
@pytest.mark.parametrize("size", [1, 20])
def test_one_class_is_refused(kind, size):
    with pytest.raises(ValueError, match="at least two classes, got one class: 'elm'"):
        kind().fit(X[:size], ["elm"] * size)


def test_one_row_predicts_itself():
    model = DecisionTreeRegressor().fit(X[:1], [3.0])
    assert model.predict(X).tolist() == [3.0] * 20
    assert np.isfinite(model.predict_dist(X[:1]).log_prob(np.array([3.0]))).all()


@each
def test_constant_and_missing_columns_are_not_asked_for(kind):
    for empty in (7.0, np.nan):
        x = np.column_stack([np.full(20, empty), X[:, 0], np.full(20, empty)])
        model = kind().fit(x, targets(kind))
        assert model.feature_importances_.tolist() == [0.0, 1.0, 0.0]
        alone = kind().fit(np.full((20, 2), empty), targets(kind))
        assert alone.tree_.n_leaves == 1
        assert alone.feature_importances_.tolist() == [0.0, 0.0]


@each
def test_infinities_are_named(kind):
    x = X.copy()
    x[3, 1], x[0, 0] = -np.inf, np.nan
    words = r"X contains infinity \(inf\) in column 1, row 3"
    with pytest.raises(ValueError, match=words):
        kind().fit(x, targets(kind))
    with pytest.raises(ValueError, match=words):
        kind().fit(X, targets(kind)).predict(x)


@pytest.mark.parametrize("classes", [2, 11])
def test_three_hundred_levels(classes):
    levels = np.tile(np.arange(300.0), 2)[:, None]
    y = levels[:, 0] * 7 % classes
    model = DecisionTreeClassifier(columns="categorical").fit(levels, y)
    assert model.score(levels, y) == 1.0
    if classes == 2:
        assert model.tree_.n_leaves == 2  # one subset of levels
    numbers = DecisionTreeRegressor(columns="categorical").fit(levels, y)
    np.testing.assert_allclose(numbers.predict(levels), y, atol=1e-12)
    assert np.isfinite(numbers.predict([[1000.0], [np.nan]])).all()


@each
@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (-np.ones(20), "Negative values in data passed to `sample_weight`"),
        (np.zeros(20), "Sample weights must contain at least one non-zero"),
        (np.full(20, np.nan), "sample_weight contains NaN"),
        (np.full(20, np.inf), "sample_weight contains infinity"),
        (np.ones(3), r"sample_weight.shape == \(3,\), expected \(20,\)"),
        (np.full(20, 1e300), r"sample_weight must not be above 1e\+12, got 1e\+300.*divide"),
        (
            np.full(20, 1e-300),
            "sample_weight must not be below 1e-12 in all rows, got at most 1e-300.*multiply",
        ),
    ],
)
def test_bad_weights_are_refused(kind, weight, words):
    with pytest.raises(ValueError, match=words):
        kind().fit(X, targets(kind), sample_weight=weight)


@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_targets_whose_squares_are_no_numbers_are_refused(size):
    with pytest.raises(ValueError, match=r"y .*divide it by a unit of its size"):
        DecisionTreeRegressor().fit(X, Y * size)


@pytest.mark.parametrize("size", [1e149, 1e-149])
def test_targets_near_the_limit_are_learned(size):
    model = DecisionTreeRegressor(pruning="cv", random_state=0).fit(X, np.sign(X[:, 0]) * size)
    np.testing.assert_allclose(model.predict(X), np.sign(X[:, 0]) * size, rtol=1e-12)
    assert np.isfinite(model.predict_dist(X).log_prob(np.sign(X[:, 0]) * size)).all()


def test_counts_are_counts():
    with pytest.raises(ValueError, match=r"needs counts >= 0 as y, got -1 in row 2"):
        DecisionTreeRegressor("poisson").fit(X[:3], [0.0, 4.0, -1.0])
    with pytest.warns(UserWarning, match=r"is a model of counts, but y is 2\.5 in row 1"):
        DecisionTreeRegressor("poisson").fit(X[:3], [0.0, 2.5, 1.0])
    nothing = DecisionTreeRegressor("poisson").fit(X[:3], np.zeros(3)).predict_dist(X[:1])
    assert 0.0 < nothing.mean[0] < 1.0


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"columns": "num"}, r"columns must be 'number' or 'categorical'.*, got 'num'"),
        ({"columns": ["number"]}, "X has 2 columns, got 1 kinds"),
        ({"columns": None}, "columns must be .*, got None"),
        ({"columns": "categorical"}, r"column 0 is categorical: .*OrdinalEncoder makes them"),
        ({"max_depth": 2.5}, r"max_depth must be a whole number >= 0 or None, got 2\.5"),
        ({"max_depth": -1}, "max_depth must be a whole number >= 0 or None, got -1"),
        ({"max_depth": np.inf}, "max_depth must be .*, got inf"),
        ({"max_leaves": 0}, "max_leaves must be a whole number >= 1 or None, got 0"),
        ({"min_samples_leaf": 0}, "min_samples_leaf must be a positive number, got 0"),
        ({"min_gain": -1}, "min_gain must be a finite number >= 0, got -1"),
        ({"max_bins": 1}, "max_bins must be a whole number from 2 to 1000000 or None, got 1"),
        ({"honest": "no"}, "honest must be True or False, got 'no'"),
        ({"pruning": "x"}, "pruning must be 'cv' or None, got 'x'"),
    ],
)
def test_bad_parameters_are_refused(parameters, words):
    with pytest.raises(ValueError, match=words):
        DecisionTreeRegressor(**parameters).fit(X, Y)
    with pytest.raises(ValueError, match=words):
        DecisionTreeClassifier(**parameters).fit(X, LABELS)


def test_choices_of_each_kind():
    with pytest.raises(ValueError, match="criterion must be one of 'gini', 'entropy', 'error'"):
        DecisionTreeClassifier("ginny").fit(X, LABELS)
    with pytest.raises(ValueError, match="concentration must be a positive number, got 0"):
        DecisionStump(concentration=0).fit(X, LABELS)
    with pytest.raises(ValueError, match="family must be 'normal' or 'poisson', got 'gamma'"):
        DecisionTreeRegressor("gamma").fit(X, Y)


@each
def test_huge_limits_are_none(kind):
    plain = kind().fit(X, targets(kind))
    if kind is not DecisionStump:
        wide = kind(max_depth=10**40, max_leaves=10**40, min_samples_leaf=1e-300)
        assert str(wide.fit(X, targets(kind)).tree_) == str(plain.tree_)
    heavy = kind(min_samples_leaf=1e300).fit(X, targets(kind))
    assert heavy.tree_.n_leaves == 1
