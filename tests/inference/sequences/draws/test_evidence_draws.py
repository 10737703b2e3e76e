"""What beliefs say of draws, by all orders of the states, against sums that are written out."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from posteriori.distributions.conjugate.pair import find_pair
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.inference.sequences.chain_paths import ChainPaths
from posteriori.inference.sequences.chain_rows import ChainRows
from posteriori.inference.sequences.dirichlet_rows import DirichletRows
from posteriori.inference.sequences.draws import evidence_draws
from posteriori.inference.sequences.draws.chain_turns import draw_chain
from posteriori.inference.sequences.emissions.feature_emissions import weighed_members

STATES = 3


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_density_of_rows_is_that_of_dirichlets(rng):
    law = DirichletRows(np.array([[1.0, 2.0, 0.5], [3.0, 0.0, 1.0]]), "belief")
    alpha = law.concentration + np.array([[4.0, 0.3, 2.0], [1.0, 0.0, 0.7]])
    rows = rng.dirichlet([2.0, 1.0, 3.0], size=5), rng.dirichlet([1.0, 2.0], size=5)
    with np.errstate(divide="ignore"):
        table = np.stack([rows[0], np.insert(rows[1], 1, 0.0, axis=1)], axis=1)
        logs = np.log(table)
    wanted = [
        stats.dirichlet.logpdf(a, alpha[0]) + stats.dirichlet.logpdf(b, alpha[1, [0, 2]])
        for a, b in zip(*rows, strict=True)
    ]
    np.testing.assert_allclose(law.log_density(logs, alpha), wanted)


@pytest.mark.parametrize("alike", [True, False])
def test_beliefs_count_every_order_of_the_states(rng, alike):
    paths, emission, x = _chain(rng)
    shares = rng.dirichlet(np.ones(STATES), size=len(x))
    sums = (*paths.start(shares.argmax(axis=1)), *emission.expected_sums(shares))
    drawn = draw_chain(paths, emission, sums, 4, rng)
    found = evidence_draws._log_beliefs(
        paths, sums, drawn, evidence_draws._all_orders(paths, alike)
    )
    orders = list(permutations(range(STATES))) if alike else [tuple(range(STATES))]
    of_emissions = drawn.emissions.log_beliefs(sums[2:])
    first, moves = (law.concentration + part for law, part in zip(paths.tables, sums, strict=False))
    for s in range(4):
        initial, table = np.exp(drawn.tables[0][s]), np.exp(drawn.tables[1][s])
        terms = []
        for order in orders:
            named = list(order)
            value = stats.dirichlet.logpdf(_whole(initial[named]), first)
            for j, k in enumerate(named):
                value += stats.dirichlet.logpdf(_whole(table[k, named]), moves[j])
                value += of_emissions[s, j, k]
            terms.append(value)
        np.testing.assert_allclose(found[s], np.logaddexp.reduce(terms), rtol=1e-10)


def test_beliefs_of_all_states_at_once_are_those_one_by_one(rng):
    _, emission, x = _chain(rng)
    sums = emission.expected_sums(rng.dirichlet(np.ones(STATES), size=len(x)))
    other = emission.expected_sums(rng.dirichlet(np.ones(STATES), size=len(x)))
    drawn = emission.draw(sums, 3, np.random.default_rng(5))
    again = emission.model.beliefs.believe(sums[0]).sample(3, rng=np.random.default_rng(5))
    belief = emission.model.beliefs.believe(other[0])
    found = drawn.log_beliefs(other)
    for j in range(STATES):
        for k in range(STATES):
            own = NormalInverseGamma._from_natural(*(part[j] for part in belief.natural))
            wanted = own.log_prob(type(again)(*(part[:, k] for part in again))).sum(axis=-1)
            np.testing.assert_allclose(found[:, j, k], wanted, rtol=1e-10)


def test_kept_features_say_what_blocks_of_rows_say(rng):
    _, emission, x = _chain(rng)
    assert emission.features is not None
    apart = emission._replace(features=None)
    shares = rng.dirichlet(np.ones(STATES), size=len(x))
    np.testing.assert_allclose(emission.expected_sums(shares)[0], apart.expected_sums(shares)[0])
    sums = emission.expected_sums(shares)
    np.testing.assert_allclose(emission.look(sums).scores, apart.look(sums).scores)


def _chain(rng):
    x = rng.normal(size=(30, 2)) * [1.0, 3.0] + [5.0, -1.0]
    rows = ChainRows(np.array([18, 12]))
    paths = ChainPaths(
        rows,
        DirichletRows(np.full(STATES, 0.7), "belief"),
        DirichletRows(np.full((STATES, STATES), 1.0) + np.eye(STATES), "belief"),
    )
    prior = NormalInverseGamma(np.zeros(2), 0.5, 2.0, np.ones(2))
    emission = weighed_members(lambda p: find_pair(p, Normal), prior, x, None, at_mode=False)
    return paths, emission, x


def _whole(p):
    return p / p.sum()
