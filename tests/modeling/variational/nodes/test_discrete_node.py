"""Chains of one discrete variable under variational inference, against all paths one by one."""

import itertools

import numpy as np
import pytest

from posteriori import Categorical, Chain, Dirichlet, Gamma, Model, Normal
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table
from posteriori.modeling.variational.nodes.state_chain import find_state_chain, solve_state_chain

STARTS, SERIES, STEPS, STATES = 2, 3, 4, 3


def enumerate_paths(log_states, log_steps):
    """Return probabilities of states and of pairs, log total and entropy of one series."""
    paths = list(itertools.product(range(log_states.shape[1]), repeat=len(log_states)))
    logs = np.array(
        [
            sum(log_states[t, k] for t, k in enumerate(path))
            + sum(log_steps[t, j, k] for t, (j, k) in enumerate(itertools.pairwise(path)))
            for path in paths
        ]
    )
    total = np.logaddexp.reduce(logs)
    p = np.exp(logs - total)
    states, pairs = np.zeros(log_states.shape), np.zeros(log_steps.shape)
    for weight, path in zip(p, paths, strict=True):
        for t, k in enumerate(path):
            states[t, k] += weight
        for t, (j, k) in enumerate(itertools.pairwise(path)):
            pairs[t, j, k] += weight
    return states, pairs, total, -np.sum(p[p > 0] * np.log(p[p > 0]))


def switches(time, plate):
    step = Axis("t", STEPS - 1)
    before, after = Axis("before", STATES), Axis("after", STATES)
    here = Lookup(Table(np.arange(STEPS - 1), (step,)))
    there = Lookup(Table(np.arange(1, STEPS), (step,)))
    order = (lambda p: (plate, p)) if time == 1 else (lambda p: (p, plate))
    return Switch("z", order(here), before), Switch("z", order(there), after)


@pytest.mark.parametrize("time", [0, 1])
@pytest.mark.parametrize("shared", ["all", "series", "time", "none"])
def test_chains_of_several_starts_and_series_are_those_of_all_paths(time, shared):
    rng = np.random.default_rng(0)
    restart, plate = Axis("restart", STARTS), Axis("n", SERIES)
    own = (plate, Axis("t", STEPS)) if time == 1 else (Axis("t", STEPS), plate)
    early, late = switches(time, plate)
    chain = find_state_chain((early, late), own)
    assert chain is not None
    assert chain.time == time
    logits = Table(
        rng.normal(size=(STARTS, *(a.size for a in own), STATES)),
        (restart, *own, Axis("z", STATES)),
    )
    series, step = chain.labels[:2]
    lead = {
        "all": (),
        "series": (step,),
        "time": (series,),
        "none": (series, step),
    }[shared]
    axes = (restart, *lead, early.state, late.state)
    moves = rng.normal(size=tuple(a.size for a in axes))
    moves[..., 0, 2] = -np.inf  # a forbidden step
    belief = solve_state_chain(chain, logits, [Table(moves, axes)], restart)
    full = moves.reshape(
        STARTS, *(a.size if a in lead else 1 for a in (series, step)), STATES, STATES
    )
    full = np.broadcast_to(full, (STARTS, SERIES, STEPS - 1, STATES, STATES))
    here = np.moveaxis(logits.values, 1 + time, -2)
    totals, entropies = np.zeros(STARTS), np.zeros(STARTS)
    for s, n in np.ndindex(STARTS, SERIES):
        states, pairs, total, entropy = enumerate_paths(here[s, n], full[s, n])
        np.testing.assert_allclose(belief.probabilities[s, n], states, atol=1e-13)
        np.testing.assert_allclose(belief.pairs[s, n], pairs, atol=1e-13)
        totals[s] += total
        entropies[s] += entropy
    np.testing.assert_allclose(belief.log_total, totals, rtol=1e-13)
    np.testing.assert_allclose(belief.entropy(), entropies, rtol=1e-12)


def test_what_is_no_chain_of_neighbours_is_left_to_the_general_method():
    plate = Axis("n", SERIES)
    early, late = switches(0, plate)
    own = (Axis("t", STEPS), plate)
    assert find_state_chain((early,), own) is None
    assert find_state_chain((late, early), own) is None
    assert find_state_chain((early, late._replace(name="u")), own) is None
    assert find_state_chain((early, late), (Axis("t", STEPS + 1), plate)) is None


def hidden_markov_model(length):
    m = Model()
    m.start = Dirichlet(np.ones(2))
    m.A = Dirichlet(np.ones((2, 2)))
    m.mu = Normal(0.0, variance=100.0).iid(2)
    m.tau = Gamma(1.0, 1.0).iid(2)
    m.z = Chain(Categorical(m.start), lambda z: Categorical(m.A[z]), length=length)
    m.y = Normal(m.mu[m.z], precision=m.tau[m.z])
    return m


def test_learning_a_chain_has_one_bound_by_two_routes():
    rng = np.random.default_rng(1)
    z = (np.arange(60) // 15) % 2
    post = hidden_markov_model("t").infer(y=4.0 * z + rng.normal(size=60))
    result = post._solved.by_name["z"]
    np.testing.assert_allclose(
        result.problem.bound(result.problem.local[-1]), result.problem.slow_bound(), rtol=1e-12
    )
    agreement = np.mean(post.z.probabilities.argmax(axis=1) == z)
    assert max(agreement, 1.0 - agreement) > 0.9


def test_the_plan_names_forward_backward_for_chains_only():
    m = Model()
    m.A = Dirichlet([2, 1]).iid(2)
    m.r = Gamma([2, 8], rate=1)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(m.A[z]), length="t")
    m.c = Categorical([0.5, 0.5]).iid("t")
    m.x = Normal(0.0, precision=m.r[m.z])
    m.y = Normal(0.0, precision=m.r[m.c])
    text = str(m.plan(x=np.ones(5), y=np.ones(5)))
    assert "z: 5 members of 2 states, by forward-backward" in text
    assert text.count("forward-backward") == 1
