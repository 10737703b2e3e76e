"""Saddles of mixtures against flooded grids, and which components are one group."""

import numpy as np
import pytest
from scipy.ndimage import label
from scipy.stats import false_discovery_control, multivariate_normal

from posteriori.inference.mixtures.summits.density_ridges import (
    MixtureParts,
    Ridges,
    find_ridges,
    join_over_dips,
)
from posteriori.inference.mixtures.summits.row_valleys import seen_ridges

COVS = [
    (np.eye(2), np.eye(2)),
    (np.array([[1.0, 0.7], [0.7, 1.0]]), np.array([[0.3, -0.1], [-0.1, 0.6]])),
    (np.diag([2.0, 0.2]), np.diag([0.2, 2.0])),
]


@pytest.mark.parametrize("covs", COVS, ids=["equal", "turned", "crossed"])
@pytest.mark.parametrize("weight", [0.5, 0.8])
def test_saddles_are_where_water_meets(covs: tuple[np.ndarray, ...], weight: float) -> None:
    """The highest level at which both means stand in one lake of the density that is turned over."""
    means, weights = np.array([[0.0, 0.0], [3.2, 1.5]]), np.array([weight, 1.0 - weight])
    parts = MixtureParts(np.log(weights), means, np.linalg.inv(np.array(covs)))
    side = np.linspace(-3.0, 6.0, 361)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    density = sum(
        w * multivariate_normal(m, c).pdf(grid)
        for w, m, c in zip(weights, means, covs, strict=True)
    )
    places = [tuple(np.abs(side - x).argmin() for x in m) for m in means]
    low, high = 1e-9, min(density[place] for place in places)
    for _ in range(40):
        level = np.sqrt(low * high)
        lakes = label(density >= level)[0]
        low, high = (level, high) if lakes[places[0]] == lakes[places[1]] != 0 else (low, level)
    found = find_ridges(parts)
    unit = np.log(2.0 * np.pi)  # heights leave out (2π)^(−D/2)
    np.testing.assert_allclose(found.saddles - unit, np.log(low), atol=0.03)
    told = [
        np.log(
            sum(
                w * multivariate_normal(m, c).pdf(x)
                for w, m, c in zip(weights, means, covs, strict=True)
            )
        )
        for x in means
    ]
    np.testing.assert_allclose(found.peaks - unit, told)


def test_codes_have_the_heights_of_their_divergence() -> None:
    """Of two classes with a share of 0.9 and 0.1 the middle is ½, and each is exp(−KL(½ ‖ 0.9)) high there."""
    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    parts = MixtureParts(np.log([0.5, 0.5]), np.empty((2, 0)), np.empty((2, 0, 0)), [table] * 3)
    found = find_ridges(parts)
    middle = 0.5 * (np.log(0.5 / 0.9) + np.log(0.5 / 0.1))
    far = 0.9 * np.log(9.0) + 0.1 * np.log(1.0 / 9.0)
    np.testing.assert_allclose(found.saddles, -3.0 * middle)
    np.testing.assert_allclose(found.peaks, np.log(0.5 + 0.5 * np.exp(-3.0 * far)))


def test_a_component_in_a_valley_leaves_it_a_valley() -> None:
    """Each end is joined with the low middle by a slope without a dip, but not with the other end."""
    means = np.array([[0.0], [4.0], [8.0]])
    parts = MixtureParts(
        np.log([0.47, 0.06, 0.47]), means, np.array([1.0, 0.4, 1.0]).reshape(3, 1, 1)
    )
    groups = join_over_dips(
        find_ridges(parts), np.array([47.0, 6.0, 47.0]), dip=0.5, least=1, most=9
    )
    assert groups[0] != groups[2]
    assert groups.max() == 1


def ridges_of(peaks: list[float], saddles: dict[tuple[int, int], float]) -> Ridges:
    pairs, heights = np.array(list(saddles)), np.log(list(saddles.values()))
    top = np.log(peaks)
    return Ridges(top, pairs, heights, top[pairs].max(axis=1), heights)


SADDLES = {(0, 1): 0.8, (1, 2): 0.3, (0, 2): 0.01}


