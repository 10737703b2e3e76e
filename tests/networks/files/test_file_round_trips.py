"""Random networks with odd names, written and read in every format: the same values, bit by bit."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.datasets import list_networks, network_path
from posteriori.networks import BayesianNetwork, read_evidence
from posteriori.networks.files.network_files import read_network_file, write_network_file
from posteriori.networks.files.network_tables import FactorTables, NetworkTables

#: Names that files may well have, and some that formats have signs in.
ODD = ("<5", "Asy/Patch", "x-1", "a b", "table", "property", "//", "/*", "{", "a,b", "é", "&amp;")

NAMES = st.sampled_from(ODD) | st.text(
    st.characters(blacklist_categories=["Cc", "Cs", "Cn"], blacklist_characters='"'), min_size=1
).filter(lambda name: name == name.strip())


@st.composite
def labelled(draw):
    """Draw names, and states of each."""
    names = tuple(draw(st.lists(NAMES, min_size=1, max_size=5, unique=True)))
    labels = st.lists(NAMES, min_size=1, max_size=4, unique=True).map(tuple)
    return names, tuple(draw(labels) for _ in names)


@st.composite
def bayesian(draw):
    """Draw a network whose variables have some of those before them as parents, in any order."""
    names, states = draw(labelled())
    sizes = {name: len(labels) for name, labels in zip(names, states, strict=True)}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    parents, tables = [], []
    for k, name in enumerate(names):
        chosen = [str(each) for each in rng.permutation(names[:k])[: rng.integers(3)]]
        shape = tuple(sizes[each] for each in (*chosen, name))
        weights = rng.random(shape) ** rng.choice([1, 40]) + 1e-300
        tables.append(weights / weights.sum(axis=-1, keepdims=True))
        parents.append(tuple(chosen))
    order = rng.permutation(len(names))  # parents may stand behind their children
    fields = (names, states, parents, tables)
    return NetworkTables(*(tuple(field[k] for k in order) for field in fields))


@st.composite
def markov(draw):
    """Draw a network of factors over any variables, also over none."""
    names, states = draw(labelled())
    sizes = {name: len(labels) for name, labels in zip(names, states, strict=True)}
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    counts = rng.integers(4, size=draw(st.integers(0, 4)))
    scopes = tuple(tuple(str(each) for each in rng.permutation(names)[:count]) for count in counts)
    tables = tuple(10.0 ** rng.uniform(-30, 30, [sizes[each] for each in s]) for s in scopes)
    return FactorTables(names, states, scopes, tables)


def round_trip(network, suffix):
    with TemporaryDirectory() as folder:
        path = Path(folder, f"a{suffix}")
        write_network_file(path, network)
        return read_network_file(path)


def assert_same_tables(found, network):
    assert not found.notes
    for table, other in zip(found.tables, network.tables, strict=True):
        assert table.shape == np.shape(other)
        assert np.array_equal(table, other)


@pytest.mark.parametrize("suffix", [".bif", ".bif.gz", ".xmlbif", ".xml.gz"])
@given(network=bayesian())
def test_names_and_numbers_come_back(suffix, network):
    found = round_trip(network, suffix)
    assert found[:3] == network[:3]
    assert_same_tables(found, network)


@pytest.mark.parametrize("suffix", [".uai", ".uai.gz"])
@given(network=bayesian() | markov())
def test_uai_keeps_numbers_and_who_is_who(suffix, network):
    found = round_trip(network, suffix)
    assert type(found) is type(network)
    renamed = {name: f"x{k}" for k, name in enumerate(network.names)}
    assert found.names == tuple(renamed.values())
    assert [len(labels) for labels in found.states] == [len(labels) for labels in network.states]
    assert found.scopes == tuple(tuple(renamed[name] for name in s) for s in network.scopes)
    assert_same_tables(found, network)


def test_the_same_network_is_the_same_packed_file(tmp_path):
    network = NetworkTables(("a",), (("0", "1"),), ((),), (np.array([0.1, 0.9]),))
    write_network_file(tmp_path / "a.bif.gz", network)
    write_network_file(tmp_path / "b.bif.gz", network)
    assert (tmp_path / "a.bif.gz").read_bytes() == (tmp_path / "b.bif.gz").read_bytes()
    text = gzip.decompress((tmp_path / "a.bif.gz").read_bytes()).decode()
    assert "table 0.1, 0.9;" in text


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".bif.gz", ".xml.gz"])
@pytest.mark.parametrize("name", list_networks())
def test_networks_come_back_as_they_were(tmp_path, name, suffix):
    bn = BayesianNetwork.read(network_path(name))
    bn.write(tmp_path / f"a{suffix}")
    assert BayesianNetwork.read(tmp_path / f"a{suffix}") == bn


def test_labels_follow_the_format_and_not_the_rest_of_a_name(tmp_path):
    bn = BayesianNetwork.read(network_path("cancer"))
    bn.write(tmp_path / "a.uai.bif")
    assert BayesianNetwork.read(tmp_path / "a.uai.bif") == bn
    bn.write(tmp_path / "A.UAI")
    numbered = BayesianNetwork.read(tmp_path / "A.UAI")
    assert numbered.labels == {f"x{i}": (0, 1) for i in range(5)}
    (tmp_path / "A.UAI.evid").write_text("2 0 1 3 0", encoding="utf-8")
    (given,) = read_evidence(tmp_path / "A.UAI.evid")
    names = dict(zip(numbered.names, bn.names, strict=True))
    known = {names[x]: bn.labels[names[x]][state] for x, state in given.items()}
    assert numbered.log_prob(given) == pytest.approx(bn.log_prob(known), abs=1e-13)
