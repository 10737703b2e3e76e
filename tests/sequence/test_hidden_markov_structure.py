"""Runs, lags and inputs: counting where states are known, special cases, segmentations by enumeration."""

import warnings
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import poisson

from posteriori.numerics import ConvergenceWarning
from posteriori.sequence import HiddenMarkovChain, HiddenMarkovModel
from tests.sequence.chain_oracles import log_dirichlet_multinomial

RNG = np.random.default_rng(0)
STATES = np.repeat([0, 1, 0, 1, 0, 1], [9, 12, 7, 10, 11, 8])
INPUTS = RNG.normal(size=(len(STATES), 2))
ROWS = np.column_stack([3.0 * STATES, -1.0 * STATES]) + RNG.normal(size=(len(STATES), 2))


def fit_quietly(model, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*args, **options)


# -- lags and inputs to emissions ----------------------------------------------------------------


@pytest.mark.topic("003/H.13")
@pytest.mark.parametrize("method", ["em", "variational", "viterbi"])
@pytest.mark.parametrize("emission", ["normal", "mvnormal"])
def test_constant_inputs_to_emissions_are_the_plain_model(method, emission):
    plain = HiddenMarkovModel(2, emission, method, n_init=1, random_state=0, tol=1e-9).fit(ROWS)
    driven = HiddenMarkovModel(2, emission, method, n_init=1, random_state=0, tol=1e-9)
    driven.fit(ROWS, inputs=np.full(len(ROWS), 7.0))
    assert driven.trace_[-1] == pytest.approx(plain.trace_[-1], abs=1e-6)
    np.testing.assert_allclose(driven.model_.transition, plain.model_.transition, atol=1e-5)
    asked = driven.predict_proba(ROWS, inputs=np.full(len(ROWS), 7.0))
    np.testing.assert_allclose(asked, plain.predict_proba(ROWS), atol=1e-5)


@pytest.mark.topic("003/H.12")
def test_no_lag_is_the_plain_model():
    plain = HiddenMarkovModel(2, random_state=0).fit(ROWS)
    assert float(HiddenMarkovModel(2, lags=0, random_state=0).fit(ROWS).log_evidence_) == float(
        plain.log_evidence_
    )


