"""scikit-learn's checks of estimators of rows, and what is refused or taken."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from posteriori.sequence import HiddenMarkovModel, LinearGaussianModel
from tests.scikit_learn_checks import every_check

ESTIMATORS = [
    HiddenMarkovModel(2, n_init=1, random_state=0),
    HiddenMarkovModel(2, "mvnormal", "em", n_init=1, random_state=0),
    HiddenMarkovModel(2, "normal", "viterbi", n_init=1, random_state=0),
    HiddenMarkovModel(2, "poisson", n_init=1, random_state=0),
]


def expected_failures(estimator):
    """Rows of a sequence speak of one another: parts of it, or another order, say something else."""
    reason = "the state of a row depends on the rows around it"
    return {
        "check_methods_subset_invariance": reason,
        "check_methods_sample_order_invariance": reason,
    }


@every_check(ESTIMATORS, expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


ROWS = np.array([[0.0], [0.4], [3.0], [3.2], [0.1], [2.9]])

REFUSED = {
    "lengths that do not add up": (ROWS, {"lengths": [2, 3]}, "add up to the 6 rows"),
    "empty sequence by length": (ROWS, {"lengths": [6, 0]}, "whole numbers >= 1"),
    "empty sequence in a list": ([ROWS, ROWS[:0]], {}, "sequence 1 of X is empty"),
    "lengths of a list": ([ROWS, ROWS], {"lengths": [6, 6]}, "a list of sequences has its own"),
    "other columns": ([ROWS, np.ones((2, 2))], {}, "the same columns"),
    "infinity": (np.where(ROWS > 3.1, np.inf, ROWS), {}, "infinity"),
    "too few rows": (ROWS[:1], {}, "n_states=2 is more than the n_samples=1"),
    "missing column": (np.full((4, 1), np.nan), {}, "missing in all rows"),
    "labels outside": (ROWS, {"states": [0, 1, 2, 0, 0, 0]}, "from 0 to 1, or -1"),
    "too few labels": (ROWS, {"states": [0, 1]}, "one number for each of the 6 rows"),
    "weights of rows": (ROWS, {"sequence_weight": np.ones(6)}, "one number for each sequence"),
    "negative weight": (ROWS, {"sequence_weight": [-1.0]}, "finite numbers >= 0"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_data(case):
    X, options, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        HiddenMarkovModel(2).fit(X, **options)


PARAMETERS = {
    "method": ({"method": "gibbs"}, "method must be one of"),
    "emission": ({"emission": "gamma"}, "emission must be one of"),
    "covariance": ({"covariance": "tied"}, "covariance must be .*: say .shared"),
    "columns": ({"covariance": "diagonal"}, 'take emission="normal"'),
    "transitions": ({"transitions": "right-to-left"}, "boolean mask"),
    "mask": ({"transitions": np.ones((3, 3), dtype=bool)}, r"shape \(2, 2\)"),
    "no move": (
        {"transitions": np.array([[True, True], [False, False]])},
        "state 1 has no allowed move",
    ),
    "concentration": ({"transition_concentration": 0.0}, "must be positive"),
    "mode": ({"transition_concentration": 0.5, "method": "map"}, "at least 1 with method"),
    "no prior": ({"emission": "student-t"}, 'take method="em"'),
    "prior of em": ({"method": "em", "emission_prior": 1.0}, "emission_prior is for"),
    "start": ({"start": "here"}, "start must be a HiddenMarkovChain of 2 states"),
    "column": ({"emission": {"b": "normal"}}, "emission names column 'b'"),
    "prior": ({"emission_prior": 3.0}, "proper conjugate distribution"),
}


@pytest.mark.parametrize("case", PARAMETERS)
def test_refused_parameters(case):
    options, message = PARAMETERS[case]
    with pytest.raises(ValueError, match=message):
        HiddenMarkovModel(2).set_params(**options).fit(ROWS)


def test_unseen_symbols_and_impossible_sequences_are_refused():
    m = HiddenMarkovModel(2, "categorical", "em", random_state=0).fit([["a"], ["b"], ["a"], ["b"]])
    with pytest.raises(ValueError, match="a symbol that fit has not seen"):
        m.predict([["c"]])
    start = m.model_.__class__(
        [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], m.model_.emission.__class__(np.eye(2))
    )
    with pytest.raises(ValueError, match="time step 2"):
        HiddenMarkovModel(2, "categorical", "em", start=start).fit([[0], [0], [1]])


@pytest.mark.parametrize("emission", ["normal", "mvnormal", "mixture"])
@pytest.mark.parametrize("method", ["em", "variational", "viterbi"])
def test_constant_columns_and_one_row_sequences_are_taken(emission, method):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 4.0], 20) + rng.normal(0, 0.3, 40), np.full(40, 7.0)])
    lengths = [1, 1, 38]
    m = HiddenMarkovModel(2, emission, method, random_state=0).fit(X, lengths=lengths)
    assert np.isfinite(m.score(X, lengths=lengths))
    path = np.concatenate(m.predict(X, lengths=lengths))
    assert (path[:20] == path[0]).all()
    assert (path[20:] == path[20]).all()
    assert path[0] != path[20]


def test_answers_come_as_they_are_asked_for():
    m = HiddenMarkovModel(2, "normal", "em", random_state=0).fit(ROWS)
    both = m.predict([ROWS[:4], ROWS[4:]])
    assert [one.tolist() for one in both] == [
        one.tolist() for one in m.predict(ROWS, lengths=[4, 2])
    ]
    assert m.predict(ROWS).shape == (6,)
    assert m.predict_proba(ROWS).shape == (6, 2)
    assert m.log_prob(ROWS).shape == ()
    apart = m.log_prob([ROWS[:4], ROWS[4:]])
    assert apart.shape == (2,)
    assert m.score([ROWS[:4], ROWS[4:]]) == pytest.approx(apart.sum() / 6)
    marginal = m.set_params(decoding="marginal").predict(ROWS)
    np.testing.assert_array_equal(marginal, m.predict_proba(ROWS).argmax(axis=1))


def test_tables_of_pandas_and_polars_and_lists_say_the_same():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    rng = np.random.default_rng(1)
    values = {"dose": rng.poisson(3.0, 30).astype(float), "kind": rng.choice(["a", "b"], 30)}
    emission = {"dose": "poisson", "kind": "categorical"}
    frame, other = pandas.DataFrame(values), polars.DataFrame(values)
    a = HiddenMarkovModel(2, emission, random_state=0).fit(frame, lengths=[10, 20])
    b = HiddenMarkovModel(2, emission, random_state=0).fit(other, lengths=[10, 20])
    c = HiddenMarkovModel(2, emission, random_state=0).fit([frame[:10], frame[10:]])
    d = HiddenMarkovModel(2, emission, random_state=0).fit([other[:10], other[10:14], other[14:]])
    assert float(a.log_evidence_) == float(b.log_evidence_) == float(c.log_evidence_)
    assert np.isfinite(float(d.log_evidence_))
    assert a.symbols_ == {1: ("a", "b")}


def test_the_ascent_can_be_watched_and_stopped():
    told = []
    m = HiddenMarkovModel(
        2, n_init=1, random_state=0, tol=0.0, callback=lambda i, v: told.append((i, v)) or i == 3
    )
    m.fit(ROWS)
    assert [i for i, _ in told] == [1, 2, 3]
    assert m.n_iter_ == 3
    assert told[-1][1] == m.trace_[-1]

    def interrupt(i, value):
        raise KeyboardInterrupt

    m = HiddenMarkovModel(2, n_init=1, random_state=0, callback=interrupt).fit(ROWS)
    assert not m.converged_
    assert m.predict(ROWS).shape == (6,)


def test_arrays_of_one_axis_are_sequences_of_one_column():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=20), 5.0 + rng.normal(size=30)
    m = HiddenMarkovModel(2, random_state=0).fit([a, b])
    same = HiddenMarkovModel(2, random_state=0).fit([a[:, None], b[:, None]])
    assert float(m.log_evidence_) == float(same.log_evidence_)
    assert [len(path) for path in m.predict([a, b])] == [20, 30]


def test_rows_of_different_lengths_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"rows of different lengths \(2 to 3\).*as arrays"):
        HiddenMarkovModel(2, "categorical").fit([[0, 1, 1], [0, 1]])


@pytest.mark.parametrize("estimator", [HiddenMarkovModel(2), LinearGaussianModel(2)])
def test_sparse_rows_are_refused_in_our_words(estimator):
    with pytest.raises(TypeError, match=r"sparse data are not supported: give X\.toarray\(\)"):
        estimator.fit(csr_array(np.eye(6)))
