"""Structural series against textbook recursions, dense normals, quadrature and splines."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate
from scipy.interpolate import make_smoothing_spline
from scipy.stats import invgamma, multivariate_normal, norm

from posteriori.datasets import load_air_passengers, load_nile
from posteriori.inference.series.scalar_chain import filter_scalar, smooth_scalar
from posteriori.sequence import StructuralSeries
from posteriori.sequence.series.series_form import join_parts
from posteriori.sequence.series.series_parts import matern_part, trend_part
from posteriori.sequence.series.series_problem import make_problem
from tests.sequence.series.textbook_series import TextbookSeries

SCALES = {"noise": 0.7, "level": 0.3, "slope": 0.05, "season": 0.2}


def made_series(steps=30, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(steps)
    y = 0.2 * t + 2.0 * np.sin(np.pi * t / 2.0) + rng.normal(0, 0.8, steps)
    y[[4, 5, 11]] = np.nan
    return y


def textbook(y, steps):
    """The same model, with first states as wide as the docs say: by the spread of the series."""
    seen = ~np.isnan(y)
    t = np.arange(len(y))[seen]
    line = np.polyval(np.polyfit(t, y[seen], 1), t)
    start = {
        "level": 3.0 * y[seen].std(),
        "slope": 4.0 * y[seen].std() / (len(y) - 1),
        "swing": np.std(y[seen] - line),
    }
    return TextbookSeries(steps, 4, SCALES, start), y[seen].mean()


@pytest.fixture(scope="module")
def fitted():
    y = made_series()
    return y, StructuralSeries("trend", (4,), scales=SCALES).fit(y)


def test_evidence_at_given_scales_is_that_of_the_joint_distribution(fitted):
    y, model = fitted
    joint, center = textbook(y, len(y))
    assert float(model.log_evidence_) == pytest.approx(joint.log_prob(y - center), abs=1e-8)
    assert model.log_evidence_.kind == "exact"
    assert model.log_predictive_[[4, 5, 11]] == pytest.approx(0.0, abs=1e-12)
    assert model.log_predictive_.sum() == pytest.approx(float(model.log_evidence_), abs=1e-10)


def test_components_are_those_of_the_joint_distribution_and_add_up(fitted):
    y, model = fitted
    joint, center = textbook(y, len(y))
    parts = model.components_
    for name, rows, offset in (("level", joint.maps[0], center), ("season", joint.maps[1], 0.0)):
        mean, cov = joint.given(y - center, rows)
        np.testing.assert_allclose(parts[name], offset + mean, atol=1e-8)
        width = norm.ppf(0.975) * np.sqrt(np.diag(cov))
        np.testing.assert_allclose(parts[f"{name}_upper"] - parts[name], width, atol=1e-7)
    np.testing.assert_allclose(parts["fit"], parts["level"] + parts["season"], atol=1e-10)


def test_forecasts_and_paths_are_those_of_the_joint_distribution(fitted):
    y, model = fitted
    joint, center = textbook(y, len(y) + 6)
    mean, cov = joint.given(y - center, joint.maps[2][len(y) :])
    ahead = model.forecast(6)
    np.testing.assert_allclose(ahead.mean, center + mean, atol=1e-8)
    np.testing.assert_allclose(ahead.variance, np.diag(cov), atol=1e-8)
    paths = model.sample_paths(6, 4000, rng=0)
    error = np.sqrt(np.diag(cov) / 4000)
    assert (np.abs(paths.mean(axis=0) - center - mean) < 5 * error).all()
    # the standard error of a covariance entry is below √2 times the product of deviations over √N
    bound = 5 * np.sqrt(2.0 * np.outer(np.diag(cov), np.diag(cov)) / 4000)
    assert (np.abs(np.cov(paths.T) - cov) < bound).all()


@pytest.mark.parametrize(
    "trend", ["constant", "walk", "seasonal walk", "level", "line", "drift", "trend", "smooth"]
)
def test_updated_is_refitted_at_fixed_scales(trend):
    """In the units of the first values the state after all values is the same either way."""
    y = made_series(40, 1)
    names = {
        "constant": ["noise"],
        "walk": ["level"],
        "seasonal walk": ["level"],
        "level": ["noise", "level"],
        "line": ["noise"],
        "drift": ["noise", "level"],
        "trend": ["noise", "level", "slope"],
        "smooth": ["noise", "slope"],
    }[trend]
    model = StructuralSeries(trend, scales={name: SCALES[name] for name in names})
    updated = model.fit(y[:25]).update(y[25:33]).update(y[33:])
    seen = updated.forecast(3)
    whole = StructuralSeries(trend, scales=model.scales).fit(y)
    # first states are as wide as the series, and the first 25 values are narrower: that is felt little
    np.testing.assert_allclose(seen.mean, whole.forecast(3).mean, rtol=0.02, atol=0.02)
    assert updated.log_predictive_.shape == y.shape
    assert updated.log_predictive_.sum() == pytest.approx(float(updated.log_evidence_))
    in_one = StructuralSeries(trend, scales=model.scales).fit(y[:25]).update(y[25:])
    np.testing.assert_allclose(in_one.forecast(3).mean, seen.mean, atol=1e-9)
    np.testing.assert_allclose(in_one.log_predictive_, updated.log_predictive_, atol=1e-9)
    np.testing.assert_allclose(in_one.components_["fit"], updated.components_["fit"], atol=1e-9)


def test_a_drift_is_a_line_beside_a_walk_and_noise():
    """Cov = (3 sd)² + (4 sd/T)² tt' + q min(t, t') + r, where first level and slope are as wide as the series."""
    y = np.cumsum(np.random.default_rng(5).normal(0.4, 1.0, 25))
    t = np.arange(25.0)
    model = StructuralSeries("drift", scales={"noise": 0.9, "level": 0.6}).fit(y)
    cov = (3.0 * y.std()) ** 2 + (4.0 * y.std() / 24.0) ** 2 * np.outer(t, t)
    cov += 0.6**2 * np.minimum.outer(t, t) + 0.9**2 * np.eye(25)
    joint = multivariate_normal(np.full(25, y.mean()), cov)
    assert float(model.log_evidence_) == pytest.approx(joint.logpdf(y), abs=1e-8)
    assert model.forecast(3).mean[2] > y[-1]


def test_integrated_evidence_is_the_integral_over_two_scales():
    """Over ln(level²/noise²) ~ N(−1, 2·2.5²) and σ² = noise² + level² ~ IG(½, 0.1), in units."""
    rng = np.random.default_rng(3)
    y = np.cumsum(rng.normal(0, 0.5, 15)) + rng.normal(0, 1.0, 15)
    unit = np.sqrt((np.diff(y) ** 2).mean() / 2)
    z, start = (y - y.mean()) / unit, 3 * y.std() / unit
    t = np.arange(15)

    def log_densities(ratio, log_scales):
        share, scales = 1 / (1 + np.exp(-ratio)), np.exp(log_scales)
        cov = start**2 + share * np.minimum.outer(t, t) + (1 - share) * np.eye(15)
        square, volume = z @ np.linalg.solve(cov, z), np.linalg.slogdet(cov)[1]
        prior = invgamma(0.5, scale=0.1).logpdf(scales) + log_scales
        prior += norm(-1, 2.5 * np.sqrt(2)).logpdf(ratio)
        return prior - 0.5 * (15 * np.log(2 * np.pi * scales) + volume + square / scales)

    ratios, scales = np.linspace(-25, 25, 201), np.linspace(-6, 6, 201)
    grid = np.exp([log_densities(r, scales) + 30.0 for r in ratios])
    total = integrate.simpson(integrate.simpson(grid, x=scales), x=ratios)
    expected = np.log(total) - 30.0 - 15 * np.log(unit)
    found = StructuralSeries("level").fit(y).log_evidence_
    assert found.kind == "estimate"
    assert abs(float(found) - expected) < 5 * found.error
    assert found.error < 0.1


@pytest.mark.parametrize("trend", ["walk", "level", "damped"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_units_change_nothing(trend, offset):
    y = made_series(30, 2)
    one = StructuralSeries(trend, (4,)).fit(y)
    other = StructuralSeries(trend, (4,)).fit(offset + 7.0 * y)
    n = (~np.isnan(y)).sum()
    assert float(other.log_evidence_) == pytest.approx(
        float(one.log_evidence_) - n * np.log(7.0), abs=1e-3
    )
    ahead, moved = one.forecast(5).quantile(0.1), other.forecast(5).quantile(0.1)
    np.testing.assert_allclose(moved - offset, 7.0 * ahead, rtol=1e-4)


def test_densities_are_those_of_y_under_logarithms():
    y = np.exp(0.1 * made_series(30, 4))
    plain, logs = (
        StructuralSeries("level").fit(np.log(y)),
        StructuralSeries("level", transform="log"),
    )
    logs.fit(y)
    expected = float(plain.log_evidence_) - np.nansum(np.log(y))
    assert float(logs.log_evidence_) == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(logs.forecast(3).median, np.exp(plain.forecast(3).median), rtol=1e-6)
    value = np.array([1.2, 1.3, 1.4])
    np.testing.assert_allclose(
        logs.forecast(3).log_prob(value), plain.forecast(3).log_prob(np.log(value)) - np.log(value)
    )


def test_most_likely_scales_of_nile_are_the_published_ones():
    """Durbin & Koopman, 2012, section 2.10: 15 099 and 1 469.1."""
    model = StructuralSeries(scales="maximum-likelihood", initial="diffuse").fit(
        load_nile()["flow"]
    )
    assert model.log_likelihood_ == pytest.approx(-633.46456, abs=1e-5)
    assert model.scales_["noise"] ** 2 == pytest.approx(15098.5, rel=1e-4)
    assert model.scales_["level"] ** 2 == pytest.approx(1469.2, rel=1e-3)
    with pytest.raises(AttributeError, match="not evidence"):
        _ = model.log_evidence_


def test_most_likely_scales_are_a_maximum():
    y = np.log(load_air_passengers()["passengers"])
    asked = {"scales": "maximum-likelihood", "initial": "diffuse"}
    model = StructuralSeries("trend", (12,), **asked).fit(y)
    rows, unit = model._rows, model._form.units.unit

    def log_likelihood(scales):
        done = make_problem(model._form, rows, scales, diffuse=True).filter(np.zeros(0))
        return done.log_likelihood - (len(y) - 13) * np.log(unit)  # 13 start values

    best = log_likelihood(model.scales_)
    assert best == pytest.approx(model.log_likelihood_, abs=1e-8)
    for name in model.scales_:
        for factor in (0.95, 1.05):
            near = {**model.scales_, name: factor * model.scales_[name]}
            assert log_likelihood(near) < best + 1e-6


def test_a_smooth_trend_is_the_natural_cubic_spline():
    rng = np.random.default_rng(5)
    times = np.sort(rng.uniform(0, 10, 25))
    y = np.sin(times) + rng.normal(0, 0.3, 25)
    steps = np.append(np.diff(times), 1.0)
    chain = join_parts([trend_part("smooth", steps, 1.0, 1.0, 1.0)], ["slope"], diffuse=True)
    noise, slope = 0.09, 0.5
    done = smooth_scalar(chain, np.array([noise, slope]), y, np.array([[[1.0, 0.0]]]))
    spline = make_smoothing_spline(times, y, lam=noise / slope)
    np.testing.assert_allclose(done.means[:, 0], spline(times), atol=1e-7)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_a_matern_part_is_the_dense_process(nu):
    rng = np.random.default_rng(6)
    times, y = np.sort(rng.uniform(0, 10, 30)), rng.normal(size=30)
    part = matern_part(nu, 1.7, np.append(np.diff(times), 1.0))
    chain, variances = join_parts([part], ["matern"], diffuse=False), np.array([0.4, 2.0])
    r = np.sqrt(2 * nu) / 1.7 * np.abs(times[:, None] - times)
    shape = {0.5: 1.0, 1.5: 1 + r, 2.5: 1 + r + r**2 / 3}[nu]
    kernel = 2.0 * shape * np.exp(-r)
    expected = multivariate_normal(np.zeros(30), kernel + 0.4 * np.eye(30)).logpdf(y)
    assert filter_scalar(chain, variances, y).log_likelihood == pytest.approx(expected, abs=1e-9)
    view = np.eye(len(part.initial_cov))[:1][None]
    means = smooth_scalar(chain, variances, y, view).means[:, 0]
    np.testing.assert_allclose(means, kernel @ np.linalg.solve(kernel + 0.4 * np.eye(30), y))


def test_irregular_levels_are_brownian():
    times = np.array([0.0, 0.513, 0.8, 2.917, 3.0, 5.7, 9.101])
    y = np.array([1.0, 1.5, 0.7, np.nan, 2.0, 2.4, 1.9])
    model = StructuralSeries("level", scales={"noise": 0.5, "level": 0.4}).fit(y, time=times)
    seen = ~np.isnan(y)
    start = 9 * y[seen].var()
    cov = start + 0.16 * np.minimum.outer(times, times) + 0.25 * np.eye(7)
    expected = multivariate_normal(np.full(6, y[seen].mean()), cov[np.ix_(seen, seen)]).logpdf(
        y[seen]
    )
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-9)
    ahead = model.forecast(time=[9.6, 12.1])
    assert ahead.variance[1] - ahead.variance[0] == pytest.approx(0.16 * 2.5, abs=1e-9)


def test_irregular_walks_are_brownian_without_noise():
    times = np.array([0.0, 0.513, 0.8, 2.917, 3.0, 5.7, 9.101])
    y = np.array([1.0, 1.5, 0.7, np.nan, 2.0, 2.4, 1.9])
    model = StructuralSeries("walk", scales={"level": 0.4}).fit(y, time=times)
    seen = ~np.isnan(y)
    cov = 9 * y[seen].var() + 0.16 * np.minimum.outer(times, times)
    expected = multivariate_normal(np.full(6, y[seen].mean()), cov[np.ix_(seen, seen)]).logpdf(
        y[seen]
    )
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-9)
    ahead = model.forecast(time=[9.6, 12.1])
    np.testing.assert_allclose(ahead.mean, 1.9, atol=1e-9)
    np.testing.assert_allclose(ahead.variance, 0.16 * np.array([9.6 - 9.101, 12.1 - 9.101]))


def test_left_out_steps_are_gaps():
    dates = pd.date_range("2020-01-31", periods=24, freq="ME")
    y = made_series(24, 7)
    keep = ~np.isnan(y)
    keep[17] = False
    full = np.where(keep, y, np.nan)
    one = StructuralSeries("level", (4,), scales={"noise": 1, "level": 0.2, "season": 0.1})
    gaps = one.fit(full).forecast(3).mean
    order = np.random.default_rng(0).permutation(keep.sum())
    left_out = one.fit(full[keep][order], time=dates[keep][order])
    np.testing.assert_allclose(left_out.forecast(3).mean, gaps, atol=1e-9)
    assert list(left_out.times_) == list(dates)
    assert left_out.forecast_times(2)[0] == pd.Timestamp("2022-01-31")
    np.testing.assert_allclose(left_out.forecast(time=["2022-03-31"]).mean, gaps[2:], atol=1e-9)


def test_inputs_are_weighed():
    """With a level that stays this is Bayesian linear regression on standardised inputs."""
    rng = np.random.default_rng(8)
    x = rng.normal(3.0, 2.0, (40, 2))
    y = 1.0 + x @ [0.5, -0.3] + rng.normal(0, 0.2, 40)
    model = StructuralSeries("constant", scales={"noise": 0.2}).fit(y, inputs=x)
    line = np.polyval(np.polyfit(np.arange(40), y, 1), np.arange(40))
    swing = max(np.std(y - line), np.sqrt((np.diff(y) ** 2).mean() / 2))
    spreads = np.array([3 * y.std(), swing, swing])
    design = np.column_stack([np.ones(40), (x - x.mean(0)) / x.std(0)])
    precision = design.T @ design / 0.04 + np.diag(1 / spreads**2)
    weights = np.linalg.solve(precision, design.T @ (y - y.mean()) / 0.04)
    ahead = rng.normal(3.0, 2.0, (5, 2))
    rows = np.column_stack([np.ones(5), (ahead - x.mean(0)) / x.std(0)])
    made = model.forecast(5, inputs=ahead)
    np.testing.assert_allclose(made.mean, y.mean() + rows @ weights, atol=1e-8)
    np.testing.assert_allclose(
        made.variance, 0.04 + np.diag(rows @ np.linalg.solve(precision, rows.T)), atol=1e-8
    )
    assert {"level", "inputs", "fit"} <= set(model.components_.columns)
    drifting = StructuralSeries("level", drifting=True).fit(y, inputs=x)
    assert "inputs" in drifting.scales_


def test_waves_of_long_seasons_are_chosen_by_evidence():
    t = np.arange(150)
    rng = np.random.default_rng(9)
    wave = 3 * np.cos(2 * np.pi * t / 30.5) + 2 * np.sin(4 * np.pi * t / 30.5)
    model = StructuralSeries("level", (30.5,)).fit(wave + rng.normal(0, 0.5, 150))
    assert model.harmonics_ == {30.5: 2}
    ahead = np.arange(150, 165)
    truth = 3 * np.cos(2 * np.pi * ahead / 30.5) + 2 * np.sin(4 * np.pi * ahead / 30.5)
    assert np.abs(model.forecast(15).median - truth).max() < 1.0


@pytest.mark.parametrize(
    "parts", [{"cycle": True}, {"autoregression": 2}, {"matern": 1.5}, {"trend": "damped"}]
)
def test_other_parts_take_part_in_sum_and_evidence(parts):
    y = made_series(40, 10)
    model = StructuralSeries(**{"trend": "constant", **parts}).fit(y)
    columns = [c for c in model.components_ if not c.endswith(("lower", "upper", "fit"))]
    total = model.components_[columns].sum(axis=1)
    np.testing.assert_allclose(total, model.components_["fit"], atol=1e-8)
    assert model.log_predictive_.sum() == pytest.approx(float(model.log_evidence_))
    assert np.isfinite(model.forecast(3).log_prob([1.0, 2.0, 3.0])).all()
    assert model.shapes_


def test_a_seasonal_walk_repeats_each_season_with_steps_that_add_up():
    """Its evidence is that of differences over a season, its forecasts are the values of a season before."""
    rng = np.random.default_rng(2)
    y = np.tile([1.0, 5.0, 3.0, 8.0], 7) + rng.normal(0, 0.5, 28)
    y[18] = np.nan
    model = StructuralSeries("seasonal walk", (4, 9.3), scales={"level": 0.5}).fit(y)
    seen = y[~np.isnan(y)]
    begun = np.sqrt(9.0 * seen.var() + 0.25 * np.array([0.0, 1.0, 1.0, 1.0]))
    first = norm.logpdf(y[:4], seen.mean(), begun).sum()
    steps = [(y[t] - y[t - 4], 1) for t in range(4, 28) if t not in (18, 22)] + [(y[22] - y[14], 2)]
    expected = first + sum(norm.logpdf(gap, 0.0, 0.5 * np.sqrt(times)) for gap, times in steps)
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-6)
    ahead = model.forecast(6)
    np.testing.assert_allclose(ahead.mean, [*y[24:], *y[24:26]], atol=1e-8)
    np.testing.assert_allclose(ahead.variance, [0.25] * 4 + [0.5] * 2, atol=1e-8)
