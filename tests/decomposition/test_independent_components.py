"""Independent components: sources are recovered, whatever their tails; what cannot be known is said."""

import numpy as np
import pytest

from posteriori.decomposition import ICA, amari_distance, match_sources
from posteriori.numerics import ConvergenceWarning

SOLVERS = ("newton", "natural-gradient", "fixed-point")


def mixed(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    s = np.stack(
        [rng.laplace(size=n), rng.uniform(-1, 1, size=n), rng.standard_t(5, size=n)], axis=1
    )
    a = np.array([[1.0, 0.5, -0.3], [0.3, 1.0, 0.2], [-0.4, 0.1, 1.0], [0.2, 0.2, 0.2]])
    return s, a[:3], s @ a[:3].T + [1.0, -2.0, 5.0]


@pytest.mark.topic("000/N1")
def test_two_sources_of_the_notes():
    s = np.random.default_rng(0).laplace(size=(2, 5000))
    a = np.array([[1.0, 0.5], [0.3, 1.0]])
    for solver in ("newton", "natural-gradient"):
        found = ICA(sources="heavy", solver=solver, tol=1e-8).fit((a @ s).T)
        assert found.n_iter_ < 400
        p = found.components_ @ a
        p = p[np.argsort(np.abs(p[:, 1]))]  # the order of sources is not known
        np.testing.assert_allclose(np.abs(p), [[1.149, 0.007], [0.010, 1.166]], atol=6e-4)


@pytest.mark.parametrize("solver", SOLVERS)
def test_sources_of_mixed_tails_are_recovered(solver):
    s, a, x = mixed()
    found = ICA(solver=solver).fit(x)
    assert found.converged_
    assert found.gradient_norm_ <= 1e-6
    assert amari_distance(found.components_, a) < 0.04
    match = match_sources(s, found.transform(x))
    assert match.correlations.min() > 0.995
    assert found.heavy_tails_[match.order].tolist() == [True, False, True]
    assert found.normal_sources_ == []


def test_the_likelihood_is_that_of_the_densities():
    _, _, x = mixed(500)
    found = ICA().fit(x)
    y = found.transform(x)
    heavy = -np.log(np.pi * np.cosh(y))
    light = np.logaddexp(-0.5 * (y - 1) ** 2, -0.5 * (y + 1) ** 2) - np.log(2 * np.sqrt(2 * np.pi))
    each = np.where(found.heavy_tails_, heavy, light).sum()
    total = each + 500 * np.linalg.slogdet(found.components_)[1]
    assert found.log_likelihood_ == pytest.approx(total, rel=1e-10)


def test_mixing_and_unmixing_are_inverse():
    _, _, x = mixed(500)
    found = ICA().fit(x)
    np.testing.assert_allclose(found.components_ @ found.mixing_, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(found.inverse_transform(found.transform(x)), x, atol=1e-9)
    assert np.all(found.mixing_[np.argmax(np.abs(found.mixing_), axis=0), range(3)] > 0)
    strength = np.linalg.norm(found.mixing_, axis=0) * found.transform(x).std(axis=0)
    assert np.all(np.diff(strength) <= 0)


def test_linear_maps_of_rows_do_not_change_sources():
    _, _, x = mixed(1000)
    b = np.random.default_rng(3).normal(size=(3, 3))
    first, second = ICA(tol=1e-9).fit(x), ICA(tol=1e-9).fit(x @ b.T)
    match = match_sources(first.transform(x), second.transform(x @ b.T))
    np.testing.assert_allclose(match.correlations, 1.0, atol=1e-9)
    shift = 1000 * np.linalg.slogdet(b)[1]
    assert second.log_likelihood_ == pytest.approx(first.log_likelihood_ - shift, rel=1e-9)


def test_a_density_can_be_given():
    _, a, x = mixed()
    logistic = (
        lambda s: -s - 2.0 * np.logaddexp(0.0, -s),
        lambda s: -np.tanh(0.5 * s),
    )
    heavy = x[:, :2] * 0.0 + np.random.default_rng(0).laplace(size=(len(x), 2)) @ a[:2, :2].T
    found = ICA(sources=logistic).fit(heavy)
    assert amari_distance(found.components_, a[:2, :2]) < 0.05
    y = found.transform(heavy)
    total = logistic[0](y).sum() + len(y) * np.linalg.slogdet(found.components_)[1]
    assert found.log_likelihood_ == pytest.approx(total, rel=1e-10)


def test_fewer_sources_than_columns():
    s, _, x = mixed()
    wide = np.c_[x, x @ [1.0, 1.0, 1.0]]  # rank 3
    found = ICA().fit(wide)
    assert found.components_.shape == (3, 4)
    assert match_sources(s, found.transform(wide)).correlations.min() > 0.99
    assert ICA(2).fit(wide).transform(wide).shape == (4000, 2)


def test_several_normal_sources_are_said():
    rng = np.random.default_rng(0)
    with pytest.warns(UserWarning, match="cannot be told from normal ones"):
        found = ICA().fit(rng.normal(size=(2000, 3)))
    assert found.normal_sources_ == [0, 1, 2]
    one = ICA().fit(np.c_[rng.laplace(size=(2000, 2)), rng.normal(size=2000)])
    assert len(one.normal_sources_) == 1


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_has_not_converged_says_so(solver):
    _, _, x = mixed(300)
    with pytest.warns(ConvergenceWarning, match=r"above tol=1e-12.*max_iter"):
        found = ICA(solver=solver, tol=1e-12, max_iter=1).fit(x)
    assert not found.converged_
    assert found.gradient_norm_ > 1e-12


def test_distances_of_unmixings():
    p = np.diag([3.0, -2.0, 0.1])[[2, 0, 1]]
    assert amari_distance(p, np.eye(3)) == 0.0
    assert amari_distance(np.ones((3, 3)), np.eye(3)) == 1.0
    assert amari_distance([[1.0, 0.5], [0.0, 1.0]], np.eye(2)) == pytest.approx(0.25)
    with pytest.raises(ValueError, match="W A must be square"):
        amari_distance(np.ones((2, 3)), np.ones((3, 3)))
    with pytest.raises(ValueError, match="zeros"):
        amari_distance(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(ValueError, match="as many rows"):
        match_sources(np.ones((3, 2)), np.ones((4, 2)))
