"""Two applications that the lessons name: parts of a figure by pixels, and a medical decision."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from posteriori.decision import decide
from posteriori.ensemble import RandomForestClassifier
from posteriori.tree import DecisionTreeClassifier

SIZE = 24


def figure(rng):
    """Return depths of a disc above a bar, and 0, 1 or 2 for room, disc and bar."""
    v, u = np.mgrid[:SIZE, :SIZE] - SIZE / 2 - rng.integers(-3, 4, size=2)[:, None, None]
    label = np.zeros((SIZE, SIZE), dtype=int)
    label[(np.abs(u) < 3) & (v > -1) & (v < 8)] = 2
    label[u**2 + (v + 4) ** 2 < 12] = 1
    return np.where(label > 0, 2.0, 4.0) + 0.05 * rng.normal(size=label.shape), label


def columns(depth, offsets):
    around = np.pad(depth, SIZE, constant_values=10.0)
    v, u = np.mgrid[:SIZE, :SIZE] + SIZE
    seen = [around[v + down, u + right] - depth for down, right in offsets]
    return np.stack(seen, axis=-1).reshape(SIZE**2, -1)


@pytest.mark.topic("002/K16")
def test_a_forest_labels_the_pixels_of_new_figures():
    rng = np.random.default_rng(0)
    offsets = rng.integers(-8, 9, size=(20, 2))
    pictures = [figure(rng) for _ in range(12)]
    X = np.stack([columns(depth, offsets) for depth, _ in pictures])
    y = np.stack([label.ravel() for _, label in pictures])
    forest = RandomForestClassifier(20, random_state=0).fit(np.concatenate(X[:9]), y[:9].ravel())
    found, truth = forest.predict(np.concatenate(X[9:])), y[9:].ravel()
    for part in range(3):
        assert np.mean(found[truth == part] == part) > 0.85
    one = np.concatenate(X)[:, :1]
    alone = RandomForestClassifier(20, random_state=0).fit(one[: 9 * SIZE**2], y[:9].ravel())
    part_of_figure = truth > 0
    by_one = alone.predict(one[9 * SIZE**2 :])
    assert np.mean(by_one[part_of_figure] == truth[part_of_figure]) < 0.8


@pytest.mark.topic("002/K16")
def test_rules_and_a_loss_make_a_medical_decision():
    lumps = load_breast_cancer(as_frame=True)
    X, ill = lumps.data, lumps.target.to_numpy() == 0
    half = np.arange(len(X)) % 2 == 0
    tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=5).fit(X[half], ill[half])
    rules = tree.rules()
    assert rules.count("rows)") == len(tree.trees_.column[tree.trees_.is_leaf]) <= 8
    assert any(f"if {name} <= " in rules for name in X.columns)  # by the names of the columns
    loss = np.array([[0.0, 1.0], [20.0, 0.0]])  # healthy, ill; wait, operate
    choice = decide(tree.predict_dist(X[~half]), loss)
    p = tree.predict_proba(X[~half])[:, 1]
    np.testing.assert_array_equal(choice.code, p > 1.0 / 21.0)
    truth = ill[~half].astype(int)
    by_loss = loss[truth, choice.code].sum()
    by_class = loss[truth, tree.predict(X[~half]).astype(int)].sum()
    assert by_loss < by_class
