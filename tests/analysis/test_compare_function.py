"""Known truths are found again, whatever holds the table and however many work on it."""

import inspect

import numpy as np
import pandas as pd
import pytest

import posteriori
from posteriori.analysis import Analysis, compare
from posteriori.analysis.comparisons import comparing
from posteriori.regression import RobustRegressor
from posteriori.selection.candidates import candidates_for
from tests.analysis.tables import INPUTS, analysis_of, mixed_table


def noise_table(rows=120, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(rows, 4)), columns=["a", "b", "c", "y"])


def linear_table(rows=120, seed=0):
    table = noise_table(rows, seed)
    return table.assign(y=table["y"] + 2.0 * table["a"] - table["b"])


def fast(table, target="y", **options):
    options = {"models": ["constant", "linear"], "folds": 3, "jobs": 1} | options
    return compare(table, target, **options)


def elpds(analysis):
    return {row.name: row.elpd for row in analysis.ranking.rows}


def test_it_stands_at_the_top_of_the_package():
    assert posteriori.compare is compare


# -- truths ----------------------------------------------------------------------------------------


def test_a_linear_truth_is_found():
    found = fast(linear_table())
    assert found.ranking.best == "linear"
    row = found.ranking["constant"]
    assert row.elpd_difference < -4.0 * row.elpd_difference_se
    # unseen rows: the noise has variance 1, the target 6
    assert found.metrics["linear"]["RMSE"] == pytest.approx(1.0, abs=0.15)
    assert found.metrics["constant"]["R²"] == pytest.approx(0.0, abs=0.05)
    assert "very clear" in " ".join(found.reasons)


@pytest.mark.parametrize("seed", range(4))
def test_noise_is_not_taken_for_more(seed):
    found = fast(noise_table(seed=seed), models=["constant", "linear", "linear (sparse)"])
    constant = found.ranking["constant"]
    error = np.nan_to_num(constant.elpd_difference_se)  # of the best there is none
    assert constant.elpd_difference >= -2.0 * error
    assert found.ranking["constant"].log_evidence > found.ranking["linear"].log_evidence


def test_classes_are_found():
    rng = np.random.default_rng(2)
    table = noise_table(150).assign(other="x")
    p = 1.0 / (1.0 + np.exp(-3.0 * table["a"]))
    table["y"] = np.where(rng.random(150) < p, "yes sir", "no sir")
    found = fast(table, models=["class frequencies", "logistic"])
    assert found.target.task == "classification"
    assert found.ranking.best == "logistic"
    assert found.metrics["logistic"]["accuracy"] > 0.75
    frequencies = table["y"].value_counts(normalize=True)
    entropy = -(frequencies * np.log(frequencies)).sum()
    assert found.metrics["class frequencies"]["log loss"] == pytest.approx(entropy, abs=0.02)


def _best_single(found):
    return next(row.name for row in found.ranking if row.name != "average")


def test_densities_are_compared():
    rng = np.random.default_rng(3)
    models = ["normal", "Student t", "adaptive histogram"]
    table = {"y": rng.standard_t(4.0, 300)}
    found = compare(table, "y", task="density", models=models, folds=3, jobs=1)
    assert _best_single(found) == "Student t"
    models = ["normal", "Poisson", "negative binomial"]
    table = {"y": rng.poisson(4.0, 300)}
    counts = compare(table, "y", task="density", models=models, folds=2, jobs=1)
    assert _best_single(counts) in ("Poisson", "negative binomial")


def test_two_humps_are_seen_by_densities_without_a_form():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(400) < 0.5, rng.uniform(0.0, 1.0, 400), rng.uniform(3.0, 3.5, 400))
    models = ["normal", "normal mixture", "kernel density", "adaptive histogram"]
    scores = elpds(compare({"y": y}, "y", task="density", models=models, folds=3, jobs=1))
    assert scores["adaptive histogram"] > scores["normal mixture"]
    assert min(scores["kernel density"], scores["adaptive histogram"]) > scores["normal"] + 100.0


