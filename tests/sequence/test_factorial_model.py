"""Several hidden chains whose effects add up, as an estimator."""

import itertools
from functools import reduce

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from posteriori import MvNormal
from posteriori.inference import forward_backward, most_likely_path
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.sequence import (
    FactorialHiddenMarkovModel,
    HiddenMarkovChain,
    HiddenMarkovModel,
)
from tests.scikit_learn_checks import every_check

NEIGHBOURS = (
    "rows depend on their neighbours: a row alone, or in another place, is another sequence"
)


@every_check(
    [
        FactorialHiddenMarkovModel(n_init=1, tol=1e-2, random_state=0),
        FactorialHiddenMarkovModel(random_state=0),
        FactorialHiddenMarkovModel((3, 3), method="variational", n_init=2, random_state=0),
    ],
    lambda estimator: {
        "check_methods_subset_invariance": NEIGHBOURS,
        "check_methods_sample_order_invariance": NEIGHBOURS,
    },
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def switches(n=400, seed=0, noise=0.5):
    """Return rows of two columns behind which two switches stand, and the switches (n, 2)."""
    rng = np.random.default_rng(seed)
    on = np.cumsum(rng.random((n, 2)) < 0.1, axis=0) % 2
    return on @ [[6.0, 1.0], [2.0, -3.0]] + noise * rng.normal(size=(n, 2)), on


@pytest.fixture(scope="module")
def fitted():
    x, _ = switches()
    x[::7, 0] = x[::11] = np.nan
    return FactorialHiddenMarkovModel((2, 2), random_state=0).fit(x, lengths=[250, 150]), x


def plain_chain(model, x):
    """Return ln π, ln A and ln densities of the one chain of all joint states."""
    initial, transition = (reduce(np.kron, a) for a in (model.initial_, model.transition_))
    scores = np.zeros((len(x), len(initial)))
    for s, parts in enumerate(itertools.product(*model.effects_)):
        mean = model.intercept_ + sum(parts)
        for t, row in enumerate(x):
            o = ~np.isnan(row)
            if o.any():
                cov = model.covariance_[np.ix_(o, o)]
                scores[t, s] = multivariate_normal(mean[o], cov).logpdf(row[o])
    return np.log(initial), np.log(transition), scores


@pytest.mark.topic("003/H.14")
def test_counts_of_ten_bits():
    assert FactorialHiddenMarkovModel.transition_counts((2,) * 10) == (20, 1_047_552)
    assert FactorialHiddenMarkovModel.transition_counts((3,)) == (6, 6)


@pytest.mark.topic("003/H.14")
def test_answers_are_those_of_one_chain_of_all_joint_states(fitted):
    model, x = fitted
    chain = plain_chain(model, x)
    parts = slice(0, 250), slice(250, 400)
    plain = [forward_backward(*chain[:2], chain[2][rows]) for rows in parts]
    found = model.log_prob(x, lengths=[250, 150])
    np.testing.assert_allclose(found, [p.log_evidence for p in plain], rtol=1e-9)
    np.testing.assert_allclose(model.log_likelihood_, found.sum(), rtol=1e-9)
    np.testing.assert_allclose(model.score(x, lengths=[250, 150]), found.sum() / 400, rtol=1e-12)
    joint = np.concatenate([p.probabilities for p in plain]).reshape(-1, 2, 2)
    answers = model.predict_proba(x, lengths=[250, 150])
    for m in range(2):
        ours = np.concatenate([one[m] for one in answers])
        np.testing.assert_allclose(ours, joint.sum(axis=2 - m), atol=1e-8)
    paths = [most_likely_path(*chain[:2], chain[2][rows]).states for rows in parts]
    expected = np.stack(np.unravel_index(np.concatenate(paths), (2, 2)), axis=1)
    found = model.predict([x[:250], x[250:]])
    assert [len(one) for one in found] == [250, 150]
    np.testing.assert_array_equal(np.concatenate(found), expected)


def test_finds_the_switches():
    x, on = switches()
    model = FactorialHiddenMarkovModel((2, 2), random_state=0).fit(x)
    assert (model.predict(x) == np.stack([on[:, 0], on[:, 1]], axis=1)).mean() > 0.99
    sizes = [np.ptp(effect, axis=0) for effect in model.effects_]
    np.testing.assert_allclose(sizes, [[6.0, 1.0], [2.0, 3.0]], atol=0.2)  # 0.05 standard errors
    assert model.converged_
    assert model.n_parameters_ == 2 * 3 + 2 * 3 + 3
    expected = -2 * model.log_likelihood_ + model.n_parameters_ * np.log(400)
    np.testing.assert_allclose(model.bic_, expected)


@pytest.mark.topic("003/H.15")
def test_beyond_the_limit_a_bound_is_learned():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    model = FactorialHiddenMarkovModel((2,) * 13, n_init=1, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        model.fit(x)
    assert model.inference_ == "variational"
    assert not hasattr(model, "bic_")
    assert model.predict(x).shape == (30, 13)
    assert [p.shape for p in model.predict_proba(x)] == [(30, 2)] * 13


@pytest.mark.topic("003/H.15")
def test_a_forced_bound_is_below_the_exact_likelihood():
    x, on = switches()
    model = FactorialHiddenMarkovModel((2, 2), method="variational", random_state=0).fit(x)
    chain = plain_chain(model, x)
    exact = float(forward_backward(*chain).log_evidence)
    assert model.log_likelihood_ <= exact + 1e-6
    np.testing.assert_allclose(model.log_prob(x), model.log_likelihood_, atol=0.1)
    assert (model.predict(x) == on).mean() > 0.95


def test_one_chain_is_the_plain_hidden_chain():
    x, _ = switches(150)
    model = FactorialHiddenMarkovModel((3,), random_state=0).fit(x)
    plain = forward_backward(*plain_chain(model, x))
    np.testing.assert_allclose(model.log_likelihood_, plain.log_evidence, rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(x)[0], plain.probabilities, atol=1e-8)


def test_one_chain_is_learned_as_the_plain_model_learns():
    """From its summit the plain model with one covariance for all states does not rise."""
    x, _ = switches(150)
    model = FactorialHiddenMarkovModel((3,), tol=1e-8, random_state=0).fit(x)
    emission = MvNormal(
        model.intercept_ + model.effects_[0], cov=np.tile(model.covariance_, (3, 1, 1))
    )
    plain = HiddenMarkovModel(
        3,
        "mvnormal",
        method="em",
        covariance="shared",
        start=HiddenMarkovChain(model.initial_[0], model.transition_[0], emission),
        tol=1e-8,
    ).fit(x)
    # the floor of the noise, a millionth of each variance, moves the summit
    np.testing.assert_allclose(plain.log_likelihood_, model.log_likelihood_, atol=1e-2)
    np.testing.assert_allclose(plain.model_.transition, model.transition_[0], atol=1e-3)


def test_a_callback_follows_and_stops_the_ascent():
    x, _ = switches(100)
    told = []
    model = FactorialHiddenMarkovModel(
        (2, 2),
        n_init=1,
        tol=0.0,
        callback=lambda step, value: told.append((step, value)) or step == 3,
        random_state=0,
    ).fit(x)
    assert [step for step, _ in told] == [1, 2, 3]
    assert model.n_iter_ == 3
    assert told[-1][1] == model.trace_[-1]


def test_units_do_not_matter():
    x, _ = switches(150)
    a = FactorialHiddenMarkovModel((2, 2), random_state=0).fit(x)
    b = FactorialHiddenMarkovModel((2, 2), random_state=0).fit(1e4 * x + 1e6)
    np.testing.assert_allclose(
        b.log_likelihood_, a.log_likelihood_ - x.size * np.log(1e4), rtol=1e-6
    )
    np.testing.assert_array_equal(a.predict(x), b.predict(1e4 * x + 1e6))


def test_lists_tables_and_weights():
    x, _ = switches(150)
    table = pd.DataFrame(x, columns=["a", "b"])
    options = {"n_init": 2, "random_state": 0}
    parts = [table[:100], table[100:]]
    listed = FactorialHiddenMarkovModel((2, 2), **options).fit(parts, sequence_weight=[1, 2])
    repeated = FactorialHiddenMarkovModel((2, 2), **options).fit(
        pd.concat([table, table[100:]]), lengths=[100, 50, 50]
    )
    assert list(listed.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(listed.log_likelihood_, repeated.log_likelihood_, rtol=1e-6)
    np.testing.assert_allclose(listed.log_prob(parts), repeated.log_prob(parts), rtol=1e-3)


def test_samples_have_the_moments_of_the_model(fitted):
    model, _ = fitted
    rows, states = model.sample(20_000, rng=0)
    mean = model.intercept_ + sum(e[s] for e, s in zip(model.effects_, states.T, strict=True))
    error = np.sqrt(np.diag(model.covariance_) / 20_000)
    assert np.all(np.abs((rows - mean).mean(axis=0)) < 5 * error)
    for m, transition in enumerate(model.transition_):
        moves = np.zeros((2, 2))
        np.add.at(moves, (states[:-1, m], states[1:, m]), 1)
        leaving = moves[:, 1] / moves.sum(axis=1)
        spread = np.sqrt(transition[:, 1] * transition[:, 0] / moves.sum(axis=1))
        assert np.all(np.abs(leaving - transition[:, 1]) < 5 * spread)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_states": 2}, "n_states must be a tuple"),
        ({"n_states": ()}, "n_states must be a tuple"),
        ({"n_states": (2, 0)}, "n_states must be a tuple"),
        ({"n_states": (2, 2.5)}, "n_states must be a tuple"),
        ({"method": "gibbs"}, "method must be one of"),
        ({"n_states": (2,) * 21, "method": "exact"}, "take method='variational'"),
        ({"n_states": (40, 2)}, "asks for 40 states of a chain, X has n_samples=30"),
    ],
)
def test_what_cannot_be_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        FactorialHiddenMarkovModel(**options).fit(np.random.default_rng(0).normal(size=(30, 2)))


def test_constant_columns_and_short_sequences():
    x, _ = switches(40)
    x[:, 1] = 3.0
    model = FactorialHiddenMarkovModel((2, 2), random_state=0).fit(x, lengths=[1] * 20 + [20])
    assert np.isfinite(model.log_likelihood_)
    np.testing.assert_allclose([e[:, 1] for e in model.effects_], 0.0, atol=1e-9)
    x[:, 1] = np.nan
    with pytest.raises(ValueError, match="no entry in column 1"):
        FactorialHiddenMarkovModel().fit(x)
