"""Hidden Markov models learned beside hmmlearn and dynamax: Baum–Welch, many sequences, variational sweeps.

Each case first checks that the answers are equal: the same start, the same number of steps and no jumps,
so that all walk the same path (variational sweeps end near one another). hmmlearn is given no covariance
floor and no prior that matters, and so is dynamax.

    python bench/bench_hidden_markov_learning.py
"""

from __future__ import annotations

import copy
import warnings
from typing import Any

import dynamax_peer
import numpy as np
from harness import Comparison, compare, report
from hmmlearn.hmm import GaussianHMM
from hmmlearn.vhmm import VariationalGaussianHMM

from posteriori import MvNormal, Normal, NormalWishart
from posteriori.sequence import HiddenMarkovChain, HiddenMarkovModel

ROWS, STATES, STEPS = 100_000, 8, 20
SEQUENCES, LENGTH = 10_000, 50
SWEEP_ROWS, SWEEP_STATES, SWEEPS = 10_000, 5, 20
ROUNDS = 7


def make_rows(rows: int, states: int, radius: float = 3.0) -> np.ndarray:
    """Draw rows of a sticky chain of normal states on a circle in two columns."""
    rng = np.random.default_rng(0)
    moves = rng.random(rows) < 0.1
    path = np.cumsum(moves * rng.integers(1, states, rows)) % states
    angle = 2.0 * np.pi * np.arange(states) / states
    centres = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    return centres[path] + rng.normal(size=(rows, 2))