def test_held_out_and_evidence_add_up():
    found = fast(linear_table())
    for row in found.ranking:
        outcome = found.outcomes[row.name]
        assert row.elpd == pytest.approx(outcome.unseen.log_density.sum())
    for row in found.single_rows:
        outcome = found.outcomes[row.name]
        assert row.log_evidence == pytest.approx(float(outcome.model[-1].log_evidence_))
    weights = np.exp([found.ranking[n].log_evidence for n in ("constant", "linear")])
    assert found.ranking["linear"].probability == pytest.approx(weights[1] / weights.sum())


def test_evidence_moves_with_the_prior():
    curves = fast(linear_table()).sensitivity
    curve = curves["linear"]
    assert set(curve) == {0.25, 0.5, 1.0, 2.0, 4.0}
    assert len(set(curve.values())) == 5


# -- the same answer however it is asked -----------------------------------------------------------


def test_the_same_seed_gives_the_same_answer():
    one, again, other = (elpds(fast(linear_table(), seed=seed)) for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_jobs_do_not_change_the_answer():
    names = ["constant", "linear", "linear (sparse)", "robust linear"]
    alone = elpds(fast(linear_table(), models=names, jobs=1))
    together = elpds(fast(linear_table(), models=names, jobs=2))
    assert list(alone) == list(together)
    np.testing.assert_allclose(list(alone.values()), list(together.values()), rtol=1e-9)


def test_tables_of_all_kinds_agree():
    polars = pytest.importorskip("polars")
    table = mixed_table()[["x", "colour", "flag", "y"]]
    columns = {name: list(table[name].astype(object)) for name in table}
    columns = {n: [None if pd.isna(v) else v for v in values] for n, values in columns.items()}
    found = [fast(t) for t in (table, columns, polars.DataFrame(columns))]
    for other in found[1:]:
        assert elpds(other) == pytest.approx(elpds(found[0]), rel=1e-12)
        assert other.problem.kinds == found[0].problem.kinds


def test_the_order_and_index_of_columns_do_not_matter():
    table = linear_table()
    shifted = table.set_axis(np.arange(1000, 1120))[["y", "c", "b", "a"]]
    assert elpds(fast(shifted)) == pytest.approx(elpds(fast(table)), rel=1e-9)


def test_the_table_of_the_caller_is_left_as_it_is():
    table = mixed_table()
    kept = table.copy(deep=True)
    fast(table[[*INPUTS, "y"]])
    pd.testing.assert_frame_equal(table, kept)


# -- predictions -----------------------------------------------------------------------------------


def test_predictions_keep_the_index_of_the_table():
    found = fast(mixed_table()[[*INPUTS, "y"]], single=True)
    new = mixed_table(5, seed=4).set_axis(list("vwxyz"))
    predicted = found.model.predict(new, mass=0.8)
    assert list(predicted.index) == list("vwxyz")
    assert (predicted["y_low"] < predicted["y_mean"]).all()
    assert (predicted["y_mean"] < predicted["y_high"]).all()
    np.testing.assert_allclose(
        predicted["y_mean"], found.best.predict(found.model.read(new)), rtol=1e-12
    )


def test_class_probabilities_sum_to_one():
    found = analysis_of("five", "classification", "class frequencies", "logistic")
    predicted = found.model.predict(mixed_table(5, seed=4))
    shares = predicted[[f"P(five={label})" for label in "abcde"]]
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-9)
    best = shares.to_numpy().argmax(axis=1)
    assert list(predicted["five_predicted"]) == [list("abcde")[k] for k in best]


# -- what goes wrong -------------------------------------------------------------------------------


@pytest.fixture
def failing(monkeypatch):
    def fail(*_):
        raise RuntimeError("no luck\ntoday")

    monkeypatch.setattr(RobustRegressor, "fit", fail)


