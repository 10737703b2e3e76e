"""Mixtures of normals by EM: the notes' numbers, dense algebra, invariances, gaps, weights, floors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris

from posteriori import MvNormal, NormalWishart
from posteriori.datasets import load_galaxies, load_old_faithful
from posteriori.distributions import Mixture
from posteriori.inference import log_likelihood_gradient
from posteriori.mixture import GaussianMixture
from posteriori.numerics.warnings import ConvergenceWarning
from tests.scikit_learn_checks import every_check

KINDS = ["full", "shared", "diagonal", "spherical"]


def faithful():
    return np.array(load_old_faithful().data, dtype=float)


def blobs(n=150, d=2, k=3, seed=0, spread=5.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(k, d))
    return centres[rng.integers(k, size=n)] + rng.normal(size=(n, d))


def without_density(estimator):
    """Covariances with all their entries need more rows than columns."""
    if estimator.covariance in ("diagonal", "spherical"):
        return {}
    name = "check_sample_weight_equivalence_on_dense_data"
    return {name: "27 rows in 30 columns have no density, and are refused"}


@every_check(
    [GaussianMixture(2, covariance=kind, random_state=0) for kind in KINDS], without_density
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- the notes' numbers ------------------------------------------------------------------------


@pytest.mark.topic("004/9.19", "004/9.2", "002/M4", "003/U.1", "003/U.3", "000/I7", "002/M3")
def test_old_faithful_from_the_start_of_the_notes():
    covs = [np.diag([0.5, 100.0])] * 2
    given = {
        "weights_init": [0.5, 0.5],
        "means_init": [[4.0, 60.0], [2.0, 80.0]],
        "precisions_init": np.linalg.inv(covs),
    }
    g = GaussianMixture(2, **given, accelerated=False, tol=1e-11).fit(faithful())
    printed = [-1908.40253, -1276.39722, -1261.18677, -1220.35361, -1146.79649, -1130.33209]
    assert g.trace_[:6] == pytest.approx(printed, abs=1e-5)
    assert g.log_likelihood_ == pytest.approx(-1130.2639601847, abs=1e-9)
    assert g.weights_ == pytest.approx([0.64412714, 0.35587286], abs=1e-7)
    assert g.means_ == pytest.approx(
        np.array([[4.289662, 79.968115], [2.036388, 54.478516]]), abs=1e-5
    )
    first = [[0.16996844, 0.94060932], [0.94060932, 36.04621132]]
    second = [[0.06916767, 0.43516762], [0.43516762, 33.69728207]]
    assert g.covariances_ == pytest.approx(np.array([first, second]), abs=1e-5)
    with pytest.warns(ConvergenceWarning):
        one = GaussianMixture(2, **given, max_iter=1).fit(faithful())
    assert one.weights_[0] == pytest.approx(0.70975, abs=1e-5)
    assert one.means_[0] == pytest.approx([3.934452, 74.697932], abs=1e-5)
    with pytest.warns(ConvergenceWarning):
        three = GaussianMixture(2, **given, max_iter=3, accelerated=False).fit(faithful())
    assert three.weights_[0] == pytest.approx(0.669605, abs=1e-6)


def test_gradients_do_not_end_where_a_component_has_no_weight():
    """From this start L-BFGS alone ends at a single normal, −1289.797."""
    g = GaussianMixture(
        2,
        means_init=[[4.0, 60.0], [2.0, 80.0]],
        precisions_init=np.linalg.inv([np.diag([0.5, 100.0])] * 2),
        solver="lbfgs",
        tol=1e-10,
    ).fit(faithful())
    assert g.log_likelihood_ == pytest.approx(-1130.2639601847, abs=1e-7)
    assert g.converged_
    assert g.n_iter_ == len(g.trace_) - 1
    assert np.all(np.diff(g.trace_) >= -1e-9)


@pytest.mark.topic("004/9.19")
def test_weights_that_are_never_updated_end_lower():
    """The code of the notes forgets π: −1141.688 instead of −1130.264."""
    g = GaussianMixture(
        2,
        weights_init=[0.5, 0.5],
        means_init=[[4.0, 60.0], [2.0, 80.0]],
        precisions_init=np.linalg.inv([np.diag([0.5, 100.0])] * 2),
        fixed=("weights",),
        tol=1e-10,
    ).fit(faithful())
    assert g.weights_.tolist() == [0.5, 0.5]
    assert g.log_likelihood_ == pytest.approx(-1141.68815, abs=1e-4)


@pytest.mark.topic("003/U.3")
def test_one_step_by_hand():
    x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    given = {
        "weights_init": [0.5, 0.5],
        "means_init": [[-1.0], [1.0]],
        "precisions_init": [[[1.0]], [[1.0]]],
    }
    with pytest.warns(ConvergenceWarning):
        g = GaussianMixture(2, **given, max_iter=1).fit(x)
    assert g.trace_ == pytest.approx([-7.1581869771, -6.4618563013], abs=1e-9)
    assert g.means_[:, 0] == pytest.approx([-1.3448246581, 1.3448246581], abs=1e-9)
    assert g.covariances_.ravel() == pytest.approx([0.6914466391] * 2, abs=1e-9)
    before = Mixture([0.5, 0.5], MvNormal([[-1.0], [1.0]], cov=[[[1.0]], [[1.0]]]))
    gamma = before.responsibilities(x)[:, 0]
    assert gamma == pytest.approx([0.98201379, 0.88079708, 0.11920292, 0.01798621], abs=1e-8)


@pytest.mark.topic("002/M6", "003/U.6")
def test_k_means_is_the_limit_of_small_shared_covariances():
    x = blobs(60, seed=3)
    means = x[[0, 20, 40]]
    g = GaussianMixture(
        3,
        covariance="spherical",
        weights_init=np.full(3, 1 / 3),
        means_init=means,
        precisions_init=np.full(3, 1e8),
        fixed=("covariances", "weights"),
        tol=1e-9,
        accelerated=False,
    ).fit(x)
    centres = means.copy()
    for _ in range(100):  # Lloyd
        codes = ((x[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.stack([x[codes == k].mean(axis=0) for k in range(3)])
    assert g.means_ == pytest.approx(centres, abs=1e-9)
    assert g.predict(x).tolist() == codes.tolist()


@pytest.mark.topic("004/9.3")
def test_parameters_are_counted():
    x = blobs()
    counts = [
        GaussianMixture(3, covariance=kind, random_state=0).fit(x).n_parameters_ for kind in KINDS
    ]
    assert counts == [2 + 6 + 9, 2 + 6 + 3, 2 + 6 + 6, 2 + 6 + 3]


# -- against slow and obvious ------------------------------------------------------------------


def one_step(x, weight, weights, means, covs, kind):
    """EM written out: responsibilities, then weighted moments about the new means."""
    joint = np.stack(
        [
            w * np.exp(MvNormal(m, cov=c).log_prob(x))
            for w, m, c in zip(weights, means, covs, strict=True)
        ]
    )
    r = joint / joint.sum(axis=0) * weight
    n = r.sum(axis=1)
    new = r @ x / n[:, None]
    scatters = [np.einsum("n,ni,nj->ij", r[k], x - new[k], x - new[k]) for k in range(len(n))]
    if kind == "shared":
        return n / n.sum(), new, sum(scatters) / n.sum()
    out = [s / m for s, m in zip(scatters, n, strict=True)]
    if kind == "full":
        return n / n.sum(), new, np.array(out)
    diagonal = np.array([np.diag(s) for s in out])
    return n / n.sum(), new, diagonal if kind == "diagonal" else diagonal.mean(axis=1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_the_formula(kind):
    x = blobs(40, d=3, seed=1)
    weight = np.random.default_rng(0).integers(1, 4, size=40).astype(float)
    means = x[[0, 10]]
    sizes = {"full": np.array([np.eye(3), 2 * np.eye(3)]), "shared": np.eye(3)}
    sizes |= {
        "diagonal": np.array([[1.0, 2.0, 3.0], [2.0, 1.0, 1.0]]),
        "spherical": np.array([1.0, 2.0]),
    }
    precision = sizes[kind]
    matrices = {
        "full": np.linalg.inv(sizes["full"]),
        "shared": np.array([np.eye(3)] * 2),
        "diagonal": np.array([np.diag(1 / s) for s in sizes["diagonal"]]),
        "spherical": np.array([np.eye(3) / s for s in sizes["spherical"]]),
    }[kind]
    with pytest.warns(ConvergenceWarning):
        g = GaussianMixture(
            2,
            covariance=kind,
            weights_init=[0.3, 0.7],
            means_init=means,
            precisions_init=precision,
            max_iter=1,
        ).fit(x, sample_weight=weight)
    weights, new, covs = one_step(x, weight, [0.3, 0.7], means, matrices, kind)
    assert g.weights_ == pytest.approx(weights, rel=1e-10)
    assert g.means_ == pytest.approx(new, rel=1e-9)
    assert g.covariances_ == pytest.approx(covs, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gaps", [False, True])
def test_the_trace_never_falls_and_jumps_end_at_the_same_place(kind, gaps):
    x = blobs(120, d=3, seed=5, spread=3.0)
    if gaps:
        x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    given = {"means_init": np.nan_to_num(x[[0, 1, 2]]), "covariance": kind, "tol": 1e-6}
    plain = GaussianMixture(3, **given, accelerated=False).fit(x)
    fast = GaussianMixture(3, **given).fit(x)
    for g in (plain, fast):
        assert np.all(np.diff(g.trace_) >= -1e-10 * abs(g.trace_[-1]))
        assert g.log_likelihood_ == pytest.approx(g.log_likelihood(x), abs=1e-7)
    assert fast.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-2)


@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "shared"])
def test_gradients_vanish_at_the_end_and_both_solvers_agree(kind):
    x = blobs(100, seed=2)
    em = GaussianMixture(2, covariance=kind, tol=1e-12, random_state=0).fit(x)
    climbed = GaussianMixture(2, covariance=kind, solver="lbfgs", tol=1e-10, random_state=0).fit(x)
    assert climbed.log_likelihood_ == pytest.approx(em.log_likelihood_, abs=1e-6)
    assert np.all(np.diff(climbed.trace_) >= -1e-9)
    found = log_likelihood_gradient(em.model_, x)
    assert np.abs(found.logits).max() < 1e-4
    assert np.abs(found.means).max() < 1e-4
    if kind == "full":
        assert np.abs(found.covs).max() < 1e-3


@pytest.mark.parametrize("kind", ["diagonal", "spherical"])
def test_an_ascent_that_begins_at_the_top_has_converged(kind):
    """Clusters that lie apart are found by a step of EM: from there rounding hides what a search gains."""
    for seed in range(20):
        x = blobs(60, k=2, seed=seed, spread=15.0)
        found = GaussianMixture(2, covariance=kind, solver="lbfgs", tol=1e-12, random_state=0).fit(
            x
        )  # warnings are errors
        assert found.converged_


def test_a_search_that_fails_below_the_top_is_told(monkeypatch):
    import posteriori.inference.mixtures.likelihood_ascent as module

    uphill = module.flat_gradient
    monkeypatch.setattr(module, "flat_gradient", lambda *given: -uphill(*given))
    with pytest.warns(ConvergenceWarning, match="the ascent stopped"):
        GaussianMixture(2, solver="lbfgs", tol=1e-10, random_state=0).fit(blobs(60, k=2, spread=2))


@pytest.mark.topic("000/I7", "000/I9")
def test_one_component_is_mean_and_covariance():
    x = blobs(50)
    g = GaussianMixture().fit(x)
    assert g.means_[0] == pytest.approx(x.mean(axis=0), abs=1e-12)
    assert g.covariances_[0] == pytest.approx(np.cov(x.T, bias=True), abs=1e-11)
    drawn, codes = GaussianMixture(2, random_state=0).fit(faithful()).sample(4000, rng=0)
    assert np.bincount(codes) / 4000 == pytest.approx([0.644, 0.356], abs=0.04)
    assert drawn.mean(axis=0) == pytest.approx(faithful().mean(axis=0), rel=0.02)


def test_rows_with_gaps_count_by_what_is_seen():
    x = faithful()[::3]
    x[::5, 0], x[1::7, 1] = np.nan, np.nan
    g = GaussianMixture(2, random_state=0).fit(x)
    total = 0.0
    for row in x:
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            total += float(g.model_.marginal(seen).log_prob(row[seen]))
    assert g.log_likelihood_ == pytest.approx(total, abs=1e-7)
    filled = g.impute(x)
    at = g.model_.condition([1], x[0, [1]])  # the first entry of row 0 is missing
    assert filled[0, 0] == pytest.approx(float(at.mean[0]), abs=1e-9)
    assert np.array_equal(filled[~np.isnan(x)], x[~np.isnan(x)])
    draws = g.impute(x[:1], draws=1000, rng=0)[:, 0, 0]
    error = float(np.sqrt(at.cov[0, 0] / 1000))
    assert draws.mean() == pytest.approx(float(at.mean[0]), abs=5 * error)
    assert g.predict_proba([[np.nan, np.nan]])[0] == pytest.approx(g.weights_, abs=1e-12)


@pytest.mark.topic("002/M5", "000/I8")
def test_hard_assignments_are_classification_em():
    x = blobs(90, seed=4)
    g = GaussianMixture(3, assignment="hard", random_state=0, tol=1e-9).fit(x)
    codes = g.predict(x)
    assert g.weights_ == pytest.approx(np.bincount(codes, minlength=3) / 90, abs=1e-12)
    for k in range(3):
        assert g.means_[k] == pytest.approx(x[codes == k].mean(axis=0), abs=1e-10)
    assert np.all(np.diff(g.trace_) >= -1e-9)
    assert g.predict_proba(x).argmax(axis=1).tolist() == codes.tolist()


def test_a_prior_makes_it_the_mode_of_the_posterior():
    """Its objective has zero gradient by finite differences, and an empty component sits at the prior."""
    x = blobs(30, seed=6)
    prior = NormalWishart(x.mean(axis=0), 2.0, 6.0, np.eye(2) / 4)
    g = GaussianMixture(2, prior=prior, tol=1e-13, random_state=0).fit(x)

    def objective(means, precisions):
        mixture = Mixture(g.weights_, MvNormal(means, cov=np.linalg.inv(precisions)))
        joint = sum(float(prior.log_prob((m, p))) for m, p in zip(means, precisions, strict=True))
        return float(mixture.log_prob(x).sum()) + joint

    precisions = np.linalg.inv(g.covariances_)
    h = 1e-5
    for k in range(2):
        for i in range(2):
            step = np.zeros((2, 2))
            step[k, i] = h
            rise = objective(g.means_ + step, precisions) - objective(g.means_ - step, precisions)
            assert rise / (2 * h) == pytest.approx(0.0, abs=1e-4)
            stretch = np.zeros((2, 2, 2))
            stretch[k, i, i] = h
            rise = objective(g.means_, precisions + stretch) - objective(
                g.means_, precisions - stretch
            )
            assert rise / (2 * h) == pytest.approx(0.0, abs=1e-4)


# -- invariances -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_weights_equal_repeated_rows_and_order_does_not_matter(kind):
    x = blobs(60, seed=7)
    times = np.random.default_rng(0).integers(0, 4, size=60)
    weighted = GaussianMixture(3, covariance=kind, random_state=1).fit(x, sample_weight=times)
    repeated = GaussianMixture(3, covariance=kind, random_state=1).fit(np.repeat(x, times, axis=0))
    shuffled = GaussianMixture(3, covariance=kind, random_state=1).fit(
        np.random.default_rng(5).permutation(np.repeat(x, times, axis=0))
    )
    for other in (repeated, shuffled):
        assert other.log_likelihood_ == pytest.approx(weighted.log_likelihood_, abs=1e-5)
        assert other.means_ == pytest.approx(weighted.means_, abs=1e-3)


@pytest.mark.topic("004/9.20")
def test_answers_move_with_affine_maps():
    x = blobs(80, seed=8)
    a, b = np.array([[1e6, 2e5], [3.0, 1e-1]]), np.array([1e8, -3.0])
    plain = GaussianMixture(3, random_state=0).fit(x)
    moved = GaussianMixture(3, random_state=0).fit(x @ a.T + b)
    shift = len(x) * np.log(abs(np.linalg.det(a)))
    assert moved.log_likelihood_ + shift == pytest.approx(plain.log_likelihood_, abs=1e-4)
    assert moved.predict(x @ a.T + b).tolist() == plain.predict(x).tolist()


def test_frames_come_in():
    x = blobs(40)
    frame = pd.DataFrame(x, columns=["a", "b"])
    named = GaussianMixture(2, random_state=0).fit(frame)
    assert named.feature_names_in_.tolist() == ["a", "b"]
    other = GaussianMixture(2, random_state=0).fit(pl.DataFrame({"a": x[:, 0], "b": x[:, 1]}))
    assert other.means_ == pytest.approx(named.means_)


# -- floors and streams ---------------------------------------------------------------------------


@pytest.mark.topic("004/9.20")
def test_no_component_shrinks_onto_a_row():
    """The likelihood is unbounded: the floor holds, is named, and sound fits are preferred."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 2))
    given = GaussianMixture(
        2, means_init=[x[0], [0.0, 0.0]], precisions_init=[1e12 * np.eye(2), np.eye(2)]
    ).fit(x)
    assert given.degenerate_ == [0]
    data = np.cov(x.T, bias=True)
    least = np.linalg.eigvals(np.linalg.solve(data, given.covariances_[0])).real.min()
    assert least == pytest.approx(1e-6, rel=1e-3)
    assert np.all(np.diff(given.trace_) >= -1e-8)
    sound = GaussianMixture(2, random_state=0).fit(x)
    assert sound.degenerate_ == []


