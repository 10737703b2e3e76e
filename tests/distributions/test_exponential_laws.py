"""The laws of exponential families: natural and mean parameters, products, messages, fits."""

import itertools

import numpy as np
import pytest

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.numerics import gradient
from tests.distributions import oracles
from tests.distributions.cases import CASES
from tests.distributions.families import (
    CLOSED,
    EXPONENTIAL,
    close,
    having,
    mean_vector,
    natural_vector,
    with_natural,
)
from tests.distributions.family_case import members, pick, restack

OPEN = [p for p in EXPONENTIAL if not p.values[0].family.constant_carrier]

FITTED = [p for p in having("fit") if p in EXPONENTIAL]


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
