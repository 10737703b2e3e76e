"""Distributions are values: they do not change, they compare, they travel, and they say no."""

import copy
import pickle

import numpy as np
import pytest

import posteriori.distributions as room
from posteriori.distributions.algebra import maps
from posteriori.distributions.base import CAPABILITIES, Distribution
from posteriori.distributions.exponential import ExponentialFamily
from tests.distributions.cases import CASES
from tests.distributions.family_case import pick, restack

FAMILIES = [pytest.param(case, id=case.id) for case in CASES]
#: What a user who types in a printed value has at hand.
NAMES = {**{name: getattr(room, name) for name in room.__all__}, **vars(maps)}
NAMES |= {"array": np.array, "np": np}
WITH_EVENT = [p for p in FAMILIES if any(p.values[0].event_shapes(p.values[0].one()))]


# -- what log_prob accepts ---------------------------------------------------------------------


@pytest.mark.parametrize("case", FAMILIES)
def test_single_points_give_a_plain_number(case):
    d = case.one()
    value = d.log_prob(pick(case.points, 0))
    assert type(value) is np.float64
    assert value == d.log_prob(case.points)[0]
    many = d.log_prob(case.points)
    assert many.dtype == np.float64
    assert np.all(np.isfinite(many))


@pytest.mark.parametrize("case", FAMILIES)
def test_points_off_the_support_have_no_density(case):
    d = case.one()
    for point in case.outside:
        assert d.log_prob(point) == -np.inf
        mixed = restack([pick(case.points, 0), point], lambda *parts: np.stack(parts))
        np.testing.assert_array_equal(
            d.log_prob(mixed), [d.log_prob(pick(case.points, 0)), -np.inf]
        )


@pytest.mark.parametrize("case", FAMILIES)
def test_nan_is_refused(case):
    for d in (case.one(), case.broadcastable()):
        broken = restack(case.points, lambda part: np.array(part, dtype=float))
        parts = broken if case.joint else (broken,)
        for part in parts:
            kept = part[1].copy()
            part[1, ...] = np.nan
            with pytest.raises(ValueError, match="NaN"):
                d.log_prob(broken)
            with pytest.raises(ValueError, match="NaN"):
                d.log_prob(pick(broken, 1))
            part[1] = kept


@pytest.mark.parametrize("case", FAMILIES)
@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_infinite_points_have_no_density(case, infinity):
    at = restack(pick(case.points, 0), lambda part: np.full(np.shape(part), infinity)[()])
    assert case.one().log_prob(at) == -np.inf


@pytest.mark.parametrize("case", WITH_EVENT)
def test_points_of_the_wrong_shape_are_refused(case):
    d = case.one()
    if case.joint:
        wrong = tuple(
            np.zeros((*np.shape(part)[:-1], np.shape(part)[-1] + 1)) if event else part
            for part, event in zip(pick(case.points, 0), case.event_shapes(d), strict=True)
        )
    else:
        wrong = np.zeros((5, *d.event_shape[:-1], d.event_shape[-1] + 1))
    with pytest.raises(ValueError, match="shape"):
        d.log_prob(wrong)


@pytest.mark.parametrize("case", FAMILIES)
def test_words_are_no_points(case):
    with pytest.raises((TypeError, ValueError), match=r"x must|label"):
        case.one().log_prob("seven")


# -- being a value -----------------------------------------------------------------------------


@pytest.mark.parametrize("case", FAMILIES)
def test_attributes_cannot_be_set(case):
    d = case.one()
    for name in (*d._parameters, "mean", "anything"):
        with pytest.raises(AttributeError, match=f"{case.id} is a value"):
            setattr(d, name, 1.0)
    assert d == case.one()


