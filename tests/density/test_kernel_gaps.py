"""Kernel densities of rows with gaps: marginals and conditional moments of the mixture of normals."""

import numpy as np
import pytest

from posteriori.density import KernelDensity

ROWS = np.random.default_rng(0).normal(size=(40, 3)) @ np.array(
    [[1.0, 0.5, 0.0], [0.0, 2.0, 0.0], [0.3, 0.0, 9.0]]
) + [1e6, 0.0, 5.0]
MATRIX = np.array([[0.4, 0.2, 0.1], [0.2, 0.9, 0.3], [0.1, 0.3, 5.0]])


@pytest.mark.parametrize("bandwidth", ["scott", [0.5, 0.7, 2.0], MATRIX])
def test_what_is_seen_and_what_is_not(bandwidth: object) -> None:
    """Kernel by kernel, conditioned as normals are."""
    model = KernelDensity(bandwidth).fit(ROWS, sample_weight=1 + np.arange(40) % 3)
    mixture = model.model_
    row = ROWS[3] + [0.2, -0.3, 1.0]
    seen, gap = [0, 2], [1]
    parts = mixture.components.marginal(seen)
    joint = np.log(mixture.probabilities) + parts.log_prob(row[seen])
    total = np.logaddexp.reduce(joint)
    gappy = row.copy()
    gappy[gap] = np.nan
    assert model.score_samples([gappy])[0] == pytest.approx(total, abs=1e-9)
    rest = mixture.components.condition(seen, row[seen])
    p = np.exp(joint - total)
    mean = p @ rest.mean[:, 0]
    variance = p @ (rest.variance[:, 0] + rest.mean[:, 0] ** 2) - mean**2
    (belief,) = model.gap_beliefs([gappy])
    assert belief.mean[0] == pytest.approx(mean, abs=1e-8)
    assert belief.variance[0] == pytest.approx(variance, rel=1e-6)


def test_rows_without_entries_and_without_gaps() -> None:
    model = KernelDensity("scott").fit(ROWS)
    both = np.stack([np.full(3, np.nan), ROWS[0]])
    density = model.score_samples(both)
    assert density[0] == 0.0
    assert density[1] == pytest.approx(model.score_samples(ROWS[:1])[0], abs=1e-6)
    for belief in model.gap_beliefs(both):
        assert belief.rows.tolist() == [0]
        column = ROWS[:, belief.column]
        assert belief.mean[0] == pytest.approx(column.mean(), rel=1e-9)
        width = model.bandwidth_[belief.column] ** 2
        assert belief.variance[0] == pytest.approx(column.var() + width, rel=1e-6)
    assert model.gap_beliefs(ROWS[:2]) == ()


@pytest.mark.parametrize("options", [{"kernel": "cube"}, {"bounds": [(-1e9, 1e9)] * 3}])
def test_other_kernels_refuse_gaps(options: dict[str, object]) -> None:
    model = KernelDensity(1.0, **options).fit(ROWS)
    with pytest.raises(ValueError, match="NaN"):
        model.score_samples([[np.nan, 0.0, 0.0]])


@pytest.mark.parametrize("rule", ["likelihood", "scott"])
def test_no_bandwidth_is_narrower_than_asked(rule: str) -> None:
    free = KernelDensity(rule).fit(ROWS).bandwidth_
    least = free * [0.5, 2.0, 1.0]
    np.testing.assert_allclose(
        KernelDensity(rule, min_bandwidth=least).fit(ROWS).bandwidth_, np.maximum(free, least)
    )
    for bad in (-1.0, [1.0, 2.0], np.nan):
        with pytest.raises(ValueError, match="min_bandwidth must be"):
            KernelDensity(rule, min_bandwidth=bad).fit(ROWS)
