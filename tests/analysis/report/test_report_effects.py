"""What columns contribute to a prediction."""

import numpy as np
import pandas as pd
import pytest

from posteriori import compare
from posteriori.analysis.report.insights import weight_effects
from posteriori.analysis.report.what_if import _parts, column_importance


def test_shuffling_the_column_that_decides_loses_most():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    table = pd.DataFrame({"size": rng.normal(size=200), "colour": colour, "y": colour == "red"})
    table["y"] ^= rng.random(200) < 0.05
    analysis = compare(table, "y", models=["naive Bayes", "linear discriminant"])
    for name in analysis.outcomes:
        effects = column_importance(analysis.outcomes[name].model, analysis.problem, seed=0)
        assert effects.names == ["colour", "size"]
        # A column that says nothing loses at least what it told: I(y; colour) = 0.44 nats.
        assert effects.mean[0] > 0.4
        assert abs(effects.mean[1]) < 0.05


def test_truth_values_stay_what_they_are_when_they_are_shuffled():
    rng = np.random.default_rng(1)
    member = rng.random(60) < 0.5
    table = pd.DataFrame({"size": rng.normal(size=60) + member, "member": member, "y": member})
    table["y"] ^= rng.random(60) < 0.1
    analysis = compare(table, "y", models=["naive Bayes", "class frequencies"])
    effects = column_importance(analysis.outcomes["naive Bayes"].model, analysis.problem, seed=0)
    assert effects.names[0] == "member"
    assert effects.mean[0] > 0.2


@pytest.mark.parametrize("unit", [1e-200, 1e300])
def test_columns_of_extreme_units_are_told_by_others_as_any_are(unit):
    rng = np.random.default_rng(2)
    x = rng.normal(size=(80, 2))
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 0] + x[:, 1], "y": x @ [1.0, 1.0]})
    losses = []
    for scale in (1.0, unit):
        analysis = compare(table.assign(b=scale * table["b"]), "y", models=["linear"], jobs=1)
        effects = column_importance(analysis.outcomes["linear"].model, analysis.problem, seed=0)
        losses.append(dict(zip(effects.names, effects.mean, strict=True)))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_a_slope_is_worth_its_square_in_units_of_the_noise():
    """Shuffling x moves y by w(x − x'), whose mean square is 2w²: w²/σ² nats are lost."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(3_000, 2))
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1]})
    table["y"] = x @ [1.0, 0.5] + rng.normal(size=3_000)
    analysis = compare(table, "y", models=["linear"], jobs=1)
    effects = column_importance(analysis.outcomes["linear"].model, analysis.problem, seed=0)
    assert effects.names == ["a", "b"]
    np.testing.assert_allclose(effects.mean, [1.0, 0.25], rtol=0.15)
    assert (effects.low < effects.mean).all()
    assert (effects.mean < effects.high).all()


def test_of_many_rows_each_shuffle_has_others():
    assert len(np.unique(_parts(np.arange(3_000)))) == 2_100
    np.testing.assert_array_equal(_parts(np.arange(50)), np.tile(np.arange(50), (3, 1)))


def test_weights_of_squares_and_products_are_named():
    """Their inputs end with one that is always 0 where no column stands beside them."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    table = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] ** 2 + 0.5 * x[:, 1]})
    table["y"] += 0.1 * rng.normal(size=60)
    effects = weight_effects(compare(table, "y", models=["quadratic"], jobs=1).best)
    assert effects.names[0] == "a^2"
    assert set(effects.names) == {"a", "b", "a^2", "a b", "b^2"}
    assert (effects.low[:2] < effects.mean[:2]).all()
