"""The table of a comparison: groups, refusals, failures, notes and results of the model language."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline

import posteriori
from posteriori import Categorical, Dirichlet, Gamma, Model, Normal
from posteriori.regression import (
    BayesianLinearRegressor,
    LinearRegressor,
    LogLinearRegressor,
    PoissonRegressor,
    PolynomialBasis,
    RobustRegressor,
)
from posteriori.selection import ModelSet, rank_models, select


def rows(n=40, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, size=(n, 1))
    return x, np.sin(3 * x[:, 0]) + 0.2 * rng.normal(size=n)


def polynomial(order):
    return make_pipeline(PolynomialBasis(order), BayesianLinearRegressor())


def test_probabilities_are_normalised_evidences():
    x, y = rows()
    models = {f"order {k}": polynomial(k) for k in (1, 3, 5)}
    table = rank_models(models, x, y)
    logs = {name: float(m.fit(x, y)[-1].log_evidence_) for name, m in models.items()}
    weights = np.exp(np.array(list(logs.values())) - max(logs.values()))
    for name, p in zip(logs, weights / weights.sum(), strict=True):
        assert table[name].log_evidence == pytest.approx(logs[name], rel=1e-12)
        assert table.probabilities[name] == pytest.approx(p, rel=1e-9)
        assert table[name].log_bayes_factor == pytest.approx(logs[name] - max(logs.values()))
    assert table.best == max(logs, key=logs.get)
    assert [r.log_evidence for r in table] == sorted(logs.values(), reverse=True)


def test_accuracy_less_complexity_is_the_evidence_and_complexity_a_divergence():
    x, y = rows()
    model = BayesianLinearRegressor(2.0, noise_precision=25.0, fit_intercept=False)
    row = rank_models({"line": model}, x, y)["line"]
    posterior, prior = model.fit(x, y).posterior_, Normal(0.0, variance=0.5)
    belief = Normal(posterior.mean[0], variance=posterior.cov[0, 0])
    assert row.complexity == pytest.approx(float(belief.kl(prior)), rel=1e-9)
    assert row.accuracy - row.complexity == pytest.approx(row.log_evidence)


def test_prior_sensitivity_is_the_largest_move_of_the_evidence():
    x, y = rows()
    row = rank_models(
        {"m": BayesianLinearRegressor(1.0, noise_precision=9.0, fit_intercept=False)}, x, y
    )["m"]
    moved = [
        float(
            BayesianLinearRegressor(1.0 / s**2, noise_precision=9.0, fit_intercept=False)
            .fit(x, y)
            .log_evidence_
        )
        - row.log_evidence
        for s in (0.25, 0.5, 2.0, 4.0)
    ]
    assert row.prior_sensitivity == pytest.approx(np.abs(moved).max(), rel=1e-9)
    assert np.isnan(
        rank_models({"m": polynomial(2)}, x, y, sensitivity=False)["m"].prior_sensitivity
    )


def test_fitted_and_unfitted_models_agree():
    x, y = rows()
    table = rank_models({"new": polynomial(2), "old": polynomial(2).fit(x, y)}, x, y)
    assert table["new"].log_evidence == table["old"].log_evidence
    assert np.isnan(table["old"].seconds)
    assert table["new"].seconds > 0


def test_results_of_the_model_language():
    y = np.array([1.1, 0.7, 1.9, 2.4])

    def model(variance):
        m = Model()
        m.mu = Normal(0, variance=variance)
        m.y = Normal(m.mu, variance=0.25).iid("n")
        return m.infer(y=y)

    narrow, wide = model(1.0), model(100.0)
    table = posteriori.rank_models(narrow=narrow, wide=wide)
    assert table.best == "narrow"
    assert table["narrow"].complexity == pytest.approx(float(narrow.mu.kl(Normal(0, variance=1.0))))
    assert table["wide"].log_evidence == float(wide.log_evidence)


def test_a_bound_beside_an_exact_evidence_is_flagged():
    m = Model()
    m.tau = Gamma(shape=2, rate=1)
    m.mu = Normal(0, precision=0.1 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    y = [1.1, 0.7, 1.9]
    table = rank_models(exact=m.infer(y=y), cut=m.infer(y=y, factorize=[("mu", "tau")]))
    assert "evidences are of different kinds (bound, exact)" in repr(table)


def test_evidences_of_different_data_are_refused():
    x, y = rows()
    a, b = polynomial(1).fit(x, y), polynomial(1).fit(x, y + 1.0)
    with pytest.raises(ValueError, match="b was fitted to other targets"):
        rank_models({"a": a, "b": b}, x, y)


def test_a_model_of_other_data_than_those_given_is_refused():
    x, y = rows()
    few, other = polynomial(1).fit(x[:9], y[:9]), polynomial(1).fit(x, y + 1.0)
    with pytest.raises(ValueError, match="few was fitted to 9 rows"):
        rank_models({"all": polynomial(1), "few": few}, x, y)
    with pytest.raises(ValueError, match="other was fitted to other targets than y"):
        rank_models({"other": other}, x, y)


def test_rows_without_targets_are_not_held_out():
    x, y = rows()
    gapped = np.where(np.arange(len(y)) < 5, np.nan, y)
    models = {
        "closed": BayesianLinearRegressor(missing="drop"),
        "folds": BayesianLinearRegressor(hyperparameters="type-II", missing="drop"),
    }
    table, short = rank_models(models, x, gapped), rank_models(models, x[5:], y[5:])
    for name in models:
        assert table[name].log_evidence == pytest.approx(short[name].log_evidence)
        assert table[name].elpd == pytest.approx(short[name].elpd)


def test_posteriors_of_different_data_are_refused():
    m = Model()
    m.mu = Normal(0, variance=1)
    m.y = Normal(m.mu, variance=1).iid("n")
    with pytest.raises(ValueError, match="one and other are of different data"):
        rank_models(one=m.infer(y=[1.0, 2.0]), other=m.infer(y=[1.0, 3.0]))


def test_counts_as_probabilities_and_as_densities_are_apart():
    x, _ = rows()
    y = np.random.default_rng(1).poisson(4.0, size=len(x)).astype(float)
    table = rank_models({"poisson": PoissonRegressor(), "normal": BayesianLinearRegressor()}, x, y)
    assert table["poisson"].probability == table["normal"].probability == 1.0
    assert "poisson: probabilities of targets" in repr(table)


def test_models_without_evidence_are_ranked_by_held_out_density():
    x, y = rows()
    table = rank_models({"least squares": LinearRegressor(), "cubic": polynomial(3)}, x, y)
    assert table.best == "cubic"
    assert np.isnan(table["least squares"].log_evidence)
    gap = table["least squares"].elpd - table["cubic"].elpd
    assert table["least squares"].elpd_difference == pytest.approx(gap)


def test_a_flat_intercept_is_a_group_of_its_own():
    x, y = rows()
    flat = BayesianLinearRegressor(intercept_precision=0.0)
    table = rank_models({"flat": flat, "proper": BayesianLinearRegressor()}, x, y)
    assert table["flat"].probability == table["proper"].probability == 1.0
    assert "only the held-out density compares" in repr(table)


@pytest.mark.parametrize("family", [BayesianLinearRegressor, LogLinearRegressor])
def test_a_flat_prior_leaves_the_evidence_blank_and_says_why(family):
    x, y = rows()
    models = {"flat": family(0.0), "proper": family()}
    table = rank_models(models, x, np.exp(y))
    assert np.isnan(table["flat"].log_evidence)
    assert np.isnan(table["flat"].probability)
    assert np.isfinite(table["flat"].elpd)
    assert table["flat"].blanks.startswith("log evidence: log_evidence_ does not exist under an")
    assert not table["flat"].failure
    assert table["proper"].probability == 1.0
    assert not table["proper"].blanks
    assert f"flat: {table['flat'].blanks}" in table.notes
    assert isinstance(select(models, x, np.exp(y)), family)
    with pytest.raises(TypeError, match=r"flat .* has no evidence; .* improper prior"):
        ModelSet({name: model.fit(x, np.exp(y)) for name, model in models.items()})


def test_a_model_that_fails_does_not_stop_the_others():
    x, y = rows()
    table = rank_models(
        {"counts": PoissonRegressor(), "point": Lasso(), "line": polynomial(1)}, x, y
    )
    assert table.best == "line"
    assert "counts >= 0" in table["counts"].failure
    assert "cannot say how probable" in table["point"].failure
    assert "counts failed: ValueError" in repr(table)


def test_nothing_but_failures_has_no_best():
    x, y = rows()
    with pytest.raises(ValueError, match="no model could be fitted; counts"):
        _ = rank_models({"counts": PoissonRegressor()}, x, y).best


def test_ctrl_c_returns_what_is_done():
    x, y = rows()
    seen = []

    def stop(done, total):
        seen.append((done, total))
        raise KeyboardInterrupt

    table = rank_models({"a": polynomial(1), "b": polynomial(2)}, x, y, callback=stop)
    assert seen == [(1, 2)]
    assert [row.name for row in table] == ["a"]
    assert "stopped after 1 of 2 models" in table.notes


def test_ctrl_c_before_any_model_is_done_is_passed_on(monkeypatch):
    x, y = rows()
    model = polynomial(1)

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("posteriori.selection.comparing.held_out_density", stop)
    with pytest.raises(KeyboardInterrupt):
        rank_models({"a": model}, x, y)
    assert not hasattr(model, "n_features_in_")  # what was given stays unfitted


def test_progress_is_shown_where_it_is_asked_for(capsys):
    x, y = rows()
    rank_models({"a": polynomial(1)}, x, y, progress=True)
    shown = capsys.readouterr().err
    assert shown.startswith("\ra (1 of 1): fitting (0 s; Ctrl-C keeps finished models)")
    assert shown.endswith("\n")
    rank_models({"a": polynomial(1)}, x, y)
    assert capsys.readouterr().err == ""  # no terminal


def test_polars_in():
    pl = pytest.importorskip("polars")
    x, y = rows()
    frame, series = pl.DataFrame(x, schema=["x"]), pl.Series(y)
    models = {"cubic": polynomial(3), "folds": BayesianLinearRegressor(hyperparameters="type-II")}
    found, expected = rank_models(models, frame, series), rank_models(models, x, y)
    for name in models:
        assert found[name].log_evidence == pytest.approx(expected[name].log_evidence)
        assert found[name].elpd == pytest.approx(expected[name].elpd)


def test_frames_in_and_out():
    x, y = rows()
    frame = pd.DataFrame(x, columns=["x"])
    models = {"line": polynomial(1), "robust": RobustRegressor()}
    table = rank_models(models, frame, pd.Series(y)).to_frame()
    assert table.index.name == "model"
    assert set(table.index) == {"line", "robust"}
    assert table.loc["line", "log_evidence"] == pytest.approx(
        rank_models(models, x, y)["line"].log_evidence
    )


def test_names_are_escaped_in_notebooks():
    x, y = rows()
    assert "<td>&lt;b&gt;</td>" in rank_models({"<b>": polynomial(1)}, x, y)._repr_html_()


def test_bad_calls_are_refused():
    with pytest.raises(ValueError, match="at least one model"):
        rank_models()
    with pytest.raises(ValueError, match=r"give the data as rank_models\(models, X, y\)"):
        rank_models({"a": polynomial(1)})
    with pytest.raises(KeyError, match="no model 'b'; there are a"):
        rank_models({"a": polynomial(1)}, *rows())["b"]


@pytest.mark.topic("000/F5", "004/2.9")
def test_the_most_probable_model_is_selected():
    x, y = rows()
    models = {k: polynomial(k) for k in (1, 3, 7)}
    chosen = select(models, x, y)
    evidences = {k: float(m.fit(x, y)[-1].log_evidence_) for k, m in models.items()}
    best = max(evidences, key=evidences.get)
    assert float(chosen[-1].log_evidence_) == evidences[best]


def test_a_summary_has_the_columns_that_are_known():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    y = X @ [1.0, 0.5] + rng.normal(size=40)
    ranked = rank_models({"linear": BayesianLinearRegressor()}, X, y)
    table = ranked.summary()
    assert list(table.index) == ["linear"]
    assert {"log_evidence", "kind", "elpd", "elpd_se"} <= set(table)
    assert set(table).isdisjoint({"weight", "pareto_shape", "failure"})  # nothing is known of these
    assert table["log_evidence"]["linear"] == float(ranked["linear"].log_evidence)


def test_bounds_that_know_one_naming_are_a_group_of_their_own():
    x = np.random.default_rng(0).normal(size=60) + 6.0 * (np.arange(60) % 2)
    models = {}
    for k in (1, 2, 3):
        m = Model()
        m.pi = Dirichlet(np.ones(k))
        m.mu = Normal(0, variance=25).iid(k)
        m.z = Categorical(m.pi).iid("n")
        m.x = Normal(m.mu[m.z], variance=1)
        models[f"of {k}"] = m.infer(x=x, method=None if k == 1 else "vmp")
    assert [post.log_evidence.namings for post in models.values()] == ["all", "one", "one"]
    table = rank_models(models)
    assert [table[f"of {k}"].of for k in (1, 2, 3)] == ["X", "X (one naming)", "X (one naming)"]
    assert table["of 1"].probability == 1.0
    assert table["of 2"].probability + table["of 3"].probability == pytest.approx(1.0)
