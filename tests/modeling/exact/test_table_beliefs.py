"""Joint beliefs of what each table joins have the marginals of the posterior."""

import numpy as np
import pytest

from posteriori.modeling.binding.labelled import Lookup, spread
from posteriori.modeling.variational.nodes.table_block import table_beliefs
from tests.modeling.discrete_cases import CASES

BY_MEMBERS = {name for name, case in CASES.items() if case.method == "member by member"}


@pytest.mark.parametrize("name", sorted(CASES.keys() - BY_MEMBERS))
def test_marginals_of_joint_beliefs(name: str) -> None:
    case = CASES[name]
    for result in case.build().infer(case.data)._solved.results:
        for table, belief in zip(result.block.tables, table_beliefs(result), strict=True):
            states = tuple(view.state for view in table.views)
            rows = tuple(axis.size for axis in table.rows)
            full = np.broadcast_to(
                spread(belief, table.rows + states), rows + tuple(s.size for s in states)
            )
            for k, view in enumerate(table.views):
                others = tuple(len(rows) + i for i in range(len(states)) if i != k)
                where = np.indices(rows)
                seen = tuple(
                    np.broadcast_to(spread(place.positions, table.rows), rows).astype(int)
                    if isinstance(place, Lookup)
                    else where[table.rows.index(place)]
                    for place in view.places
                )
                found = full.sum(axis=others)
                expected = np.broadcast_to(result.probabilities(view.name)[seen], found.shape)
                np.testing.assert_allclose(found, expected, atol=1e-12)
