"""The laws that every family obeys, each against sums or integrals of its density."""

import itertools

import numpy as np
import pytest
from scipy import integrate

from posteriori.distributions.base import Univariate
from posteriori.distributions.coordinates import (
    flatten_natural,
    flatten_statistics,
    unflatten_natural,
)
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics import gradient
from tests.distributions import oracles
from tests.distributions.cases import CASES, members, pick, restack, spread

FAMILIES = [pytest.param(case, id=case.id) for case in CASES]
EXPONENTIAL = [p for p in FAMILIES if issubclass(p.values[0].family, ExponentialFamily)]
UNIVARIATE = [p for p in FAMILIES if issubclass(p.values[0].family, Univariate)]
CLOSED = [p for p in EXPONENTIAL if p.values[0].family.constant_carrier]
OPEN = [p for p in EXPONENTIAL if not p.values[0].family.constant_carrier]


def having(*names):
    """Return the families that offer all the named capabilities."""
    return [p for p in FAMILIES if all(hasattr(p.values[0].family, name) for name in names)]


FITTED = [p for p in having("fit") if p in EXPONENTIAL]


def natural_vector(d):
    return flatten_natural(d.natural, d._natural_ndims)


def with_natural(d, flat):
    """Return the member of d's family with the given flat natural parameters."""
    return d.from_natural(*unflatten_natural(np.asarray(flat), d.natural, d._natural_ndims))


def mean_vector(d):
    return flatten_statistics(d.mean_params, d._natural_ndims)


def close(actual, expected, rtol=1e-10, atol=None):
    """Compare with an absolute floor of the size of the largest entry."""
    expected = np.asarray(expected, dtype=float)
    if atol is None:
        finite = expected[np.isfinite(expected)]
        atol = rtol * max(1.0, float(np.max(np.abs(finite), initial=0.0)))
    np.testing.assert_allclose(np.asarray(actual, dtype=float), expected, rtol=rtol, atol=atol)


# -- density, moments, information -------------------------------------------------------------


@pytest.mark.parametrize("case", FAMILIES)
@pytest.mark.parametrize("which", ["one", "two"])
def test_probabilities_add_up_to_one(case, which):
    d = getattr(case, which)()
    close(oracles.mass(d, case.rule_for(d)).sum(), 1.0, case.rtol)


@pytest.mark.parametrize("case", having("mean"))
@pytest.mark.parametrize("which", ["one", "two"])
def test_mean_is_the_integral_of_x(case, which):
    d = getattr(case, which)()
    rule = case.rule_for(d)
    if case.joint:
        for part, points in zip(d.mean, rule.points, strict=True):
            close(part, oracles.expect(d, rule, points), case.rtol)
    else:
        close(d.mean, oracles.expect(d, rule, lambda x: x), case.rtol)


@pytest.mark.parametrize("case", having("variance"))
@pytest.mark.parametrize("which", ["one", "two"])
def test_variance_is_the_mean_squared_deviation(case, which):
    d = getattr(case, which)()
    rule = case.rule_for(d)
    if case.joint:
        for part, mean, points in zip(d.variance, d.mean, rule.points, strict=True):
            close(part, oracles.expect(d, rule, (points - mean) ** 2), case.rtol)
    else:
        close(d.variance, oracles.expect(d, rule, lambda x: (x - d.mean) ** 2), case.rtol)
    if hasattr(case.family, "std") and not case.joint:
        close(d.std**2, d.variance, 1e-14)


@pytest.mark.parametrize("case", having("cov"))
def test_cov_is_the_mean_outer_product_of_deviations(case):
    d = case.one()
    rule = case.rule_for(d)
    if hasattr(case.family, "mean"):
        close(d.cov, oracles.cov(d, rule, lambda x: x), case.rtol)
        close(np.diagonal(d.cov), d.variance, 1e-14)
    else:  # a category is no number: the covariance is that of its code
        close(d.cov, oracles.cov(d, rule, oracles.statistics_of(d)), case.rtol)


@pytest.mark.parametrize("case", having("mode"))
def test_no_point_is_more_probable_than_the_mode(case):
    for d in (case.one(), case.two()):
        highest = d.log_prob(d.mode)
        assert np.all(d.log_prob(case.points) <= highest + 1e-12)
        assert np.all(d.log_prob(case.rule_for(d).points) <= highest + 1e-12)


@pytest.mark.parametrize("case", having("entropy"))
@pytest.mark.parametrize("which", ["one", "two"])
def test_entropy_is_the_mean_surprise(case, which):
    d = getattr(case, which)()
    rule = case.rule_for(d)
    log_p = d.log_prob(rule.points)
    close(d.entropy(), -oracles.average(rule.weights * np.exp(log_p), log_p), case.rtol)


