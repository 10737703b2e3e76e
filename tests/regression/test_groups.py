"""Linear regression with groups: the dense joint, the model language, unseen levels, weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

from posteriori import Input, Model, Normal
from posteriori.regression import BayesianLinearRegressor, LogLinearRegressor
from tests.regression.oracles import integrated_log_evidence, known_noise_log_evidence

SIZES = (5, 9)


def crossed(n=80, seed=0, noise=0.5):
    """Numbers, codes of two crossed columns, and targets."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.permutation(np.arange(n) % size) for size in SIZES])
    x = 3.0 * rng.normal(size=(n, 2)) + 1.0
    effects = [rng.normal(size=5), 3.0 * rng.normal(size=9)]
    y = x @ [1.0, -0.4] + sum(u[c] for u, c in zip(effects, codes.T, strict=True))
    return x, codes, y + noise * rng.normal(size=n)


class Dense:
    """All weights side by side: standardised columns, intercept, an indicator for every level."""

    def __init__(self, x, codes, y, ratios):
        self.mean, self.std = x.mean(axis=0), x.std(axis=0)
        self.design = self.rows(x, codes)
        widths = [np.ones(3), *(np.full(n, r) for n, r in zip(SIZES, ratios, strict=True))]
        self.prior = np.concatenate(widths)
        self.cov = np.eye(len(y)) + (self.design * self.prior) @ self.design.T
        self.y, self.scale = y, 0.005 * y.var()

    def rows(self, x, codes):
        levels = [codes[:, [c]] == np.arange(n) for c, n in enumerate(SIZES)]
        return np.column_stack([(x - self.mean) / self.std, np.ones(len(x)), *levels])

    def log_evidence(self):
        return integrated_log_evidence(
            self.y, np.full(len(self.y), self.y.mean()), self.cov, 1.0, self.scale
        )

    def weights(self):
        """Mean and covariance in units of the noise variance, whose posterior mean is the last."""
        centred = self.y - self.y.mean()
        cov = np.linalg.inv(self.design.T @ self.design + np.diag(1.0 / self.prior))
        scale = self.scale + 0.5 * centred @ np.linalg.solve(self.cov, centred)
        return cov @ self.design.T @ centred, cov, scale / (0.5 * len(self.y))


def fitted(**options):
    x, codes, y = crossed()
    model = BayesianLinearRegressor(groups=[2, 3], **options).fit(np.column_stack([x, codes]), y)
    ratios = [e.spread**2 / model.noise_variance_ for e in model.group_effects_.values()]
    return model, x, codes, y, ratios


def test_effects_are_those_of_the_dense_joint():
    model, x, codes, y, ratios = fitted()
    mean, cov, noise = (dense := Dense(x, codes, y, ratios)).weights()
    assert float(model.log_evidence_) == pytest.approx(dense.log_evidence(), abs=1e-8)
    assert model.log_evidence_.kind == "type-II"
    np.testing.assert_allclose(model.coef_, mean[:2] / dense.std, rtol=1e-8)
    np.testing.assert_allclose(model.noise_variance_, noise, rtol=1e-10)
    first, second = model.group_effects_.values()
    std = np.sqrt(noise * np.diagonal(cov))
    np.testing.assert_allclose(np.append(first.mean, second.mean), mean[3:], atol=1e-10)
    np.testing.assert_allclose(np.append(first.std, second.std), std[3:], rtol=1e-8)
    predicted = model.predict_dist(np.column_stack([x, codes]))
    np.testing.assert_allclose(predicted.mean, y.mean() + dense.design @ mean, rtol=1e-10)
    spread = np.einsum("nd,nd->n", dense.design @ cov, dense.design)
    np.testing.assert_allclose(predicted.variance, noise * (1.0 + spread), rtol=1e-10)
    kept = 1.0 - np.diagonal(cov) / dense.prior
    assert model.effective_parameters_ == pytest.approx(kept[:2].sum() + kept[3:].sum())


