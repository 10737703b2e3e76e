"""Measures of information against sums and integrals written out, and against each other."""

import heapq
from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, stats

from posteriori.distributions import (
    Beta,
    Categorical,
    Exponential,
    Gamma,
    MvNormal,
    MvStudentT,
    Normal,
    Poisson,
    StudentT,
)
from posteriori.distributions.algebra.integrals import integrate_against
from posteriori.distributions.base import has_atoms
from posteriori.information import (
    channel_capacity,
    coding_bound,
    conditional_entropy,
    cross_entropy,
    entropy,
    huffman_code,
    kl_divergence,
    mutual_information,
    self_information,
)
from posteriori.numerics import ConvergenceWarning

TABLE = np.array([[0.4, 0.1], [0.1, 0.4]])

SHARES = st.just(0.0) | st.floats(1e-6, 1.0)
WEIGHTS = st.lists(SHARES, min_size=2, max_size=6).filter(lambda w: sum(w) > 0.01)


def normalised(weights):
    return np.array(weights) / np.sum(weights)


def tables(rows, columns):
    cells = st.lists(SHARES, min_size=rows * columns, max_size=rows * columns)
    return cells.filter(lambda w: sum(w) > 0.01).map(lambda w: normalised(w).reshape(rows, columns))


# -- tables ------------------------------------------------------------------------------------


@pytest.mark.topic("000/O1", "000/O7")
def test_surprise_adds_over_independent_events():
    assert self_information(0.125, unit="bits") == pytest.approx(3.0, rel=1e-15)
    both = self_information(0.3 * 0.2)
    assert both == pytest.approx(self_information(0.3) + self_information(0.2), rel=1e-14)
    assert self_information(1.0) == 0.0
    assert not np.signbit(self_information(1.0))
    assert self_information(0.0) == np.inf
    assert self_information([0.5, 0.25], unit="bits").tolist() == [1.0, 2.0]


@pytest.mark.topic("003/I.1", "000/O2", "000/O6", "000/O7")
def test_entropies_of_a_small_table():
    assert entropy(TABLE.sum(axis=1), unit="bits") == pytest.approx(1.0, rel=1e-15)
    assert entropy(TABLE, unit="bits") == pytest.approx(1.7219280949, abs=5e-11)
    assert entropy(TABLE) == pytest.approx(1.7219280949 * np.log(2), abs=5e-11)
    assert entropy([1.0, 0.0]) == 0.0  # 0 ln 0 = 0
    rows = entropy([[0.5, 0.5], [1.0, 0.0]], axis=1, unit="bits")
    assert rows.tolist() == [1.0, 0.0]


@pytest.mark.topic("003/I.5", "000/O4")
def test_conditional_entropy_of_a_small_table():
    for axis in (0, 1):
        left = conditional_entropy(TABLE, given_axis=axis, unit="bits")
        assert left == pytest.approx(0.7219280949, abs=5e-11)


@pytest.mark.topic("003/I.7", "000/O6")
def test_mutual_information_of_a_small_table():
    assert mutual_information(TABLE, unit="bits") == pytest.approx(0.2780719051, abs=5e-11)


@pytest.mark.topic("003/I.6")
def test_divergence_is_not_symmetric():
    p, q = [0.5, 0.5], [0.9, 0.1]
    assert kl_divergence(p, q) == pytest.approx(0.5108256238, abs=5e-11)
    assert kl_divergence(q, p) == pytest.approx(0.3680642072, abs=5e-11)
    # the price of a code made for q: extra bits per symbol
    extra = cross_entropy(p, q, unit="bits") - entropy(p, unit="bits")
    assert extra == pytest.approx(kl_divergence(p, q, unit="bits"), rel=1e-12)


@pytest.mark.topic("000/O5")
def test_divergence_is_no_metric():
    p, q, r = ([1 - a, a] for a in (0.5, 0.25, 0.1))
    short = kl_divergence(p, q), kl_divergence(q, r)
    np.testing.assert_allclose(short, [0.14384, 0.09233], atol=5e-6)
    assert kl_divergence(p, r) == pytest.approx(0.51083, abs=5e-6)
    assert kl_divergence(p, r) > sum(short)  # against the triangle inequality


