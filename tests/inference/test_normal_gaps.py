"""Normal rows with gaps, against marginals and conditionals of one row at a time, and quadrature."""

import numpy as np
import pytest
from scipy.integrate import dblquad, quad

from posteriori import MvNormal, MvStudentT
from posteriori.inference.gaps import gap_patterns as patterns_of_gaps
from posteriori.inference.gaps.completed_rows import (
    normals_from_covariances,
    normals_from_precisions,
)
from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.inference.gaps.normal_gaps import (
    conditional_moments,
    draw_missing,
    expected_moments,
    integrated_scores,
    respond_to_rows,
    seen_log_densities,
)


def random_normals(rng, k, d):
    a = rng.standard_normal((k, d, d + 2))
    return 3.0 * rng.standard_normal((k, d)), a @ a.transpose(0, 2, 1)


def random_rows(rng, n, d, share):
    x = 2.0 * rng.standard_normal((n, d))
    x[rng.random((n, d)) < share] = np.nan
    return x


def given_seen(row, mean, cov):
    """Return mean and covariance (D, D) of a row given what is seen of it."""
    seen = ~np.isnan(row)
    if seen.all():
        return row, np.zeros_like(cov)
    normal = MvNormal(mean, cov=cov)
    rest = normal.condition(np.flatnonzero(seen), row[seen]) if seen.any() else normal
    filled, spread = row.copy(), np.zeros_like(cov)
    filled[~seen] = rest.mean
    spread[np.ix_(~seen, ~seen)] = rest.cov
    return filled, spread


#: Rows, columns, components and the share of gaps; 70 columns need two words.
TABLES = [(40, 4, 3, 0.3), (7, 1, 2, 0.5), (25, 6, 1, 0.9), (30, 3, 2, 0.0), (12, 70, 2, 0.1)]


@pytest.fixture(params=TABLES, ids=str)
def table(request):
    n, d, k, share = request.param
    rng = np.random.default_rng(n)
    x = random_rows(rng, n, d, share)
    if share:
        x[3] = np.nan
    means, covs = random_normals(rng, k, d)
    return x, means, covs, rng.random((n, k))


def test_patterns_hold_each_row_once(table):
    x, *_ = table
    patterns = gap_patterns(x)
    assert sorted(patterns.order) == list(range(len(x)))
    assert len({p.tobytes() for p in patterns.seen}) == len(patterns.seen)
    for p, seen in enumerate(patterns.seen):
        rows = patterns.order[patterns.offsets[p] : patterns.offsets[p + 1]]
        assert len(rows)
        assert np.array_equal(~np.isnan(x[rows]), np.broadcast_to(seen, (len(rows), len(seen))))


def test_densities_are_those_of_marginals(table):
    x, means, covs, _ = table
    got = seen_log_densities(x, gap_patterns(x), normals_from_covariances(means, covs))
    for n, row in enumerate(x):
        seen = ~np.isnan(row)
        for k, (mean, cov) in enumerate(zip(means, covs, strict=True)):
            part = MvNormal(mean, cov=cov).marginal(np.flatnonzero(seen)) if seen.any() else None
            there = 0.0 if part is None else part.log_prob(row[seen])
            assert got[n, k] == pytest.approx(there, rel=1e-10, abs=1e-12)


def test_densities_of_student_are_those_of_marginals(table):
    x, means, scales, _ = table
    dof = np.linspace(1.5, 9.0, len(means))
    got = seen_log_densities(x, gap_patterns(x), normals_from_covariances(means, scales), dof)
    for n, row in enumerate(x):
        seen = ~np.isnan(row)
        for k, (mean, scale) in enumerate(zip(means, scales, strict=True)):
            whole = MvStudentT(dof[k], mean, scale=scale)
            there = whole.marginal(np.flatnonzero(seen)).log_prob(row[seen]) if seen.any() else 0.0
            assert got[n, k] == pytest.approx(there, rel=1e-10, abs=1e-12)