@pytest.mark.parametrize("how", ["fixed", "type-II", "ard", "grid", "learned", "sparse"])
def test_learned_spreads_have_the_highest_evidence(how):
    model = fitted(hyperparameters=how)[0]
    learned = model._learned
    np.testing.assert_allclose(learned.spreads.slopes, 0.0, atol=2e-3)


@pytest.mark.parametrize("how", ["fixed", "type-II", "grid", "learned"])
def test_slopes_of_the_evidence_are_its_differences(how):
    from posteriori.regression.bayesian import grouped_learning as module

    seen = []
    original = module.maximise_spreads

    def spy(evidence, start, sizes):
        seen.append(evidence)
        return original(evidence, start, sizes)

    module.maximise_spreads = spy
    try:
        fitted(hyperparameters=how)
    finally:
        module.maximise_spreads = original
    at, step = np.array([0.3, 1.1]), 1e-5
    for c, direction in enumerate(np.eye(2)):
        difference = seen[0](at + step * direction)[0] - seen[0](at - step * direction)[0]
        assert seen[0](at)[1][c] == pytest.approx(difference / (2 * step), rel=1e-5, abs=1e-5)


def test_the_dense_evidence_is_lower_on_all_sides():
    _, x, codes, y, ratios = fitted()
    highest = Dense(x, codes, y, ratios).log_evidence()
    for c in range(2):
        for factor in (0.9, 1.1):
            moved = np.array(ratios)
            moved[c] *= factor
            assert Dense(x, codes, y, moved).log_evidence() < highest - 1e-3


def test_known_noise_is_a_normal_joint():
    x, codes, y = crossed()
    model = BayesianLinearRegressor(2.0, noise_precision=4.0, groups=[-2, -1], standardize=False)
    model.fit(np.column_stack([x, codes]), y)
    spreads = [e.spread for e in model.group_effects_.values()]
    z = [
        (codes[:, [c]] == np.arange(n)) @ np.eye(n) * s
        for c, (n, s) in enumerate(zip(SIZES, spreads, strict=True))
    ]
    rows = np.column_stack([(x - x.mean(axis=0)) / np.sqrt(2.0), np.full(len(y), 0.5), *z])
    cov = np.eye(len(y)) / 4.0 + rows @ rows.T  # the intercept has one row's worth of precision
    expected = known_noise_log_evidence(y, np.full(len(y), y.mean()), 4.0 * cov, 4.0)
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-8)


def test_the_model_language_says_the_same():
    x, codes, y = crossed(40)
    model = BayesianLinearRegressor(1.0, noise_precision=4.0, groups=[2], standardize=False)
    model.fit(np.column_stack([x, codes[:, 1]]), y)
    (effects,) = model.group_effects_.values()
    m = Model()
    m.x = Input()
    m.z = Input()
    m.w = Normal(np.zeros(2), variance=1.0)
    m.b = Normal(y.mean(), variance=0.25)
    m.u = Normal(0.0, scale=effects.spread).iid(9)
    m.y = Normal(m.x @ m.w + m.z @ m.u + m.b, variance=0.25)
    z = (codes[:, [1]] == np.arange(9)).astype(float)
    post = m.infer(x=x - x.mean(axis=0), z=z, y=y)
    np.testing.assert_allclose(effects.mean, np.ravel(post.u.mean), atol=1e-8)
    np.testing.assert_allclose(effects.std, np.ravel(post.u.std), rtol=1e-8)
    assert float(model.log_evidence_) == pytest.approx(float(post.log_evidence), abs=1e-7)