@pytest.mark.topic("000/O4", "000/O6", "003/I.5", "003/I.7")
@given(tables(3, 4))
def test_chain_rule_and_the_faces_of_mutual_information(joint):
    h = entropy(joint)
    x, y = entropy(joint.sum(axis=1)), entropy(joint.sum(axis=0))
    y_given_x = conditional_entropy(joint, given_axis=0)
    x_given_y = conditional_entropy(joint, given_axis=1)
    shared = mutual_information(joint)
    assert h == pytest.approx(x + y_given_x, abs=1e-12)
    assert h == pytest.approx(y + x_given_y, abs=1e-12)
    assert shared == pytest.approx(x - x_given_y, abs=1e-12)
    assert shared == pytest.approx(y - y_given_x, abs=1e-12)
    assert mutual_information(joint, axis=1) == pytest.approx(shared, abs=1e-14)
    assert shared >= 0.0
    product_of_margins = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    assert shared == pytest.approx(kl_divergence(joint, product_of_margins), abs=1e-12)
    assert mutual_information(product_of_margins) == pytest.approx(0.0, abs=1e-15)
    assert entropy(product_of_margins) == pytest.approx(x + y, abs=1e-12)  # independent: additive


@given(WEIGHTS, st.data())
def test_divergence_against_the_sum(weights, data):
    p = normalised(weights)
    w = data.draw(st.lists(st.floats(0.01, 1.0), min_size=len(p), max_size=len(p)))
    q = normalised(w)
    direct = sum(a * np.log(a / b) for a, b in zip(p, q, strict=True) if a > 0)
    assert kl_divergence(p, q) == pytest.approx(direct, abs=1e-12)
    assert kl_divergence(p, q) >= 0.0
    assert kl_divergence(p, p) == 0.0
    assert entropy(p) <= np.log(len(p)) + 1e-12
    assert cross_entropy(p, q) == pytest.approx(entropy(p) + direct, abs=1e-12)


def test_tables_with_several_variables():
    joint = np.random.default_rng(0).dirichlet(np.ones(24)).reshape(2, 3, 4)
    pair = conditional_entropy(joint, given_axis=(0, 2))
    assert pair == pytest.approx(entropy(joint) - entropy(joint.sum(axis=1)), rel=1e-12)
    grouped = mutual_information(joint.transpose(1, 0, 2).reshape(3, 8))
    assert mutual_information(joint, axis=1) == pytest.approx(grouped, rel=1e-12)
    assert mutual_information(joint, axis=(0, -1)) == pytest.approx(grouped, rel=1e-12)


def test_what_the_other_excludes_costs_infinitely_much():
    assert kl_divergence([0.5, 0.5], [1.0, 0.0]) == np.inf
    assert kl_divergence([1.0, 0.0], [0.5, 0.5]) == pytest.approx(np.log(2), rel=1e-15)
    assert cross_entropy([0.5, 0.5], [1.0, 0.0]) == np.inf


def test_bad_tables_are_named():
    with pytest.raises(ValueError, match="p must sum to 1 over axis None"):
        entropy([0.5, 0.6])
    with pytest.raises(ValueError, match=r"got a sum of 0\.5"):
        entropy([[0.5, 0.5], [0.25, 0.25]], axis=1)
    with pytest.raises(ValueError, match="p must not be negative"):
        entropy([1.5, -0.5])
    with pytest.raises(ValueError, match='"nats" or "bits"'):
        entropy([0.5, 0.5], unit="hartley")
    with pytest.raises(ValueError, match="same events"):
        kl_divergence([0.5, 0.5], [0.2, 0.3, 0.5])
    with pytest.raises(ValueError, match="given_axis must name axes"):
        conditional_entropy(TABLE, given_axis=2)


# -- distributions -----------------------------------------------------------------------------


@pytest.mark.topic("003/I.2", "000/O3")
def test_differential_entropy_of_a_normal():
    assert entropy(Normal(3.0, variance=1.0)) == pytest.approx(1.4189385332, abs=5e-11)
    edge = 1 / (2 * np.pi * np.e)
    assert edge == pytest.approx(0.0585498315, abs=5e-11)
    assert entropy(Normal(0.0, variance=edge)) == pytest.approx(0.0, abs=1e-15)
    assert (
        entropy(Normal(0.0, variance=0.99 * edge)) < 0 < entropy(Normal(0.0, variance=1.01 * edge))
    )
    v = 2.3
    assert entropy(Normal(0.0, variance=v)) == pytest.approx(0.5 * (1 + np.log(2 * np.pi * v)))
    bits = entropy(Normal(0.0, variance=v), unit="bits")
    assert bits == pytest.approx(stats.norm(0, np.sqrt(v)).entropy() / np.log(2), rel=1e-12)


@pytest.mark.topic("000/O3")
@pytest.mark.parametrize(
    "d",
    [Gamma(0.4, 2.0), Beta(0.6, 3.0), Exponential(2.0), Normal(1e3, variance=1e-4), Poisson(4.2)],
)
def test_closed_entropies_against_expectations(d):
    numeric = integrate_against(d, lambda x: -d.log_prob(x))
    assert has_atoms(d) == isinstance(d, Poisson)
    assert numeric.value == pytest.approx(float(entropy(d)), abs=1e-9)


