"""Hierarchies of posteriordb that have no reference draws: dense normal equations on a grid."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import linalg, stats
from scipy.special import logsumexp

from posteriori import Input, Model, Normal
from posteriori.datasets import load_radon
from posteriori.distributions import HalfNormal

RADON = load_radon()
COUNTY = RADON["county"].astype(int)
FLOOR = RADON["floor"]
Y = np.log(RADON["radon"] + 0.1)
ONES = np.ones(len(Y))
OF_COUNTY = np.eye(85)[COUNTY]


def middles(high: float, count: int) -> np.ndarray:
    """Middles of equal cells from 0: a spread may vanish."""
    return (np.arange(count) + 0.5) * high / count


class Grid:
    """Columns whose coefficients have a spread, known or on a grid; all spreads half-normal(1)."""

    def __init__(self, y, within, fixed, effects):
        self.spreads = {"within": within, **{name: points for name, (_, points) in effects.items()}}
        design = np.column_stack([*fixed.values(), *(columns for columns, _ in effects.values())])
        sizes = {name: columns.shape[1] for name, (columns, _) in effects.items()}
        gram, moment, square = design.T @ design, design.T @ y, y @ y
        logs, means, variances = [], [], []
        for sigma, *scales in product(*self.spreads.values()):
            prior = np.concatenate(
                [
                    np.full(len(fixed), 0.01),
                    *(np.full(n, s**-2.0) for n, s in zip(sizes.values(), scales, strict=True)),
                ]
            )
            factor = linalg.cho_factor(gram / sigma**2 + np.diag(prior), lower=True)
            mean = linalg.cho_solve(factor, moment / sigma**2)
            rows = linalg.solve_triangular(
                factor[0], np.eye(len(prior))[:, : len(fixed)], lower=True
            )
            means.append(mean[: len(fixed)])
            variances.append(np.sum(rows**2, axis=0))
            logs.append(
                -0.5 * (square - moment @ mean) / sigma**2
                - 0.5 * len(y) * np.log(2 * np.pi * sigma**2)
                + 0.5 * np.log(prior).sum()
                - np.log(np.diagonal(factor[0])).sum()
                + stats.halfnorm.logpdf([sigma, *scales]).sum()
            )
        cells = [points[1] - points[0] for points in self.spreads.values()]
        self.log_evidence = logsumexp(logs) + np.log(cells).sum()
        shape = [len(points) for points in self.spreads.values()]
        self.weights = np.exp(logs - logsumexp(logs)).reshape(shape)
        weights, means = self.weights.ravel(), np.array(means)
        mean = weights @ means
        std = np.sqrt(weights @ (np.array(variances) + (means - mean) ** 2))
        self.fixed = dict(zip(fixed, zip(mean, std, strict=True), strict=True))

    def spread(self, name):
        axis = list(self.spreads).index(name)
        points = self.spreads[name]
        share = self.weights.sum(axis=tuple(i for i in range(self.weights.ndim) if i != axis))
        return share @ points, np.sqrt(share @ points**2 - (share @ points) ** 2)


def radon(varying: str, is_centered: bool) -> Model:
    m = Model()
    m.county = Input("house")
    m.floor = Input("house")
    m.mean = Normal(0, scale=10)
    m.of_floor = Normal(0, scale=10)
    m.within = HalfNormal(scale=1)
    m.between = HalfNormal(scale=1)
    centre = m.mean if varying == "level" else m.of_floor
    if is_centered:
        m.effect = Normal(centre, scale=m.between).iid(85)
        varied = m.effect[m.county]
    else:
        m.effect = Normal(0, scale=1).iid(85)
        varied = centre + m.between * m.effect[m.county]
    level = varied if varying == "level" else m.mean
    slope = varied if varying == "slope" else m.of_floor
    m.y = Normal(level + slope * m.floor, scale=m.within)
    return m


@pytest.fixture(scope="module", params=["level", "slope"])
def by_grid(request):
    columns = OF_COUNTY if request.param == "level" else OF_COUNTY * FLOOR[:, None]
    high = 0.6 if request.param == "level" else 0.9
    within = np.linspace(0.65, 0.87, 34)
    effects = {"between": (columns, middles(high, 60))}
    return request.param, Grid(Y, within, {"mean": ONES, "of_floor": FLOOR}, effects)


@pytest.mark.slow
@pytest.mark.parametrize("is_centered", [True, False])
def test_levels_and_slopes_that_vary_by_county(by_grid, is_centered):
    varying, grid = by_grid
    post = radon(varying, is_centered).infer(county=COUNTY, floor=FLOOR, y=Y)
    assert float(post.log_evidence) == pytest.approx(grid.log_evidence, abs=5e-3)
    for name, exact in {**grid.fixed, **{n: grid.spread(n) for n in grid.spreads}}.items():
        assert float(post[name].mean) == pytest.approx(exact[0], abs=0.02 * exact[1]), name
        assert float(post[name].std) == pytest.approx(exact[1], rel=0.02), name


@pytest.mark.slow
def test_crossed_effects_of_groups_that_do_not_differ():
    """Three spreads, one of which may vanish, and two means of which only the sum is known."""
    rng = np.random.default_rng(1)
    group, scenario = np.tile(np.arange(5), 8), np.repeat(np.arange(8), 5)
    y = 0.4 + 0.5 * rng.normal(size=8)[scenario] + 0.3 * rng.normal(size=40)
    m = Model()
    m.group = Input("n")
    m.scenario = Input("n")
    m.mean_a = Normal(0, scale=10)
    m.mean_b = Normal(0, scale=10)
    m.spread_a = HalfNormal(scale=1)
    m.spread_b = HalfNormal(scale=1)
    m.within = HalfNormal(scale=1)
    m.a = Normal(m.mean_a, scale=m.spread_a).iid(5)
    m.b = Normal(m.mean_b, scale=m.spread_b).iid(8)
    m.y = Normal(m.a[m.group] + m.b[m.scenario], scale=m.within)
    post = m.infer(group=group, scenario=scenario, y=y)
    effects = {
        "spread_a": (np.eye(5)[group], middles(1.4, 50)),
        "spread_b": (np.eye(8)[scenario], middles(2.2, 26)),
    }
    one = np.ones(40)
    grid = Grid(y, np.linspace(0.19, 0.55, 16), {"mean_a": one, "mean_b": one}, effects)
    assert float(post.log_evidence) == pytest.approx(grid.log_evidence, abs=0.01)
    for name, exact in {**grid.fixed, **{n: grid.spread(n) for n in grid.spreads}}.items():
        assert float(post[name].mean) == pytest.approx(exact[0], abs=0.03 * exact[1]), name
        assert float(post[name].std) == pytest.approx(exact[1], rel=0.03), name
