"""Passes over several series at once against the joint normal distribution and finite differences."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from posteriori.inference.series import column_chain
from posteriori.inference.series.column_chain import ColumnChain
from posteriori.inference.series.matern_chain import matern_chain, matern_motion, matern_rate
from posteriori.inference.series.matern_pair import NOTHING_SEEN, MaternPair
from posteriori.inference.series.scalar_chain import Entries, ScalarChain

STEPS = 23
VARIANCES = np.array([1.0, 0.7, 1.4])


def make_rows(seed=0, steps=STEPS, many=2):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.exponential(0.3, steps))
    return times, rng.uniform(0.05, 0.4, steps), rng.normal(size=(steps, many)), rng


def two_processes(times, emission, lengths=(0.8, 1.7)):
    """Return the chains along stretches of a sum of processes of smoothness 3/2 and 5/2, (T, 5)."""
    places = [(i, j) for i in range(2) for j in range(2)]
    places += [(2 + i, 2 + j) for i in range(3) for j in range(3)]
    rows, columns = np.array(places).T
    parts = np.repeat([1, 2], [4, 9])

    def make(here):
        chains = [
            matern_chain(nu, length, np.diff(times[here]))
            for nu, length in zip((1.5, 2.5), lengths, strict=True)
        ]
        moves = np.hstack([c.transition.reshape(len(c.transition), -1) for c in chains])
        noises = np.hstack([c.noise_cov.reshape(len(c.noise_cov), -1) for c in chains])
        start = np.concatenate([c.initial_cov.ravel() for c in chains])[None]
        return ScalarChain(
            emission[here],
            Entries(rows, columns, moves),
            Entries(rows, columns, noises),
            parts,
            np.zeros(5),
            np.zeros((5, 5)),
            Entries(rows, columns, start),
            parts,
            np.zeros(5, dtype=bool),
        )

    return make


def score(chain, series, outputs):
    """Return −½(Q Σ ln F + tr VᵀF⁻¹V)."""
    gathered = chain.gather(series)
    return -0.5 * (outputs * gathered.log_volume + gathered.moments.trace())


def differences(function, at, step=1e-5):
    each = step * np.eye(len(at))
    return np.array([function(at + e) - function(at - e) for e in each]) / (2.0 * step)


@pytest.fixture(params=[7, 100], ids=["stretches", "one stretch"])
def stretch(request, monkeypatch):
    monkeypatch.setattr(column_chain, "STRETCH", request.param)


def test_what_is_gathered_is_the_density_of_the_series(stretch):
    times, noise, series, rng = make_rows()
    emission = rng.normal(size=(STEPS, 5)) * [1.0, 0.0, 1.0, 0.0, 0.0]
    chain = ColumnChain(two_processes(times, emission), VARIANCES, noise, times, False)
    gathered = chain.gather(series)
    gaps = np.abs(times[:, None] - times)
    r, s = np.sqrt(3.0) * gaps / 0.8, np.sqrt(5.0) * gaps / 1.7
    cov = 0.7 * np.multiply.outer(emission[:, 0], emission[:, 0]) * (1.0 + r) * np.exp(-r)
    cov += (
        1.4
        * np.multiply.outer(emission[:, 2], emission[:, 2])
        * (1.0 + s + s * s / 3.0)
        * np.exp(-s)
    )
    cov += np.diag(noise)
    assert gathered.log_volume == pytest.approx(np.linalg.slogdet(cov)[1], abs=1e-10)
    expected = series.T @ np.linalg.solve(cov, series)
    np.testing.assert_allclose(gathered.moments, expected, atol=1e-9)


def test_slopes_in_all_that_a_chain_is_made_of(stretch):
    times, noise, series, rng = make_rows(1)
    emission = rng.normal(size=(STEPS, 5))

    def at(noise=noise, variances=VARIANCES, emission=emission, lengths=(0.8, 1.7)):
        return ColumnChain(
            two_processes(times, emission, lengths), variances, noise, times, shaped=True
        )

    chain, outputs = at(), 1  # of two series one is known in advance: the volume counts once
    slopes = chain.slopes(series, chain.gather(series), outputs)
    close = {"rtol": 1e-6, "atol": 1e-7}
    found = differences(lambda h: score(at(noise=h), series, outputs), noise)
    np.testing.assert_allclose(slopes.noise, found, **close)
    found = differences(lambda v: score(at(variances=v), series, outputs), VARIANCES)
    np.testing.assert_allclose(slopes.parts, found, **close)
    found = differences(
        lambda z: score(at(emission=z.reshape(STEPS, 5)), series, outputs), emission.ravel()
    )
    np.testing.assert_allclose(slopes.emission.ravel(), found, **close)
    found = differences(
        lambda logs: score(at(lengths=np.exp(logs)), series, outputs), np.log([0.8, 1.7])
    )
    for k, (nu, length, own) in enumerate([(1.5, 0.8, slice(0, 2)), (2.5, 1.7, slice(2, 5))]):
        motion, rate = matern_motion(nu), matern_rate(nu, length)
        moved = np.trace(motion.drift @ slopes.drift[own, own])
        spread = 0.5 * VARIANCES[1 + k] * np.trace(motion.diffusion @ slopes.diffusion[own, own])
        assert -rate * (moved + spread) == pytest.approx(found[k], rel=1e-6, abs=1e-7)


def one_process(times, noise, emission, variance, rate):
    """Return a process of smoothness 3/2 by lists of entries."""
    rows, columns = np.divmod(np.arange(4), 2)

    def make(here):
        made = matern_chain(1.5, np.sqrt(3.0) / rate, np.diff(times[here]))
        z = np.column_stack([emission[here], np.zeros(len(times[here]))])
        weights = made.transition.reshape(-1, 4), made.noise_cov.reshape(-1, 4)
        return ScalarChain(
            z,
            Entries(rows, columns, weights[0]),
            Entries(rows, columns, weights[1]),
            np.ones(4, dtype=np.int64),
            np.zeros(2),
            np.zeros((2, 2)),
            Entries(rows, columns, np.eye(2).reshape(1, 4)),
            np.ones(4, dtype=np.int64),
            np.zeros(2, dtype=bool),
        )

    return ColumnChain(make, np.array([1.0, variance]), noise, times, False)


@pytest.mark.parametrize("steps", [1, 2, 1024, 1025, 2500])
def test_two_states_written_out_say_what_lists_of_entries_say(steps):
    times, noise, series, rng = make_rows(2, steps, 3)
    emission = rng.normal(size=steps)
    pair = MaternPair(2.1, 0.8, emission, noise, times)
    plain = one_process(times, noise, emission, 0.8, 2.1)
    one, other = pair.gather(series), plain.gather(series)
    assert one.log_volume == pytest.approx(other.log_volume, rel=1e-10)
    np.testing.assert_allclose(one.moments, other.moments, rtol=1e-9)
    for found, wanted in zip(
        pair.slopes(series, one, 2), plain.slopes(series, other, 2), strict=True
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_what_all_values_say_of_a_process_at_each_step(size):
    """Against the conditional normal distribution; of some rows nothing is seen, at both ends of a block too."""
    times, noise, series, rng = make_rows(4, 1100, 2)
    noise, variance, series = size * noise, 0.8 * size, np.sqrt(size) * series
    hidden = np.array([0, 1, 500, 1022, 1023, 1024, 1025, 1099])
    noise[hidden] = NOTHING_SEEN
    z = rng.normal(size=1100)
    pair = MaternPair(2.1, variance, z, noise, times)
    means, variances = pair.smooth(series, pair.gather(series))
    r = 2.1 * np.abs(times[:, None] - times)
    cov = variance * np.outer(z, z) * (1.0 + r) * np.exp(-r)
    seen = np.delete(np.arange(1100), hidden)
    gain = np.linalg.solve(cov[np.ix_(seen, seen)] + np.diag(noise[seen]), cov[seen]).T
    scale = np.sqrt(size)
    np.testing.assert_allclose(means / scale, gain @ series[seen] / scale, rtol=1e-7, atol=1e-9)
    left = cov.diagonal() - np.sum(gain * cov[:, seen], axis=1)
    np.testing.assert_allclose(variances / size, left / size, rtol=1e-6, atol=1e-10)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_spreads_beyond_what_a_product_holds(size):
    times, noise, series, _ = make_rows(3)
    pair = MaternPair(1.0, 1.0, np.ones(1), noise, times)
    there = pair._replace(variance=size, noise=size * noise)
    expected = pair.gather(series).log_volume + STEPS * np.log(size)
    assert there.gather(series).log_volume == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("step", [1e-9, 1e-5])
def test_short_steps_without_noise_keep_their_digits(step):
    """What two values far closer than the length scale leave of each other: ln(1 − k²), by its series."""
    pair = MaternPair(1.0, 1.0, np.ones(1), np.zeros(2), np.array([0.0, step]))
    # k = (1 + x)e^{−x}: ln k² = −x² + 2x³/3 − x⁴/2 + …
    expected = np.log(-np.expm1(-(step**2) + 2.0 * step**3 / 3.0 - step**4 / 2.0))
    assert pair.gather(np.zeros((2, 1))).log_volume == pytest.approx(expected, rel=1e-12)


def test_steps_of_all_sizes_agree_with_the_joint_distribution():
    times = np.cumsum([0.0, 1e-8, 1e-3, 1.0, 1e3, 1e9, 0.5])
    noise, y = np.full(7, 0.1), np.arange(7.0)
    r = np.sqrt(3.0) * np.abs(times[:, None] - times)
    cov = 2.0 * (1.0 + r) * np.exp(-r) + 0.1 * np.eye(7)
    gathered = MaternPair(np.sqrt(3.0), 2.0, np.ones(1), noise, times).gather(y[:, None])
    value = -0.5 * (7 * np.log(2.0 * np.pi) + gathered.log_volume + gathered.moments[0, 0])
    expected = multivariate_normal(np.zeros(7), cov).logpdf(y)
    assert value == pytest.approx(expected, rel=1e-8)


def test_a_value_that_is_known_already_is_refused():
    noise, times = np.zeros(2), np.zeros(2)
    with pytest.raises(ValueError, match="add noise"):
        MaternPair(1.0, 1.0, np.ones(1), noise, times).gather(np.zeros((2, 1)))