def test_unseen_levels_have_the_width_of_the_spread():
    model, x, codes, y, ratios = fitted()
    mean, cov, noise = (dense := Dense(x, codes, y, ratios)).weights()
    new = np.column_stack([x[:4], [0, 77, 77, 78], [0, 1, 88, 88]])
    rows = dense.rows(x[:4], np.array([[0, 0], [-1, 1], [-1, -1], [-1, -1]]))
    unseen = np.array([[0, 0, 0], [1, 0, 0], [1, 0, 1], [0, 1, 1]])  # levels 77, 78 and 88
    rows = np.column_stack([rows, unseen])
    whole = np.zeros((len(cov) + 3, len(cov) + 3))
    whole[:-3, :-3] = cov
    whole[[-3, -2, -1], [-3, -2, -1]] = ratios[0], ratios[0], ratios[1]
    joint = model.predict_dist(new, joint=True)
    np.testing.assert_allclose(joint.mean, y.mean() + rows[:, :-3] @ mean, rtol=1e-10)
    expected = noise * (np.eye(4) + rows @ whole @ rows.T)
    np.testing.assert_allclose(joint.cov, expected, rtol=1e-9)
    np.testing.assert_allclose(model.predict_dist(new).variance, np.diagonal(expected), rtol=1e-9)
    draws = model.sample_functions(new, 40_000, rng=0)
    scale = 5.0 * np.diagonal(expected).max() / np.sqrt(40_000) * 3.0
    np.testing.assert_allclose(np.cov(draws.T), expected - noise * np.eye(4), atol=scale)
    np.testing.assert_allclose(
        model.function_covariance(new), expected - noise * np.eye(4), rtol=1e-9, atol=1e-12
    )


def test_labels_may_be_texts_categories_or_missing():
    x, codes, y = crossed()
    letters = np.array(list("abcdefghi"), dtype=object)
    frame = pd.DataFrame(x, columns=["p", "q"])
    frame["letter"] = letters[codes[:, 1]]
    frame["kind"] = pd.Categorical(np.array(["u", "v", "w", "x", None], dtype=object)[codes[:, 0]])
    frame.loc[frame["letter"] == "c", "letter"] = None
    named = BayesianLinearRegressor(groups=["kind", "letter"]).fit(frame, y)
    plain, *_ = fitted()
    assert float(named.log_evidence_) == pytest.approx(float(plain.log_evidence_), abs=1e-8)
    np.testing.assert_allclose(
        named.predict(frame), plain.predict(np.column_stack([x, codes])), rtol=1e-6
    )
    assert list(named.feature_names_in_) == ["p", "q", "letter", "kind"]
    levels = named.group_effects_["letter"].levels
    assert {str(level) for level in levels} - {"nan", "None"} == set("abdefghi")
    assert len(levels) == 9


def test_frequencies_equal_repeated_rows():
    x, codes, y = crossed()
    X, times = np.column_stack([x, codes]), np.random.default_rng(1).integers(0, 4, size=80)
    model = BayesianLinearRegressor(groups=[2, 3])
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-8)
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-5)


def test_groups_without_effect_leave_the_model_as_it_is():
    x, _, _ = crossed(400)
    rng = np.random.default_rng(5)
    y = x @ [1.0, -0.4] + rng.normal(size=400)
    X = np.column_stack([x, rng.permutation(np.arange(400) % 7)])
    grouped, plain = (
        BayesianLinearRegressor(groups=[2]).fit(X, y),
        BayesianLinearRegressor().fit(x, y),
    )
    (effects,) = grouped.group_effects_.values()
    low, high = effects.spread_interval
    assert effects.spread < 0.2
    assert low < 0.1 < high < 0.6
    assert float(grouped.log_evidence_) >= float(plain.log_evidence_) - 1e-3
    np.testing.assert_allclose(grouped.predict(X), plain.predict(x), atol=0.2)


def test_one_row_for_each_level():
    x, _, y = crossed(40)
    X = np.column_stack([x, np.arange(40)])
    model = BayesianLinearRegressor(groups=[2]).fit(X, y)
    new = np.column_stack([x, np.arange(40) + 100])
    plain = BayesianLinearRegressor().fit(x, y)
    assert np.all(np.isfinite(model.predict(new)))
    ratio = model.predict_dist(new).variance / plain.predict_dist(x).variance
    assert ratio.min() > 0.5  # what a level adds the noise lacks
    assert ratio.max() < 2.0


@pytest.mark.parametrize("how", ["fixed", "type-II", "ard", "grid", "learned", "sparse"])
def test_levels_that_tell_the_target(how):
    codes = np.repeat(np.arange(20), 6)
    y = np.sin(1.0 + codes)
    x = np.random.default_rng(0).normal(size=(120, 1))
    model = BayesianLinearRegressor(groups=[1], hyperparameters=how)
    model.fit(np.column_stack([x, codes]), y)
    np.testing.assert_allclose(model.predict(np.column_stack([x, codes])), y, atol=0.05)
    (effects,) = model.group_effects_.values()
    assert effects.spread == pytest.approx(y.std(), rel=0.3)


