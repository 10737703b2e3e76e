"""Known chains to begin from, sequences that are drawn, rows ahead, and what is said of bad symbols."""

import warnings

import numpy as np
import pytest
from scipy.stats import kstest, t as student_t

from posteriori import Categorical, Normal, Poisson, StudentT
from posteriori.numerics import ConvergenceWarning
from posteriori.sequence import HiddenMarkovChain, HiddenMarkovModel
from tests.sequence.chain_oracles import expected_counts

RNG = np.random.default_rng(5)
X = RNG.normal(size=(40, 2)) + 2.0 * (np.arange(40)[:, None] // 8 % 2)
U = RNG.normal(size=(40, 2))
EMISSION = Normal([[0.0, 0.0], [2.0, 2.0]], variance=np.ones((2, 2)))
PLAIN = HiddenMarkovChain([0.4, 0.6], [[0.8, 0.2], [0.3, 0.7]], EMISSION)
RUNS = HiddenMarkovChain(
    [0.4, 0.6],
    [[0.0, 1.0], [1.0, 0.0]],
    EMISSION,
    durations=np.random.default_rng(0).dirichlet(np.ones(9), 2),
)


def fit(model, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **options)


# -- starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["em", "viterbi"])
def test_runs_begin_where_they_are_told(method):
    m = HiddenMarkovModel(2, "normal", method, durations="table", start=RUNS, max_iter=1, tol=0)
    fit(m, X)
    assert m.model_.durations.shape == (2, 9)
    at_start = RUNS.log_prob(X) if method == "em" else RUNS.decode(X).log_joint
    assert m.trace_[0] == pytest.approx(float(at_start), rel=1e-12)
    first = RUNS.smooth(X).probabilities[0]
    if method == "em":
        np.testing.assert_allclose(m.model_.initial, first, rtol=1e-12)


def test_a_plain_chain_begins_with_geometric_runs():
    m = HiddenMarkovModel(
        2, "normal", "em", durations="table", max_duration=60, start=PLAIN, max_iter=1, tol=0
    )
    assert fit(m, X).trace_[0] == pytest.approx(float(PLAIN.log_prob(X)), rel=1e-6)


@pytest.mark.parametrize("method", ["em", "viterbi"])
@pytest.mark.parametrize("to", ["emissions", "transitions", "both"])
def test_inputs_begin_with_a_chain_that_they_do_not_speak_to(to, method):
    m = HiddenMarkovModel(
        2, "normal", method, inputs_to=to, start=PLAIN, max_iter=4, tol=0, accelerated=False
    )
    fit(m, X, inputs=U)
    at_start = PLAIN.log_prob(X) if method == "em" else PLAIN.decode(X).log_joint
    assert m.trace_[0] == pytest.approx(float(at_start), rel=1e-12)
    assert np.diff(m.trace_).min() >= -1e-10 * abs(m.trace_[-1])
    again = fit(m.set_params(start=m.model_), X, inputs=U)
    if to == "emissions":  # a regression to begin from
        assert again.trace_[0] == pytest.approx(m.log_prob(X, inputs=U), rel=0.05)


def test_a_step_of_the_most_probable_path_counts_it():
    m = HiddenMarkovModel(2, "normal", "viterbi", durations="table", start=RUNS, max_iter=1, tol=0)
    path = RUNS.decode(X).states
    means = [X[path == k].mean(axis=0) for k in range(2)]
    np.testing.assert_allclose(fit(m, X).model_.emission.mean, means, rtol=1e-10)


def test_starts_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="start has durations"):
        HiddenMarkovModel(2, start=RUNS).fit(X)
    with pytest.raises(ValueError, match="runs of at most 9 rows, the model of 5"):
        HiddenMarkovModel(2, start=RUNS, durations="table", max_duration=5).fit(X)
    stuck = HiddenMarkovChain([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], EMISSION)
    with pytest.raises(ValueError, match="state 0 of start is never left"):
        HiddenMarkovModel(2, start=stuck, durations="table").fit(X)


