"""Planned contractions against one sum over all labels at once."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from posteriori.modeling.binding import products as contraction
from posteriori.modeling.binding.labelled import Axis, Table, spread
from posteriori.modeling.binding.places import add_tables
from posteriori.modeling.binding.products import contract_tables

SIZES = (1, 2, 3, 4, 5)


def by_einsum(tables, keep, over):
    """Return Σ ∏ over everything that is not kept, with all labels of ``keep`` that occur."""
    labels = list(dict.fromkeys(a for t in tables for a in t.axes))
    letters = {a: chr(97 + i) for i, a in enumerate(labels)}
    kept = [a for a in labels if a in keep]
    terms = ",".join("".join(letters[a] for a in t.axes) for t in tables)
    total = np.einsum(f"{terms}->{''.join(letters[a] for a in kept)}", *(t.values for t in tables))
    copies = np.prod([a.size for a in over if a not in labels and a not in keep], initial=1.0)
    return Table(copies * total, tuple(kept))


@st.composite
def products(draw):
    axes = [Axis(str(i), size) for i, size in enumerate(SIZES)]
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    scopes = draw(st.lists(st.permutations(range(5)), min_size=1, max_size=5))
    lengths = draw(st.lists(st.integers(0, 3), min_size=len(scopes), max_size=len(scopes)))
    tables = []
    for scope, length in zip(scopes, lengths, strict=True):
        labels = tuple(axes[i] for i in scope[:length])
        tables.append(Table(np.asarray(rng.normal(size=[a.size for a in labels])), labels))
    keep = frozenset(axes[i] for i in draw(st.sets(st.integers(0, 4))))
    over = frozenset(axes[i] for i in draw(st.sets(st.integers(0, 4))))
    return tables, keep, over


@pytest.mark.parametrize("tiny", [0, 4096])
def test_any_plan_is_the_sum_over_all_labels(tiny, monkeypatch):
    """Whether by one loop or by pairwise products, and labels that no table has count."""
    monkeypatch.setattr(contraction, "_TINY", tiny)

    @settings(max_examples=150, deadline=None)
    @given(products())
    def check(product):
        contraction._plan.cache_clear()
        tables, keep, over = product
        found, expected = contract_tables(tables, keep, over), by_einsum(tables, keep, over)
        assert set(found.axes) == set(expected.axes)
        assert_allclose(spread(found, expected.axes), expected.values, rtol=1e-12, atol=1e-12)

    check()
    contraction._plan.cache_clear()


def test_plans_hold_no_sizes_of_axes_that_shrink():
    """The label of starts becomes one start: the same plan serves both."""
    restart, n, k = Axis("restart", 4), Axis("n", 50), Axis("k", 30)
    rng = np.random.default_rng(0)
    keep = frozenset((restart, k))
    p, x = rng.random((4, 50, 30)), Table(rng.normal(size=50), (n,))
    many = contract_tables([Table(p, (restart, n, k)), x], keep)
    restart.size = 1
    one = contract_tables([Table(p[2:3], (restart, n, k)), x], keep)
    order = [many.axes.index(a) for a in (restart, k)]
    assert_allclose(many.values.transpose(order), np.einsum("snk,n->sk", p, x.values))
    assert_allclose(spread(one, (restart, k)), np.einsum("snk,n->sk", p[2:3], x.values))


def test_no_tables_count_what_is_summed_over():
    n, k = Axis("n", 7), Axis("k", 3)
    assert contract_tables([], frozenset((k,)), frozenset((n, k))).values == 7.0


def test_sums_of_tables_leave_the_addends_as_they_are():
    n, k = Axis("n", 4), Axis("k", 3)
    a = Table(np.ones((4, 3)), (n, k))
    b = Table(np.arange(12.0).reshape(3, 4), (k, n))
    c = Table(np.arange(3.0), (k,))
    total = add_tables([a, b, c, a], (n, k))
    assert_allclose(total, 2.0 + np.arange(12.0).reshape(3, 4).T + np.arange(3.0))
    assert np.all(a.values == 1.0)
    assert_allclose(b.values.ravel(), np.arange(12.0))
    assert_allclose(c.values, np.arange(3.0))
