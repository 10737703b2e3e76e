"""Histograms against their definition: every segmentation written out, every density integrated."""

import itertools
import re

import numpy as np
import pytest
from scipy.special import gammaln

from posteriori.density import AdaptiveHistogram, Histogram

EIGHT = np.array([0.05, 0.11, 0.42, 0.47, 0.5, 0.53, 0.58, 0.91])


def log_dirichlet(counts, lengths):
    """ln p(X | bins): masses Dirichlet(½, …), rows uniform in their bins."""
    counts, half = np.asarray(counts, float), 0.5 * len(counts)
    return (
        gammaln(half)
        - gammaln(counts.sum() + half)
        + (gammaln(counts + 0.5) - gammaln(0.5)).sum()
        - (counts * np.log(lengths)).sum()
    )


def enumerate_segmentations(x, weights, cells, low, high, most):
    """Return evidence, p(S | X), edge probabilities and masses by listing all segmentations."""
    grid = np.linspace(low, high, cells + 1)
    cell = np.clip(np.searchsorted(grid, x, side="right") - 1, 0, cells - 1)
    n = np.bincount(cell, weights, cells)
    found = []
    for cut in itertools.product([False, True], repeat=cells - 1):
        ends = np.concatenate(([0], 1 + np.flatnonzero(cut), [cells]))
        s = len(ends) - 1
        if s > most:
            continue
        counts, sizes = np.add.reduceat(n, ends[:-1]), np.diff(ends)
        ways = gammaln(cells) - gammaln(s) - gammaln(cells - s + 1)
        value = log_dirichlet(counts, sizes * (high - low) / cells) - ways - np.log(most)
        mean = np.repeat((counts + 0.5) / (n.sum() + 0.5 * s) / sizes, sizes)
        found.append((value, s, np.array(cut), mean))
    values = np.array([one[0] for one in found])
    p = np.exp(values - values.max())
    evidence = values.max() + np.log(p.sum())
    p /= p.sum()
    segments = np.bincount([one[1] for one in found], p, most + 1)[1:]
    return (
        evidence,
        segments,
        p @ np.array([one[2] for one in found]),
        p @ np.array([one[3] for one in found]),
    )


def test_the_evidence_of_eight_numbers_is_the_known_one():
    model = AdaptiveHistogram(cells=10, range=(0, 1)).fit(EIGHT)
    assert float(model.log_evidence_) == pytest.approx(-0.2117311531, abs=5e-11)
    assert (model.log_evidence_.kind, model.log_evidence_.of) == ("exact", "X")


@pytest.mark.parametrize(
    ("cells", "most", "seed"), [(1, None, 0), (2, None, 1), (7, 3, 2), (9, None, 3), (10, 5, 4)]
)
def test_sums_over_segmentations_are_those_of_all_of_them(cells, most, seed):
    rng = np.random.default_rng(seed)
    x, w = rng.beta(0.6, 2.0, 30) * 5.0 - 1.0, rng.integers(0, 4, 30).astype(float)
    model = AdaptiveHistogram(cells, (-1.5, 4.5), most).fit(x, sample_weight=w)
    expected = enumerate_segmentations(x, w, cells, -1.5, 4.5, most or cells)
    assert float(model.log_evidence_) == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(model.n_segments_.probabilities, expected[1], rtol=1e-10)
    np.testing.assert_allclose(model.edge_probabilities_, expected[2], rtol=1e-10)
    np.testing.assert_allclose(model.masses_, expected[3], rtol=1e-10)


def test_sums_keep_their_digits_where_terms_are_far_apart():
    """10⁵ rows: two cells of very different masses, so that one segment is e^−30000 as probable."""
    x = np.concatenate([np.full(99_000, 0.1), np.full(1000, 0.9)])
    model = AdaptiveHistogram(6, (0.0, 1.0)).fit(x)
    expected = enumerate_segmentations(x, np.ones(len(x)), 6, 0.0, 1.0, 6)
    assert float(model.log_evidence_) == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(model.masses_, expected[3], rtol=1e-9)


def test_the_number_of_equal_bins_has_the_probability_of_the_formula():
    x, low, high = np.random.default_rng(0).gamma(2.0, 1.0, 60), 0.0, 12.0
    model = Histogram(15, (low, high)).fit(x)
    values, density, at = [], [], np.linspace(0.01, 11.99, 57)
    for m in range(1, 16):
        counts, edges = np.histogram(x, m, (low, high))
        values.append(log_dirichlet(counts, np.full(m, (high - low) / m)))
        heights = (counts + 0.5) / (len(x) + 0.5 * m) * m / (high - low)
        density.append(heights[np.searchsorted(edges, at, side="right") - 1])
    p = np.exp(values - np.max(values))
    assert float(model.log_evidence_) == pytest.approx(np.max(values) + np.log(p.mean()), rel=1e-12)
    p /= p.sum()
    np.testing.assert_allclose(model.n_bins_.probabilities, p, rtol=1e-10)
    assert model.n_bins_.labels == tuple(range(1, 16))
    np.testing.assert_allclose(np.exp(model.score_samples(at)), p @ np.array(density), rtol=1e-12)