@pytest.mark.parametrize(
    ("dip", "least", "most", "groups"),
    [
        (0.5, 1.0, 9, [0, 0, 0]),  # 0.3 > 0.5 · 1/2
        (0.7, 1.0, 9, [0, 0, 1]),  # 0.3 < 0.7 · 1/2, 0.8 > 0.7 · 2/2
        (0.9, 1.0, 9, [0, 1, 2]),
        (0.9, 6.0, 9, [0, 1, 1]),  # the third has five rows
        (0.9, 1.0, 2, [0, 0, 1]),  # the shallowest dip
        (np.inf, 1.0, 1, [0, 0, 0]),
    ],
)
def test_groups_are_joined_over_shallow_dips(
    dip: float, least: float, most: int, groups: list[int]
) -> None:
    ridges = ridges_of([1.0, 1.0, 1.0], SADDLES)
    found = join_over_dips(ridges, np.array([50.0, 45.0, 5.0]), dip=dip, least=least, most=most)
    assert found.tolist() == groups


@pytest.mark.parametrize("dip", [0.4, 0.7, 0.9])
def test_as_many_dips_are_seen_as_rates_of_false_discoveries_allow(dip: float) -> None:
    """Of each summit but the highest: the highest level at which a path leads to a higher one."""
    rng, told = np.random.default_rng(int(10 * dip)), []
    pairs = np.stack(np.triu_indices(7, 1), axis=1)
    for _ in range(40):
        peaks = rng.uniform(0.2, 1.0, 7)
        heights = peaks[pairs].min(axis=1) * np.where(
            rng.random(21) < 0.1, 1.0, rng.random(21) ** 3
        )
        level = np.zeros((7, 7))
        level[tuple(pairs.T)] = heights
        level += level.T
        for k in range(7):  # widest paths
            level = np.maximum(level, np.minimum(level[:, k, None], level[k]))
        depths = np.where(peaks > peaks[:, None], level, 0.0).max(axis=1) / peaks
        dips = depths[(peaks < peaks.max()) & (depths < 0.95)]
        ridges = ridges_of(peaks.tolist(), dict(zip(map(tuple, pairs), heights, strict=True)))
        found = join_over_dips(ridges, np.full(7, 9.0), dip=dip, least=1.0, most=9)
        told.append((found.max() + 1, 1 + (false_discovery_control(dips) < dip).sum()))
    assert len({expected for _, expected in told}) > 3
    assert all(groups == expected for groups, expected in told)


@pytest.mark.parametrize(("low", "groups"), [(1.0, [0, 0, 1]), (0.9, [0, 0, 0])])
def test_only_dips_of_the_density_are_counted(low: float, groups: list[int]) -> None:
    """Of two meetings one is a slope: 0.5 is a lone dip, or one of two of which rows show no other."""
    ridges = ridges_of([1.0, 1.0, 1.0], {(0, 1): low, (1, 2): 0.5, (0, 2): 0.01})
    ridges = ridges._replace(seen=np.log([1.0, 0.5, 0.01]))
    found = join_over_dips(ridges, np.full(3, 9.0), dip=0.8, least=1.0, most=9)
    assert found.tolist() == groups


@pytest.mark.parametrize(("gap", "low", "high"), [(0.0, 0.8, 1.0), (0.6, 0.0, 0.2)])
def test_an_even_stretch_has_no_dip_and_a_gap_has(gap: float, low: float, high: float) -> None:
    """Two normals that share an even stretch have a dip of 0.45 between them, which its rows do not show."""
    x = np.linspace(-1.0, 1.0, 400)[:, None]
    x[x < 0] -= gap
    labels = (x[:, 0] > 0).astype(np.int64)
    means = np.array([[x[labels == k].mean()] for k in (0, 1)])
    variance = np.array([x[labels == k].var() for k in (0, 1)]).reshape(2, 1, 1)
    parts = MixtureParts(np.log([0.5, 0.5]), means, 1.0 / variance)
    alone = find_ridges(parts)
    found = seen_ridges(parts, x, labels, np.array([200.0, 200.0]))
    assert np.exp(alone.saddles - alone.peaks.min())[0] < 0.46
    assert low <= np.exp(found.seen - found.peaks.min())[0] <= high