def known_start(X: np.ndarray, states: int, kind: str) -> tuple[HiddenMarkovChain, dict[str, Any]]:
    """Return a chain to begin from, and the same in hmmlearn's words."""
    initial = np.full(states, 1.0 / states)
    moves = np.full((states, states), 0.1 / (states - 1))
    np.fill_diagonal(moves, 0.9)
    means, cov = X[:: len(X) // states][:states].copy(), np.cov(X.T)
    theirs = {"startprob_": initial, "transmat_": moves, "means_": means}
    if kind == "full":
        covs = np.array([cov] * states)
        return HiddenMarkovChain(initial, moves, MvNormal(means, cov=covs)), theirs | {
            "covars_": covs
        }
    variances = np.array([np.diag(cov)] * states)
    chain = HiddenMarkovChain(initial, moves, Normal(means, variance=variances))
    return chain, theirs | {"covars_": variances}


def peer(kind: str, states: int, steps: int, start: dict[str, Any]) -> GaussianHMM:
    """Return hmmlearn's model at a start."""
    model = GaussianHMM(
        states,
        "full" if kind == "full" else "diag",
        n_iter=steps,
        tol=-np.inf,
        init_params="",
        min_covar=0.0,
        covars_prior=0.0,
        covars_weight=0.0,
        implementation="scaling",
    )
    for name, value in start.items():
        setattr(model, name, value.copy())
    return model


def baum_welch(kind: str) -> list[Comparison]:
    X = make_rows(ROWS, STATES)
    chain, start = known_start(X, STATES, kind)
    emission = "mvnormal" if kind == "full" else "normal"
    options = {"max_iter": STEPS, "tol": 0.0, "accelerated": False, "start": chain}

    def ours() -> HiddenMarkovModel:
        return HiddenMarkovModel(STATES, emission, "em", **options).fit(X)

    def theirs() -> GaussianHMM:
        return peer(kind, STATES, STEPS, start).fit(X)

    mine, other = ours(), theirs()
    np.testing.assert_allclose(mine.model_.emission.mean, other.means_, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(mine.model_.transition, other.transmat_, rtol=1e-4, atol=1e-7)
    third = dynamax_peer.baum_welch(kind, X, start, STEPS)
    last = third()
    np.testing.assert_allclose(
        mine.model_.emission.mean, last.emissions.means, rtol=1e-4, atol=1e-5
    )
    moves = last.transitions.transition_matrix
    np.testing.assert_allclose(mine.model_.transition, moves, rtol=1e-3, atol=1e-6)
    name = f"Baum–Welch, {kind}, T={ROWS}, K={STATES}, {STEPS} steps"
    peers = {"hmmlearn": theirs, "dynamax": third}
    return [
        compare(f"{name} ({who})", ours, run, bar=2.0, faster=True, rounds=ROUNDS, warm=False)
        for who, run in peers.items()
    ]


def many_sequences() -> list[Comparison]:
    X = make_rows(SEQUENCES * LENGTH, STATES)
    lengths = [LENGTH] * SEQUENCES
    chain, start = known_start(X, STATES, "full")
    model = HiddenMarkovModel(
        STATES, "mvnormal", "em", start=chain, max_iter=1, tol=0.0, accelerated=False
    )

    def theirs() -> GaussianHMM:
        return peer("full", STATES, 1, start).fit(X, lengths)

    np.testing.assert_allclose(
        model.fit(X, lengths=lengths).model_.emission.mean, theirs().means_, rtol=1e-6, atol=1e-8
    )
    name = f"a step over {SEQUENCES} sequences of {LENGTH}, K={STATES}"

    def ours() -> HiddenMarkovModel:
        return model.fit(X, lengths=lengths)

    return [
        compare(f"{name} (hmmlearn)", ours, theirs, bar=3.0, faster=True, rounds=ROUNDS),
        compare(
            f"{name} (ours, one sequence)",
            ours,
            lambda: model.fit(X),
            bar=1.5,
            faster=False,
            rounds=ROUNDS,
        ),
    ]


def variational_sweeps() -> Comparison:
    X = make_rows(SWEEP_ROWS, SWEEP_STATES, 2.0)  # overlap: all sweeps are needed
    chain, _ = known_start(X, SWEEP_STATES, "full")
    prior = NormalWishart(X.mean(axis=0), 0.1, 4.0, np.diag(1.0 / X.var(axis=0)))
    model = HiddenMarkovModel(
        SWEEP_STATES,
        "mvnormal",
        emission_prior=prior,
        max_iter=SWEEPS,
        tol=0.0,
        accelerated=False,
        start=chain,
    )

    begun = VariationalGaussianHMM(
        SWEEP_STATES,
        "full",
        n_iter=SWEEPS,
        tol=-np.inf,
        means_prior=np.array([X.mean(axis=0)] * SWEEP_STATES),
        beta_prior=np.full(SWEEP_STATES, 0.1),
        dof_prior=np.full(SWEEP_STATES, 4.0),
        scale_prior=np.array([np.diag(X.var(axis=0))] * SWEEP_STATES),
        startprob_prior=1.0,
        transmat_prior=1.0,
        random_state=0,
        implementation="scaling",
    ).fit(X)
    found = model.fit(
        X
    ).posterior_.emission  # hmmlearn's own starts miss states: it begins near ours
    begun.means_posterior_ = np.array(found.location)
    begun.dof_posterior_, begun.beta_posterior_ = found.dof.copy(), found.mean_strength.copy()
    begun.scale_posterior_ = np.linalg.inv(found.scale)
    begun.set_params(init_params="")

    def theirs() -> VariationalGaussianHMM:
        return copy.deepcopy(begun).fit(X)

    mine, other = model.fit(X), theirs()
    assert mine.n_iter_ == other.monitor_.iter == SWEEPS
    order = np.argsort(mine.posterior_.emission.location[:, 0])
    named = np.argsort(other.means_posterior_[:, 0])
    # hmmlearn's fixed point lies some hundredths off, also where states are far apart
    np.testing.assert_allclose(
        mine.posterior_.emission.location[order], other.means_posterior_[named], atol=0.15
    )
    name = f"{SWEEPS} variational sweeps, T={SWEEP_ROWS}, K={SWEEP_STATES} (hmmlearn)"
    return compare(name, lambda: model.fit(X), theirs, bar=1.5, faster=True, rounds=ROUNDS)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    steps = [*baum_welch("full"), *baum_welch("diagonal")]
    report("hidden Markov models learned", [*steps, *many_sequences(), variational_sweeps()])