@pytest.mark.parametrize("case", having("kl"))
def test_kl_and_cross_entropy_are_mean_log_ratios(case):
    for p, q in ((case.one(), case.two()), (case.two(), case.one())):
        rule = case.rule_for(p)
        log_p, log_q = p.log_prob(rule.points), q.log_prob(rule.points)
        w = rule.weights * np.exp(log_p)
        close(p.kl(q), oracles.average(w, log_p) - oracles.average(w, log_q), case.rtol)
        close(p.cross_entropy(q), -oracles.average(w, log_q), case.rtol)
        assert 0.0 <= p.kl(p) <= 1e-15


# -- the exponential family --------------------------------------------------------------------


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_stable_density_equals_the_natural_form(case):
    for d in (case.one(), case.two()):
        close(d.log_prob(case.points), d._natural_log_density(d._observe(case.points)), 1e-12)


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_gradient_of_the_log_normalizer_is_the_mean_of_the_statistics(case):
    for d in (case.one(), case.two()):
        rule = case.rule_for(d)
        slope = gradient(lambda eta, d=d: with_natural(d, eta).log_normalizer(), natural_vector(d))
        expected = oracles.expect(d, rule, oracles.statistics_of(d))
        close(slope, expected, 1e-7)
        close(mean_vector(d), expected, case.rtol)


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_fisher_information_is_the_covariance_of_the_statistics(case):
    for d in (case.one(), case.two()):
        rule = case.rule_for(d)
        expected = oracles.cov(d, rule, oracles.statistics_of(d))
        numeric = case.family.__mro__[case.family.__mro__.index(ExponentialFamily)]
        close(d.fisher_information(), expected, 10 * case.rtol)
        close(numeric._fisher_information(d), expected, 1e-6)


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_natural_parameters_lead_back_to_the_member(case):
    for d in (case.one(), case.two(), case.batch()):
        back = d.from_natural(*d.natural)
        for part, again in zip(d._key(), back._key(), strict=True):
            close(again, part, 1e-12)


@pytest.mark.parametrize(
    "make", [pytest.param(m, id=f"{c.id}-{i}") for c in CASES for i, m in enumerate(c.extremes)]
)
def test_extreme_members_survive_the_way_to_natural_parameters_and_back(make):
    d = make()
    back = d.from_natural(*d.natural)
    for eta, again in zip(d.natural, back.natural, strict=True):
        np.testing.assert_allclose(again, eta, rtol=1e-12)
    for part, again in zip(d._key(), back._key(), strict=True):
        # a − 1 holds a only to the rounding of 1
        np.testing.assert_allclose(again, part, rtol=1e-12, atol=4 * np.finfo(float).eps)


@pytest.mark.parametrize("case", having("from_mean_params", "mean_params"))
def test_mean_parameters_lead_back_to_the_member(case):
    for d in (case.one(), case.two(), case.batch()):
        back = d.from_mean_params(*d.mean_params)
        for part, again in zip(d._key(), back._key(), strict=True):
            close(again, part, 1e-8)


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_from_natural_refuses_the_wrong_number_of_components(case):
    with pytest.raises(TypeError, match=rf"{case.id}\.from_natural takes"):
        case.one().from_natural(*case.one().natural, 1.0)


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_from_natural_refuses_nan(case):
    parts = [np.full(np.shape(part), np.nan) for part in case.one().natural]
    with pytest.raises(ValueError, match="NaN"):
        case.one().from_natural(*parts)


# -- products, quotients, powers ---------------------------------------------------------------


@pytest.mark.parametrize("case", CLOSED)
def test_product_is_the_pointwise_product_with_its_scale(case):
    p, q = case.one(), case.two()
    d, log_scale = p.product(q)
    close(p.log_prob(case.points) + q.log_prob(case.points), d.log_prob(case.points) + log_scale)
    overlap = oracles.expect(p, case.rule_for(d), lambda x: np.exp(q.log_prob(x)))
    close(np.exp(log_scale), overlap, case.rtol)
    close(natural_vector(p * q), natural_vector(p) + natural_vector(q), 1e-12)


@pytest.mark.parametrize("case", CLOSED)
def test_quotient_undoes_the_product(case):
    p, q = case.one(), case.two()
    again = (p * q) / q
    close(natural_vector(again), natural_vector(p), 1e-12)
    close(again.log_prob(case.points), p.log_prob(case.points))
    twice = (p / q) * q  # the quotient may be a mere message
    close(natural_vector(twice), natural_vector(p), 1e-12)
    close(twice.log_prob(case.points), p.log_prob(case.points))


