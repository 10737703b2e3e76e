"""Rows as partitions are drawn from them: what a drawn scale means, by models made anew."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import expon

from posteriori.distributions import MvNormal, NormalWishart
from posteriori.inference.mixtures.columns.class_partitions import class_clusters
from posteriori.inference.mixtures.partitions.conjugate_clusters import (
    cluster_parts,
    join_parts,
    log_marginal,
)
from posteriori.inference.mixtures.partitions.scale_draws import scaled_model
from posteriori.mixture.groups.drawn_rows import RowsToDraw, rows_to_draw

KINDS = {
    "normal mixture": ("normal", "normal", "normal"),
    "latent classes": ("normal", "bernoulli", "normal"),
}


def made(kind: str) -> tuple[np.ndarray, RowsToDraw, np.ndarray]:
    rng = np.random.default_rng(0)
    x = rng.normal([3.0, 0.0, -50.0], [1.0, 2.0, 30.0], size=(40, 3))
    scales = np.array([0.5, 0.02, 0.8])
    if kind == "latent classes":
        x[:, 1] = x[:, 1] > 0.0
        scales = scales[:2]
    x[rng.random(x.shape) < 0.1] = np.nan
    return x, rows_to_draw(x, KINDS[kind], kind, 2, rng), scales


@pytest.mark.parametrize("kind", list(KINDS))
def test_the_prior_of_scales_is_the_one_that_rows_were_drawn_with(kind: str) -> None:
    x, rows, scales = made(kind)
    prior = rows.scaled_prior(1, scales)
    if kind == "normal mixture":
        anew = join_parts(cluster_parts(prior, MvNormal, rows.tables[1]))
    else:
        anew = class_clusters(rows.places, x, prior)
    drawn = scaled_model(rows.models[1][1], scales)
    assert drawn.log_carrier == pytest.approx(anew.log_carrier)
    for members in ([0], [1, 5, 7, 9], range(40)):
        assert log_marginal(drawn, members) == pytest.approx(log_marginal(anew, members))


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_scale_of_one_expects_components_as_wide_as_columns(kind: str) -> None:
    x, rows, scales = made(kind)
    prior = rows.scaled_prior(1, np.ones(len(scales)))
    if isinstance(prior, NormalWishart):
        precision, at = np.diagonal(prior.mean.precision), [0, 1, 2]
    else:
        precision, at = prior["normal"].shape / prior["normal"].scale, [0, 2]
    np.testing.assert_allclose(precision, 1.0 / np.nanvar(x[:, at], axis=0))


@pytest.mark.parametrize("kind", list(KINDS))
def test_evidence_of_unknown_scales_is_a_bound(kind: str) -> None:
    """One component has a posterior in closed form, and two columns' scales are integrated on a grid."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(25, 2)) * [1.0, 20.0]
    rows = rows_to_draw(x, ("normal", "normal"), kind, 1, rng)
    grid = np.exp(np.linspace(-3.0, 3.0, 61))
    logs = np.empty((61, 61))
    for at in np.ndindex(logs.shape):
        scales = grid[list(at)]
        model = scaled_model(rows.models[0][1], scales)
        logs[at] = log_marginal(model, range(25)) + model.log_carrier
        logs[at] += expon.logpdf(scales, scale=0.5).sum() + np.log(scales).sum()
    exact = logsumexp(logs) + 2.0 * np.log(np.log(grid[1] / grid[0])) - np.log(2.0)
    scales = np.array([0.9, 1.1])
    mixture = rows.mixture(1, 1, scales, np.ones((25, 1))).fit(x)
    assert exact - 0.5 < rows.log_evidence(mixture, 1, scales) < exact


def test_codes_alone_have_the_evidence_of_their_mixture() -> None:
    x = np.random.default_rng(0).integers(2, size=(20, 3)).astype(float)
    rows = rows_to_draw(x, ("bernoulli",) * 3, "latent classes", 1, np.random.default_rng(0))
    mixture = rows.mixture(1, 0, np.empty(0), np.ones((20, 1))).fit(x)
    assert rows.log_evidence(mixture, 0, np.empty(0)) == float(mixture.log_evidence_)
