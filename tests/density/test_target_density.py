"""Densities of a target that depends on nothing, against quadrature, their definition and one another."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from posteriori.density import (
    AdaptiveHistogram,
    KernelDensity,
    TargetHistogram,
    TargetKernelDensity,
)

MODELS = [TargetKernelDensity(), TargetHistogram(30)]


def targets(kind, n=150):
    rng = np.random.default_rng(3)
    return {
        "all digits": lambda: rng.gamma(2.0, 1.5, n),
        "whole": lambda: rng.poisson(4.0, n).astype(float),
        "tenths": lambda: np.round(rng.normal(20.0, 2.0, n), 1),
        "many zeros": lambda: np.where(rng.random(n) < 0.6, 0.0, rng.gamma(2.0, 1.5, n)),
    }[kind]()


KINDS = ("all digits", "whole", "tenths", "many zeros")


def fitted(model, y, **options):
    return type(model)(**model.get_params()).fit(np.zeros((len(y), 1)), y, **options)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_densities_integrate_to_their_cumulative_probabilities(model, kind):
    y = targets(kind, 40)
    learned = fitted(model, y)
    d = learned.model_
    edges = np.unique(np.concatenate([y, getattr(learned, "edges_", [])]))
    ends = [-np.inf, edges[0], *np.linspace(edges[0], edges[-1], 9)[1:], np.inf]

    def integral(low, high):
        inner = edges[(edges > low) & (edges < high)]
        parts = [low, *inner, high]
        pairs = itertools.pairwise(parts)
        return sum(quad(lambda x: np.exp(d.log_prob(x)), a, b, epsabs=1e-11)[0] for a, b in pairs)

    masses = [integral(a, b) for a, b in itertools.pairwise(ends)]
    # quad's own error, and that of a step at either end of a part
    np.testing.assert_allclose(np.cumsum(masses)[:-1], d.cdf(ends[1:-1]), atol=1e-7)
    assert sum(masses) == pytest.approx(1.0, abs=1e-7)


def test_kernels_of_targets_are_those_of_a_column():
    y, at = targets("all digits"), np.linspace(-2.0, 12.0, 40)
    column = KernelDensity().fit(y[:, None])
    model = fitted(TargetKernelDensity(), y)
    assert model.bandwidth_ == pytest.approx(column.bandwidth_[0], rel=1e-12)
    np.testing.assert_allclose(model.model_.log_prob(at), column.score_samples(at[:, None]))


def test_many_targets_share_kernels():
    rng = np.random.default_rng(0)
    y = np.concatenate([rng.normal(size=2000), rng.normal(4.0, 0.2, 1500)])
    model, at = fitted(TargetKernelDensity(), y), np.linspace(y.min(), y.max(), 300)
    assert len(model._places) < 1000
    exact = KernelDensity(model.bandwidth_).fit(y[:, None]).score_samples(at[:, None])
    # mean and variance of a cell are kept: what is left is of the order (1/8)³ of its share
    np.testing.assert_allclose(model.model_.log_prob(at), exact, atol=2e-3)


@pytest.mark.parametrize("kind", KINDS[1:])
def test_nothing_is_narrower_than_the_step_of_recording(kind):
    y = targets(kind, 400)
    y[:200] = y[0]  # a value that repeats invites a needle
    step = {"whole": 1.0, "tenths": 0.1}.get(kind) or np.median(np.diff(np.unique(y)))
    kernels, cells = fitted(TargetKernelDensity(), y), fitted(TargetHistogram(), y)
    assert kernels._variances.min() >= step**2 / 12.0
    width = np.diff(cells.edges_)
    assert width.min() >= step * (1.0 - 1e-9)
    np.testing.assert_allclose(
        width / step, np.rint(width / step), atol=1e-6
    )  # as many values each


def test_whole_targets_have_a_cell_each():
    """p(y) is that of a table of counts where no cells are joined: edges lie between whole numbers."""
    y = np.repeat([0.0, 1.0, 2.0, 5.0], [40, 7, 3, 1])
    np.testing.assert_allclose(fitted(TargetHistogram(), y).edges_, np.arange(7) - 0.5)
    np.testing.assert_allclose(fitted(TargetHistogram(3), y).edges_, [-0.5, 1.5, 3.5, 5.5])


def test_the_evidence_counts_that_no_row_was_outside():
    """Σ over rows of ln P(inside | all rows before were), masses Dirichlet(½, ½, ½) of three parts."""
    y = targets("all digits")
    model = fitted(TargetHistogram(30), y)
    inner = AdaptiveHistogram(30, (y.min(), y.max())).fit(y)
    before = np.arange(len(y))
    inside = np.log((before + 0.5) / (before + 1.5)).sum()
    assert float(model.log_evidence_) == pytest.approx(float(inner.log_evidence_) + inside)
    assert (model.log_evidence_.kind, model.log_evidence_.of) == ("type-II", "y|X")
    alpha = np.array([0.5, 0.5 + len(y), 0.5])
    log_beta = gammaln(alpha).sum() - gammaln(alpha.sum())
    further = alpha + np.array([1.0, 0.0, 0.0])
    tail = np.exp(gammaln(further).sum() - gammaln(further.sum()) - log_beta)
    assert model.outside_ == pytest.approx(tail)
    assert model.model_.cdf(y.min()) == pytest.approx(tail)
    assert 1.0 - model.model_.cdf(y.max()) == pytest.approx(tail)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_no_target_is_impossible(model):
    y = targets("all digits")
    far = fitted(model, y).model_.log_prob([-50.0, y.max() + 1e-9, 80.0])
    assert np.isfinite(far).all()


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_weights_are_repeated_rows(model, kind):
    y = targets(kind, 60)
    times = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    times[[y.argmin(), y.argmax()]] = 1.0
    weighted = fitted(model, y, sample_weight=times).model_
    repeated = fitted(model, np.repeat(y, times.astype(int))).model_
    at = np.linspace(y.min() - 1.0, y.max() + 1.0, 30)
    # bandwidths are found to 1e-6
    np.testing.assert_allclose(weighted.log_prob(at), repeated.log_prob(at), rtol=1e-5)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_constant_targets_are_refused(model):
    with pytest.raises(ValueError, match=r"y is 3.5 in all rows \(n_samples=8\)"):
        fitted(model, np.full(8, 3.5))
