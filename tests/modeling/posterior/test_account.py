"""Energies and entropies: they sum to the evidence, and agree with averages over draws."""

from typing import Any

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Binomial, Normal
from posteriori.modeling import Model
from tests.modeling import (
    conjugate_models as conjugate,
    discrete_models as discrete,
    scaled_models as scaled,
)
from tests.modeling.discrete_cases import CASES as DISCRETE
from tests.modeling.exact import test_gaussian as gaussian


def assert_sums(post: Any) -> None:
    account = post.explain()
    value = float(post.log_evidence)
    assert account.log_evidence == pytest.approx(value, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", gaussian.CASES)
def test_normal_blocks(name: str) -> None:
    case = gaussian.CASES[name]
    assert_sums(case.build().infer(case.data))


@pytest.mark.parametrize("name", scaled.CASES)
def test_common_precision(name: str) -> None:
    case = scaled.CASES[name]
    assert_sums(case.build().infer(case.data))


@pytest.mark.parametrize("y", [scaled.Y, scaled.GAPS])
def test_a_precision_for_each_group(y: Any) -> None:
    assert_sums(scaled.groups().infer(g=scaled.GROUP, y=y))


@pytest.mark.parametrize("name", conjugate.CASES)
def test_conjugate_blocks(name: str) -> None:
    case = conjugate.CASES[name]
    assert_sums(conjugate.one_for_each_group(case).infer(g=conjugate.GROUP, y=case.data))


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_blocks(name: str) -> None:
    case = DISCRETE[name]
    assert_sums(case.build().infer(case.data))


@pytest.mark.parametrize("y", [gaussian.SERIES, gaussian.HOLES])
def test_missing_entries(y: Any) -> None:
    assert_sums(gaussian.tracking().infer(u=gaussian.U, y=y))
    assert_sums(gaussian.local_vectors().infer(x=y))


@pytest.mark.parametrize(
    ("build", "data"),
    [
        (gaussian.nested, {"g": gaussian.GROUP, "y": gaussian.Y}),
        (gaussian.tracking, {"u": gaussian.U, "y": gaussian.SERIES}),
        (scaled.hierarchy, {"g": scaled.GROUP, "y": scaled.Y}),
        (discrete.hidden_markov, {"y": discrete.Y}),
        (discrete.sprinkler, {"wet": 1}),
    ],
)
def test_energies_are_averages_over_draws(build: Any, data: dict[str, Any]) -> None:
    model = build()
    post = model.infer(data)
    draws = post.sample(200, rng=1)
    logs = [
        model.log_joint({**data, **{n: values[i] for n, values in draws.items()}})
        for i in range(200)
    ]
    error = np.std(logs) / np.sqrt(len(logs))
    account = post.explain()
    assert abs(np.mean(logs) - sum(account.energies.values())) <= 5.0 * error
    inputs = set(model._inputs)
    assert set(account.energies) == set(model) - inputs


def test_children_of_several_families_share_the_energy() -> None:
    m = Model()
    m.p = Beta(2.0, 1.5)
    m.bits = Bernoulli(m.p).iid("n")
    m.counts = Binomial(6, m.p).iid("k")
    post = m.infer(bits=conjugate.BITS, counts=conjugate.COUNTS)
    p = post.p.sample(20_000, rng=0)
    for name, family in (("bits", Bernoulli(p)), ("counts", Binomial(6, p))):
        data = conjugate.BITS if name == "bits" else conjugate.COUNTS
        logs = sum(family.log_prob(float(x)) for x in data)
        error = np.std(logs) / np.sqrt(len(p))
        assert abs(post.explain().energies[name] - np.mean(logs)) <= 5.0 * error


def test_the_table_can_be_read() -> None:
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y = Normal(m.x, variance=1.0)
    m.known = Normal(0.0, variance=1.0)
    post = m.infer(y=1.0, known=0.0)
    lines = repr(post.explain()).splitlines()
    assert [line.split("  ")[0].strip() for line in lines] == [
        "energy of x",
        "energy of y",
        "energy of known",
        "entropy of x",
        "log evidence",
    ]
    # by hand: the posterior is N(0.8, 0.8)
    assert post.explain().energies["x"] == pytest.approx(
        -0.5 * np.log(2 * np.pi * 4.0) - 0.5 * (0.64 + 0.8) / 4.0
    )