def test_groups_alone_are_enough():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(200), 5)
    y = 7.0 + 2.0 * rng.normal(size=200)[codes] + rng.normal(size=1000)
    model = BayesianLinearRegressor(groups=[0]).fit(codes[:, None], y)
    (effects,) = model.group_effects_.values()
    low, high = effects.spread_interval
    assert low < 2.0 < high < 1.25 * low
    assert model.coef_.shape == (0,)
    assert model.intercept_ == pytest.approx(7.0, abs=0.5)
    assert model.predict_dist([[500]]).std[0] == pytest.approx(np.sqrt(5.0), rel=0.1)


def test_many_countries_like_a_ridge_with_all_levels():
    rng = np.random.default_rng(0)
    country, year = np.repeat(np.arange(142), 12), np.tile(np.arange(12.0), 142)
    y = 59.0 + 0.3 * year + 11.0 * rng.normal(size=142)[country] + 3.0 * rng.normal(size=1704)
    train = rng.random(1704) < 0.8
    X = np.column_stack([year, country])
    model = BayesianLinearRegressor(groups=[1]).fit(X[train], y[train])
    dummies = np.column_stack([year, country[:, None] == np.arange(142)])
    ridge = Ridge(0.1).fit(dummies[train], y[train])
    errors = [
        np.sqrt(np.mean((m.predict(t[~train]) - y[~train]) ** 2))
        for m, t in ((model, X), (ridge, dummies))
    ]
    assert errors[0] < 1.01 * errors[1]
    inside = model.predict_dist(X[~train]).cdf(y[~train])
    assert np.mean((inside > 0.05) & (inside < 0.95)) == pytest.approx(0.9, abs=0.05)
    (effects,) = model.group_effects_.values()
    assert effects.spread_interval[0] < 11.0 < effects.spread_interval[1]


def test_log_linear_models_have_groups():
    x, codes, y = crossed()
    X = np.column_stack([x, codes])
    model = LogLinearRegressor(groups=[2, 3]).fit(X, np.exp(0.1 * y))
    inner = BayesianLinearRegressor(groups=[2, 3]).fit(X, 0.1 * y)
    assert float(model.log_evidence_) == pytest.approx(float(inner.log_evidence_) - 0.1 * y.sum())
    assert model.group_effects_["3"].spread == pytest.approx(inner.group_effects_["3"].spread)
    seen = model.predict(X) <= np.exp(0.1 * y.max())  # beyond, predictions level off
    assert seen.mean() > 0.9
    np.testing.assert_allclose(
        model.predict_dist(X).quantile(0.5)[seen], np.exp(inner.predict(X))[seen], rtol=1e-10
    )


def test_bad_groups_are_refused_in_words():
    x, codes, y = crossed()
    frame = pd.DataFrame(np.column_stack([x, codes]), columns=list("pqrs"))
    for groups, words in (
        (["z"], "no column of X"),
        ([9], "4 columns"),
        (["r", 2], "twice"),
        ("r", r"write groups=\['r'\]"),
    ):
        with pytest.raises(ValueError, match=words):
            BayesianLinearRegressor(groups=groups).fit(frame, y)
    with pytest.raises(ValueError, match="proper priors"):
        BayesianLinearRegressor(0.0, groups=["r"]).fit(frame, y)
    model = BayesianLinearRegressor(groups=["r"])
    for name in ("partial_fit", "merge", "leave_one_out_log_density", "equivalent_kernel"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="needs groups="):
        _ = BayesianLinearRegressor().fit(x, y).group_effects_


def test_too_many_crossed_levels_are_refused():
    codes = np.column_stack([np.arange(6000), np.arange(6000)[::-1]])
    with pytest.raises(ValueError, match="too many levels"):
        BayesianLinearRegressor(groups=[0, 1]).fit(codes, np.arange(6000.0))