@pytest.mark.topic("003/I.4")
def test_a_normal_has_the_largest_entropy_of_a_given_variance():
    top = entropy(Normal(0.0, variance=1.0))
    assert np.log(np.sqrt(12.0)) < top  # uniform of variance 1
    assert 1.0 + np.log(2.0 / np.sqrt(2.0)) < top  # Laplace of variance 1
    assert entropy(StudentT(5.0, scale=np.sqrt(0.6))) < top
    gamma = Gamma(4.0, 2.0)
    assert entropy(gamma) < entropy(Normal(2.0, variance=gamma.variance))


@pytest.mark.topic("000/O5")
def test_divergence_of_two_normals_in_closed_form():
    p, q = Normal(0.3, variance=0.5), Normal(-1.0, variance=2.0)
    closed = 0.5 * (np.log(2.0 / 0.5) + 0.5 / 2.0 + 1.3**2 / 2.0 - 1.0)
    assert kl_divergence(p, q) == pytest.approx(closed, rel=1e-13)
    assert kl_divergence(p, q, unit="bits") == pytest.approx(closed / np.log(2), rel=1e-13)


@pytest.mark.parametrize(
    ("p", "q", "lower", "upper"),
    [
        (Exponential(2.0), Normal(0.5, variance=1.0), 0.0, 30.0),
        (Beta(2.0, 3.0), Normal(0.0, variance=1.0), 0.0, 1.0),
        (Normal(1.0, variance=2.0), StudentT(3.0, scale=1.0), -30.0, 30.0),
        (Gamma(3.0, 1.0), Exponential(0.4), 0.0, 80.0),
    ],
)
def test_divergence_of_two_families_by_quadrature(p, q, lower, upper):
    def term(x):
        return np.exp(p.log_prob(x)) * (p.log_prob(x) - q.log_prob(x))

    slow, _ = integrate.quad(term, lower, upper, epsabs=1e-12, limit=400)
    assert kl_divergence(p, q) == pytest.approx(slow, abs=1e-9)


def test_divergences_of_two_families_that_are_infinite_or_unknown():
    assert kl_divergence(Normal(0.0, variance=1.0), Exponential(1.0)) == np.inf
    with pytest.raises(ValueError, match="could not be integrated"):  # the variance of t₂ is ∞
        kl_divergence(StudentT(2.0, scale=1.0), Normal(0.0, variance=1.0))
    with pytest.raises(TypeError, match="estimate it by draws"):
        kl_divergence(MvStudentT(5.0, [0.0], scale=[[1.0]]), MvNormal([0.0], cov=[[1.0]]))
    with pytest.raises(TypeError, match="both be distributions"):
        kl_divergence(Normal(0.0, variance=1.0), [0.5, 0.5])


def test_divergence_of_two_discrete_families():
    p, q = Poisson(2.0), stats.nbinom(3, 0.5)
    direct = sum(np.exp(p.log_prob(k)) * (p.log_prob(k) - q.logpmf(k)) for k in range(80))
    found = integrate_against(p, lambda k: p.log_prob(k) - q.logpmf(k))
    assert found.value == pytest.approx(direct, rel=1e-12)
    assert found.error < 1e-12


# -- integrals ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "d",
    [Normal(2.0, variance=3.0), Gamma(2.5, 0.5), Beta(0.3, 0.8), Poisson(300.0), Gamma(1e5, 1.0)],
)
def test_moments_by_sums_and_integrals(d):
    mean = integrate_against(d, lambda x: x)
    variance = integrate_against(d, lambda x: (x - d.mean) ** 2)
    assert mean.value == pytest.approx(float(d.mean), rel=1e-9)
    assert variance.value == pytest.approx(float(d.variance), rel=1e-8)
    assert abs(mean.value - d.mean) <= mean.error + 1e-12 * d.mean


def test_a_batch_has_no_single_integral():
    with pytest.raises(ValueError, match="single distribution"):
        integrate_against(Normal([0.0, 1.0], variance=1.0), np.cos)


# -- codes -------------------------------------------------------------------------------------


def least_mean_length(p):
    """Add up the joins of Huffman's tree without making words."""
    heap, total = [share for share in p if share > 0], 0.0
    heapq.heapify(heap)
    while len(heap) > 1:
        joined = heapq.heappop(heap) + heapq.heappop(heap)
        total += joined
        heapq.heappush(heap, joined)
    return total


