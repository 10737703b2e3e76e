"""The networks that ship with the package, summed over all assignments, against published marginals."""

from itertools import product
from math import prod
from pathlib import Path

import pytest

from posteriori import datasets
from posteriori.datasets import list_networks, network_path
from posteriori.networks.files.network_files import read_network_file

FOLDER = Path(datasets.__file__).parent / "data"

#: Prior probabilities: of asia to the four digits that are printed, of the others as sums by hand.
MARGINALS = {
    "asia": {"tub=yes": 0.0104, "lung=yes": 0.055, "either=yes": 0.0648, "dysp=yes": 0.4360},
    "cancer": {"Cancer=True": 0.9 * (0.3 * 0.03 + 0.7 * 0.001) + 0.1 * (0.3 * 0.05 + 0.7 * 0.02)},
    "earthquake": {
        "Alarm=True": 0.01 * (0.02 * 0.95 + 0.98 * 0.94) + 0.99 * (0.02 * 0.29 + 0.98 * 0.001)
    },
    "survey": {
        "R=small": 0.25 - 0.05 * (0.6 * (0.075 + 0.14 + 0.024) + 0.4 * (0.108 + 0.15 + 0.02))
    },
}


def marginal(network, finding):
    """Sum the product of all tables over the assignments that agree with a finding."""
    name, state = finding.split("=")
    sizes = [range(len(labels)) for labels in network.states]
    total = 0.0
    for codes in product(*sizes):
        code = dict(zip(network.names, codes, strict=True))
        if network.states[network.names.index(name)][code[name]] == state:
            pairs = zip(network.tables, network.scopes, strict=True)
            total += prod(table[tuple(code[each] for each in scope)] for table, scope in pairs)
    return total


@pytest.mark.parametrize("name", MARGINALS)
def test_marginals_are_those_of_the_literature(name):
    network = read_network_file(network_path(name))
    assert not network.notes
    for finding, expected in MARGINALS[name].items():
        digits = 5e-5 if name == "asia" else 1e-14
        assert marginal(network, finding) == pytest.approx(expected, rel=0, abs=digits)


def test_every_file_is_listed_with_its_provenance():
    assert {path.stem for path in FOLDER.glob("*.bif")} == set(list_networks()) == set(MARGINALS)
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    for name, what in list_networks().items():
        line = next(line for line in page.splitlines() if line.startswith(f"| {name}.bif |"))
        count = len(read_network_file(network_path(name)).names)
        assert f"| {count} |" in line
        assert f"{count} variables" in what


def test_an_unknown_network_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match=r"no network 'aisa', .* did you mean 'asia'"):
        network_path("aisa")
