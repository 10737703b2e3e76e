"""Where walks to the posterior begin."""

import numpy as np
import pytest

from posteriori.inference.sequences.draws import chain_evidence
from posteriori.inference.sequences.draws.annealing import Annealed


def test_one_heavy_weight_does_not_choose_where_walks_begin():
    paths = np.zeros((10, 3), dtype=np.int64)
    lucky = Annealed(np.r_[np.full(9, -10.0), 1.0], paths)
    steady = Annealed(np.full(10, -2.0), paths)
    assert lucky.value > steady.value
    assert chain_evidence._combine(lucky, steady) is steady


def test_walks_from_both_places_count_where_neither_is_seen_to_be_nearer():
    paths = np.zeros((2, 3), dtype=np.int64)
    one, other = (Annealed(np.array(logs), paths) for logs in ([-3.0, -1.0], [-2.5, -1.2]))
    both = chain_evidence._combine(one, other)
    weights = np.exp([-3.0, -1.0, -2.5, -1.2])
    assert both.value == pytest.approx(np.log(weights.mean()))
    assert both.states.shape == (4, 3)
