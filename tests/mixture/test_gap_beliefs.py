"""What mixtures believe of gaps: by conditioning component by component, and by enumerating codes."""

from typing import Any

import numpy as np
import pytest

from posteriori.distributions import MvNormal, MvStudentT
from posteriori.inference.gaps.gap_beliefs import CodeGaps, NumberGaps, mix_gaps
from posteriori.mixture import BayesianGaussianMixture, GaussianMixture, LatentClasses

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(60, 3)) + 6.0 * (RNG.random((60, 1)) < 0.4) * [1.0, -1.0, 0.0]


@pytest.mark.parametrize(
    "model", [GaussianMixture(2, random_state=0), BayesianGaussianMixture(2, random_state=0)]
)
@pytest.mark.parametrize("seen", [[0], [0, 2], []])
def test_normals_are_conditioned(model: Any, seen: list[int]) -> None:
    model = model.fit(ROWS)
    row = np.full(3, np.nan)
    row[seen] = ROWS[0, seen]
    gaps = [j for j in range(3) if j not in seen]
    log_weights, means, covs, dof = model._densities
    moments, logs = [], []
    for k in range(2):
        part = (
            MvNormal(means[k], cov=covs[k])
            if dof is None
            else MvStudentT(dof[k], means[k], scale=covs[k])
        )
        rest = part.condition(seen, row[seen]) if seen else part
        logs.append(
            log_weights[k] + (float(part.marginal(seen).log_prob(row[seen])) if seen else 0)
        )
        moments.append((rest.mean, rest.variance))
    p = np.exp(np.array(logs) - np.logaddexp.reduce(logs))
    mean = sum(w * m for w, (m, _) in zip(p, moments, strict=True))
    second = sum(w * (v + m**2) for w, (m, v) in zip(p, moments, strict=True))
    beliefs = model.gap_beliefs(row[None])
    assert [belief.column for belief in beliefs] == gaps
    np.testing.assert_allclose([b.mean[0] for b in beliefs], mean, atol=1e-9)
    np.testing.assert_allclose([b.variance[0] for b in beliefs], second - mean**2, rtol=1e-8)


def latent() -> tuple[LatentClasses, np.ndarray]:
    rng = np.random.default_rng(1)
    group = rng.random(200) < 0.4
    x = np.column_stack(
        [
            rng.normal(5.0 * group, 1.0),
            rng.random(200) < 0.2 + 0.6 * group,
            rng.poisson(2 + 5 * group),
            rng.integers(0, 2 + 2 * group),
        ]
    ).astype(float)
    kinds = ["normal", "bernoulli", "poisson", "categorical"]
    return LatentClasses(2, kinds, random_state=0).fit(x), x


@pytest.mark.parametrize("column", range(4))
def test_codes_and_numbers_of_classes_are_enumerated(column: int) -> None:
    """p(x_j | others) = p(x)/p(others), summed over codes, counts, or a fine grid."""
    model, x = latent()
    gappy = x[:5].copy()
    gappy[:, column] = np.nan
    (belief,) = model.gap_beliefs(gappy)
    assert (belief.column, belief.rows.tolist()) == (column, list(range(5)))
    grid = {
        0: np.linspace(-40, 50, 9001),
        1: np.arange(2.0),
        2: np.arange(200.0),
        3: np.arange(4.0),
    }
    values = grid[column]
    cell = values[1] - values[0]
    for n, row in enumerate(gappy):
        filled = np.repeat(row[None], len(values), axis=0)
        filled[:, column] = values
        p = np.exp(model.score_samples(filled) - model.score_samples(row[None])[0]) * cell
        assert p.sum() == pytest.approx(1.0, abs=1e-6)
        if isinstance(belief, CodeGaps):
            np.testing.assert_allclose(belief.probabilities[n], p, rtol=1e-9)
            continue
        mean = p @ values
        assert belief.mean[n] == pytest.approx(mean, rel=1e-5)
        assert belief.variance[n] == pytest.approx(p @ (values - mean) ** 2, rel=1e-3)


def test_beliefs_of_models_mix() -> None:
    rows = np.array([1, 2])
    one = (NumberGaps(0, rows, np.array([1.0, 2.0]), np.array([0.5, np.inf])),)
    two = (NumberGaps(0, rows, np.array([3.0, 4.0]), np.array([1.5, 1.0])),)
    shares = np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    (mixed,) = mix_gaps([one, two], shares)
    np.testing.assert_allclose(mixed.mean, [2.5, 4.0])
    np.testing.assert_allclose(mixed.variance, [0.25 * 0.5 + 0.75 * 1.5 + 0.25 * 0.75 * 4.0, 1.0])
    codes = [(CodeGaps(3, rows, np.full((2, 2), p)),) for p in (0.2, 0.6)]
    (both,) = mix_gaps(codes, shares)
    np.testing.assert_allclose(both.probabilities, [[0.5, 0.5], [0.6, 0.6]])
