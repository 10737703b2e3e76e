"""Networks of other libraries and back: the same labels and numbers, bit by bit, and the same answers."""

import builtins
import sys
from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

from posteriori.datasets import list_networks, network_path
from posteriori.networks import BayesianNetwork, Deterministic, NoisyOr
from posteriori.tables import ConditionalTable
from tests.networks.random_networks import random_network

LIBRARIES = ["networkx", "pgmpy", "pyagrum"]


def there_and_back(bn, library):
    pytest.importorskip(library)
    other = getattr(bn, f"to_{library}")()
    return other, getattr(BayesianNetwork, f"from_{library}")(other)


def mixed():
    """Return a network with labels of several kinds, and conditionals that are no tables."""
    odd = ["<5", "a, b", "é"]
    return BayesianNetwork(
        ConditionalTable("a b", (), [0.1, 0.2, 0.7], [odd]),
        ConditionalTable("n", (), [0.3, 0.7], [[2, 5]]),
        Deterministic("d", ["a b", "n"], lambda a, n: a if n == 2 else "é", labels=odd),
        NoisyOr("e", ["n", "d"], [0.3, 0.6], leak=0.05, labels=["no", "yes"]),
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("seed", range(6))
def test_random_networks_come_back(library, seed):
    bn = random_network(seed, most=7, zeros=0.2)
    _, again = there_and_back(bn, library)
    assert again == bn
    assert set(again.names) == set(bn.names)
    for name in bn.names:
        assert {*again.conditionals[name].given} == {*bn.conditionals[name].given}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", list_networks())
def test_public_networks_come_back(library, name):
    bn = BayesianNetwork.read(network_path(name))
    _, again = there_and_back(bn, library)
    assert again == bn
    assert again.names == bn.names


@pytest.mark.parametrize("library", LIBRARIES)
def test_labels_of_all_kinds_and_conditionals_without_tables(library):
    bn = mixed()
    _, again = there_and_back(bn, library)
    assert again.labels == bn.labels
    assert all(isinstance(one, ConditionalTable) for one in again.conditionals.values())
    for name in bn.names:
        np.testing.assert_allclose(
            again.query(name).probabilities, bn.query(name).probabilities, atol=1e-14
        )


def test_answers_of_pgmpy_are_the_same():
    inference = pytest.importorskip("pgmpy.inference")
    bn = mixed()
    model, _ = there_and_back(bn, "pgmpy")
    assert model.check_model()
    found = inference.VariableElimination(model).query(
        ["d"], evidence={"e": "yes"}, show_progress=False
    )
    np.testing.assert_allclose(found.values, bn.query("d | e=yes").probabilities, atol=1e-12)


def test_answers_of_pyagrum_are_the_same():
    gum = pytest.importorskip("pyagrum")
    bn = mixed()
    other, _ = there_and_back(bn, "pyagrum")
    engine = gum.LazyPropagation(other)
    engine.setEvidence({"e": "yes"})
    found = engine.posterior("d").toarray()
    np.testing.assert_allclose(found, bn.query("d | e=yes").probabilities, atol=1e-12)


def test_variables_of_pyagrum_with_numbers():
    gum = pytest.importorskip("pyagrum")
    other = gum.BayesNet()
    other.add(gum.RangeVariable("r", "", 1, 3))
    other.add(gum.NumericalDiscreteVariable("f", "", [0.5, 1.25]))
    other.generateCPTs()
    assert BayesianNetwork.from_pyagrum(other).labels == {"r": (1, 2, 3), "f": (0.5, 1.25)}


def test_labels_that_pyagrum_cannot_tell_apart():
    pytest.importorskip("pyagrum")
    bn = BayesianNetwork(ConditionalTable("a", (), [0.5, 0.5], [[1, "1"]]))
    with pytest.raises(ValueError, match="labels of 'a' are the same once they are written"):
        bn.to_pyagrum()


def test_tables_are_read_by_the_methods_of_a_model_of_pgmpy():
    """A stand-in with the attributes that are used, where pgmpy is not installed."""
    cells = np.array([[[0.1, 0.2], [0.3, 0.4]], [[0.9, 0.8], [0.7, 0.6]]])  # own, then a, b
    yn = ["no", "yes"]
    tables = [
        SimpleNamespace(
            variables=["c", "a", "b"], values=cells, state_names=dict.fromkeys("abc", yn)
        ),
        SimpleNamespace(variables=["b"], values=np.array([0.5, 0.5]), state_names={"b": yn}),
        SimpleNamespace(variables=["a"], values=np.array([0.25, 0.75]), state_names={"a": yn}),
    ]
    model = SimpleNamespace(get_cpds=lambda: tables, nodes=lambda: ["a", "b", "c"])
    bn = BayesianNetwork.from_pgmpy(model)
    assert bn.names == ("a", "b", "c")
    assert bn.query("c=yes | a=yes, b=no") == pytest.approx(0.7)
    del tables[1]
    with pytest.raises(ValueError, match="no table of 'b'; add one by add_cpds"):
        BayesianNetwork.from_pgmpy(model)


def test_graphs_whose_nodes_do_not_carry_what_they_need():
    graph = mixed().to_networkx()
    assert isinstance(graph, nx.DiGraph)
    assert graph.nodes["d"]["probabilities"].shape == (3, 2, 3)
    graph.add_edge("e", "d")
    with pytest.raises(ValueError, match="'d' is given a b, n, but arrows lead to it from"):
        BayesianNetwork.from_networkx(graph)
    graph.remove_edge("e", "d")
    del graph.nodes["n"]["states"]
    with pytest.raises(ValueError, match="node 'n' carries no 'states'"):
        BayesianNetwork.from_networkx(graph)


@pytest.mark.parametrize("library", LIBRARIES)
def test_other_things_are_refused(library):
    with pytest.raises(TypeError, match=r"must be a .*, got list"):
        getattr(BayesianNetwork, f"from_{library}")([])


@pytest.mark.parametrize("library", ["pgmpy", "pyagrum"])
def test_a_library_that_is_missing_is_named(library, monkeypatch):
    load = builtins.__import__

    def without(name, *arguments, **options):
        if name.startswith(library):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return load(name, *arguments, **options)

    for name in [known for known in sys.modules if known.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=f"pip install {library}"):
        getattr(mixed(), f"to_{library}")()


def test_causes_that_are_too_many_to_write_out():
    names = [f"c{i}" for i in range(40)]
    causes = [ConditionalTable(name, (), [0.9, 0.1]) for name in names]
    bn = BayesianNetwork(*causes, NoisyOr("e", names, [0.3] * 40))
    with pytest.raises(
        MemoryError, match=r"the table of 'e' has 2\.2e\+12 cells, too many to write"
    ):
        bn.to_networkx()
