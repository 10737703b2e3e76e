"""Weights of evidence, information and sensitivity, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori.networks import BayesianNetwork
from posteriori.tables import ConditionalTable
from tests.networks.random_networks import joint_of, random_network


@pytest.mark.parametrize("seed", range(12))
def test_weights_of_evidence_are_differences_of_log_odds(seed):
    bn = random_network(seed, most=6)
    target, *others = bn.names
    given = {name: bn.labels[name][-1] for name in others[:3]}
    event = f"{target}={bn.labels[target][0]}"

    def log_odds(known):
        p = bn.query(event, known)
        return np.log(p / (1.0 - p))

    found = bn.weights_of_evidence(event, given)
    assert set(found) == set(given)
    for name, weight in found.items():
        without = {n: v for n, v in given.items() if n != name}
        assert weight == pytest.approx(log_odds(given) - log_odds(without), abs=1e-10)


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(12))
def test_information_is_the_mutual_information_given_what_is_known(seed, zeros):
    bn = random_network(seed, most=6, zeros=zeros)
    drawn = bn.sample(rng=seed)
    given = {name: drawn[name] for name in bn.names[:1]} if len(bn.names) > 2 else {}
    target = bn.names[-1]
    if target in given:
        pytest.skip("one variable")
    found = bn.information(target, given)
    known = joint_of(bn)
    for name, nats in found.items():
        pair = known.query([target, name], given)
        assert nats == pytest.approx(pair.mutual_information(target, name), abs=1e-12)
    assert list(found.values()) == sorted(found.values(), reverse=True)


@pytest.mark.parametrize("zeros", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(8))
def test_sensitivity_is_the_slope_in_every_cell(seed, zeros):
    bn = random_network(seed, most=5, zeros=zeros)
    drawn = bn.sample(rng=seed)
    target, given = bn.names[0], {name: drawn[name] for name in bn.names[1:2]}
    event = f"{target}={drawn[target]}"
    slopes = bn.sensitivity(event, given)
    factors = bn.factors()
    at = {target: drawn[target]}

    def probability(changed):
        product = 1.0
        for factor in changed.values():
            product = factor * product
        known = product.reduce(given)
        both = known.reduce(at)
        return np.exp(both.log_total - known.log_total)

    step = 1e-6
    for name, slope in slopes.items():
        cells = factors[name].values
        assert slope.shape == cells.shape
        for cell in np.ndindex(cells.shape):
            ends = []
            for move in (step, -step if cells[cell] > step else 0.0):
                moved = cells.copy()
                moved[cell] += move
                changed = dict(factors)
                changed[name] = type(factors[name])(
                    factors[name].names, moved, factors[name].labels
                )
                ends.append(probability(changed))
            width = step if cells[cell] <= step else 2.0 * step
            assert slope[cell] == pytest.approx((ends[0] - ends[1]) / width, abs=2e-5)


def test_a_certain_finding_has_infinite_weight():
    bn = BayesianNetwork(
        ConditionalTable("a", (), [0.5, 0.5]), ConditionalTable("b", "a", [[1.0, 0.0], [0.5, 0.5]])
    )
    assert bn.weights_of_evidence("a=1", "b=1") == {"b": np.inf}


def test_questions_without_an_event_are_refused():
    bn = random_network(0)
    with pytest.raises(ValueError, match="event such as"):
        bn.sensitivity(bn.names[0])
    with pytest.raises(ValueError, match="event such as"):
        bn.weights_of_evidence(bn.names[0], {})
