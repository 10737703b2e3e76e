"""Discrete models with their data, what is unknown in them, and the method that solves them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori import (
    Bernoulli,
)
from posteriori.modeling import Model
from tests.modeling.discrete_models import (
    GROUP,
    RNG,
    Y,
    a_code_is_a_number,
    an_impossible_regime,
    an_impossible_regime_of_one_series,
    chain_of_bits,
    chain_under_a_regime,
    chain_with_given_tables,
    chain_with_inputs,
    chains_of_known_length,
    counts,
    coupled_chains,
    crossed_plates,
    factorial_chains,
    groups_by_known_index,
    hidden_markov,
    many_series,
    members_of_a_chain,
    mixture,
    mixture_of_vectors,
    mixture_on_an_array_axis,
    nested_plates,
    one_index_for_all_and_one_for_each,
    one_regime_of_several_series,
    regime_in_the_emission,
    regimes_of_several_series,
    regions,
    ring_of_pairs,
    series_on_an_array_axis,
    series_with_their_own_tables,
    several_emissions,
    single,
    sprinkler,
    state_and_its_history,
    steps_of_a_chain,
    tables,
    two_indices_on_an_array_axis,
    two_loops,
    two_regimes,
)
from tests.modeling.enumeration import Unknown


class Case(NamedTuple):
    build: Callable[[], Model]
    data: dict[str, Any]
    unknowns: dict[str, Unknown]
    method: str


T3, T4 = Unknown((3,), 3), Unknown((4,), 3)
CASES = {
    "one datum": Case(single, {"y": 0.4}, {"z": Unknown((), 3)}, "elimination"),
    "mixture": Case(mixture, {"y": Y}, {"z": T4}, "elimination"),
    "mixture on an array axis": Case(mixture_on_an_array_axis, {"y": Y}, {"z": T4}, "elimination"),
    "mixture of vectors": Case(
        mixture_of_vectors, {"y": RNG.normal(size=(5, 2))}, {"z": Unknown((5,), 2)}, "elimination"
    ),
    "counts": Case(
        counts,
        {"y": [3, 0, 4], "w": 0.7},
        {"a": Unknown((), 2), "b": Unknown((), 3)},
        "elimination",
    ),
    "a code is a number": Case(
        a_code_is_a_number, {"y": 0.2}, {"a": Unknown((), 2), "b": Unknown((), 3)}, "elimination"
    ),
    "sprinkler": Case(
        sprinkler,
        {"wet": 1},
        {n: Unknown((), 2) for n in ("cloudy", "rain", "sprinkler")},
        "elimination",
    ),
    "two loops": Case(
        two_loops,
        {"e": 1},
        {"a": Unknown((), 3), "b": Unknown((), 3), "c": Unknown((), 2), "d": Unknown((), 3)},
        "elimination",
    ),
    "nested plates": Case(
        nested_plates,
        {"y": RNG.normal(size=(2, 2))},
        {"g": Unknown((), 3), "h": Unknown((2,), 3), "z": Unknown((2, 2), 2)},
        "elimination",
    ),
    "crossed plates": Case(
        crossed_plates,
        {"y": RNG.normal(size=(2, 3))},
        {"a": Unknown((2,), 2), "b": Unknown((3,), 2)},
        "member by member",
    ),
    "groups by a known index": Case(
        groups_by_known_index, {"g": GROUP, "y": RNG.normal(size=6)}, {"c": T3}, "elimination"
    ),
    "ring of pairs": Case(
        ring_of_pairs,
        {"i": [0, 1, 2, 3], "j": [1, 2, 3, 0], "like": [1, 0, 1, 1]},
        {"c": T4},
        "member by member",
    ),
    "hidden Markov model": Case(hidden_markov, {"y": Y}, {"z": T4}, "forward-backward"),
    "several emissions": Case(
        several_emissions,
        {"x": [0, 3, np.nan], "c": [np.nan, 1, np.nan], "y": [0.2, 1.0, 2.5]},
        {"z": T3, "c": Unknown((3,), 2), "x": Unknown((3,), 4)},
        "forward-backward",
    ),
    "chain with inputs": Case(
        chain_with_inputs, {"u": [0, 1, 1, 0], "y": Y}, {"z": T4}, "forward-backward"
    ),
    "chain with given tables": Case(
        chain_with_given_tables, {"P": tables(4, 3, 3), "y": Y}, {"z": T4}, "forward-backward"
    ),
    "chain of bits with a gap": Case(
        chain_of_bits,
        {"y": [1, 0, np.nan, 1, 1]},
        {"z": Unknown((5,), 2), "y": Unknown((5,), 2)},
        "forward-backward",
    ),
    "many series": Case(
        many_series, {"y": RNG.normal(size=(3, 2))}, {"z": Unknown((3, 2), 2)}, "forward-backward"
    ),
    "coupled chains": Case(
        coupled_chains,
        {"y": Y[:3]},
        {"a": Unknown((3,), 2), "b": T3},
        "forward-backward",
    ),
    "factorial chains": Case(
        factorial_chains,
        {"y": Y},
        {"a": Unknown((4,), 2), "b": Unknown((4,), 2)},
        "forward-backward",
    ),
    "series with their own tables": Case(
        series_with_their_own_tables,
        {"p": [[0.2, 0.9], [0.6, 0.5]], "y": RNG.normal(size=(2, 2))},
        {"z": Unknown((2, 2), 2), "c": Unknown((2, 2), 2)},
        "forward-backward",
    ),
    "series on an array axis": Case(
        series_on_an_array_axis,
        {"y": RNG.normal(size=(3, 2))},
        {"z": Unknown((3, 2), 2)},
        "forward-backward",
    ),
    "unknown inputs of a chain": Case(
        state_and_its_history, {"y": Y[:3]}, {"u": Unknown((3,), 2), "z": T3}, "forward-backward"
    ),
    "regime in the emission": Case(
        regime_in_the_emission,
        {"y": Y},
        {"g": Unknown((), 2), "z": Unknown((4,), 2)},
        "forward-backward",
    ),
    "members of a chain": Case(
        members_of_a_chain,
        {"y": Y[:3], "a": 1, "c": 0.3},
        {"z": Unknown((5,), 3), "b": Unknown((), 2)},
        "forward-backward",
    ),
    "observed members of a chain": Case(
        members_of_a_chain,
        {"y": Y[:3], "a": 1, "b": 0, "c": 0.3},
        {"z": Unknown((5,), 3)},
        "forward-backward",
    ),
    "steps of a chain": Case(
        steps_of_a_chain, {"y": Y, "moved": Y[:3]}, {"z": T4}, "forward-backward"
    ),
    "chains of known length": Case(
        chains_of_known_length,
        {"y": Y},
        {"a": Unknown((4,), 2), "b": Unknown((4,), 2)},
        "member by member",
    ),
    "two indices on an array axis": Case(
        two_indices_on_an_array_axis,
        {"y": Y[:3], "w": Y[1:]},
        {"a": Unknown((3,), 2), "b": T3},
        "elimination",
    ),
    "the first of two indices known": Case(
        two_indices_on_an_array_axis,
        {"a": [0, 1, 1], "y": Y[:3], "w": Y[1:]},
        {"b": T3},
        "elimination",
    ),
    "the second of two indices known": Case(
        two_indices_on_an_array_axis,
        {"b": [0, 2, 2], "y": Y[:3], "w": Y[1:]},
        {"a": Unknown((3,), 2)},
        "elimination",
    ),
    "one index for all and one for each": Case(
        one_index_for_all_and_one_for_each,
        {"y": Y[:3], "w": Y[1:]},
        {"a": Unknown((), 2), "b": T3},
        "elimination",
    ),
    "some states known": Case(
        regions,
        {"z": [np.nan, 2, 0, np.nan], "y": Y},
        {"h": Unknown((), 3), "z": T4},
        "elimination",
    ),
    "some states of a chain known": Case(
        hidden_markov, {"z": [np.nan, 1, np.nan, 2], "y": Y}, {"z": T4}, "forward-backward"
    ),
    "chain under a regime": Case(
        chain_under_a_regime, {"y": Y}, {"g": Unknown((), 2), "z": T4}, "forward-backward"
    ),
    "regimes of several series": Case(
        regimes_of_several_series,
        {"y": RNG.normal(size=(2, 3))},
        {"d": Unknown((), 2), "g": Unknown((2,), 2), "z": Unknown((3, 2), 2)},
        "forward-backward",
    ),
    "one regime of several series": Case(
        one_regime_of_several_series,
        {"c": [[np.nan, 1], [np.nan, np.nan]], "y": RNG.normal(size=(2, 2))},
        {"g": Unknown((), 3), "z": Unknown((2, 2), 2), "c": Unknown((2, 2), 2)},
        "forward-backward",
    ),
    "two regimes": Case(
        two_regimes,
        {"x": 1, "y": Y[:3]},
        {"d": Unknown((), 2), "g": Unknown((), 2), "h": Unknown((), 3), "z": T3},
        "forward-backward",
    ),
    "an impossible regime": Case(
        an_impossible_regime,
        {"y": [1, 0, 1, 1]},
        {"g": Unknown((), 3), "z": Unknown((4,), 2)},
        "forward-backward",
    ),
    "an impossible regime of one series": Case(
        an_impossible_regime_of_one_series,
        {"y": [[1, 1], [0, 1], [1, 1]]},
        {"g": Unknown((2,), 2), "z": Unknown((3, 2), 2)},
        "forward-backward",
    ),
}


def shares(d: Any) -> np.ndarray:
    """Probabilities of the states of a marginal."""
    if isinstance(d, Bernoulli):
        return np.stack([1.0 - d.probability, d.probability], axis=-1)
    return d.probabilities
