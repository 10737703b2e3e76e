"""Linear systems: the notes' numbers, dense joint normals, and what a series may look like."""

import numpy as np
import pytest

from posteriori import MvNormal
from posteriori.sequence import LinearGaussianSystem
from tests.inference.oracles import dense_posterior, random_chain

WALK = LinearGaussianSystem(1.0, 0.5, 1.0, 1.0, 0.0, 1.0)
SEEN = [1.0, 2.0, 1.5]


def system_of(chain):
    return LinearGaussianSystem(
        chain.transition,
        chain.transition_cov,
        chain.emission,
        chain.emission_cov,
        chain.initial_mean,
        chain.initial_cov,
        chain.transition_offset,
        chain.emission_offset,
    )


def random_system(seed=0, size=3, outputs=2, n_steps=6, varying=False):
    return system_of(
        random_chain(np.random.default_rng(seed), size, outputs, n_steps, varying=varying)
    )


def holes(rng, shape, share=0.3):
    return np.where(rng.random(shape) < share, np.nan, rng.normal(size=shape) * 2)


@pytest.mark.topic("000/W12")
def test_filter_has_the_numbers_of_the_notes():
    found = WALK.filter(SEEN)
    np.testing.assert_allclose(found.mean[:, 0], [0.5, 1.25, 1.375], rtol=1e-14)
    np.testing.assert_allclose(found.cov[:, 0, 0], 0.5, rtol=1e-14)
    np.testing.assert_allclose(WALK.log_prob(SEEN), -4.62466137, atol=5e-9)


@pytest.mark.topic("000/W13")
def test_smoother_has_the_numbers_of_the_notes():
    found = WALK.smooth(SEEN)
    np.testing.assert_allclose(found.mean[:, 0], [0.90625, 1.3125, 1.375], rtol=1e-14)
    np.testing.assert_allclose(found.cov[:, 0, 0], [0.34375, 0.375, 0.5], rtol=1e-14)
    np.testing.assert_allclose(found.cross_cov[:, 0, 0], [0.1875, 0.25], rtol=1e-14)


@pytest.mark.topic("000/W12")
def test_the_inner_covariance_is_that_of_the_transition():
    """The prediction AVAᵀ + Γ has the noise of the state, not that of the observation."""
    system = LinearGaussianSystem([[2.0]], 0.25, 1.0, 4.0, 0.0, 1.0)
    first = 1.0 / (1.0 + 1.0 / 4.0)  # V = 1/(1/V₀ + 1/Σ)
    inner = 4.0 * first + 0.25
    gain = inner / (inner + 4.0)
    found = system.filter([1.0, 2.0])
    np.testing.assert_allclose(found.cov[1, 0, 0], (1.0 - gain) * inner, rtol=1e-14)
    mean = 2.0 * found.mean[0, 0]
    np.testing.assert_allclose(found.mean[1, 0], mean + gain * (2.0 - mean), rtol=1e-14)


@pytest.mark.topic("000/W12")
def test_a_step_without_observation_moves_the_mean_by_the_transition_alone():
    system = LinearGaussianSystem(
        [[0.9, 0.2], [0.0, 0.8]], np.eye(2), [[1.0, 0.0]], 1.0, [1, 2], np.eye(2)
    )
    found = system.filter([1.0, np.nan])
    np.testing.assert_allclose(found.mean[1], system.transition @ found.mean[0], rtol=1e-14)
    assert found.log_predictive[1] == 0.0


