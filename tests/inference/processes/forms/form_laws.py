"""What every form of a process must say: the same as one Cholesky factor."""

import numpy as np
import pytest

from posteriori.inference.processes.forms.process_form import DenseForm


def assert_same_as_dense(form, kernel, new, rel=1e-8, slope=1e-5):
    """Compare evidence, gradient, predictions, effects and left-out targets."""
    dense = DenseForm(form.rows, form.mean, form.absolute)
    value, gradient = form.score(kernel)
    expected, wanted = dense.score(kernel)
    assert value == pytest.approx(expected, rel=rel)
    assert gradient == pytest.approx(wanted, rel=slope, abs=slope)
    one, other = form.solve(kernel), dense.solve(kernel)
    assert one.log_evidence == pytest.approx(expected, rel=rel)
    assert one.predict(new).mean == pytest.approx(other.predict(new).mean, rel=rel, abs=rel)
    variance = other.predict(new).variance
    assert one.predict(new).variance == pytest.approx(variance, rel=1e-6, abs=1e-10)
    assert one.covariance(new) == pytest.approx(other.covariance(new), rel=1e-6, abs=1e-9)
    effects = zip(one.effects(new), other.effects(new), strict=True)
    for found, wanted in effects:
        assert found.mean == pytest.approx(wanted.mean, rel=1e-6, abs=1e-7)
        assert found.variance == pytest.approx(wanted.variance, rel=1e-6, abs=1e-8)
    apart, wanted = one.left_out(), other.left_out()
    assert apart.mean == pytest.approx(wanted.mean, rel=1e-6, abs=1e-7)
    assert apart.variance == pytest.approx(wanted.variance, rel=1e-6)


def wavy_targets(x, rng, outputs=1):
    y = np.sin(2.0 * x)[:, None] * rng.standard_normal(outputs) + 1.0
    return y + 0.2 * rng.standard_normal(y.shape)
