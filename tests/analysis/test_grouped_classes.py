"""Three classes and a category of 150 levels: all of them tell, in the scores, files and the report."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis import compare, load_model, save_model
from posteriori.analysis.report.insights import level_effects, spread_words

LEVELS, LABELS = 150, np.array(["bus", "car", "walk"])


@pytest.fixture(scope="module")
def travel():
    """Towns with tastes of their own, seen eight times each."""
    rng = np.random.default_rng(0)
    town = np.repeat(np.arange(LEVELS), 8)
    km = rng.normal(size=len(town))
    eta = 1.5 * rng.normal(size=(LEVELS, 3))[town] + 0.8 * km[:, None] * [1.0, 0.0, -1.0]
    by = LABELS[(eta + rng.gumbel(size=eta.shape)).argmax(axis=1)]
    return pd.DataFrame({"town": [f"town {t}" for t in town], "km": km, "by": by})


@pytest.fixture(scope="module")
def found(travel):
    models = ["class frequencies", "logistic", "linear discriminant"]
    return compare(travel, "by", models=models, folds=3, jobs=1)


def test_all_levels_tell_where_twenty_indicators_do_not(found):
    elpd = {row.name: row.elpd for row in found.ranking.rows}
    assert elpd["logistic"] > elpd["linear discriminant"] + 60.0
    assert elpd["logistic"] > elpd["class frequencies"] + 60.0
    (note,) = (note for note in found.notes if note.startswith("'town'"))
    assert note == (
        "'town': 150 levels: groups, whose effects have a common spread; "
        "normal classes, neighbours and naive Bayes keep the 20 most frequent apart"
    )


def test_the_report_tells_the_spread_and_the_largest_effects(found):
    pipeline = found.table_model("logistic").pipeline
    (words,) = (told.replace("\xa0", " ") for told in spread_words(pipeline))
    assert words.startswith("150 levels of 'town' differ by ± ")
    assert " in log odds of a class against the average one (" in words
    (spread,) = (e.spread for e in pipeline[-1].group_effects_.values())
    assert spread == pytest.approx(1.5 * np.sqrt(2.0 / 3.0), rel=0.2)
    effects = level_effects(pipeline)
    name, label = effects.names[0].split(" on ")
    assert label in LABELS
    levels = pipeline[0].levels_[0].levels
    place = levels.index(name)
    (learned,) = pipeline[-1].group_effects_.values()
    assert effects.mean[0] == learned.mean[place, LABELS.tolist().index(label)]
    assert np.abs(effects.mean[0]) == np.abs(learned.mean).max()
    assert np.all((effects.low < effects.mean) & (effects.mean < effects.high))
    html = found.html()
    assert "differ by ±" in html
    assert effects.names[0] in html
    assert "The largest effects of levels of “town” in" in html


def test_saved_models_answer_as_before_and_new_towns_are_told(found, travel, tmp_path):
    model, path = found.table_model("logistic"), tmp_path / "travel.posteriori"
    save_model(model, path)
    new = travel.iloc[[0, 9, 30]].assign(town=["town 0", "nowhere", "town 3"])
    told = load_model(path).predict(new)
    pd.testing.assert_frame_equal(told, model.predict(new))
    (note,) = model.notes_on(new)
    assert "predicted around the average of all levels, with the width of their spread" in note
    typical = travel.iloc[[0, 0]].assign(km=0.0, town=["town 0", "nowhere"])
    known, unknown = model.predict(typical).filter(like="P(by=").to_numpy()
    assert np.abs(unknown - 1 / 3).max() < np.abs(known - 1 / 3).max()