@pytest.mark.parametrize("case", FAMILIES)
def test_arrays_handed_out_cannot_change_the_value(case):
    d = case.batch()
    names = [*d._parameters, "mean", "variance", "cov", "natural", "mean_params", "mode", "median"]
    for name in (n for n in names if hasattr(case.family, n) or n in d.__dict__):
        for part in as_parts(getattr(d, name)):
            before = np.array(part)
            try:
                part[...] = 0.123
            except (ValueError, TypeError):
                continue  # locked
            for again in as_parts(getattr(d, name)):
                assert not np.array_equal(again, np.full_like(before, 0.123)), name
    assert d == case.batch()
    np.testing.assert_array_equal(
        d.log_prob(d.sample(3, rng=0)), case.batch().log_prob(d.sample(3, rng=0))
    )


def as_parts(value):
    return [p for p in (value if isinstance(value, tuple) else (value,)) if np.ndim(p)]


@pytest.mark.parametrize("case", FAMILIES)
def test_the_callers_arrays_are_copied(case):
    d = case.batch()
    shown = {name: name.rstrip("=") for name in d._shown}
    given = {name: d.__dict__[k] if k in d.__dict__ else getattr(d, k) for name, k in shown.items()}
    given = {k: np.array(v) if isinstance(v, np.ndarray) else v for k, v in given.items()}
    by_position = [v for k, v in given.items() if not k.endswith("=")]
    by_name = {k.rstrip("="): v for k, v in given.items() if k.endswith("=")}
    made = case.family(*by_position, **by_name)
    assert made == d
    for array in given.values():
        if isinstance(array, np.ndarray):
            array[...] = 0.987
    assert made == d


@pytest.mark.parametrize("case", FAMILIES)
def test_equal_values_are_equal_and_hash_alike(case):
    for make in (case.one, case.batch):
        assert make() == make()
        assert hash(make()) == hash(make())
    assert case.one() != case.two()
    assert case.one() != "a distribution"
    assert len({case.one(), case.one(), case.two()}) == 2


@pytest.mark.parametrize("case", FAMILIES)
@pytest.mark.parametrize(
    "carry", [lambda d: pickle.loads(pickle.dumps(d)), copy.deepcopy, copy.copy]
)
def test_values_travel(case, carry):
    for make in (case.one, case.two, case.batch):
        d = make()
        d.log_prob(d.sample(rng=0))  # with whatever it remembers by now
        again = carry(d)
        assert again == d
        assert type(again) is type(d)
        np.testing.assert_array_equal(
            again.log_prob(d.sample(3, rng=1)), d.log_prob(d.sample(3, rng=1))
        )
        for name in again._parameters:
            if name in again.__dict__ and np.ndim(again.__dict__[name]):
                assert not again.__dict__[name].flags.writeable


@pytest.mark.parametrize("case", FAMILIES)
def test_what_is_printed_can_be_typed(case):
    for make in (case.one, case.two, case.batch):
        d = make()
        assert eval(repr(d), NAMES) == d


# -- capabilities ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", FAMILIES)
def test_what_a_family_lacks_is_said_by_name(case):
    d = case.one()
    for name in (c for c in CAPABILITIES if not hasattr(case.family, c)):
        with pytest.raises(AttributeError, match=rf"{case.id} has no {name}; it has log_prob"):
            getattr(d, name)
        assert not hasattr(d, name)


@pytest.mark.parametrize("case", FAMILIES)
def test_a_misspelt_attribute_gets_a_hint(case):
    with pytest.raises(
        AttributeError, match=rf"{case.id} has no attribute 'log_prop'; did you mean log_prob"
    ):
        _ = case.one().log_prop


def test_the_bases_state_nothing_of_their_own():
    class Silent(ExponentialFamily):
        """A family that states nothing."""

        _parameters = {"x": 0}
        _shown = ("x",)
        _natural_ndims = (0,)

    d = Silent._from(x=np.float64(1.0))
    for ask in (
        lambda: d.natural,
        lambda: d.log_normalizer(),
        lambda: Silent.from_natural(1.0),
        lambda: Silent.from_mean_params(1.0),
        lambda: d.sample(),
        lambda: Distribution.log_prob(d, 1.0),
    ):
        with pytest.raises(TypeError, match="Silent"):
            ask()
    with pytest.raises(AttributeError, match="Silent has no mean_params"):
        d.mean_params  # noqa: B018
    assert Silent.sufficient(1.0) == (1.0,)