@pytest.mark.topic("000/W5", "000/W12", "000/W13")
@pytest.mark.parametrize("varying", [False, True])
def test_answers_are_those_of_the_dense_joint_with_gaps(varying):
    rng = np.random.default_rng(3)
    system = random_system(3, varying=varying)
    y = holes(rng, (6, 2))
    post, dense = system.smooth(y), dense_posterior(system.chain, y)
    np.testing.assert_allclose(post.mean, dense.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(post.cov, dense.cov, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(post.cross_cov, dense.cross_cov, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(system.log_prob(y), dense.log_evidence, rtol=1e-10)


def test_forecasts_are_smoothed_gaps_at_the_end():
    rng = np.random.default_rng(0)
    system, y = random_system(1), holes(rng, (6, 2))
    ahead = system.forecast(y, 3)
    assert isinstance(ahead, MvNormal)
    assert ahead.batch_shape == (3,)
    longer = system.smooth(np.vstack([y, np.full((3, 2), np.nan)]))
    c = system.emission
    offset = system.emission_offset
    np.testing.assert_allclose(ahead.mean, longer.mean[6:] @ c.T + offset, rtol=1e-9)
    np.testing.assert_allclose(
        ahead.cov, c @ longer.cov[6:] @ c.T + system.emission_cov, rtol=1e-9, atol=1e-12
    )


def test_a_varying_system_is_told_its_future():
    whole = random_system(2, n_steps=7, varying=True)
    names = ("transition", "transition_cov", "emission", "emission_cov")
    names += ("transition_offset", "emission_offset")

    def part(steps):
        """Entries of transitions lead from a step to the next, those of emissions belong to one."""
        cut = {}
        for name in names:
            a, axes = getattr(whole, name), 1 if name.endswith("offset") else 2
            shift = 1 if name.startswith("transition") and len(a) == 6 else 0
            cut[name] = a if a.ndim == axes else a[max(steps.start - shift, 0) : steps.stop - shift]
        return LinearGaussianSystem(
            **cut, initial_mean=whole.initial_mean, initial_cov=whole.initial_cov
        )

    y = np.random.default_rng(0).normal(size=(7, 2))
    past, future = part(slice(0, 5)), part(slice(5, 7))
    gone = whole.smooth(np.vstack([y[:5], np.full((2, 2), np.nan)]))
    expected = (
        np.einsum("tpd,td->tp", whole.emission[5:], gone.mean[5:]) + whole.emission_offset[5:]
    )
    found = past.forecast(y[:5], 2, future=future)
    np.testing.assert_allclose(found.mean, expected, rtol=1e-9)
    with pytest.raises(ValueError, match="future=LinearGaussianSystem"):
        past.forecast(y[:5], 2)
    with pytest.raises(ValueError, match="future must have 3 states"):
        past.forecast(y[:5], 2, future=WALK)


def test_steps_lead_where_the_filter_leads():
    rng = np.random.default_rng(5)
    system, y = random_system(5), holes(rng, (9, 2))
    now = system.filter(y[:4])
    for row in y[4:]:
        now = system.step(now, row)
    whole = system.filter(y)
    np.testing.assert_allclose(now.mean[-1], whole.mean[-1], rtol=1e-10)
    np.testing.assert_allclose(now.cov[-1], whole.cov[-1], rtol=1e-10)
    np.testing.assert_allclose(now.log_evidence, whole.log_evidence, rtol=1e-12)


def test_series_of_different_lengths_are_answered_one_by_one():
    rng = np.random.default_rng(6)
    system = random_system(6)
    series = [holes(rng, (n, 2)) for n in (3, 7, 1)]
    each = [system.log_prob(y) for y in series]
    found = system.log_prob(series)
    assert found.shape == (3,)
    np.testing.assert_allclose(found, each, rtol=1e-13)
    assert [post.mean.shape for post in system.smooth(series)] == [(3, 3), (7, 3), (1, 3)]
    assert [ahead.batch_shape for ahead in system.forecast(series, 4)] == [(4,)] * 3
    draws = system.sample_posterior(series, 5, rng=0)
    assert [d.shape for d in draws] == [(5, 3, 3), (5, 7, 3), (5, 1, 3)]


def test_arrays_of_series_are_batches():
    system = random_system(7)
    y = np.random.default_rng(0).normal(size=(4, 5, 2))
    assert system.log_prob(y).shape == (4,)
    np.testing.assert_allclose(system.log_prob(y), system.log_prob(list(y)), rtol=1e-12)
    assert system.forecast(y, 3).batch_shape == (4, 3)


@pytest.mark.parametrize(
    "y", [[1.0, 2.0], [[1.0], [2.0]], np.array([1.0, 2.0]), np.array([[1.0], [2.0]])]
)
def test_a_column_of_numbers_is_one_series(y):
    np.testing.assert_allclose(WALK.log_prob(y), WALK.filter([1.0, 2.0]).log_evidence)
    assert np.shape(WALK.log_prob(y)) == ()


def test_without_transition_noise_it_is_regression():
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    system = LinearGaussianSystem(
        np.eye(3), np.zeros((3, 3)), x[:, None, :], 0.5, np.zeros(3), np.eye(3)
    )
    precision = np.eye(3) + x.T @ x / 0.5
    post = system.smooth(y)
    np.testing.assert_allclose(post.cov[0], np.linalg.inv(precision), rtol=1e-11)
    np.testing.assert_allclose(post.mean[0], np.linalg.solve(precision, x.T @ y / 0.5), rtol=1e-11)
    dense = MvNormal(np.zeros(20), cov=x @ x.T + 0.5 * np.eye(20))
    np.testing.assert_allclose(system.log_prob(y), dense.log_prob(y), rtol=1e-12)


@pytest.mark.topic("000/W15")
def test_draws_have_the_moments_of_the_system():
    system = random_system(9, size=2, outputs=1, n_steps=3)
    draws = system.sample(3, 40_000, rng=0)
    assert draws.states.shape == (40_000, 3, 2)
    assert system.sample(3, rng=0).observations.shape == (3, 1)
    unseen = system.smooth(np.full((3, 1), np.nan))
    spread = np.sqrt(np.diagonal(unseen.cov, axis1=1, axis2=2))
    error = (draws.states.mean(axis=0) - unseen.mean) / spread * np.sqrt(40_000)
    assert np.abs(error).max() < 5.0
    seen = unseen.mean @ system.emission.T + system.emission_offset
    variance = system.emission @ unseen.cov @ system.emission.T + system.emission_cov
    ratio = draws.observations.var(axis=0) / variance[..., 0]
    assert np.abs(ratio - 1.0).max() < 5.0 * np.sqrt(2.0 / 40_000)
    error = (draws.observations.mean(axis=0) - seen) / np.sqrt(variance[..., 0] / 40_000)
    assert np.abs(error).max() < 5.0


def test_draws_given_data_have_the_moments_of_the_smoother():
    system = random_system(10, size=2, outputs=1, n_steps=3)
    y = np.array([[0.3], [np.nan], [1.0]])
    post, draws = system.smooth(y), system.sample_posterior(y, 40_000, rng=0)
    spread = np.sqrt(np.diagonal(post.cov, axis1=1, axis2=2))
    assert np.abs((draws.mean(axis=0) - post.mean) / spread).max() < 5.0 / np.sqrt(40_000)
    pairs = np.einsum("nti,ntj->tij", draws[:, 1:] - post.mean[1:], draws[:, :-1] - post.mean[:-1])
    scale = spread[1:, :, None] * spread[:-1, None, :]
    assert np.abs((pairs / 40_000 - post.cross_cov) / scale).max() < 5.0 * np.sqrt(2.0 / 40_000)


def test_systems_are_equal_by_their_numbers_and_cannot_be_changed():
    assert (
        LinearGaussianSystem([[1.0]], [[0.5]], [[1.0]], [[1.0]], [0.0], [[1.0]], [0.0], [0.0])
        == WALK
    )
    assert LinearGaussianSystem(1.0, 0.6, 1.0, 1.0, 0.0, 1.0) != WALK
    with pytest.raises(ValueError, match="read-only"):
        WALK.transition[0, 0] = 2.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transition_cov": -1.0}, "transition_cov has a negative variance"),
        ({"emission_cov": -1.0}, "emission_cov has a negative variance"),
        ({"initial_cov": [[1.0, 2.0], [2.0, 1.0]], "initial_mean": [0.0, 0.0]}, "emission"),
        ({"transition": np.nan}, "transition must be finite"),
        ({"transition": np.eye(2)}, "transition must have event shape"),
        ({"emission_offset": [1.0, 2.0]}, "emission_offset must have event shape"),
    ],
)
def test_what_is_no_system_is_refused(change, message):
    given = {
        "transition": 1.0,
        "transition_cov": 1.0,
        "emission": 1.0,
        "emission_cov": 1.0,
        "initial_mean": 0.0,
        "initial_cov": 1.0,
    }
    with pytest.raises(ValueError, match=message):
        LinearGaussianSystem(**(given | change))


def test_what_is_no_series_is_refused():
    with pytest.raises(ValueError, match="y must be finite, or NaN"):
        WALK.filter([1.0, np.inf])
    with pytest.raises(ValueError, match="y must have shape"):
        WALK.filter(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="at least one time step"):
        WALK.filter(np.zeros((0, 1)))
    with pytest.raises(ValueError, match="horizon must be at least 1"):
        WALK.forecast(SEEN, 0)
    with pytest.raises(ValueError, match="y must be one observation"):
        WALK.step(WALK.filter(SEEN), [1.0, 2.0])
    with pytest.raises(ValueError, match="now must be of one series"):
        WALK.step(WALK.filter(np.zeros((2, 3, 1))), 1.0)
