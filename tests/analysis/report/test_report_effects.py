"""What columns contribute to a prediction."""

import numpy as np
import pandas as pd

from posteriori import analyze
from posteriori.analysis.fitting.importance import column_importance


def test_shuffling_the_column_that_decides_loses_most():
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue"], 200)
    table = pd.DataFrame({"size": rng.normal(size=200), "colour": colour, "y": colour == "red"})
    table["y"] ^= rng.random(200) < 0.05
    analysis = analyze(table, "y", models=["naive Bayes", "linear discriminant"])
    for name in analysis.outcomes:
        effects = column_importance(analysis.outcomes[name].model, analysis.problem, seed=0)
        assert effects.names == ["colour", "size"]
        # A column that says nothing loses at least what it told: I(y; colour) = 0.44 nats.
        assert effects.mean[0] > 0.4
        assert abs(effects.mean[1]) < 0.05
