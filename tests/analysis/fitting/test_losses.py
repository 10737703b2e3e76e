"""Numbers are predicted for the loss that is asked for, and no model is kept that errs more than none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import compare
from posteriori.selection.comparison import Comparison


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    x = rng.uniform(0.0, 2.0, 150)
    return pd.DataFrame({"x": x, "y": np.exp(x + 0.8 * rng.normal(size=150))})


MODELS = ["constant", "linear", "log-linear"]


def test_medians_are_predicted_for_absolute_losses(table):
    found = compare(table, "y", models=MODELS, loss="absolute", jobs=1)
    model = found.table_model("log-linear")
    predicted = model.predict(table.head(4), mass=0.5)
    assert list(predicted) == ["y_median", "y_low", "y_high"]
    mean = compare(table, "y", models=MODELS, jobs=1).table_model("log-linear")
    assert (predicted["y_median"] < mean.predict(table.head(4))["y_mean"]).all()
    assert next(iter(found.metrics["log-linear"])) == "MAE"
    unseen = found.outcomes["log-linear"].unseen.prediction
    # half of the targets lie below their median
    assert abs(np.mean(table["y"] < unseen) - 0.5) < 0.13


def test_the_mean_has_least_squares_and_the_median_least_differences(table):
    squared = compare(table, "y", models=MODELS, jobs=1).metrics["log-linear"]
    absolute = compare(table, "y", models=MODELS, loss="absolute", jobs=1).metrics["log-linear"]
    assert squared["RMSE"] < absolute["RMSE"]
    assert absolute["MAE"] < squared["MAE"]


def test_factors_are_typical_ratios(table):
    found = compare(table, "y", models=MODELS, loss="log", jobs=1)
    predicted = found.outcomes["log-linear"].unseen.prediction
    expected = np.exp(np.mean(np.abs(np.log(table["y"] / predicted))))
    assert found.metrics["log-linear"]["factor"] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "column", "words"),
    [
        ("cubic", "y", "loss must be one of squared, absolute, log, got 'cubic'"),
        ("log", "signed", "the loss 'log' compares logarithms, and 'signed' is"),
        ("absolute", "class", "the loss 'absolute' is for numbers, and 'class' is classified"),
    ],
)
def test_losses_that_cannot_be_are_refused(table, loss, column, words):
    more = table.assign(signed=table["y"] - 3.0, **{"class": np.where(table["y"] > 3, "a", "b")})
    with pytest.raises(ValueError, match=words):
        compare(more, column, loss=loss)


def test_what_errs_more_than_no_column_is_flagged_and_not_kept(table):
    found = compare(table, "y", models=MODELS, jobs=1, single=True)
    best = found.kept
    worse = {**found.metrics[best], "RMSE": 1.06 * found.metrics["constant"]["RMSE"]}
    spoiled = replace(found, metrics={**found.metrics, best: worse})
    assert spoiled.kept != best
    assert spoiled.model.name == spoiled.kept
    assert "errs more than no column at all" in " ".join(spoiled.reasons)
    assert f"{worse['RMSE']:.3f}!" in repr(spoiled)


def test_a_difference_in_order_by_error_is_said(table):
    found = compare(table, "y", models=MODELS, jobs=1)
    single = [row.name for row in found.single_rows]
    metrics = dict(found.metrics)
    metrics[single[1]] = {**metrics[single[1]], "RMSE": 0.5 * metrics[single[0]]["RMSE"]}
    told = replace(found, metrics=metrics, ranking=Comparison(found.ranking.rows)).reasons
    assert f"By error it is “{found.words(single[1])}” (RMSE" in " ".join(told)