@pytest.mark.parametrize("case", CLOSED)
def test_powers_scale_the_natural_parameters(case):
    p = case.one()
    close(natural_vector(p**2), natural_vector(p * p), 1e-12)
    close(natural_vector(p**0.5 * p**0.5), natural_vector(p), 1e-12)
    close((p**1).log_prob(case.points), p.log_prob(case.points))
    with pytest.raises(ValueError, match="exponent"):
        p ** float("nan")


@pytest.mark.parametrize("case", CLOSED)
def test_the_constant_message_changes_nothing(case):
    p = case.one()
    flat = p.from_natural(*(np.zeros(np.shape(part)) for part in p.natural))
    again = flat * p
    assert np.all(again.is_proper)
    close(natural_vector(again), natural_vector(p), 1e-12)
    close(again.log_prob(case.points), p.log_prob(case.points))


@pytest.mark.parametrize("case", OPEN)
def test_product_is_refused_where_it_leaves_the_family(case):
    p, q = case.one(), case.two()
    for operation in (lambda: p * q, lambda: p / q, lambda: p**2, lambda: p.product(q)):
        with pytest.raises(TypeError, match=rf"{case.id} densities leaves the family"):
            operation()


@pytest.mark.parametrize("case", EXPONENTIAL)
def test_other_families_and_numbers_are_no_factors(case):
    p = case.one()
    stranger = next(c.one() for c in CASES if c.family is not case.family)
    with pytest.raises(TypeError, match=f"{case.id} and {type(stranger).__name__}"):
        p * stranger
    with pytest.raises(TypeError):
        p * 2.0
    with pytest.raises(TypeError, match=f"{case.id} and {type(stranger).__name__}"):
        p.kl(stranger)


# -- messages that are no distribution ---------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "eta"),
    [pytest.param(c, eta, id=f"{c.id}-{i}") for c in CASES for i, eta in enumerate(c.improper)],
)
def test_an_improper_message_is_its_exponent_and_has_no_moments(case, eta):
    message = case.family.from_natural(*eta)
    univariate = isinstance(message, Univariate)
    assert not np.any(message.is_proper)
    t = oracles.statistics_of(message)(case.points)
    close(message.log_prob(case.points), t @ natural_vector(message), 1e-12)
    for back, part in zip(message.natural, eta, strict=True):
        close(back, part, 1e-14)
    for ask in (
        lambda: message.mean,
        lambda: message.entropy(),
        lambda: message.kl(case.one()),
        lambda: case.one().kl(message),
        lambda: message.fisher_information(),
        lambda: message.sample(3, rng=0),
        *([lambda: message.cdf(1.0), lambda: message.quantile(0.5)] if univariate else []),
    ):
        with pytest.raises(ValueError, match=f"{case.id}"):
            ask()
    assert repr(message).startswith(f"{case.id}.from_natural(")
    for point in case.outside:
        assert message.log_prob(point) == -np.inf


# -- fitting -----------------------------------------------------------------------------------


def data_of(case, n=60):
    return case.one().sample(n, rng=np.random.default_rng(5))


@pytest.mark.parametrize("case", FITTED)
def test_fit_is_a_maximum_of_the_likelihood(case):
    data = data_of(case)
    best = case.fit(data)
    top = best.log_prob(data).sum()
    eta = natural_vector(best)
    for j, sign in itertools.product(range(len(eta)), (-1.0, 1.0)):
        moved = eta.copy()
        moved[j] += sign * 1e-3 * max(1.0, abs(eta[j]))
        assert with_natural(best, moved).log_prob(data).sum() < top


@pytest.mark.parametrize("case", FITTED)
def test_fit_matches_the_mean_of_the_statistics(case):
    data = data_of(case)
    t = oracles.statistics_of(case.one())(data)
    close(mean_vector(case.fit(data)), t.mean(axis=0), 1e-8)


@pytest.mark.parametrize("case", FITTED)
def test_weights_count_as_repeated_rows(case):
    data = data_of(case, 30)
    times = np.arange(30) % 4
    weighted = case.fit(data, weights=times)
    repeated = case.fit(restack(data, lambda part: np.repeat(part, times, axis=0)))
    close(natural_vector(weighted), natural_vector(repeated), 1e-9)


@pytest.mark.parametrize("case", FITTED)
def test_fit_of_a_stream_is_the_fit_of_the_whole(case):
    data = data_of(case, 50)
    weights = np.linspace(0.5, 2.0, 50)
    cuts = (slice(0, 7), slice(7, 8), slice(8, 50))
    with_gap = np.where(np.arange(50) < 7, 0.0, weights)  # the first chunk counts for nothing
    for w in (None, weights, with_gap):
        whole = case.fit(data, weights=w)
        stream = case.fit(iter([pick(data, cut) for cut in cuts]), weights=w)
        close(natural_vector(stream), natural_vector(whole), 1e-9)