@pytest.mark.usefixtures("failing")
def test_a_failing_candidate_is_listed_with_its_reason():
    found = fast(linear_table(), models=["constant", "robust linear", "linear"])
    assert [row.name for row in found.single_rows] == ["linear", "constant", "robust linear"]
    assert found.ranking.rows[-1].name == "robust linear"
    assert found.outcomes["robust linear"].failure == "RuntimeError: no luck today"
    assert "straight lines (robust)" in repr(found)
    with pytest.raises(ValueError, match="'robust linear' was not fitted: RuntimeError"):
        found.table_model("robust linear")


def test_a_candidate_that_predicts_no_numbers_has_failed(monkeypatch):
    honest = comparing.predict_fold

    def spoiled(pipeline, *arguments, **options):
        found = honest(pipeline, *arguments, **options)
        if isinstance(pipeline[-1], RobustRegressor):
            found.log_density[0] = np.nan
        return found

    monkeypatch.setattr(comparing, "predict_fold", spoiled)
    found = fast(linear_table(), models=["constant", "robust linear"])
    assert found.ranking.best == "constant"
    assert "is no number" in found.outcomes["robust linear"].failure


@pytest.mark.usefixtures("failing")
def test_nothing_is_best_when_everything_failed():
    found = fast(linear_table(), models=["robust linear"])
    assert found.verdict == "No model could be fitted; the notes say why."
    with pytest.raises(ValueError, match="no model could be fitted; robust linear: RuntimeError"):
        _ = found.model
    assert "No model could be fitted" in found.html()


def test_the_time_limit_ends_the_work():
    found = fast(linear_table(), time_limit=0.0)
    assert isinstance(found, Analysis)
    reasons = {outcome.failure for outcome in found.outcomes.values()}
    assert "not reached within the time limit" in reasons
    assert "the time limit was reached" in found.notes
    assert not found.interrupted


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds must be at least 2, got 1"),
        ({"drop": ["z"]}, "drop names 'z', which is no column of the table"),
        ({"drop": ["a", "b", "c"]}, "no column is left to predict from"),
        ({"models": ["liner"]}, "no regression model 'liner'; did you mean 'linear'"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fast(linear_table(), **options)


def test_one_model_may_be_named_without_a_list_and_none_means_all():
    assert [row.name for row in fast(linear_table(), models="linear").ranking.rows] == ["linear"]
    every = candidates_for("regression", None, inputs=3, rows=120)
    assert every == candidates_for("regression", inputs=3, rows=120)
    assert len(every) > 5


def test_every_outcome_is_told_with_what_is_left():
    told = []
    fast(
        linear_table(), on_outcome=lambda outcome, total, left: told.append((outcome, total, left))
    )
    assert sorted(outcome.name for outcome, _, _ in told) == ["constant", "linear"]
    assert [total for _, total, _ in told] == [2, 2]
    assert told[0][2] > 0.0
    assert told[1][2] == pytest.approx(0.0, abs=1e-6)


def test_curves_are_tried_only_where_a_column_can_bend():
    """Of columns with two values every function is linear: two names of one model."""
    rng = np.random.default_rng(9)
    table = pd.DataFrame(rng.integers(0, 2, (60, 3)) > 0, columns=["a", "b", "y"])
    table["c"] = rng.integers(0, 2, 60)
    straight = {row.name for row in compare(table, "y", time_limit=0.0).ranking.rows}
    assert {"logistic", "logistic (learned)"} <= straight
    assert straight.isdisjoint({"logistic splines", "splines (learned)"})
    bent = compare(table.assign(c=rng.normal(size=60)), "y", time_limit=0.0)
    assert "logistic splines" in {row.name for row in bent.ranking.rows}


def test_type_checkers_know_every_option_as_the_function_has_it():
    """Which result it is hangs on the target; the overloads that say so name all other options once more."""
    told = {name: kind.__forward_arg__ for name, kind in comparing._Options.__annotations__.items()}
    keywords = list(inspect.signature(compare).parameters.values())[2:]
    assert told == {one.name: one.annotation for one in keywords}
