"""Hidden Markov models against enumeration, finite differences, counting and the model language."""

import warnings

import numpy as np
import pytest
from scipy.stats import norm, poisson
from sklearn.base import clone

from posteriori import Categorical, Chain, Dirichlet, Gamma, Model, MvNormal, Normal
from posteriori.datasets import load_old_faithful
from posteriori.distributions import Poisson
from posteriori.inference.sequences.draws.evidence_draws import draw_evidence
from posteriori.mixture import GaussianMixture
from posteriori.numerics import ConvergenceWarning
from posteriori.sequence import HiddenMarkovChain, HiddenMarkovModel
from posteriori.sequence.learning.chain_fit import build_emission, build_paths
from tests.sequence.chain_oracles import (
    all_paths,
    exact_symbol_evidence,
    expected_counts,
    log_likelihood,
)

REFERENCE = HiddenMarkovChain(
    [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], Categorical([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
)


@pytest.fixture(scope="module")
def geyser():
    return np.array(load_old_faithful().data)


def one_step(model, X, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.set_params(max_iter=1, tol=0).fit(X, **options)


@pytest.mark.topic("003/H.5", "003/H.7", "000/W8", "001/4.7")
def test_one_step_of_em_has_the_digits_of_the_reference_case():
    m = one_step(
        HiddenMarkovModel(2, emission="categorical", method="em", start=REFERENCE), [[0], [1], [2]]
    )
    np.testing.assert_allclose(m.model_.initial, [0.8765159868, 0.1234840132], atol=5e-11)
    moves = [[0.5023529412, 0.4976470588], [0.1634361233, 0.8365638767]]
    np.testing.assert_allclose(m.model_.transition, moves, atol=5e-11)
    table = [[0.5121102809, 0.3639525895, 0.1239371296], [0.0958411775, 0.2926578812, 0.6115009413]]
    np.testing.assert_allclose(m.model_.emission.probabilities, table, atol=5e-11)
    assert m.n_iter_ == 1
    assert np.exp(m.trace_[0]) == pytest.approx(0.03628, abs=1e-12)


@pytest.mark.topic("000/W5")
def test_the_joint_is_a_product_that_sums_to_the_likelihood():
    x, (initial, moves) = [0, 2, 1], (REFERENCE.initial, REFERENCE.transition)
    table, total = REFERENCE.emission.probabilities, 0.0
    for z in all_paths(2, 3):
        joint = initial[z[0]] * moves[z[0], z[1]] * moves[z[1], z[2]] * table[z, x].prod()
        assert np.exp(REFERENCE.joint_log_prob(x, z)) == pytest.approx(joint)
        total += joint
    assert np.exp(REFERENCE.log_prob(x)) == pytest.approx(total)


EMISSIONS = {
    "normal": (
        Normal([-1.0, 1.5], variance=[1.0, 2.0]),
        lambda x: norm.logpdf(x, [-1.0, 1.5], np.sqrt([1.0, 2.0])),
    ),
    "poisson": (Poisson([1.0, 4.0]), lambda x: poisson.logpmf(x, [1.0, 4.0])),
}


@pytest.mark.topic("003/H.5", "003/H.7")
@pytest.mark.parametrize("family", EMISSIONS)
def test_a_step_over_several_sequences_is_that_of_all_paths(family):
    emission, density = EMISSIONS[family]
    rng = np.random.default_rng(0)
    X = [rng.poisson(2.0, (n, 1)).astype(float) for n in (4, 1, 3)]
    start = HiddenMarkovChain([0.3, 0.7], [[0.8, 0.2], [0.5, 0.5]], emission)
    weights = [1.0, 2.0, 1.0]
    m = one_step(HiddenMarkovModel(2, family, "em", start=start), X, sequence_weight=weights)
    repeated = [X[0], X[1], X[1], X[2]]
    first, pairs, shares = expected_counts(
        start.initial, start.transition, [density(x) for x in repeated]
    )
    np.testing.assert_allclose(m.model_.initial, first / first.sum(), rtol=1e-10)
    np.testing.assert_allclose(m.model_.transition, pairs / pairs.sum(1, keepdims=True), rtol=1e-10)
    r, x = np.concatenate(shares), np.concatenate(repeated)
    mean = (r * x).sum(0) / r.sum(0)
    found = m.model_.emission
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
    if family == "normal":
        np.testing.assert_allclose(
            found.variance, (r * (x - mean) ** 2).sum(0) / r.sum(0), rtol=1e-9
        )
    assert m.trace_[0] == pytest.approx(
        log_likelihood(start.initial, start.transition, [density(x) for x in repeated])
    )


@pytest.mark.topic("000/W8")
@pytest.mark.parametrize("method", ["em", "map", "variational", "viterbi"])
@pytest.mark.parametrize("emission", ["normal", "mvnormal", "categorical", "poisson", "mixture"])
def test_no_step_lowers_the_objective(method, emission):
    rng = np.random.default_rng(3)
    z = (rng.random(120) < 0.5).cumsum() % 2
    X = rng.poisson(2.0 + 6.0 * z[:, None], (120, 2)).astype(float)
    X[::9, 0] = np.nan
    m = HiddenMarkovModel(2, emission, method, n_init=1, random_state=0, accelerated=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        m.set_params(max_iter=60).fit(X, lengths=[50, 1, 69])
    fall = -np.diff(m.trace_).min()
    assert fall <= 1e-10 * max(1.0, abs(m.trace_[-1]))
    assert m.trace_[-1] > m.trace_[0]


@pytest.mark.parametrize("family", ["normal", "poisson", "categorical"])
def test_em_ends_where_the_likelihood_is_stationary(family):
    rng = np.random.default_rng(1)
    z = np.repeat([0, 1, 0, 1], 15)
    X = rng.poisson(1.0 + 3.0 * z)[:, None].astype(float) % 4
    if family == "normal":
        X = X + rng.normal(0.0, 0.7, X.shape)
    options = {"n_init": 1, "random_state": 0, "tol": 1e-11, "max_iter": 3000}
    chain = HiddenMarkovModel(2, family, "em", **options).fit(X).model_

    def value(logits, moves, theta):
        first = np.exp(logits) / np.exp(logits).sum()
        rows = np.exp(moves) / np.exp(moves).sum(1, keepdims=True)
        if family == "normal":
            emission = Normal(theta[0], variance=np.exp(theta[1]))
        elif family == "poisson":
            emission = Poisson(np.exp(theta[0]))
        else:
            table = np.exp(theta)
            emission = Categorical(table / table.sum(1, keepdims=True))
        return float(HiddenMarkovChain(first, rows, emission).log_prob(X))

    if family == "normal":
        theta = np.stack([chain.emission.mean, np.log(chain.emission.variance)])
    elif family == "poisson":
        theta = np.log(chain.emission.rate)[None]
    else:
        theta = np.log(np.maximum(chain.emission.probabilities, 1e-12))
    point = [
        np.log(np.maximum(chain.initial, 1e-12)),
        np.log(np.maximum(chain.transition, 1e-12)),
        theta,
    ]
    for i, part in enumerate(point):
        for place in np.ndindex(part.shape):
            ends = []
            for step in (-1e-4, 1e-4):
                moved = [p.copy() for p in point]
                moved[i][place] += step
                ends.append(value(*moved))
            assert (
                abs(ends[1] - ends[0]) / 2e-4 < 1e-3
            )  # of 60 rows, each of which pulls by about 1


@pytest.mark.topic("001/4.5")
def test_labelled_sequences_are_counted():
    X = [[["the"], ["dog"], ["runs"]], [["dog"], ["runs"], ["the"], ["dog"]]]
    z = [[0, 1, 2], [1, 2, 0, 1]]
    m = HiddenMarkovModel(3, "categorical", "em").fit(X, states=z)
    np.testing.assert_allclose(
        m.model_.initial, [0.5, 0.5, 0.0]
    )  # the share of sequences that start there
    np.testing.assert_allclose(m.model_.transition, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert m.model_.emission.labels == ("dog", "runs", "the")
    np.testing.assert_allclose(m.model_.emission.probabilities, [[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert m.log_likelihood_ == pytest.approx(2 * np.log(0.5))
    belief = HiddenMarkovModel(3, "categorical").fit(X, states=z)
    third = 1.0 / 3.0  # of the first state as of the weights of mixtures
    np.testing.assert_allclose(
        belief.posterior_.initial.concentration, [1 + third, 1 + third, third]
    )
    np.testing.assert_allclose(
        belief.posterior_.transition.concentration, [[1, 3, 1], [1, 1, 3], [2, 1, 1]]
    )
    assert (belief.log_evidence_.kind, belief.log_evidence_.of) == ("exact", "X,states")


@pytest.mark.topic("001/4.5")
def test_a_labelled_state_that_is_never_left_moves_evenly_and_says_so():
    with pytest.warns(UserWarning, match=r"states \[1\] are never left"):
        m = HiddenMarkovModel(2, "normal", "em").fit([[0.0], [0.5], [3.0]], states=[0, 0, 1])
    np.testing.assert_allclose(m.model_.transition, [[0.5, 0.5], [0.5, 0.5]])
    mask = np.array([[True, True], [False, True]])
    with pytest.warns(UserWarning, match="never left"):
        m = HiddenMarkovModel(2, "normal", "em", transitions=mask).fit(
            [[0.0], [0.5], [3.0]], states=[0, 0, 1]
        )
    np.testing.assert_allclose(m.model_.transition[1], [0.0, 1.0])


def test_some_labels_fix_the_order_of_states(geyser):
    states = np.full(len(geyser), -1)
    short = np.flatnonzero(geyser[:, 0] < 2.0)[:3]
    long = np.flatnonzero(geyser[:, 0] > 4.5)[:3]
    for names in ((0, 1), (1, 0)):
        states[short], states[long] = names
        m = HiddenMarkovModel(2, "mvnormal", "em", random_state=0).fit(geyser, states=states)
        means = m.model_.emission.mean[:, 0]
        assert means[names[0]] < 2.5 < 4.0 < means[names[1]]
    free = HiddenMarkovModel(2, "mvnormal", "em", random_state=0).fit(geyser)
    assert (
        m.log_likelihood_ <= free.log_likelihood_ + 1e-6
    )  # ln p(x, some z) is no more than ln p(x)


@pytest.mark.topic("003/H.4")
@pytest.mark.parametrize("method", ["em", "map", "variational", "viterbi"])
def test_moves_that_are_not_allowed_stay_impossible(method):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, 0.5, (20, 1)) for m in (0, 3, 6)] * 2)
    m = HiddenMarkovModel(3, "normal", method, transitions="left-to-right", random_state=0).fit(
        X, lengths=[60, 60]
    )
    below = np.tril_indices(3, -1)
    assert (m.model_.transition[below] == 0.0).all()
    np.testing.assert_allclose(m.model_.transition.sum(axis=1), 1.0)
    for path in m.predict(X, lengths=[60, 60]):
        np.testing.assert_array_equal(path, np.repeat([0, 1, 2], 20))
    ring = np.array([[True, True, False], [False, True, True], [True, False, True]])
    m = HiddenMarkovModel(3, "normal", method, transitions=ring, random_state=0).fit(
        X, lengths=[60, 60]
    )
    assert (m.model_.transition[~ring] == 0.0).all()


def test_sequences_of_one_row_are_a_mixture(geyser):
    start = GaussianMixture(2, random_state=0, max_iter=20, tol=1e-3).fit(geyser)
    known = HiddenMarkovChain(
        start.weights_, [[0.5, 0.5]] * 2, MvNormal(start.means_, cov=start.covariances_)
    )
    m = HiddenMarkovModel(2, "mvnormal", "em", start=known, tol=1e-10)
    m.fit(geyser, lengths=np.ones(len(geyser), dtype=int))
    end = GaussianMixture(2, random_state=0, tol=1e-10).fit(geyser)
    assert m.log_likelihood_ == pytest.approx(end.score(geyser) * len(geyser), abs=1e-6)
    np.testing.assert_allclose(m.model_.initial, end.weights_, rtol=1e-4)


@pytest.mark.parametrize(
    "emission", ["normal", "mvnormal", "categorical", "poisson", {0: "normal", 1: "poisson"}]
)
@pytest.mark.parametrize("method", ["em", "variational", "map"])
def test_weights_are_repeated_sequences(emission, method):
    rng = np.random.default_rng(5)
    X = [rng.poisson(3.0, (n, 2)).astype(float) for n in (12, 7, 20)]
    X[2][3, 0] = np.nan
    whole = [X[0], X[1], X[1], X[2]]
    short = {"max_iter": 8, "tol": 0.0, "accelerated": False}  # jumps would magnify rounding
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        begun = HiddenMarkovModel(2, emission, "em", n_init=1, random_state=0, **short).fit(whole)
        m = HiddenMarkovModel(2, emission, method, start=begun.model_, **short)
        a, b = clone(m).fit(whole), clone(m).fit(X, sequence_weight=[1, 2, 1])
    assert b.trace_[-1] == pytest.approx(a.trace_[-1], rel=1e-9)
    np.testing.assert_allclose(b.model_.transition, a.model_.transition, rtol=1e-5, atol=1e-8)
    if method == "variational":
        assert a.log_evidence_.fingerprint == b.log_evidence_.fingerprint


def test_the_bound_is_that_of_the_model_language(geyser):
    y, k = geyser[:, 0], 2
    m = Model()
    m.start = Dirichlet(np.ones(k))
    m.A = Dirichlet(np.ones(k)).iid(k)
    m.z = Chain(Categorical(m.start), lambda z: Categorical(m.A[z]), length="t")
    m.mu = Normal(3, variance=4).iid(k)
    m.tau = Gamma(shape=2, rate=0.5).iid(k)
    m.y = Normal(m.mu[m.z], precision=m.tau[m.z])
    post = m.infer(y=y, method="vmp")  # not corrected by draws
    prior = (Normal(3, variance=4), Gamma(shape=2, rate=0.5))
    ours = HiddenMarkovModel(
        k,
        "normal",
        emission_prior=prior,
        initial_concentration=1.0,
        random_state=0,
        tol=1e-10,
    ).fit(y[:, None])
    plain = float(ours.log_evidence_) - ours.symmetry_gain_
    assert plain == pytest.approx(float(post.log_evidence), abs=1e-6)
    assert ours.log_evidence_.kind == "bound"
    assert post.log_evidence.namings == "one"
    assert not ours.log_evidence_.comparable(post.log_evidence)
    order = np.argsort(ours.posterior_.emission.mean.mean)
    np.testing.assert_allclose(
        ours.posterior_.emission.mean.mean[order], np.sort(post.mu.mean), rtol=1e-5
    )


TINY = {
    "two states": ([[0, 1, 1, 0, 2, 2]], {}),
    "two sequences": ([[0, 1, 0], [2, 2, 1]], {}),
    "sticky": ([[0, 0, 0, 1, 1, 1]], {"self_concentration": 3.0}),
    "left to right": ([[0, 0, 1, 1, 2]], {"transitions": "left-to-right"}),
    "priors that differ": ([[0, 1, 1, 2]], {"initial_concentration": [3.0, 0.5]}),
}


#: Cases that are drawn in every run; the others take their time.
QUICK = [("two states", 2), ("priors that differ", 2)]
SLOW = [(case, k) for case in TINY for k in (2, 3) if (case, k) not in QUICK]
SLOW.remove(("priors that differ", 3))  # of two states


@pytest.mark.parametrize(
    ("case", "k"), [*QUICK, *(pytest.param(*one, marks=pytest.mark.slow) for one in SLOW)]
)
def test_evidence_against_all_paths(case, k):
    sequences, options = TINY[case]
    X = [np.array(s)[:, None] for s in sequences]
    m = HiddenMarkovModel(k, "categorical", random_state=0, tol=1e-10, **options).fit(X)
    moves = np.ones((k, k)) + options.get("self_concentration", 0.0) * np.eye(k)
    if "transitions" in options:
        moves = np.triu(moves)
    first = np.broadcast_to(options.get("initial_concentration", 1.0), (k,))
    n_symbols = 1 + max(map(max, sequences))
    exact = exact_symbol_evidence(sequences, n_symbols, first, moves, np.ones(n_symbols))
    assert float(m.log_evidence_) < exact
    drawn = m.estimate_evidence(1500, rng=1)
    assert drawn.kind == "estimate"
    assert abs(float(drawn) - exact) < 5 * drawn.error
    assert drawn.error < 0.15
    assert drawn.comparable(m.log_evidence_)


def test_evidence_of_one_state_is_exact_and_drawn(geyser):
    for emission in ("normal", "mvnormal"):
        m = HiddenMarkovModel(1, emission).fit(geyser)
        assert m.log_evidence_.kind == "exact"
        drawn = m.estimate_evidence(120)
        np.testing.assert_allclose(float(drawn), float(m.log_evidence_), rtol=1e-10)


@pytest.mark.slow  # a thousand passes over 300 rows
def test_evidence_of_four_states_agrees_between_seeds():
    """Errors are as large as they say where importance draws alone would hang on a few of them."""
    rng = np.random.default_rng(0)
    z = np.repeat(rng.integers(4, size=30), 10)
    x = (np.array([0.0, 2.0, 4.0, 7.0])[z] + rng.normal(size=300))[:, None]
    m = HiddenMarkovModel(4, "normal", random_state=0).fit(x)
    found = [m.estimate_evidence(400, rng=seed) for seed in range(3)]
    values, errors = np.array([float(one) for one in found]), np.array([one.error for one in found])
    assert errors.max() < 0.5
    assert np.abs(values - values.mean()).max() < 5 * errors.max()
    assert values.min() > float(m.log_evidence_)


def test_many_states_add_their_orders_and_say_so():
    """Where turns are not exact, orders of more than six states are added at once."""
    X = np.array([[0], [1]] * 20)
    m = HiddenMarkovModel(7, "categorical", durations="table", max_duration=3, random_state=0).fit(
        X
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # few draws
        with pytest.warns(UserWarning, match="less what beliefs do not tell apart"):
            m.estimate_evidence(50)


def test_orders_of_empty_states_are_not_counted_twice():
    """Two states of seven have rows: at most 7·6 orders can be told apart."""
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 9.0, 0.0], 40)[:, None] + rng.normal(size=(120, 1))
    m = HiddenMarkovModel(7, "normal", random_state=0).fit(x)
    assert len(np.unique(m.predict(x))) == 2
    data, rows, sums = m._training
    paths, emission = build_paths(m, data, rows), build_emission(m, data, rows)
    added = draw_evidence(paths, emission, sums, 50, rng, alike=True).added
    assert np.log(7 * 6) - 2.0 < added < np.log(7 * 6) + 0.5


class Bell:
    """A class of a user's own: fitted to weighted numbers, with a log density."""

    def __init__(self, centre, width):
        self.centre, self.width = centre, width

    @classmethod
    def fit(cls, x, weights):
        centre = weights @ x / weights.sum()
        return cls(centre, np.sqrt(weights @ (x - centre) ** 2 / weights.sum()))

    def log_prob(self, x):
        return norm.logpdf(x, self.centre, self.width)

    def sample(self, size, rng):
        return rng.normal(self.centre, self.width, size)


def test_any_class_that_can_be_fitted_is_an_emission(geyser):
    X = geyser[:80].copy()
    X[5, 0] = X[9] = np.nan
    own = HiddenMarkovModel(2, Bell, "em", n_init=1, random_state=0, tol=1e-8).fit(X)
    named = HiddenMarkovModel(2, "normal", "em", n_init=1, random_state=0, tol=1e-8).fit(X)
    assert own.log_likelihood_ == pytest.approx(
        named.log_likelihood_, abs=1e-4
    )  # 1e-6 rows are imagined
    np.testing.assert_allclose(own.model_.transition, named.model_.transition, atol=1e-4)
    assert own.sample(5, rng=0).observations.shape == (5, 2)
    both = HiddenMarkovModel(
        2, {0: Bell, 1: "normal"}, "em", n_init=1, random_state=0, tol=1e-8
    ).fit(X)
    assert both.log_likelihood_ == pytest.approx(named.log_likelihood_, abs=1e-4)


def test_heavy_tails_keep_states_apart():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1, 0, 1], 40)
    X = (6.0 * z + rng.standard_t(3.0, 160))[:, None]
    X[[10, 90], 0] = [400.0, -300.0]
    m = HiddenMarkovModel(2, "student-t", "em", n_init=1, random_state=0, tol=1e-3).fit(X)
    path = m.predict(X)
    assert max((path == z).mean(), (path != z).mean()) > 0.95
    np.testing.assert_allclose(np.sort(m.model_.emission.location), [0.0, 6.0], atol=0.6)


def test_mixtures_in_states_find_what_one_normal_cannot():
    rng = np.random.default_rng(2)
    z = np.repeat([0, 1] * 5, 40)
    inside = rng.integers(2, size=400)
    X = np.where(z == 0, 8.0 * inside, 4.0)[:, None] + rng.normal(0.0, 0.5, (400, 1))
    m = HiddenMarkovModel(2, "mixture", "em", mixture_components=2, random_state=0, n_init=10).fit(
        X
    )
    path = m.predict(X)
    assert max((path == z).mean(), (path != z).mean()) > 0.95
    one = HiddenMarkovModel(2, "mvnormal", "em", random_state=0).fit(X)
    assert m.log_likelihood_ > one.log_likelihood_ + 50.0
    alone = HiddenMarkovModel(
        2, "mixture", "em", mixture_components=1, random_state=0, tol=1e-9
    ).fit(X)
    same = HiddenMarkovModel(2, "mvnormal", "em", random_state=0, tol=1e-9).fit(X)
    assert alone.log_likelihood_ == pytest.approx(same.log_likelihood_, abs=1e-6)


def test_states_that_differ_in_spread_alone_are_found():
    rng = np.random.default_rng(0)
    z = np.repeat([0, 1] * 4, 50)
    X = rng.normal(0.0, np.where(z == 0, 0.5, 2.5))[:, None]
    m = HiddenMarkovModel(2, random_state=0).fit(X)
    path = m.predict(X)
    assert max((path == z).mean(), (path != z).mean()) > 0.95