def test_moments_are_sums_over_rows(table):
    x, means, covs, weights = table
    moments = expected_moments(x, gap_patterns(x), normals_from_covariances(means, covs), weights)
    for k, (mean, cov) in enumerate(zip(means, covs, strict=True)):
        first, second = np.zeros_like(mean), np.zeros_like(cov)
        for row, weight in zip(x, weights[:, k], strict=True):
            filled, spread = given_seen(row, mean, cov)
            first += weight * (filled - mean)
            second += weight * (np.outer(filled - mean, filled - mean) + spread)
        np.testing.assert_allclose(moments.first[k], first, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(moments.second[k], second, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.total, weights.sum(axis=0))


def test_conditional_moments_are_those_of_mixtures(table):
    x, means, covs, weights = table
    weights = weights / weights.sum(axis=1, keepdims=True)
    normals = normals_from_covariances(means, covs)
    got = conditional_moments(x, gap_patterns(x), normals, weights)
    for n, row in enumerate(x):
        each = [given_seen(row, mean, cov) for mean, cov in zip(means, covs, strict=True)]
        mean = sum(w * m for w, (m, _) in zip(weights[n], each, strict=True))
        pairs = zip(weights[n], each, strict=True)
        square = sum(w * (np.diag(c) + (m - mean) ** 2) for w, (m, c) in pairs)
        np.testing.assert_allclose(got.mean[n], mean, rtol=1e-9)
        np.testing.assert_allclose(got.variance[n], square, rtol=1e-9, atol=1e-12)
    seen = ~np.isnan(x)
    assert np.array_equal(got.mean[seen], x[seen])
    assert not got.variance[seen].any()


def test_parts_of_any_size_sum_to_the_same(table, monkeypatch):
    x, means, covs, weights = table
    normals, patterns = normals_from_covariances(means, covs), gap_patterns(x)
    whole = expected_moments(x, patterns, normals, weights)
    monkeypatch.setattr(patterns_of_gaps, "WITH_COPY", 2 * x.shape[1])
    parts = expected_moments(x, patterns, normals, weights)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_one_pass_responds_to_the_scores(table):
    x, means, covs, weights = table
    normals, patterns = normals_from_precisions(means, covs), gap_patterns(x)
    log_norms = np.linspace(-1.0, 1.0, len(means))
    scores, seen = np.full(weights.shape, np.nan), np.zeros(len(x), dtype=int)

    def respond(part, rows):
        scores[rows] = part
        seen[rows] += 1
        return weights[rows]

    got = respond_to_rows(x, patterns, normals, log_norms, respond)
    assert (seen == 1).all()
    np.testing.assert_allclose(scores, integrated_scores(x, patterns, normals, log_norms))
    for one, other in zip(got, expected_moments(x, patterns, normals, weights), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_scores_are_integrals_over_the_gaps():
    rng = np.random.default_rng(5)
    means, precisions = random_normals(rng, 1, 3)
    x = np.array([[0.3, np.nan, -0.2], [np.nan, 0.1, np.nan]])
    normals = normals_from_precisions(means, precisions)
    got = np.exp(integrated_scores(x, gap_patterns(x), normals, np.array([0.7])))[:, 0]

    def density(*row):
        d = np.array(row) - means[0]
        return np.exp(0.7 - 0.5 * d @ precisions[0] @ d)

    one, _ = quad(lambda t: density(0.3, t, -0.2), -30, 30, points=[means[0, 1]], epsabs=0)
    assert got[0] == pytest.approx(one, rel=1e-8)
    (a, c), reach = means[0, [0, 2]], 12.0
    two, _ = dblquad(
        lambda s, t: density(s, 0.1, t), c - reach, c + reach, a - reach, a + reach, epsabs=1e-13
    )
    assert got[1] == pytest.approx(two, rel=1e-6)


def test_gaps_as_unknowns_have_the_best_belief():
    """The bound of a row, E ln p(x|θ) plus entropy of q(x_m), is highest at the one stated."""
    mean, precision = np.array([0.2, -1.1]), np.array([[2.5, 1.0], [1.0, 2.0]])
    normals = normals_from_precisions(mean[None], precision[None])
    x = np.array([[0.4, np.nan]])
    c = 0.9
    score = integrated_scores(x, gap_patterns(x), normals, np.array([c]))[0, 0]

    def bound(centre, variance):
        d = np.array([0.4, centre]) - mean
        square = d @ precision @ d + precision[1, 1] * variance
        return c - 0.5 * square + 0.5 * np.log(2 * np.pi * np.e * variance)

    moments = conditional_moments(x, gap_patterns(x), normals, np.ones((1, 1)))
    centre, variance = moments.mean[0, 1], moments.variance[0, 1]
    assert bound(centre, variance) == pytest.approx(score, rel=1e-12)
    for other in [(centre + 0.1, variance), (centre, 1.1 * variance), (centre, 0.9 * variance)]:
        assert bound(*other) < score - 1e-4


def test_draws_have_the_conditional_moments():
    rng = np.random.default_rng(7)
    means, covs = random_normals(rng, 2, 3)
    row, draws = np.array([np.nan, 0.5, np.nan]), 20_000
    x, labels = np.tile(row, (2 * draws, 1)), np.repeat([0, 1], draws)
    normals = normals_from_covariances(means, covs)
    filled = draw_missing(x, gap_patterns(x), normals, labels, rng)
    assert (filled[:, 1] == 0.5).all()
    for k in range(2):
        mean, cov = given_seen(row, means[k], covs[k])
        mine, gaps = filled[labels == k], [0, 2]
        spread = np.diag(cov)[gaps]
        error = 5 * np.sqrt(spread / draws)
        assert (np.abs(mine.mean(axis=0) - mean)[gaps] < error).all()
        got = np.cov(mine[:, gaps].T)
        wide = np.sqrt((np.outer(spread, spread) + cov[np.ix_(gaps, gaps)] ** 2) / draws)
        assert (np.abs(got - cov[np.ix_(gaps, gaps)]) < 5 * wide).all()


def test_em_of_one_normal_with_gaps_ends_where_the_gradient_is_zero():
    rng = np.random.default_rng(8)
    x = random_rows(rng, 60, 3, 0.25) @ np.array([[1, 0.5, 0], [0, 1, -0.8], [0, 0, 1.0]])
    patterns, ones = gap_patterns(x), np.ones((60, 1))
    mean, cov, before = np.zeros((1, 3)), 4.0 * np.eye(3)[None], -np.inf
    for _ in range(300):
        normals = normals_from_covariances(mean, cov)
        likely = seen_log_densities(x, patterns, normals).sum()
        assert likely >= before - 1e-10 * abs(likely)
        before = likely
        m = expected_moments(x, patterns, normals, ones)
        shift = m.first / m.total[:, None]
        mean = mean + shift
        cov = m.second / m.total[:, None, None] - shift[:, :, None] * shift[:, None, :]

    def log_likelihood(mean, cov):
        return seen_log_densities(x, patterns, normals_from_covariances(mean, cov)).sum()

    for i in range(3):
        step = np.zeros((1, 3))
        step[0, i] = 1e-4
        slope = log_likelihood(mean + step, cov) - log_likelihood(mean - step, cov)
        assert abs(slope) / 2e-4 < 1e-4
        for j in range(i + 1):
            tilt = np.zeros((1, 3, 3))
            tilt[0, i, j] = tilt[0, j, i] = 1e-4
            slope = log_likelihood(mean, cov + tilt) - log_likelihood(mean, cov - tilt)
            assert abs(slope) / 2e-4 < 1e-4


def test_no_rows_have_no_patterns():
    patterns = gap_patterns(np.zeros((0, 3)))
    normals = normals_from_covariances(np.zeros((2, 3)), np.stack([np.eye(3)] * 2))
    assert len(patterns.seen) == 0
    assert seen_log_densities(np.zeros((0, 3)), patterns, normals).shape == (0, 2)


def test_a_covariance_that_is_singular_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        normals_from_covariances(np.zeros((1, 2)), np.ones((1, 2, 2)))


def test_few_rows_in_one_piece_are_the_same_rows(table):
    """Rows with fewer gaps than others have places beyond the last column, which add nothing."""
    x, means, covs, weights = table
    patterns, normals = gap_patterns(x), normals_from_covariances(means, covs)
    apart = expected_moments(x, patterns._replace(whole=None), normals, weights)
    for one, other in zip(expected_moments(x, patterns, normals, weights), apart, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)
    heights = np.arange(len(means)) * 1.0
    seen = np.full((len(x), len(means)), np.nan)

    def respond(scores, rows):
        seen[rows] = scores
        return weights[rows]

    respond_to_rows(x, patterns, normals, heights, respond)
    np.testing.assert_allclose(seen, integrated_scores(x, patterns, normals, heights), rtol=1e-9)
