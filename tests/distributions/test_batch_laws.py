"""The laws of draws and batches: every family, one member and many."""

import numpy as np
import pytest

from posteriori.distributions.exponential import ExponentialFamily
from tests.distributions import oracles
from tests.distributions.families import CLOSED, FAMILIES, UNIVARIATE, close, having, natural_vector
from tests.distributions.family_case import members, restack, spread

# -- draws -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", having("sample"))
def test_draws_have_the_moments_of_the_density(case):
    """Means of T(x), or of a bounded function where there is no T, within 5 standard errors."""
    d = case.one()
    draws = d.sample(case.n_draws, rng=20240501)
    f = oracles.statistics_of(d) if isinstance(d, ExponentialFamily) else bounded
    values, expected = f(draws), oracles.expect(d, case.rule_for(d), f)
    error = values.std(axis=0) / np.sqrt(case.n_draws)
    assert np.all(np.abs(values.mean(axis=0) - expected) <= 5 * error + 1e-12)
    spread_of = np.cov(values.T).reshape(values.shape[1], -1)
    kurtosis = ((values - expected) ** 2).std(axis=0) / np.sqrt(case.n_draws) + 5 * error**2
    wanted = oracles.cov(d, case.rule_for(d), f)
    assert np.all(np.abs(np.diag(spread_of) - np.diag(wanted)) <= 5 * kurtosis + 1e-12)


def bounded(x):
    flat = np.tanh(np.asarray(x, dtype=float))
    return flat.reshape(len(flat), -1)


@pytest.mark.parametrize("case", UNIVARIATE)
def test_draws_follow_the_cdf(case):
    d = case.one()
    draws = d.sample(case.n_draws, rng=7)
    for x in case.points:
        f = float(d.cdf(x))
        error = np.sqrt(f * (1 - f) / case.n_draws)
        assert abs(np.mean(draws <= x) - f) <= 5 * error + 1e-12


@pytest.mark.parametrize("case", having("sample"))
def test_a_seed_fixes_the_draws_and_a_generator_moves_on(case):
    d = case.one()
    same = restack([d.sample(4, rng=3), d.sample(4, rng=3)], np.array_equal)
    assert np.all(same)
    rng = np.random.default_rng(3)
    first, second = d.sample(40, rng=rng), d.sample(40, rng=rng)
    if case.varies:
        assert not np.all(restack([first, second], np.array_equal))


@pytest.mark.parametrize("case", having("sample"))
def test_draws_lie_in_the_support(case):
    for d in (case.one(), case.batch()):
        assert np.all(np.isfinite(d.log_prob(d.sample(200, rng=11))))


# -- batches -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FAMILIES)
def test_a_batch_is_a_loop_over_its_members(case):
    d = case.batch()
    parts = members(d)
    assert d.batch_shape == (len(parts),)
    at = spread(case.points)
    close(d.log_prob(at), np.stack([m.log_prob(case.points) for m in parts], axis=-1), 1e-12)
    for name in ("entropy", "log_normalizer", "fisher_information"):
        if hasattr(case.family, name):
            expected = np.stack([getattr(m, name)() for m in parts])
            close(getattr(d, name)(), expected, 1e-9 if name == "fisher_information" else 1e-12)
    for name in ("mean", "variance", "std", "cov", "mode", "median"):
        needed = "variance" if name == "std" else name
        if hasattr(case.family, needed) and hasattr(case.family, name):
            compare_parts(getattr(d, name), [getattr(m, name) for m in parts])


def compare_parts(together, one_by_one):
    if isinstance(together, tuple):
        for i, part in enumerate(together):
            close(part, np.stack([m[i] for m in one_by_one]), 1e-12)
    else:
        close(together, np.stack(one_by_one), 1e-12)


@pytest.mark.parametrize("case", having("kl"))
def test_kl_broadcasts_over_batches(case):
    d, q = case.batch(), case.broadcastable()
    close(d.kl(q), np.stack([m.kl(q) for m in members(d)]), 1e-12)
    close(q.kl(d), np.stack([q.kl(m) for m in members(d)]), 1e-12)


@pytest.mark.parametrize("case", CLOSED)
def test_products_broadcast_over_batches(case):
    d, q = case.batch(), case.broadcastable()
    for m, part in zip(members(d), members(d * q), strict=True):
        close(natural_vector(part), natural_vector(m * q), 1e-12)
    _, log_scale = d.product(q)
    close(log_scale, np.stack([m.product(q).log_scale for m in members(d)]))


@pytest.mark.parametrize("case", UNIVARIATE)
def test_cdf_and_quantile_of_a_batch(case):
    d = case.batch()
    x, q = np.asarray(case.points)[:, None], np.array([0.01, 0.3, 0.5, 0.9])[:, None]
    close(d.cdf(x), np.stack([m.cdf(x[:, 0]) for m in members(d)], axis=-1), 1e-12)
    close(d.quantile(q), np.stack([m.quantile(q[:, 0]) for m in members(d)], axis=-1), 1e-12)


@pytest.mark.parametrize("case", having("sample"))
@pytest.mark.parametrize("size", [None, 4, (2, 5), (1,), ()])
def test_draws_have_the_shape_of_size_batch_and_event(case, size):
    lead = () if size is None else (size,) if isinstance(size, int) else size
    for d in (case.one(), case.batch()):
        draws = d.sample(size, rng=0)
        shapes = [np.shape(p) for p in draws] if case.joint else [np.shape(draws)]
        for shape, event in zip(shapes, case.event_shapes(d), strict=True):
            assert shape == lead + d.batch_shape + event


@pytest.mark.parametrize("case", having("iid"))
def test_iid_copies_are_a_leading_batch_axis(case):
    for d in (case.one(), case.batch()):
        many = d.iid(4)
        assert type(many) is case.family
        assert many.batch_shape == (4, *d.batch_shape)
        draws = d.sample(4, rng=2)
        close(many.log_prob(draws), d.log_prob(draws), 1e-12)
    for wrong in (0, -1, 2.5):
        with pytest.raises(ValueError, match="n must be a whole number"):
            case.one().iid(wrong)
