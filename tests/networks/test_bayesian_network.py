"""Answers of networks against the table of all variables, and engines against each other."""

from __future__ import annotations

import itertools
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given as drawn_from

from posteriori.networks import BayesianNetwork, Deterministic, LogisticConditional, NoisyOr
from posteriori.tables import ConditionalTable
from tests.networks.random_networks import joint_of, networks_with_findings, random_network

YN = ["no", "yes"]


@pytest.fixture(scope="module")
def rain() -> BayesianNetwork:
    return BayesianNetwork(
        ConditionalTable("rain", (), [0.8, 0.2], [YN]),
        ConditionalTable("wet", "rain", [[0.9, 0.1], [0.2, 0.8]], [YN, YN]),
    )


def some_evidence(bn: BayesianNetwork, seed: int) -> dict[str, str]:
    """Return states of some variables, drawn so that they are possible."""
    rng = np.random.default_rng(seed)
    drawn = bn.sample(rng=seed)
    return {name: drawn[name] for name in bn.names if rng.random() < 0.4}


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(25))
def test_marginals_queries_and_evidence_are_those_of_the_joint_table(seed, zeros):
    bn = random_network(seed, zeros=zeros)
    joint, given = joint_of(bn), some_evidence(bn, seed)
    found = bn.marginals(given)
    assert found.log_evidence == pytest.approx(joint.log_prob(given), abs=1e-12)
    assert bn.log_prob(given) == pytest.approx(joint.log_prob(given), abs=1e-12)
    for name in bn.names:
        if name in given:
            assert found[name].probabilities[bn.labels[name].index(given[name])] == 1.0
        else:
            expected = joint.query(name, given).probabilities
            np.testing.assert_allclose(found[name].probabilities, expected, atol=1e-13)
            np.testing.assert_allclose(bn.query(name, given).probabilities, expected, atol=1e-13)
    free = [name for name in bn.names if name not in given]
    for pair in itertools.permutations(free, 2):
        asked = bn.query(pair, given)
        assert asked.names == pair
        assert asked.factor.allclose(joint.query(pair, given).factor, 1e-12)