@pytest.mark.topic("003/H.12", "003/H.13")
@pytest.mark.parametrize("emission", ["normal", "mvnormal"])
def test_known_states_regress_by_least_squares(emission):
    lengths = [30, 27]
    m = HiddenMarkovModel(2, emission, "em", lags=1)
    fit_quietly(m, ROWS, states=STATES, inputs=INPUTS, lengths=lengths)
    later = np.ones(len(ROWS), dtype=bool)
    later[[0, 30]] = False
    before = np.vstack([np.zeros((1, 2)), ROWS[:-1]])
    design = np.column_stack([np.ones(len(ROWS)), before, INPUTS])
    for k in (0, 1):
        at = later & (k == STATES)
        weights, *_ = np.linalg.lstsq(design[at], ROWS[at], rcond=None)
        np.testing.assert_allclose(m.model_.emission.intercept[k], weights[0], rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(m.model_.emission.coef[k], weights[1:], rtol=1e-6, atol=1e-7)
        noise = np.cov((ROWS[at] - design[at] @ weights).T, bias=True)
        if emission == "normal":
            noise = np.diag(np.diag(noise))
        np.testing.assert_allclose(m.model_.emission.covariance[k], noise, rtol=1e-6, atol=1e-9)


@pytest.mark.topic("003/H.12")
def test_lags_are_judged_by_the_same_rows():
    rng = np.random.default_rng(2)
    y = np.zeros(200)
    for t in range(1, 200):
        y[t] = 0.9 * y[t - 1] + rng.normal(0.0, 0.3)
    fits = {lags: HiddenMarkovModel(1, lags=lags).fit(y[:, None], given=2) for lags in (0, 1, 2)}
    assert fits[0].log_evidence_.comparable(fits[1].log_evidence_)
    assert fits[1].log_evidence_.fingerprint.count == 198
    best = max(fits, key=lambda lags: float(fits[lags].log_evidence_))
    assert best == 1
    alone = HiddenMarkovModel(1, lags=1).fit(y[:, None])
    assert alone.log_evidence_.fingerprint.count == 199
    parts = alone.log_prob(y[:51, None]) + alone.log_prob(y[:, None], given=51)
    assert parts == pytest.approx(alone.log_prob(y[:, None]))
    assert alone.score(y[:, None]) == pytest.approx(alone.log_prob(y[:, None]) / 199)


def test_the_evidence_of_regressions_is_drawn():
    m = HiddenMarkovModel(1, "mvnormal", lags=1).fit(ROWS, inputs=INPUTS)
    assert m.log_evidence_.kind == "exact"
    drawn = m.estimate_evidence(600)
    np.testing.assert_allclose(float(drawn), float(m.log_evidence_), rtol=1e-10)


# -- inputs to transitions -----------------------------------------------------------------------


@pytest.mark.topic("003/H.13")
def test_constant_inputs_to_transitions_are_the_plain_model():
    plain = HiddenMarkovModel(2, "normal", "em", n_init=1, random_state=0, tol=1e-9).fit(ROWS)
    m = HiddenMarkovModel(
        2, "normal", "em", inputs_to="transitions", n_init=1, random_state=0, tol=1e-9
    )
    m.fit(ROWS, inputs=np.ones(len(ROWS)))
    assert m.log_likelihood_ == pytest.approx(
        plain.log_likelihood_, abs=1e-4
    )  # weights are held a little
    np.testing.assert_allclose(m.model_.transition, plain.model_.transition, atol=1e-3)


@pytest.mark.topic("003/H.13")
def test_known_states_move_by_multinomial_regression():
    rng = np.random.default_rng(4)
    u, z = rng.normal(size=300), np.zeros(300, dtype=int)
    for t in range(1, 300):
        logits = np.array([[0.5, -1.0, 0.0], [0.0, 1.0, -0.5], [-0.5, 0.0, 0.5]])[z[t - 1]] * u[t]
        z[t] = rng.choice(3, p=np.exp(logits) / np.exp(logits).sum())
    x = rng.normal(3.0 * z)[:, None]
    m = HiddenMarkovModel(3, "normal", "em", inputs_to="transitions").fit(x, inputs=u, states=z)
    moves = np.exp(m._laws.driven.log_transition(u[1:, None]))
    for j in range(3):  # at the maximum, expected moves are those that were made
        at = z[:-1] == j
        left = np.eye(3)[z[1:][at]] - moves[at, j]
        np.testing.assert_allclose(left.sum(axis=0), 0.0, atol=1e-3)
        np.testing.assert_allclose(u[1:][at] @ left, 0.0, atol=1e-3)
    path = m.predict(x, inputs=u)
    assert (path == z).mean() > 0.85


@pytest.mark.topic("003/H.13")
def test_moves_that_are_not_allowed_stay_so_under_inputs():
    mask = np.array([[True, True, False], [False, True, True], [True, False, True]])
    z = np.repeat([0, 1, 2, 0, 1, 2], 8)
    x = np.random.default_rng(0).normal(4.0 * z, 0.5)[:, None]
    u = np.linspace(-1.0, 1.0, len(z))
    m = HiddenMarkovModel(
        3, "normal", "map", transitions=mask, inputs_to="both", n_init=1, random_state=0
    )
    fit_quietly(m, x, inputs=u, states=np.where(np.arange(len(z)) % 5 == 0, z, -1))
    moves = np.exp(m._laws.driven.log_transition(u[:, None]))
    assert (moves[:, ~mask] == 0.0).all()
    np.testing.assert_allclose(moves.sum(axis=2), 1.0)
    np.testing.assert_array_equal(m.predict(x, inputs=u), z)


# -- runs ----------------------------------------------------------------------------------------


def kaplan_meier(whole, cut, longest):
    """Probabilities of lengths given whole runs and runs that were cut while they lasted."""
    p, survive = np.zeros(longest), 1.0
    for d in range(1, longest + 1):
        at_risk = sum(n >= d for n in whole) + sum(n > d for n in cut)
        hazard = sum(n == d for n in whole) / at_risk if at_risk else 1.0
        p[d - 1] = survive * hazard
        survive *= 1.0 - hazard
    return p


@pytest.mark.topic("003/H.11")
def test_runs_of_known_states_are_counted_as_in_survival_analysis():
    paths = [[0, 0, 0, 1, 1, 0], [1, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 1], [1, 1, 0, 0, 0, 1]]
    x = np.random.default_rng(0).normal(3.0 * np.concatenate(paths))[:, None]
    m = HiddenMarkovModel(2, "normal", "em", durations="table", max_duration=6, tol=1e-12)
    fit_quietly(m, x, lengths=[6] * 4, states=np.concatenate(paths))
    np.testing.assert_allclose(m.model_.transition, [[0, 1], [1, 0]])
    whole = {0: [3, 2, 2, 3], 1: [2, 4, 1, 2]}
    cut = {0: [1, 2], 1: [1, 1]}
    for k in (0, 1):
        expected = kaplan_meier(whole[k], cut[k], 6)
        np.testing.assert_allclose(m.model_.durations[k], expected, atol=1e-5)


def exact_run_evidence(x, n_symbols, longest, alpha):
    """ln p(X) of two states that take turns, tables of symbols and runs integrated out."""
    total = []
    for path in product(range(2), repeat=len(x)):
        path = np.array(path)
        ends = np.flatnonzero(np.diff(path)) + 1
        lasted = np.diff(np.concatenate([[0], ends, [len(x)]]))
        owner = path[np.concatenate([[0], ends])]
        if lasted.max() > longest:
            continue
        symbols = np.zeros((2, n_symbols))
        np.add.at(symbols, (path, x), 1)
        of_symbols = log_dirichlet_multinomial(symbols, np.ones((2, n_symbols))).sum()
        for last in range(lasted[-1], longest + 1):  # how long the cut run would have been
            runs = np.zeros((2, longest))
            np.add.at(runs, (owner, np.append(lasted[:-1], last) - 1), 1)
            total.append(np.log(0.5) + of_symbols + log_dirichlet_multinomial(runs, alpha).sum())
    return logsumexp(total)


@pytest.mark.topic("003/H.11")
def test_the_evidence_of_runs_against_all_segmentations():
    x = np.array([0, 0, 1, 1, 1, 0, 2])
    m = HiddenMarkovModel(
        2, "categorical", durations="table", max_duration=4, random_state=0, tol=1e-10
    ).fit(x[:, None])
    exact = exact_run_evidence(x, 3, 4, np.full((2, 4), 0.5))
    assert float(m.log_evidence_) < exact
    drawn = m.estimate_evidence(1500)
    assert abs(float(drawn) - exact) < 5 * drawn.error
    assert drawn.error < 0.15


@pytest.mark.topic("003/H.11")
@pytest.mark.parametrize("family", ["poisson", "negative-binomial"])
def test_parametric_runs_end_where_the_likelihood_is_stationary(family):
    rng = np.random.default_rng(1)
    lengths = 1 + rng.poisson([2.0, 7.0] * 12)
    z = np.repeat([0, 1] * 12, lengths)
    x = rng.normal(4.0 * z)[:, None]
    m = HiddenMarkovModel(
        2, "normal", "em", durations=family, max_duration=25, n_init=1, random_state=0, tol=1e-9
    ).fit(x)
    mean = m.model_.durations @ np.arange(1, 26)
    order = np.argsort(m.model_.emission.mean)
    np.testing.assert_allclose(mean[order], [3.0, 8.0], atol=1.2)
    if family == "poisson":
        at = np.arange(25)
        for k in (0, 1):
            values = []
            for step in (-1e-3, 1e-3):
                table = m.model_.durations.copy()
                rate = fitted_rate(table[k]) * np.exp(step)
                table[k] = poisson.pmf(at, rate) / poisson.pmf(at, rate).sum()
                chain = HiddenMarkovChain(
                    m.model_.initial, m.model_.transition, m.model_.emission, durations=table
                )
                values.append(float(chain.log_prob(x)))
            assert abs(values[1] - values[0]) / 2e-3 < 1e-2


def fitted_rate(p):
    """λ of a truncated Poisson from the ratio of its first two terms."""
    return p[1] / p[0]


@pytest.mark.topic("003/H.11")
def test_no_step_over_runs_lowers_the_objective():
    for method in ("em", "map", "variational", "viterbi"):
        m = HiddenMarkovModel(
            2, "normal", method, durations="table", max_duration=15, n_init=1, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            m.set_params(accelerated=False, max_iter=40).fit(ROWS, lengths=[30, 27])
        assert np.diff(m.trace_).min() >= -1e-10 * abs(m.trace_[-1])
        both = m.predict(ROWS, lengths=[30, 27])
        np.testing.assert_array_equal(np.concatenate(both), np.concatenate(both).astype(int))
        assert m.log_prob(ROWS, lengths=[30, 27]).shape == (2,)


REFUSED = {
    "family of lags": (
        {"emission": "poisson", "lags": 1},
        {},
        "lags and inputs to emissions are linear means",
    ),
    "prior of lags": ({"lags": 1, "emission_prior": 1.0}, {}, "has no meaning with lags"),
    "rows of inputs": ({}, {"inputs": [1.0, 2.0]}, "a row for each of the 57 rows"),
    "missing inputs": ({}, {"inputs": np.full(57, np.nan)}, "inputs must be finite; row 0"),
    "beliefs of moves": (
        {"inputs_to": "transitions"},
        {"inputs": INPUTS},
        'take method="em", "map" or "viterbi"',
    ),
    "runs driven by inputs": (
        {"durations": "table", "method": "em", "inputs_to": "transitions"},
        {"inputs": INPUTS},
        "exclude one another",
    ),
    "beliefs of runs": ({"durations": "poisson"}, {}, 'is learned by method="em"'),
    "nowhere to go": (
        {"durations": "table", "transitions": "left-to-right"},
        {},
        "leads to no other",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    parameters, options, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        HiddenMarkovModel(2).set_params(**parameters).fit(np.abs(np.rint(ROWS)), **options)


def test_inputs_are_asked_for_again():
    m = HiddenMarkovModel(2, n_init=1, random_state=0).fit(ROWS, inputs=INPUTS)
    with pytest.raises(ValueError, match="needs inputs=, as fit had them"):
        m.predict(ROWS)
    with pytest.raises(ValueError, match="2 columns as those of fit"):
        m.predict(ROWS, inputs=INPUTS[:, 0])
    with pytest.raises(ValueError, match="has learned without inputs"):
        HiddenMarkovModel(2, n_init=1, random_state=0).fit(ROWS).predict(ROWS, inputs=INPUTS)
