"""Residuals, evidence under other priors, and chains of one form made from a template."""

import numpy as np
import pytest

from posteriori.inference.series.scalar_chain import filter_scalar
from posteriori.inference.series.scalar_draws import filter_draws
from posteriori.sequence import StructuralSeries
from posteriori.sequence.series import series_problem
from posteriori.sequence.series.series_form import SeriesForm, SeriesUnits
from posteriori.sequence.series.series_template import ChainTemplate

RNG = np.random.default_rng(0)
Y = 10.0 + np.cumsum(0.4 * RNG.standard_normal(60)) + RNG.standard_normal(60)
UNITS = SeriesUnits(0.0, 1.0, 3.0, 0.1, 2.0, 100.0, 1.0, np.zeros(1), np.ones(1))
FORMS = [
    SeriesForm("damped", ((12.0, 0),), True, 3, 1.5, 1, True, UNITS),
    SeriesForm("constant", ((7.0, 0), (36.5, 3)), False, 2, None, 1, False, UNITS),
    SeriesForm("level", (), False, 0, 2.5, 1, False, UNITS),
]


def test_an_outlier_and_a_jump_are_told_in_any_units() -> None:
    y = Y.copy()
    y[20] += 15.0
    y[40:] -= 25.0
    found = StructuralSeries("level").fit(y).residuals_
    assert np.nanargmax(np.abs(found["outlier"])) == 20
    assert np.nanargmax(np.abs(found["shift"])) == 40
    other = StructuralSeries("level").fit(3.0 - 2.0 * y).residuals_
    np.testing.assert_allclose(other, -found, atol=1e-6)


def test_wider_priors_are_as_if_fitted_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reweighted draws beside a fit whose log variances have twice the standard deviation."""
    model = StructuralSeries("trend").fit(Y)
    told = model.evidence_by_prior_scale((1.0, 2.0))
    assert told[1.0] == pytest.approx(float(model.log_evidence_), abs=1e-9)
    monkeypatch.setattr(series_problem, "_VAGUE", 2.0 * series_problem._VAGUE)
    wider = StructuralSeries("trend").fit(Y).log_evidence_
    error = 5.0 * np.hypot(wider.error, model.log_evidence_.error)
    assert abs(told[2.0] - float(wider)) < error
    assert StructuralSeries("walk").fit(Y).evidence_by_prior_scale((2.0,)) == {}


@pytest.mark.parametrize("form", FORMS)
def test_templates_make_the_chains_of_their_form(form: SeriesForm) -> None:
    """Entry by entry, and filtered together as one by one."""
    steps = None if form.trend != "level" else RNG.uniform(0.5, 2.0, 20)
    x, y = RNG.normal(size=(20, 1)), RNG.normal(size=20)
    y[7] = np.nan
    template = ChainTemplate(form, steps, x, False)
    shapes = 0.5 * RNG.normal(size=(3, len(form.shapes)))
    chains = [template.at(shape) for shape in shapes]
    variances = RNG.uniform(0.1, 1.0, (3, 1 + len(form.scale_names)))
    covs = np.array([c.start_cov(v) for c, v in zip(chains, variances, strict=True)])
    size = covs.shape[1]
    done = filter_draws(template.at_all(shapes), variances, y, np.zeros((3, size)), covs)
    for k, (chain, shape) in enumerate(zip(chains, shapes, strict=True)):
        whole = form.chain(shape, steps, x, False)
        for t in (0, 5):
            same = whole.transition.dense(size, t), chain.transition.dense(size, t)
            np.testing.assert_allclose(*same)
            parts = variances[k][whole.parts]
            same = whole.noise.dense(size, t, parts), chain.noise.dense(size, t, parts)
            np.testing.assert_allclose(*same)
        np.testing.assert_allclose(whole.start_cov(variances[k]), covs[k])
        alone = filter_scalar(whole, variances[k], y)
        np.testing.assert_allclose(done.innovations[k], alone.innovations, atol=1e-9)
        np.testing.assert_allclose(done.spreads[k], alone.spreads, rtol=1e-9)
        np.testing.assert_allclose(done.means[k], alone.mean, atol=1e-9)
        assert done.quadratics[k] == pytest.approx(alone.quadratic)