@drawn_from(networks_with_findings())
def test_marginals_are_sums_over_all_cells_or_the_contradiction_is_named(case):
    bn, given = case
    cells = joint_of(bn).factor.transpose(bn.names).values
    at = [slice(given[n], given[n] + 1) if n in given else slice(None) for n in bn.names]
    known = cells[tuple(at)]
    if not known.sum() > 0.0:
        with pytest.raises(ValueError, match="the evidence has probability 0") as refused:
            bn.marginals(given)
        named = [part.split("=") for part in re.findall(r"v\d=\d", str(refused.value))]
        least = {name: int(state) for name, state in named}
        assert least.items() <= given.items()
        assert bn.log_prob(least) == -np.inf
        for name in least:  # none can be left out
            assert bn.log_prob({n: s for n, s in least.items() if n != name}) > -np.inf
        return
    found = bn.marginals(given)
    assert found.log_evidence == pytest.approx(np.log(known.sum()), abs=1e-11)
    for axis, name in enumerate(bn.names):
        if name not in given:
            others = tuple(i for i in range(known.ndim) if i != axis)
            expected = known.sum(axis=others) / known.sum()
            np.testing.assert_allclose(found[name].probabilities, expected, atol=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_engines_agree(seed):
    bn = random_network(seed, zeros=0.2)
    given = some_evidence(bn, seed + 100)
    order = np.random.default_rng(seed).permutation(bn.names).tolist()
    graph = bn.to_factor_graph().given(given)
    for name in bn.names:
        if name not in given:
            expected = bn.query(name, given).probabilities
            for method in ("enumeration", "variable elimination", "junction tree"):
                got = bn.query(name, given, method=method).probabilities
                np.testing.assert_allclose(got, expected, atol=1e-12)
            got = bn.query(name, given, method="variable elimination", order=order)
            np.testing.assert_allclose(got.probabilities, expected, atol=1e-12)
            np.testing.assert_allclose(bn.query(name, given, order=order).probabilities, expected)
            if graph.is_tree:
                got = bn.query(name, given, method="sum-product").probabilities
                np.testing.assert_allclose(got, expected, atol=1e-12)
            else:
                with pytest.raises(ValueError, match="has a loop"):
                    bn.query(name, given, method="sum-product")


@pytest.mark.parametrize("seed", range(25))
def test_most_probable_assignments_of_all_and_of_some(seed):
    bn = random_network(seed, zeros=0.2)
    joint, given = joint_of(bn), some_evidence(bn, seed)
    best = bn.most_probable(given)
    cells = joint.factor.restrict(given)
    assert best.log_value == pytest.approx(float(cells.log_values.max()), abs=1e-12)
    assert joint.log_prob(best.assignment) == pytest.approx(best.log_value, abs=1e-12)
    free = [name for name in bn.names if name not in given]
    some = free[:2]
    if some:
        best = bn.most_probable(given, of=some)
        sums = joint.factor.reduce(given).marginal(some)
        assert best.log_value == pytest.approx(float(sums.log_values.max()), abs=1e-12)
        assert sums.log_value(best.assignment) == pytest.approx(best.log_value, abs=1e-12)


@pytest.mark.topic("000/R7")
def test_all_optima_of_an_exclusive_or():
    bn = BayesianNetwork(
        ConditionalTable("a", (), [0.5, 0.5]),
        ConditionalTable("b", (), [0.5, 0.5]),
        Deterministic("c", ["a", "b"], lambda a, b: a ^ b, labels=[0, 1]),
    )
    found = list(bn.optima("c=1"))
    assert len(found) == 2
    assert {(x["a"], x["b"]) for x in found} == {(0, 1), (1, 0)}
    assert len(list(bn.optima(limit=3))) == 3


@pytest.mark.parametrize("seed", range(10))
def test_optima_are_the_cells_that_tie(seed):
    rng = np.random.default_rng(seed)
    tables = [ConditionalTable("v0", (), [0.5, 0.5])]
    for i in range(1, 5):
        given = f"v{rng.integers(i)}"
        row = rng.choice([0.25, 0.5, 0.75])
        flip = [[row, 1 - row], [1 - row, row]]
        tables.append(ConditionalTable(f"v{i}", given, flip))
    bn = BayesianNetwork(*tables)
    cells = joint_of(bn).factor.transpose(bn.names).values
    ties = {tuple(at) for at in np.argwhere(cells >= cells.max() * (1 - 1e-9)).tolist()}
    assert {tuple(x[name] for name in bn.names) for x in bn.optima(limit=1000)} == ties


@pytest.mark.parametrize("seed", [1, 4])
def test_draws_under_evidence(seed):
    bn = random_network(seed, zeros=0.2)
    given = dict(list(some_evidence(bn, seed).items())[:2])
    size = 4000
    drawn = bn.sample(size, given, rng=seed)
    for name, found in bn.marginals(given).items():
        share = np.array([np.mean(drawn[name] == label) for label in bn.labels[name]])
        p = found.probabilities
        assert np.all(np.abs(share - p) <= 5.0 * np.sqrt(p * (1.0 - p) / size) + 1e-12)
    again = bn.sample(size, given, rng=seed)
    assert all(np.array_equal(drawn[name], again[name]) for name in bn.names)


@pytest.mark.parametrize("seed", range(8))
def test_rows_of_a_frame_with_gaps_are_single_queries(seed):
    bn = random_network(seed, zeros=0.2)
    rows = pd.DataFrame(bn.sample(30, rng=seed)).astype(object)
    rng = np.random.default_rng(seed)
    rows = rows.mask(rng.random(rows.shape) < 0.4, None)
    target = bn.names[0]
    found = bn.predict_proba(rows, target)
    for i, row in enumerate(rows.to_dict("records")):
        given = {name: value for name, value in row.items() if value is not None and name != target}
        expected = bn.query(target, given).probabilities
        np.testing.assert_allclose(found[i], expected, atol=1e-12)


def test_frames_of_polars_mappings_and_no_rows(rain):
    pl = pytest.importorskip("polars")
    expected = rain.predict_proba({"wet": ["yes", None]}, "rain")
    np.testing.assert_allclose(expected, [[1 / 3, 2 / 3], [0.8, 0.2]])
    np.testing.assert_array_equal(
        rain.predict_proba(pl.DataFrame({"wet": ["yes", None]}), "rain"), expected
    )
    assert rain.predict_proba(pd.DataFrame({"wet": []}), "rain").shape == (0, 2)


def test_jeffreys_rule_by_hand(rain):
    # q(rain) = Σ p(rain | wet) q(wet)
    expected = 0.3 * rain.query("rain=yes | wet=no") + 0.7 * rain.query("rain=yes | wet=yes")
    assert rain.query("rain=yes", soft={"wet": [0.3, 0.7]}) == pytest.approx(expected, abs=1e-11)
    both = rain.marginals(soft={"wet": [0.3, 0.7]})
    np.testing.assert_allclose(both["wet"].probabilities, [0.3, 0.7], atol=1e-11)


def test_several_new_marginals_hold_together():
    bn = random_network(3, most=6)
    first, second = bn.names[:2]
    soft = {
        name: np.arange(1, len(bn.labels[name]) + 1) / sum(range(1, len(bn.labels[name]) + 1))
        for name in (first, second)
    }
    found = bn.marginals(soft=soft)
    for name, p in soft.items():
        np.testing.assert_allclose(found[name].probabilities, p, atol=1e-10)
    # nearest to the old one: what is given them stays, and their table is multiplied by a(first) b(second)
    third = bn.names[2]
    ratio = (
        bn.query([first, second], soft=soft).probabilities / bn.query([first, second]).probabilities
    )
    np.testing.assert_allclose(ratio, np.outer(ratio[:, 0], ratio[0]) / ratio[0, 0], rtol=1e-9)
    new = bn.query([first, second, third], soft=soft).conditional(third, [first, second])
    old = bn.query([first, second, third]).conditional(third, [first, second])
    np.testing.assert_allclose(new.probabilities, old.probabilities, rtol=1e-9)


def test_virtual_evidence_multiplies(rain):
    weights = np.array([0.8, 0.2]) * ([[0.9, 0.1], [0.2, 0.8]] @ np.array([0.2, 0.9]))
    expected = weights / weights.sum()
    np.testing.assert_allclose(
        rain.query("rain", virtual={"wet": [0.2, 0.9]}).probabilities, expected, atol=1e-13
    )
    np.testing.assert_allclose(
        rain.marginals(virtual={"wet": {"no": 2.0, "yes": 9.0}})["rain"].probabilities, expected
    )


@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_noisy_or_is_its_table(n):
    rng = np.random.default_rng(n)
    q, leak = rng.random(n), 0.1
    names = [f"c{i}" for i in range(n)]
    causes = [ConditionalTable(name, (), [0.7, 0.2, 0.1]) for name in names]
    effect = NoisyOr("e", names, q, leak=leak)
    cells = np.empty((*[3] * n, 2))
    for states in itertools.product(range(3), repeat=n):
        absent = np.exp(effect.log_absent([s > 0 for s in states]))
        cells[states] = absent, 1.0 - absent
    table = BayesianNetwork(*causes, ConditionalTable("e", names, cells))
    noisy = BayesianNetwork(*causes, effect)
    for given in ({"e": 1}, {"e": 0}, None):
        np.testing.assert_allclose(
            noisy.query("c0", given).probabilities,
            table.query("c0", given).probabilities,
            atol=1e-13,
        )
    assert noisy.n_parameters == 2 * n + n + 1


def test_forty_causes_need_no_large_table():
    names = [f"c{i}" for i in range(40)]
    causes = [ConditionalTable(name, (), [0.9, 0.1]) for name in names]
    bn = BayesianNetwork(*causes, NoisyOr("e", names, [0.3] * 40, leak=0.01))
    absent = 0.99 * (0.9 + 0.1 * 0.7) ** 40
    assert bn.log_prob("e=0") == pytest.approx(np.log(absent), abs=1e-12)
    assert bn.plan().cells < 1000


@pytest.mark.topic("001/3.10")
def test_a_softmax_of_one_hot_parents():
    weights = [np.array([[0.0, 1.0], [0.5, -1.0]]), np.array([[0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])]
    bn = BayesianNetwork(
        ConditionalTable("a", (), [0.5, 0.5]),
        ConditionalTable("b", (), [0.2, 0.3, 0.5]),
        LogisticConditional("y", ["a", "b"], weights, bias=[0.1, -0.2]),
    )
    logits = np.array([0.1, -0.2]) + weights[0][:, 1] + weights[1][:, 2]
    expected = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(bn.query("y | a=1, b=2").probabilities, expected)
    assert bn.n_parameters == 1 + 2 + (1 + 1 + 2)


@pytest.mark.topic("000/P3")
def test_a_chain_forgets_by_powers_of_its_transition():
    move = np.array([[0.9, 0.1], [0.3, 0.7]])
    bn = BayesianNetwork.chain([1.0, 0.0], move, 6)
    expected = np.array([1.0, 0.0]) @ np.linalg.matrix_power(move, 5)
    np.testing.assert_allclose(bn.query("x[5]").probabilities, expected)
    assert bn.graph.is_separated("x[0]", "x[5]", given="x[3]")


@pytest.mark.parametrize("seed", range(10))
def test_full_conditionals_come_from_the_blanket(seed):
    bn = random_network(seed)
    state = bn.sample(rng=seed)
    for name in bn.names:
        rest = {other: state[other] for other in bn.names if other != name}
        expected = bn.query(name, rest).probabilities
        found = bn.full_conditional(name, rest).probabilities
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_findings_that_contradict_each_other_are_named_without_the_others():
    bn = BayesianNetwork(
        ConditionalTable("a", (), [0.5, 0.5]),
        ConditionalTable("b", (), [0.5, 0.5]),
        Deterministic("c", ["a", "b"], lambda a, b: a and b, labels=[0, 1]),
        ConditionalTable("d", "c", [[0.9, 0.1], [0.5, 0.5]]),
    )
    with pytest.raises(ValueError, match=r"(c=1, a=0|a=0, c=1) contradict each other"):
        bn.query("b | c=1, a=0, d=1")
    with pytest.raises(ValueError, match="row 1: the evidence has probability 0"):
        bn.predict_proba({"a": [1, 0], "c": [1, 1]}, "b")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [ConditionalTable("a", "b", np.full((2, 2), 0.5))], "has no conditional"),
        (lambda: [ConditionalTable("a", (), [0.5, 0.5])] * 2, "two conditionals"),
        (
            lambda: [
                ConditionalTable("a", (), [0.5, 0.5], [YN]),
                ConditionalTable("b", "a", np.full((2, 2), 0.5)),
            ],
            r"labels \(0, 1\) of 'a', whose own are \('no', 'yes'\)",
        ),
        (
            lambda: [
                ConditionalTable("a", "b", np.full((2, 2), 0.5)),
                ConditionalTable("b", "a", np.full((2, 2), 0.5)),
            ],
            "form a cycle a → b → a, so that they make no joint distribution",
        ),
        (lambda: [ConditionalTable(["a", "b"], (), np.full((2, 2), 0.25))], "one variable"),
    ],
)
def test_conditionals_that_make_no_network(make, message):
    with pytest.raises(ValueError, match=message):
        BayesianNetwork(*make())


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda bn: bn.query("rian"), "rain"),
        (lambda bn: bn.query("rain | wet=yess"), "yes"),
        (lambda bn: bn.marginals({"wet": "maybe"}), "no label 'maybe'"),
        (lambda bn: bn.marginals(virtual={"wet": [1.0]}), "needs 2 numbers"),
        (lambda bn: bn.marginals(virtual={"wet": [-1.0, 2.0]}), "must not be negative"),
        (lambda bn: bn.marginals(soft={"wet": [0.3, 0.3]}), "must sum to 1"),
        (lambda bn: bn.query("rain", method="magic"), "method must be one of"),
        (lambda bn: bn.predict_proba({"wett": ["yes"]}, "rain"), "wet"),
        (lambda bn: bn.predict_proba({"wet": ["ye"]}, "rain"), "row 0: 'wet' has no state 'ye'"),
        (lambda bn: bn.most_probable({"wet": "yes"}, of="wet"), "both asked for and given"),
        (lambda bn: bn.query([]), "question names no variable"),
        (lambda bn: bn.query("rain", order=["wett"], method="variable elimination"), "'wet'"),
        (lambda bn: bn.query("rain", order=["wet"], method="enumeration"), "order is not used by"),
        (
            lambda bn: bn.query("rain", virtual={"wet": "yes"}),
            "virtual evidence of 'wet' must hold",
        ),
        (lambda bn: bn.query("rain", virtual=[0.2, 0.9]), "virtual must be a mapping"),
        (lambda bn: bn.query("rain", virtual={"wet": {"yes": 1.0}}), "no number for 'no'"),
        (lambda bn: bn.predict_proba(None, "rain"), "frame must be a frame .* got NoneType"),
        (lambda bn: bn.predict_proba({"wet": "yes"}, "rain"), "'wet' must be a sequence"),
        (
            lambda bn: bn.predict_proba({"wet": ["yes"], "rain": []}, "rain"),
            "1 of 'wet', 0 of 'rain'",
        ),
        (
            lambda bn: bn.predict_proba(pd.DataFrame([["no"] * 2], columns=["wet"] * 2), "rain"),
            "two columns 'wet'",
        ),
        (lambda bn: bn.most_probable(of=[]), "of names no variable"),
        (lambda bn: bn.most_probable(of=["wet", "wet"]), "of holds 'wet' twice"),
        (
            lambda bn: bn.optima({"wett": "yes"}),
            "no variable 'wett'",
        ),  # before the first is asked for
        (lambda bn: bn.optima(limit=-1), "limit must be a whole number from 0 on"),
        (lambda bn: bn.sample(-1), "size must not be negative"),
        (lambda bn: bn.plan({"wet": "yess"}), "no label 'yess'"),
        (lambda bn: bn.weights_of_evidence(["rain"], {}), "event such as rain=yes"),
    ],
)
def test_errors_name_what_was_wrong(rain, ask, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ask(rain)


def test_a_network_is_a_value(rain):
    with pytest.raises(AttributeError, match="is a value"):
        rain.labels = {}
    again = pickle.loads(pickle.dumps(rain))
    assert again.query("rain=yes | wet=yes") == rain.query("rain=yes | wet=yes")
    assert "2 variables, 1 edges, 3 parameters" in repr(rain)


def test_plans_tell_the_cost_and_evidence_lowers_it():
    bn = random_network(11, most=6)
    assert bn.plan(bn.names).cells == 0
    assert bn.plan().bytes >= 8 * bn.plan().cells
    assert set(bn.plan().order) == set(bn.names)


def test_elimination_can_be_looked_at(rain):
    (step,) = rain.elimination("wet", order=["rain"])
    assert step.variable == "rain"
    np.testing.assert_allclose(step.message.values, [0.76, 0.24])
    np.testing.assert_allclose(step.product.marginal("rain").values, [0.8, 0.2])


def test_codes_out_of_range_are_named_with_their_row():
    bn = BayesianNetwork.chain([0.5, 0.5], [[0.9, 0.1], [0.3, 0.7]], 2)
    with pytest.raises(ValueError, match=r"row 2: 'x\[1\]' has no state 2; its states are 0, 1"):
        bn.predict_proba({"x[1]": np.array([0, 1, 2])}, "x[0]")
    found = bn.predict_proba(
        {"x[1]": [0.0, np.nan], "x[0]": [7, 7]}, "x[0]"
    )  # the target's is not looked at
    np.testing.assert_allclose(found, [[0.75, 0.25], [0.5, 0.5]])


def test_plans_see_every_observed_variable():
    bn = BayesianNetwork.chain([0.5, 0.5], [[0.9, 0.1], [0.3, 0.7]], 5)
    expected = bn.plan(given=["x[1]", "x[3]"])
    assert bn.plan(given="x[1]=0, x[3]=1") == bn.plan({"x[1]": 0, "x[3]": 1}) == expected
    assert expected.cells < bn.plan(given="x[1]").cells < bn.plan().cells


def test_draws_of_any_shape(rain):
    flat, shaped = rain.sample(6, rng=0), rain.sample((2, 3), rng=0)
    assert all(np.array_equal(flat[name].reshape(2, 3), shaped[name]) for name in rain.names)
    assert rain.sample(0)["wet"].shape == (0,)
    assert rain.sample(rng=0)["wet"] in YN


def test_new_marginals_leave_the_probability_of_what_is_given(rain):
    # q(rain, wet) = q(wet) p(rain | wet): 0.7 · 2/3 is the largest
    best = rain.most_probable(soft={"wet": [0.3, 0.7]})
    assert best.assignment == {"rain": "yes", "wet": "yes"}
    assert np.exp(best.log_value) == pytest.approx(0.7 * 2.0 / 3.0)
    assert rain.marginals(soft={"wet": [0.3, 0.7]}).log_evidence == pytest.approx(0.0, abs=1e-11)
    known = rain.marginals("rain=yes", soft={"wet": [0.3, 0.7]})
    assert known.log_evidence == pytest.approx(np.log(0.2), abs=1e-11)


def test_impossible_likelihoods_and_marginals_are_named(rain):
    with pytest.raises(ValueError, match="wet=yes, the likelihoods of wet contradict each other"):
        rain.query("rain | wet=yes", virtual={"wet": [1.0, 0.0]})
    certain = BayesianNetwork(ConditionalTable("a", (), [1.0, 0.0]))
    with pytest.raises(ValueError, match=r"gives a=1 a probability of 0\.5, but it is impossible"):
        certain.marginals(soft={"a": [0.5, 0.5]})
    with pytest.raises(ValueError, match="a=1 is impossible"):
        certain.marginals("a=1", soft={})


def test_inner_variables_meet_no_other_of_the_same_name():
    causes = [ConditionalTable(name, (), [0.5, 0.5]) for name in "ab"]
    alike = [
        ConditionalTable(name, (), [0.3, 0.3, 0.4])
        for name in ("after a of 'e'", "e.1", "e after a")
    ]
    effect = NoisyOr("e", ["a", "b"], [0.5, 0.5])
    bn, plain = BayesianNetwork(*causes, *alike, effect), BayesianNetwork(*causes, effect)
    expected = plain.query("e").probabilities
    np.testing.assert_allclose(bn.query("e").probabilities, expected)
    for other in alike:
        np.testing.assert_allclose(bn.query(other.target[0]).probabilities, [0.3, 0.3, 0.4])
    assert len(bn.to_factor_graph().factors) == 7
    found = bn.query("e", method="variable elimination").probabilities
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NoisyOr("e", "a", [0.3], labels=["x", "x"]), "label 'x' twice"),
        (lambda: LogisticConditional("y", "a", [[[np.nan, 1], [0, 0]]], [0, 0]), "must be finite"),
        (lambda: LogisticConditional("y", "a", [[[1, 1], [0, 0]]], [0, 0], ["a"]), "2 numbers"),
        (lambda: Deterministic("y", ["y"], lambda y: y, labels=[0, 1]), "cannot be given itself"),
        (lambda: ConditionalTable("y", (), [1.2, -0.2]), "probabilities of y must not be negative"),
    ],
)
def test_bad_conditionals(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_network_is_a_value_also_in_other_processes(tmp_path, rain):
    path = tmp_path / "a.uai"
    path.write_text("BAYES 1 2 1  1 0  2 0.2500002 0.75", encoding="utf-8")
    bn = BayesianNetwork.read(path)
    again = pickle.loads(pickle.dumps(bn))
    assert again == bn != rain
    assert hash(again) == hash(bn)
    assert again.notes == bn.notes
    assert "divided" in bn.notes[0]
    with pytest.raises(AttributeError, match="is a value"):
        bn.labels = {}


def test_digits_stay_as_they_were_given():
    cells = [[0.7, 0.2, 0.1], [0.3, 0.3, 0.4]]  # the first sums to 1 - 1.1e-16
    assert sum(cells[0]) != 1.0
    table = ConditionalTable("b", "a", cells)
    assert table.probabilities.tolist() == cells
    near = ConditionalTable("b", "a", [[0.7000001, 0.2, 0.1], [0.3, 0.3, 0.4]]).probabilities
    np.testing.assert_allclose(near.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    assert near[1].tolist() == cells[1]
