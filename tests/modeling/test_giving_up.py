"""Blocks that fit but cannot be solved hand over to the next kind, which the posterior says."""

from __future__ import annotations

import numpy as np
import pytest

from posteriori import Gamma, Model, Normal, Poisson, StudentT, dot
from posteriori.inference.quadrature.lattices import TooWideError
from posteriori.modeling.nested import nested_block

Y = np.array([1.0, 2.0])


def two_sums_of_four() -> Model:
    """Two sharp data about four unknowns: ridges with more cells than an integral may take."""
    m = Model()
    m.a = Normal(0, scale=100).iid(4)
    m.y = StudentT(1.0, dot(np.array([[1.0, 1, 1, 1], [1, -1, 1, -1]]), m.a), scale=0.01)
    return m


def test_an_integral_that_does_not_end_is_handed_over() -> None:
    m = two_sums_of_four()
    assert "integral over a" in str(m.plan(y=Y))
    post, other = m.infer(y=Y), m.infer(y=Y, method="vmp")
    np.testing.assert_allclose(post.a.mean, other.a.mean)
    assert float(post.log_evidence) == pytest.approx(float(other.log_evidence), rel=1e-12)
    (caution,) = post.cautions
    assert caution.startswith(
        "a: variational message passing, instead of an integral over a, which did not end"
    )
    assert caution in repr(post)
    assert other.cautions == []


def test_an_integral_that_is_asked_for_is_not() -> None:
    with pytest.raises(
        ValueError, match=r'integral over a, which did not end.*ask for method="vmp"'
    ):
        two_sums_of_four().infer(y=Y, method="quadrature")


def test_priors_that_rule_nothing_out_are_refused_still() -> None:
    m = Model()
    m.s = Gamma(0.001, 0.001)
    m.x = Normal(0, scale=m.s)
    m.y = Normal(m.x, scale=1.0)
    with pytest.raises(ValueError, match="posterior of s is improper"):
        m.infer(y=0.5)


def test_the_error_is_that_of_the_integral_where_no_other_kind_fits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = Model()
    m.r = Gamma(2, 0.1).iid(2)
    m.y = Poisson(m.r[0] * m.r[1])
    with pytest.raises(TypeError, match="not linear"):
        m.infer(y=30, method="vmp")

    def spread_out(*_: object) -> None:
        raise TooWideError("the density is spread over more than 10000 points")

    monkeypatch.setattr(nested_block, "integrate", spread_out)
    with pytest.raises(ValueError, match="integral over r, which did not end"):
        m.infer(y=30)