@pytest.mark.parametrize("model", [Histogram(12), AdaptiveHistogram(25)], ids=["equal", "adaptive"])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_averaged_densities_integrate_to_one(model, offset):
    x = np.random.default_rng(1).normal(size=80) + offset
    model.fit(x)
    edges = model.edges_
    middles = 0.5 * (edges[1:] + edges[:-1])
    assert np.exp(model.score_samples(middles)) @ np.diff(edges) == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(model.score_samples(middles), model.model_.log_prob(middles))
    assert (edges[0], edges[-1]) == (x.min(), x.max())
    assert np.isfinite(model.score_samples(x)).all()
    outside = [np.nextafter(x.min(), -np.inf), np.nextafter(x.max(), np.inf)]
    assert (model.score_samples(outside) == -np.inf).all()
    assert model.log_evidence_.kind == "type-II"


@pytest.mark.parametrize("model", [Histogram(12), AdaptiveHistogram(25)], ids=["equal", "adaptive"])
def test_weights_are_repeated_rows(model):
    rng = np.random.default_rng(2)
    x, w = rng.normal(size=30), rng.integers(0, 4, 30)
    weighted = model.fit(x, sample_weight=w)
    evidence, masses = weighted.log_evidence_, weighted.masses_
    repeated = model.fit(np.repeat(x, w)[:, None])
    assert evidence.comparable(repeated.log_evidence_)
    assert float(evidence) == pytest.approx(float(repeated.log_evidence_), rel=1e-12)
    np.testing.assert_allclose(masses, repeated.masses_, rtol=1e-12)


@pytest.mark.parametrize("model", [Histogram(6), AdaptiveHistogram(6)], ids=["equal", "adaptive"])
def test_draws_follow_the_density(model):
    model.set_params(range=(0, 1)).fit(EIGHT)
    drawn = model.sample(20_000, rng=3)
    assert drawn.shape == (20_000, 1)
    share = np.histogram(drawn, model.edges_)[0] / len(drawn)
    error = np.sqrt(model.masses_ * (1 - model.masses_) / len(drawn))
    assert (np.abs(share - model.masses_) < 5 * error).all()
    inside = (drawn[:, 0] % (1 / 60)) * 60  # uniform within bins: all edges are multiples of 1/60
    assert inside.mean() == pytest.approx(0.5, abs=5 * np.sqrt(1 / 12 / len(drawn)))


def test_narrow_bins_where_rows_are_many():
    """A spike on a wide floor: edges are found beside it, and almost nowhere else."""
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform(0, 10, 300), rng.uniform(4.0, 4.2, 300)])
    model = AdaptiveHistogram(100, (0, 10)).fit(x)
    likely = np.flatnonzero(model.edge_probabilities_ > 0.5) + 1
    np.testing.assert_array_equal(likely, [40, 42])
    assert model.n_segments_.probabilities[:2].sum() < 1e-6


@pytest.mark.parametrize("kind", [Histogram, AdaptiveHistogram])
@pytest.mark.parametrize(
    ("x", "options", "words"),
    [
        ([1.0, 25.3, 30.0], {"range": (0, 24)}, "X holds 25.3 in row 1, outside range=(0, 24)"),
        ([2.0, 2.0], {}, "column 0 of X is constant"),
        ([2.0], {}, "n_samples=1"),
        ([1.0, np.nan], {}, "NaN in column 0, row 1"),
        ([1.0, np.inf], {}, "infinity"),
        ([[1.0, 2.0], [2.0, 3.0]], {}, "one column, got 2"),
        ([1.0, 2.0], {"range": (3, 1)}, "range must be two finite numbers in order"),
        ([1.0, 2.0], {"range": (0, np.inf)}, "range must be two finite numbers in order"),
        ([1e16, 1e16 + 4], {}, "too narrow for so many bins"),
        ([1.0, 1e200], {}, "X"),
    ],
)
def test_what_cannot_be_counted_is_named(kind, x, options, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        kind(**options).fit(x)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Histogram(0), "max_bins must be a whole number >= 1, got 0"),
        (AdaptiveHistogram(2.5), "cells must be a whole number >= 1, got 2.5"),
        (AdaptiveHistogram(max_segments=0), "max_segments must be a whole number >= 1, got 0"),
    ],
)
def test_numbers_of_bins_are_whole(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(EIGHT)


def test_weights_of_zero_leave_nothing_or_the_row():
    with pytest.raises(ValueError, match="at least one non-zero"):
        Histogram().fit(EIGHT, sample_weight=np.zeros(8))
    with pytest.raises(ValueError, match=r"X holds 7 in row 3"):
        Histogram(range=(0, 1)).fit([0.5, 9.0, 0.25, 7.0], sample_weight=[1, 0, 1, 2])


def test_one_row_in_a_given_range_is_enough():
    model = AdaptiveHistogram(4, (0, 1)).fit([0.3])
    expected = enumerate_segmentations([0.3], [1.0], 4, 0.0, 1.0, 4)
    assert float(model.log_evidence_) == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(model.masses_, expected[3], rtol=1e-12)