@pytest.mark.parametrize("case", FITTED)
def test_columns_of_data_are_fitted_side_by_side(case):
    columns = [case.one().sample(40, rng=1), case.two().sample(40, rng=2)]
    both = restack(columns, lambda *parts: np.stack(parts, axis=1))
    together = case.fit(both)
    assert together.batch_shape == (2,)
    for member, column in zip(members(together), columns, strict=True):
        close(natural_vector(member), natural_vector(case.fit(column)), 1e-9)


@pytest.mark.parametrize("case", FITTED)
def test_fit_refuses_bad_data(case):
    data = data_of(case, 5)
    broken = restack(data, lambda part: np.array(part, dtype=float))
    next(iter(broken if case.joint else [broken]))[2, ...] = np.nan
    with pytest.raises(ValueError, match="row 2"):
        case.fit(broken)
    with pytest.raises(ValueError, match="empty"):
        case.fit(pick(data, slice(0, 0)))
    with pytest.raises(ValueError, match="weights"):
        case.fit(data, weights=[1.0, 1.0, -1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match="weights"):
        case.fit(data, weights=[1.0, 1.0])
    with pytest.raises(ValueError, match="weights"):
        case.fit(data, weights=np.ones(7))
    with pytest.raises(ValueError, match="weights"):
        case.fit(data, weights=np.zeros(5))
    for point in case.outside:
        with pytest.raises(ValueError, match=f"support of {case.id}"):
            case.fit(restack([pick(data, 0), point], lambda *parts: np.stack(parts)))


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


# -- one number --------------------------------------------------------------------------------


@pytest.mark.parametrize("case", UNIVARIATE)
def test_cdf_is_the_integral_of_the_density(case):
    d = case.one()
    rule = case.rule_for(d)
    for x in case.points:
        if case.discrete:
            expected = oracles.mass(d, rule)[rule.points <= x].sum()
        else:
            expected, _ = integrate.quad(
                lambda u: np.exp(d.log_prob(u)), case.least, x, epsabs=1e-12
            )
        close(d.cdf(x), expected, 1e-9)
    assert d.cdf(-np.inf) == 0.0
    assert d.cdf(np.inf) == 1.0


@pytest.mark.parametrize("case", UNIVARIATE)
def test_quantile_is_the_least_point_with_enough_probability(case):
    d = case.one()
    q = np.array([1e-6, 0.01, 0.25, 0.5, 0.7, 0.99, 1 - 1e-6])
    x = d.quantile(q)
    if case.discrete:
        assert np.all(d.cdf(x) >= q * (1 - 1e-12))
        assert np.all(d.cdf(x - 1e-6) < q)
    else:
        close(d.cdf(x), q, 1e-9, atol=0)
        close(d.quantile(d.cdf(np.asarray(case.points))), case.points, 1e-7)
    close(d.median, d.quantile(0.5), 1e-14)
    for wrong in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="q must"):
            d.quantile(wrong)


@pytest.mark.parametrize("case", UNIVARIATE)
def test_interval_holds_its_mass(case):
    d = case.one()
    for mass in (0.5, 0.95):
        low, high = d.interval(mass)
        if case.discrete:
            assert d.cdf(high) - d.cdf(low - 1e-6) >= mass
        else:
            close(d.cdf(high) - d.cdf(low), mass, 1e-9)
            close(d.cdf(low), 1 - d.cdf(high), 1e-9)
    for wrong in (0.0, 1.0, -0.2, 95):
        with pytest.raises(ValueError, match="mass"):
            d.interval(wrong)


# -- peers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [p for p in FAMILIES if p.values[0].peer])
def test_scipy_says_the_same(case):
    d, peer = case.one(), case.peer()
    log_density = getattr(peer, "logpdf", None) or peer.logpmf
    expected = [float(np.squeeze(log_density(x))) for x in np.asarray(case.points)]
    close(d.log_prob(case.points), expected, 1e-11)
    if hasattr(case.family, "entropy") and case.id != "InverseWishart":
        close(d.entropy(), peer.entropy(), 1e-9)  # scipy's of InverseWishart forgets D ln 2
    if hasattr(case.family, "mean") and hasattr(peer, "mean"):
        close(d.mean, peer.mean() if callable(peer.mean) else peer.mean, 1e-11)
    if hasattr(case.family, "variance") and hasattr(peer, "var"):
        close(d.variance, peer.var(), 1e-11)
    if isinstance(d, Univariate):
        close(d.cdf(case.points), peer.cdf(case.points), 1e-11)
        close(d.quantile(0.3), peer.ppf(0.3), 1e-10)
