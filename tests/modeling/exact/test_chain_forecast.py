"""Members after the end of a chain, against the dense joint of past and future."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pytest

from posteriori import Model, MvNormal, Normal, StudentT
from posteriori.modeling import Chain, Input
from tests.modeling import scaled_models as scaled
from tests.modeling.exact import test_gaussian as gaussian, test_gaussian_chain as chains
from tests.modeling.exact.test_chain_prediction import offset_sensor
from tests.modeling.oracles import dense_answer

RNG = np.random.default_rng(8)
PAST, STEPS = 4, 3
WHOLE = PAST + STEPS


class Case(NamedTuple):
    """A model, inputs for past and future, data for both, and shapes of all unknowns."""

    build: Callable[[], Model]
    inputs: dict[str, Any]
    data: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def changing_noise() -> Model:
    m = Model()
    m.v = Input("t")
    m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(s, variance=m.v), length="t")
    m.y = Normal(m.v * m.s, variance=m.v)
    return m


U = RNG.normal(size=(WHOLE, 2))
MONTH = np.arange(WHOLE) % 3
WEIGHT = RNG.uniform(0.5, 2.0, size=WHOLE)
SERIES = RNG.normal(size=WHOLE)
VECTORS = RNG.normal(size=(WHOLE, 3))
CASES = {
    "local level": Case(gaussian.local_level, {}, {"y": SERIES}, {"s": (WHOLE,)}),
    "tracking": Case(gaussian.tracking, {"u": U}, {"y": VECTORS}, {"drift": (2,), "s": (WHOLE, 2)}),
    "offset": Case(
        offset_sensor,
        {},
        {"y": SERIES, "leaf": SERIES + 1.0},
        {"offset": (), "s": (WHOLE,)},
    ),
    "changing noise": Case(changing_noise, {"v": WEIGHT}, {"y": SERIES}, {"s": (WHOLE,)}),
    "changing steps": Case(
        chains.changing_steps,
        {"A": RNG.normal(size=(WHOLE, 2, 2))},
        {"y": VECTORS},
        {"s": (WHOLE, 2)},
    ),
    "level and cycle": Case(
        chains.level_and_cycle, {}, {"y": SERIES}, {"level": (WHOLE,), "cycle": (WHOLE, 2)}
    ),
    "trend with seasons": Case(
        chains.trend_with_seasons,
        {"month": MONTH, "weight": WEIGHT},
        {"y": SERIES, "z": -SERIES},
        {"season": (3,), "gain": (), "slope": (WHOLE,), "level": (WHOLE,)},
    ),
}


def split(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    past = {k: v[:PAST] for k, v in values.items()}
    return past, {k: v[PAST:] for k, v in values.items()}


def given_the_past(case: Case) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Condition the prior of everything, states and data, on the data of the past."""
    shapes = case.shapes | {k: np.shape(v) for k, v in case.data.items()}
    prior = dense_answer(case.build(), case.inputs, shapes)
    numbers = {
        n: np.arange(prior.places[n].start, prior.places[n].stop).reshape(shape)
        for n, shape in shapes.items()
    }
    seen = np.concatenate([numbers[k][:PAST].ravel() for k in case.data])
    y = np.concatenate([v[:PAST].ravel() for v in case.data.values()])
    gain = np.linalg.solve(prior.cov[np.ix_(seen, seen)], prior.cov[seen]).T
    mean = prior.mean + gain @ (y - prior.mean[seen])
    return mean, prior.cov - gain @ prior.cov[seen], numbers


@pytest.mark.parametrize("name", CASES)
def test_forecasts_are_those_of_the_dense_joint(name: str) -> None:
    case = CASES[name]
    (before, after), (data, _) = split(case.inputs), split(case.data)
    post = case.build().infer({**before, **data})
    mean, cov, numbers = given_the_past(case)
    along = [n for n, shape in case.shapes.items() if shape[:1] == (WHOLE,)]
    for variable in [*along, *case.data]:
        needed = after if name != "trend with seasons" else needs(variable, after)
        ahead = post.predict(variable, t=STEPS, **needed)
        future = numbers[variable][PAST:]
        np.testing.assert_allclose(ahead.mean, mean[future], atol=1e-9)
        if isinstance(ahead, MvNormal):
            expected = cov[future[:, :, None], future[:, None, :]]
            np.testing.assert_allclose(ahead.cov, expected, atol=1e-9)
        else:
            np.testing.assert_allclose(ahead.variance, np.diag(cov)[future], atol=1e-9)