@pytest.mark.topic("003/I.3")
@given(WEIGHTS)
def test_entropy_bounds_the_mean_length_of_a_code(weights):
    p = normalised(weights)
    bound = coding_bound(p)
    assert bound.entropy - 1e-12 <= bound.mean_length < bound.upper
    assert bound.mean_length == pytest.approx(least_mean_length(p), abs=1e-12)
    words = list(bound.code.words.values())
    assert len(words) == np.count_nonzero(p)
    assert sum(2.0 ** -len(w) for w in words) == pytest.approx(1.0)  # Kraft, with equality
    assert not any(a != b and b.startswith(a) for a, b in product(words, words))


@pytest.mark.topic("003/I.3")
def test_dyadic_probabilities_reach_the_bound():
    bound = coding_bound([1 / 2, 1 / 4, 1 / 16, 1 / 16, 1 / 8])
    assert bound.mean_length == pytest.approx(bound.entropy, rel=1e-15)
    assert bound.redundancy == pytest.approx(0.0, abs=1e-15)
    assert bound.code.lengths.tolist() == [1, 2, 4, 4, 3]


def test_no_prefix_code_of_four_symbols_is_shorter():
    p = np.array([0.4, 0.3, 0.2, 0.1])
    best = min(
        p @ lengths
        for lengths in product(range(1, 4), repeat=4)
        if sum(2.0**-n for n in lengths) <= 1  # Kraft: such lengths make a prefix code
    )
    assert huffman_code(p).mean_length == pytest.approx(best, rel=1e-14)


def test_messages_survive_the_round_trip():
    source = Categorical([0.6, 0.25, 0.1, 0.05], labels=("a", "b", "c", "d"))
    code = huffman_code(source)
    message = source.sample(500, rng=3).tolist()
    bits = code.encode(message)
    assert code.decode(bits) == message
    assert len(bits) / 500 == pytest.approx(code.mean_length, abs=5 * 0.9 / np.sqrt(500))
    assert huffman_code([1.0]).mean_length == 0.0
    with pytest.raises(ValueError, match="'x' has no word"):
        code.encode("ax")
    with pytest.raises(ValueError, match="left over"):
        code.decode(bits + "1")


# -- channels ----------------------------------------------------------------------------------


def binary_entropy(e):
    return entropy([e, 1 - e], unit="bits")


@pytest.mark.parametrize("e", [0.0, 1e-3, 0.1, 0.3, 0.5, 0.9])
def test_binary_symmetric_and_erasure_channels(e):
    symmetric = channel_capacity([[1 - e, e], [e, 1 - e]])
    assert symmetric.capacity == pytest.approx(1 - binary_entropy(e), abs=1e-10)
    assert symmetric.gap <= 1e-10
    erasure = channel_capacity([[1 - e, e, 0.0], [0.0, e, 1 - e]])
    assert erasure.capacity == pytest.approx(1 - e, abs=1e-10)


def test_z_channel_against_its_closed_form_and_a_grid():
    e = 0.3
    found = channel_capacity([[1.0, 0.0], [e, 1 - e]], unit="nats")
    closed = np.log1p((1 - e) * e ** (e / (1 - e)))
    assert found.capacity == pytest.approx(closed, abs=1e-10)
    assert found.converged
    grid = max(
        mutual_information(np.array([[1 - a, 0.0], [a * e, a * (1 - e)]]))
        for a in np.linspace(0.0, 1.0, 2001)
    )
    assert grid <= found.capacity + found.gap
    assert grid == pytest.approx(found.capacity, abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_the_bounds_enclose_the_capacity_of_random_channels(seed):
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(5, 0.5), size=4)
    found = channel_capacity(rows, tol=1e-8)
    p = found.input_distribution
    own = mutual_information(p[:, None] * rows, unit="bits")
    assert found.capacity == pytest.approx(own, abs=1e-9)
    for other in rng.dirichlet(np.ones(4), size=300):
        rival = mutual_information(other[:, None] * rows, unit="bits")
        assert rival <= found.capacity + found.gap + 1e-12


def test_a_channel_that_ignores_its_input_and_a_step_limit():
    assert channel_capacity([[0.3, 0.7], [0.3, 0.7]]).capacity == pytest.approx(0.0, abs=1e-15)
    with pytest.warns(ConvergenceWarning, match="known within"):
        short = channel_capacity([[1.0, 0.0], [0.3, 0.7]], max_iter=2)
    assert not short.converged
    exact = channel_capacity([[1.0, 0.0], [0.3, 0.7]]).capacity
    assert short.capacity <= exact <= short.capacity + short.gap
    with pytest.raises(ValueError, match="transition must sum to 1"):
        channel_capacity([[0.5, 0.6], [0.1, 0.9]])