def test_one_step_from_a_start_with_lags_is_that_of_all_paths():
    x = X[:5, :1]
    start = HiddenMarkovChain(
        PLAIN.initial, PLAIN.transition, Normal([0.0, 2.0], variance=[1.0, 1.0])
    )
    m = HiddenMarkovModel(2, "normal", "em", lags=1, start=start, max_iter=1, tol=0)
    scores = start.densities.log_prob(x)
    scores[0] = 0.0  # a condition
    first, pairs, _ = expected_counts(start.initial, start.transition, [scores])
    fit(m, x)
    np.testing.assert_allclose(m.model_.initial, first, rtol=1e-10)
    np.testing.assert_allclose(m.model_.transition, pairs / pairs.sum(1, keepdims=True), rtol=1e-10)


# -- draws ---------------------------------------------------------------------------------------


def test_rows_that_regress_are_drawn_from_their_regression():
    m = fit(HiddenMarkovModel(2, "mvnormal", "em", lags=1, n_init=1, random_state=0), X, inputs=U)
    emission, inputs = m.model_.emission, np.random.default_rng(1).normal(size=(4000, 2))
    drawn = m.sample(4000, 2, inputs=inputs, before=X[:1])
    before = np.concatenate([X[:1], drawn.observations[:-1]])
    design = np.concatenate([np.ones((4000, 1)), before, inputs], axis=1)
    for k in range(2):
        mine = drawn.states == k
        z, y = design[mine], drawn.observations[mine]
        weights = np.linalg.lstsq(z, y, rcond=None)[0]
        errors = np.sqrt(np.outer(np.diag(np.linalg.inv(z.T @ z)), np.diag(emission.covariance[k])))
        known = np.concatenate([emission.intercept[k][None], emission.coef[k]])
        assert (np.abs(weights - known) < 5.0 * errors).all()
        cov = np.cov((y - z @ known).T)
        scale = np.sqrt(np.diag(emission.covariance[k]))
        np.testing.assert_allclose(
            cov / np.outer(scale, scale),
            emission.covariance[k] / np.outer(scale, scale),
            atol=5.0 * np.sqrt(2.0 / mine.sum()),
        )


def test_beliefs_draw_rows_of_students_t():
    m = HiddenMarkovModel(1, "normal", lags=0).fit(X[:12, :1], inputs=U[:12, :1])
    inputs = np.full((3000, 1), 2.5)
    drawn = m.sample(3000, 3, inputs=inputs).observations[:, 0]
    emission = m.model_.emission

    def density(x):
        return np.exp(emission.log_prob(np.column_stack([x, np.full(len(x), 2.5)]))[:, 0])

    centre = emission.intercept[0, 0] + emission.coef[0, 0, 0] * 2.5
    dof = float(emission.beliefs.dof[0, 0])
    height = density(np.array([centre]))[0]
    scale = student_t.pdf(0.0, dof) / height
    np.testing.assert_allclose(  # the density is that Student's t
        density(centre + scale * np.array([1.0, 3.0])), student_t.pdf([1.0, 3.0], dof) / scale
    )
    assert kstest((drawn - centre) / scale, student_t(dof).cdf).pvalue > 1e-3


def test_driven_transitions_are_drawn_with_their_inputs():
    m = fit(
        HiddenMarkovModel(2, "normal", "em", inputs_to="transitions", n_init=1, random_state=0),
        X,
        inputs=U,
    )
    inputs = np.tile([[0.3, -0.2]], (6000, 1))
    states = m.sample(6000, 0, inputs=inputs).states
    moves = np.exp(m._laws.driven.log_transition(inputs[:1])[0])
    for j in range(2):
        left = states[:-1] == j
        share = (states[1:][left] == 1).mean()
        error = np.sqrt(moves[j, 1] * moves[j, 0] / left.sum())
        assert abs(share - moves[j, 1]) < 5.0 * error + 1e-9


