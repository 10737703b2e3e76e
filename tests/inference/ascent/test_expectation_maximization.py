"""EM as an engine: the trace never falls, jumps end at the same place, and faults are said."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from posteriori.inference import forward_backward, maximize_by_em
from posteriori.numerics.warnings import ConvergenceWarning

LINKAGE = np.array([125.0, 18.0, 20.0, 34.0])


def linkage_expect(theta):
    """The first of five cells has been added to the second: only their sum is seen."""
    hidden = LINKAGE[0] * (theta / 4) / (0.5 + theta / 4)
    cells = np.array([0.5 + theta / 4, (1 - theta) / 4, (1 - theta) / 4, theta / 4])
    return hidden, float(LINKAGE @ np.log(cells))


def linkage_maximize(hidden):
    return (hidden + LINKAGE[3]) / (hidden + LINKAGE[1:].sum())


@pytest.mark.topic("002/M8", "001/4.6", "000/S1", "004/9.18", "003/U.4", "002/M11")
@pytest.mark.parametrize("accelerated", [False, True])
def test_linkage_data_of_dempster_laird_and_rubin(accelerated):
    found = maximize_by_em(
        linkage_expect, linkage_maximize, 0.5, tol=1e-14, accelerated=accelerated
    )
    assert found.converged
    assert isinstance(found.parameters, float)
    root = max(np.roots([197.0, -15.0, -68.0]))  # where the derivative of the log likelihood is 0
    assert found.parameters == pytest.approx(root, abs=1e-7)
    assert found.parameters == pytest.approx(0.6268214979, abs=1e-7)
    assert np.all(np.diff(found.trace) >= -1e-10)
    assert len(found.trace) == found.n_iter + 1


@pytest.mark.topic("002/M11", "000/S2")
def test_map_em_maximises_the_posterior():
    a, b = 3.0, 5.0

    def log_prior(theta):
        return (a - 1) * np.log(theta) + (b - 1) * np.log1p(-theta)

    def maximize(hidden):
        ones = hidden + LINKAGE[3] + a - 1
        return ones / (ones + LINKAGE[1] + LINKAGE[2] + b - 1)

    found = maximize_by_em(linkage_expect, maximize, 0.5, log_prior=log_prior, tol=1e-13)
    best = minimize_scalar(
        lambda t: -linkage_expect(t)[1] - log_prior(t),
        bounds=(0.01, 0.99),
        options={"xatol": 1e-10},
    )
    assert found.parameters == pytest.approx(best.x, abs=1e-6)
    assert found.trace[-1] == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.topic("000/S4")
def test_generalised_em_needs_only_a_rise():
    def half_way(state):
        hidden, theta = state
        return 0.5 * (theta + linkage_maximize(hidden))

    def expect(theta):
        hidden, value = linkage_expect(theta)
        return (hidden, theta), value

    found = maximize_by_em(expect, half_way, 0.2, tol=1e-13, accelerated=False)
    assert found.parameters == pytest.approx(0.6268214979, abs=1e-6)
    assert np.all(np.diff(found.trace) >= 0)


def normal_with_gaps(x):
    """E and M of one bivariate normal whose second entries may be missing."""
    gone = np.isnan(x[:, 1])

    def expect(parameters):
        mean, cov = parameters
        slope, rest = cov[0, 1] / cov[0, 0], cov[1, 1] - cov[0, 1] ** 2 / cov[0, 0]
        filled = x.copy()
        filled[gone, 1] = mean[1] + slope * (x[gone, 0] - mean[0])
        square = filled.T @ filled
        square[1, 1] += gone.sum() * rest
        whole = x[~gone] - mean
        quad = np.einsum("ni,ij,nj->n", whole, np.linalg.inv(cov), whole)
        value = -0.5 * (quad + np.log(np.linalg.det(2 * np.pi * cov))).sum()
        one = x[gone, 0] - mean[0]
        value += -0.5 * (one**2 / cov[0, 0] + np.log(2 * np.pi * cov[0, 0])).sum()
        return (filled.sum(axis=0), square), float(value)

    def maximize(sums):
        mean = sums[0] / len(x)
        return mean, sums[1] / len(x) - np.outer(mean, mean)

    return expect, maximize


@pytest.mark.topic("002/M11")
def test_missing_data_of_a_normal_are_a_regression():
    rng = np.random.default_rng(3)
    x = rng.multivariate_normal([1.0, -2.0], [[2.0, 1.2], [1.2, 1.5]], size=60)
    x[40:, 1] = np.nan
    expect, maximize = normal_with_gaps(x)
    start = (np.zeros(2), np.eye(2))
    plain = maximize_by_em(expect, maximize, start, tol=1e-12, accelerated=False)
    fast = maximize_by_em(expect, maximize, start, tol=1e-12)
    # monotone gaps: the regression of the second entry on the first has the answer in closed form
    seen, first = x[:40], x[:, 0]
    slope = np.cov(seen.T, bias=True)[0, 1] / seen[:, 0].var()
    mean = seen[:, 1].mean() + slope * (first.mean() - seen[:, 0].mean())
    for found in (plain, fast):
        assert found.parameters[0] == pytest.approx([first.mean(), mean], abs=1e-5)
        assert found.parameters[1][0, 1] == pytest.approx(slope * first.var(), abs=1e-4)
    assert fast.n_iter < plain.n_iter


@pytest.mark.topic("002/M11")
def test_baum_welch_is_em_on_forward_backward():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=40)

    def expect(parameters):
        initial, transition, emission = parameters
        found = forward_backward(np.log(initial), np.log(transition), np.log(emission[:, codes].T))
        gamma = found.probabilities
        emitted = np.stack([gamma[codes == c].sum(axis=0) for c in range(3)], axis=1)
        return (gamma[0], found.pair_sums, emitted), float(found.log_evidence)

    def maximize(sums):
        return tuple(s / s.sum(axis=-1, keepdims=True) for s in sums)

    start = (
        np.array([0.6, 0.4]),
        np.array([[0.7, 0.3], [0.4, 0.6]]),
        np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]]),
    )
    found = maximize_by_em(expect, maximize, start, tol=1e-8, accelerated=False)
    assert np.all(np.diff(found.trace) >= -1e-10)
    assert found.trace[-1] > found.trace[0]


def test_a_step_that_falls_is_taken_back():
    def expect(theta):
        return theta, -((theta - 1.0) ** 2)

    with pytest.warns(ConvergenceWarning, match="lowered the objective"):
        found = maximize_by_em(expect, lambda theta: theta - 1.0, 0.0)
    assert found.parameters == 0.0
    assert found.n_iter == 0
    assert not found.converged


def test_too_few_steps_are_said():
    with pytest.warns(ConvergenceWarning, match="stopped after 2 steps"):
        found = maximize_by_em(linkage_expect, linkage_maximize, 0.1, max_iter=2, tol=1e-12)
    assert found.n_iter == 2


def test_a_callback_may_stop():
    seen = []
    found = maximize_by_em(
        linkage_expect,
        linkage_maximize,
        0.1,
        callback=lambda i, value: seen.append(value) or i == 3,
    )
    assert found.message == "stopped by the callback"
    assert found.trace[1:] == tuple(seen)


def test_an_interrupt_keeps_what_was_found():
    calls = []

    def expect(theta):
        calls.append(theta)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return linkage_expect(theta)

    found = maximize_by_em(expect, linkage_maximize, 0.1)
    assert found.n_iter == 2
    assert found.message == "interrupted after 2 steps"
    assert found.parameters == calls[2]


def steps_that_lead_to_minus_nine(theta):
    """Steps of a linear map towards −9 that end at 0.01 instead."""
    return max(theta - 0.1 * (0.9 + 0.1 * theta), 0.01)


def divided(theta):
    return 1.0 / max(theta, 0.0)


def refused(theta):
    if theta < 0.0:
        raise ValueError("outside")
    return 1.0


@pytest.mark.parametrize("fault", [np.sqrt, divided, refused])
def test_jumps_into_the_impossible_are_taken_back(fault):
    """NaN with NumPy's warning, a division by zero, a refusal: the ascent goes on step by step."""
    seen = []

    def expect(theta):
        seen.append(theta)
        return theta, -float(theta + 0.0 * fault(theta))

    found = maximize_by_em(expect, steps_that_lead_to_minus_nine, 1.0)
    assert min(seen) < -1.0
    assert found.parameters == 0.01
    assert found.converged


def test_an_impossible_start_is_refused():
    with pytest.raises(ValueError, match="objective is -inf at start"):
        maximize_by_em(lambda theta: (theta, -np.inf), lambda e: e, 0.0)