@pytest.mark.parametrize("k", [4, 5])
def test_spikes_are_left_out_where_other_fits_exist(k):
    """Moves and narrow starts lead to components on a few galaxies of nearly one velocity."""
    x = np.asarray(load_galaxies().X, dtype=float)
    g = GaussianMixture(k, random_state=0).fit(x)
    assert g.degenerate_ == []
    assert g.log_likelihood_ > GaussianMixture(3, random_state=0).fit(x).log_likelihood_


def test_a_stream_comes_near_the_batch():
    x = np.random.default_rng(0).permutation(faithful())
    stream = GaussianMixture(2, random_state=0).partial_fit(x[:100])
    for part in np.array_split(x[100:], 5):
        stream.partial_fit(part)
    assert np.sort(stream.weights_) == pytest.approx([0.356, 0.644], abs=0.05)
    assert stream.log_likelihood(x) > -1140.0
    stream.partial_fit(x[:1])  # a single row has no spread of its own
    assert np.isfinite(stream.log_likelihood(x))


# -- bad input ---------------------------------------------------------------------------------


def table(**columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    ("make", "x", "words"),
    [
        ({"n_components": 4}, [[0.0], [1.0], [0.0], [1.0]], "only 2 distinct rows"),
        ({}, table(a=[1.0, 2.0, 3.0], b=[5.0, 5.0, 5.0]), "b of X is constant"),
        (
            {},
            table(a=[1.0, 2.0, 4.0, 3.0], b=[2.0, 4.0, 8.0, 6.0]),
            "a, b of X are constant or depend",
        ),
        ({}, table(a=[1.0, 2.0, 3.0], b=[np.nan] * 3), "b of X has no entry"),
        ({}, [[1.0, np.inf], [0.0, 1.0]], "infinity"),
        ({}, [[1.0, 2.0]], "1 sample"),
        ({}, [[1.0, 2.0, 3.0], [0.0, 1.0, 5.0]], "2 rows of X in 3 columns"),
        (
            {"means_init": [[0.0]], "n_components": 2},
            [[0.0], [1.0], [2.0]],
            r"means_init must be finite and of shape \(2, 1\)",
        ),
        ({"weights_init": [1.0]}, [[0.0], [1.0]], "need means_init"),
        (
            {"weights_init": [0.5, 0.6], "means_init": [[0.0], [1.0]], "n_components": 2},
            [[0.0], [1.0]],
            "sum to 1",
        ),
        ({"fixed": ("means",)}, [[0.0], [1.0]], "needs means_init"),
        (
            {"solver": "lbfgs", "assignment": "hard"},
            [[0.0], [1.0], [3.0]],
            "neither hard assignments nor a prior",
        ),
        ({"fixed": ("scale",)}, [[0.0], [1.0]], "fixed must name"),
        ({"n_components": 0}, [[0.0], [1.0]], "n_components must be a whole number >= 1, got 0"),
        ({"covariance": "round"}, [[0.0], [1.0]], "covariance must be one of"),
        (
            {"precisions_init": [[[-1.0]]], "means_init": [[0.0]]},
            [[0.0], [1.0]],
            "positive definite",
        ),
        (
            {"prior": NormalWishart([0.0, 0.0], 1.0, 4.0, np.eye(2))},
            [[0.0], [1.0]],
            "prior must be of 1 columns",
        ),
    ],
)
def test_bad_input_is_named(make, x, words):
    with pytest.raises(ValueError, match=words):
        GaussianMixture(**make).fit(x)


def test_bad_weights_are_named():
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        GaussianMixture().fit([[0.0], [1.0]], sample_weight=[1.0, -1.0])
    with pytest.raises(ValueError, match="non-zero"):
        GaussianMixture().fit([[0.0], [1.0]], sample_weight=[0.0, 0.0])
    g = GaussianMixture(2, random_state=0).fit(faithful())
    with pytest.raises(ValueError, match="draws"):
        g.impute(faithful(), draws=0)


@pytest.mark.parametrize("seed", range(3))
def test_iris_has_the_published_likelihood(seed: int) -> None:
    """Mclust's VVV with three components, L. Scrucca et al., The R Journal 8, 2016: −180.185."""
    model = GaussianMixture(3, random_state=seed).fit(load_iris().data)
    assert model.log_likelihood_ == pytest.approx(-180.185, abs=2e-3)