def test_draws_ask_for_what_they_depend_on():
    m = fit(HiddenMarkovModel(2, lags=2, n_init=1, random_state=0), X, inputs=U)
    assert m.sample(3, 0, inputs=U[:3]).observations.shape == (3, 2)
    with pytest.raises(ValueError, match="needs inputs=, 2 numbers for each of the 3 rows"):
        m.sample(3)
    with pytest.raises(ValueError, match="before must hold 2 whole rows of 2 columns"):
        m.sample(3, inputs=U[:3], before=X[:1])
    with pytest.raises(TypeError, match="sample of a HiddenMarkovModel"):
        m.model_.sample(3)
    with pytest.raises(ValueError, match="which must stand behind them"):
        m.model_.forecast(X, 2)
    plain = fit(HiddenMarkovModel(2, n_init=1, random_state=0), X)
    with pytest.raises(ValueError, match="before is for models with lags"):
        plain.sample(3, before=X[:1])


# -- rows ahead ----------------------------------------------------------------------------------

FAMILIES = {
    "poisson": Poisson([[1.0, 2.0], [9.0, 8.0]]),
    "student-t": StudentT(np.full((2, 2), 5.0), [[0.0, 1.0], [6.0, 8.0]], scale=np.ones((2, 2))),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_ahead_belong_together(family):
    chain = HiddenMarkovChain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], FAMILIES[family])
    x = np.array([[1.0, 2.0], [8.0, 9.0]])
    ahead = chain.forecast(x, 3)
    assert (ahead.batch_shape, ahead.event_shape) == ((3,), (2,))
    for row in ([0.0, 3.0], [7.0, 7.0]):
        joint = chain.log_prob(np.vstack([x, [row]])) - chain.log_prob(x)
        assert ahead.log_prob(row)[0] == pytest.approx(joint, rel=1e-12)
    np.testing.assert_allclose(ahead.mean, ahead.marginals.mean, rtol=1e-12)
    np.testing.assert_allclose(ahead.variance, ahead.marginals.variance, rtol=1e-12)
    drawn = ahead.sample(4000, rng=0)
    assert drawn.shape == (4000, 3, 2)
    found = np.cov(drawn[:, 0].T)
    np.testing.assert_allclose(found, ahead.cov[0], rtol=0.15)
    assert ahead.sample(rng=0).shape == (3, 2)


@pytest.mark.parametrize("emission", ["student-t", {0: "normal", 1: "poisson"}])
def test_learned_columns_of_any_family_have_rows_ahead(emission):
    x = np.abs(np.rint(X))
    method = "variational" if isinstance(emission, dict) else "em"
    m = fit(HiddenMarkovModel(2, emission, method, n_init=1, random_state=0), x)
    ahead = m.model_.forecast(x, 2)
    joint = m.model_.log_prob(np.vstack([x, x[:1]])) - m.model_.log_prob(x)
    assert ahead.log_prob(x[0])[0] == pytest.approx(joint, rel=1e-9)
    assert ahead.mean.shape == (2, 2)
    with pytest.raises(TypeError, match="columns of several families"):
        _ = ahead.marginals


# -- bad symbols ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "said"), [([0, 3], "3 in row 1"), ([0.5], "0.5 in row 0"), ([-1], "-1")]
)
def test_numbers_that_are_no_symbols_are_named(x, said):
    chain = HiddenMarkovChain([0.5, 0.5], [[0.5, 0.5]] * 2, Categorical([[0.2, 0.3, 0.5]] * 2))
    with pytest.raises(ValueError, match=f"x holds {said}.*whole numbers 0 … 2"):
        chain.log_prob(x)


def test_impossible_rows_are_told_in_words_of_the_user():
    chain = HiddenMarkovChain([1.0, 0.0], np.eye(2), Categorical(np.eye(2)))
    with pytest.raises(ValueError, match=r"time step 1 given .* every state that can be reached"):
        chain.log_prob([0, 1])


def test_an_unknown_emission_is_told_what_to_take():
    with pytest.raises(ValueError, match='truth values are "categorical"'):
        HiddenMarkovModel(2, "boolean").fit([[True], [False]])