def needs(variable: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Only what the variable depends on has to be given."""
    used = {"slope": (), "level": ("weight",), "z": ("weight",), "y": ("month", "weight")}
    return {k: inputs[k] for k in used[variable]}


@pytest.mark.parametrize("name", CASES)
def test_forecasts_are_the_marginals_of_missing_members(name: str) -> None:
    case = CASES[name]
    (before, after), (data, _) = split(case.inputs), split(case.data)
    post = case.build().infer({**before, **data})
    gone = np.arange(WHOLE) >= PAST
    holes = {
        k: np.where(gone.reshape(-1, *[1] * (v.ndim - 1)), np.nan, v) for k, v in case.data.items()
    }
    longer = case.build().infer({**case.inputs, **holes})
    along = [n for n, shape in case.shapes.items() if shape[:1] == (WHOLE,)]
    for variable in [*along, *case.data]:
        ahead, whole = post.predict(variable, t=STEPS, **after), longer.predict(variable)
        np.testing.assert_allclose(ahead.mean, whole.mean[PAST:], atol=1e-10)
        np.testing.assert_allclose(ahead.variance, whole.variance[PAST:], atol=1e-10)


def test_inputs_tell_how_many_members_follow() -> None:
    case = CASES["tracking"]
    post = case.build().infer(u=U[:PAST], y=VECTORS[:PAST])
    one, other = post.predict("y", u=U[PAST:]), post.predict("y", t=STEPS, u=U[PAST:])
    np.testing.assert_array_equal(one.mean, other.mean)
    assert one.mean.shape == (STEPS, 3)


def test_inputs_equal_to_those_of_the_data_follow_where_their_number_is_given() -> None:
    u = np.ones((PAST, 2))
    post = gaussian.tracking().infer(u=u, y=VECTORS[:PAST])
    again = gaussian.tracking().infer(
        u=np.ones((2 * PAST, 2)), y=np.concatenate([VECTORS[:PAST], np.full((PAST, 3), np.nan)])
    )
    ahead = post.predict("y", t=PAST, u=u)
    np.testing.assert_allclose(ahead.mean, again.predict("y").mean[PAST:], atol=1e-10)
    np.testing.assert_array_equal(post.predict("y", u=u).mean, post.predict("y").mean)


def test_a_common_precision_makes_student_t() -> None:
    y = scaled.Y
    post = scaled.local_level().infer(y=y)
    longer = scaled.local_level().infer(y=np.concatenate([y, np.full(5, np.nan)]))
    for variable in ("s", "y"):
        ahead, whole = post.predict(variable, t=5), longer.predict(variable)
        assert isinstance(ahead, StudentT)
        np.testing.assert_allclose(ahead.mean, whole.mean[-5:], atol=1e-10)
        np.testing.assert_allclose(ahead.scale, whole.scale[-5:], atol=1e-10)
        assert float(np.max(ahead.dof)) == pytest.approx(float(np.max(whole.dof)))


def test_a_long_way_ahead_the_chain_forgets() -> None:
    post = gaussian.local_level().infer(y=SERIES)
    ahead = post.predict("s", t=400)
    assert ahead.mean[-1] == pytest.approx(0.0, abs=1e-12)
    assert ahead.variance[-1] == pytest.approx(0.3 / (1.0 - 0.81), rel=1e-12)


def test_singular_noise_is_forecast() -> None:
    post = chains.tracked([[0, 0], [0, 0.3]], 0.5, 4.0).infer(y=SERIES)
    ahead = post.predict("s", t=2)
    last = post.s
    step = np.array([[1.0, 0.1], [0.0, 1.0]])
    np.testing.assert_allclose(ahead.mean[0], step @ last.mean[-1], atol=1e-12)
    expected = step @ last.cov[-1] @ step.T + np.diag([0.0, 0.3])
    np.testing.assert_allclose(ahead.cov[0], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"t": 0}, ValueError, "t must be at least 1"),
        ({"t": 3}, ValueError, "u lies on plate 't'"),
        ({"t": 2, "u": U[:3]}, ValueError, "2 new members but u has 3"),
        ({"t": 3, "u": U[:PAST]}, ValueError, "u must have 3 further members"),
    ],
)
def test_mistakes_are_named(asked: Any, error: Any, message: str) -> None:
    post = gaussian.tracking().infer(u=U[:PAST], y=VECTORS[:PAST])
    with pytest.raises(error, match=message):
        post.predict("y", **asked)


def test_observed_parents_end_with_the_data() -> None:
    m = Model()
    m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(s, variance=1.0), length="t")
    m.x = Normal(m.s, variance=1.0)
    m.y = Normal(m.s + m.x, variance=1.0)
    post = m.infer(x=SERIES, y=SERIES)
    assert post.predict("x", t=2).mean.shape == (2,)
    with pytest.raises(TypeError, match="y depends on x"):
        post.predict("y", t=2)


def panel() -> Model:
    m = Model()
    m.u = Input("t")
    m.start = Input("n")
    m.s = Chain(
        Normal(m.start, variance=4.0), lambda s: Normal(0.9 * s + m.u, variance=0.3), length="t"
    )
    m.y = Normal(m.s, variance=0.5)
    return m


def single(start: float) -> Model:
    m = Model()
    m.u = Input("t")
    m.s = Chain(
        Normal(start, variance=4.0), lambda s: Normal(0.9 * s + m.u, variance=0.3), length="t"
    )
    m.y = Normal(m.s, variance=0.5)
    return m


def test_series_of_a_panel_are_forecast_as_each_alone() -> None:
    start, y, u = np.array([0.0, 1.0, -2.0]), VECTORS[:PAST], U[:, 0]
    post = panel().infer(start=start, u=u[:PAST], y=y)
    for variable in ("s", "y"):
        ahead = post.predict(variable, u=u[PAST:])
        for i in range(3):
            alone = single(start[i]).infer(u=u[:PAST], y=y[:, i]).predict(variable, u=u[PAST:])
            np.testing.assert_allclose(ahead.mean[:, i], alone.mean, atol=1e-10)
            np.testing.assert_allclose(ahead.variance[:, i], alone.variance, atol=1e-10)


def test_unknowns_beside_a_chain_are_forecast_as_their_sum() -> None:
    """Noisy copies of the states, which are never seen themselves, add to the noise of the data."""
    m = Model()
    m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(0.9 * s, variance=0.3), length="t")
    m.x = Normal(m.s, variance=0.2)
    m.y = Normal(m.x, variance=0.3)
    y = SERIES[:PAST]
    ahead = m.infer(y=y).predict("y", t=STEPS)
    alone = gaussian.local_level().infer(y=y).predict("y", t=STEPS)
    np.testing.assert_allclose(ahead.mean, alone.mean, atol=1e-10)
    np.testing.assert_allclose(ahead.variance, alone.variance, atol=1e-10)
