r"""The rounds of AdaBoost: steps down the exponential loss, one hypothesis at a time.

A hypothesis is right or wrong about row n, and moves its loss by

.. math:: c_n = 2\,[h(x_n) = y_n] - \tfrac2K,

which is :math:`y_n h(x_n) = \pm1` for two classes and SAMME's coding for K. With
:math:`F_n = \sum_t \alpha_t c_n^t`, influences :math:`\mu_n = \sum_t \alpha_t d_n^t / \|\alpha\|_1` and
:math:`\zeta_n = C\mu_n^2`, round t + 1 has the weights

.. math:: d_n \propto e^{-F_n - \|\alpha\|_1\zeta_n} = e^{-\|\alpha\|_1(\rho_n + \zeta_n)},
   \qquad \rho_n = F_n/\|\alpha\|_1,

and :math:`G = \sum_n e^{-F_n} = N\prod_t Z_t` never rises. (The notes print the norm outside of the
exponential.)

References: Y. Freund & R. Schapire, "A decision-theoretic generalization of on-line learning and an
application to boosting", 1997; J. Zhu, H. Zou, S. Rosset & T. Hastie, "Multi-class AdaBoost", 2009;
L. Breiman, "Prediction games and arcing algorithms", 1999; G. Rätsch, T. Onoda & K.-R. Müller, "Soft
margins for AdaBoost", 2001.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize

from posteriori.ensemble.votes.weak_learners import Hypothesis
from posteriori.numerics.types import Array

__all__ = ["LARGEST_STEP", "NO_STEP", "Round", "State", "StepRule", "run_rounds", "step_of"]

#: Steps below this are none: the weights of rows round by about as much.
NO_STEP = 1e-12

#: What ε = 0 counts as; the step would be infinite.
_NO_ERROR = float(np.finfo(np.float64).eps)

#: The step at ε = 0, about 18: more than the sum of many others.
LARGEST_STEP = 0.5 * math.log((1.0 - _NO_ERROR) / _NO_ERROR)


class State(NamedTuple):
    r"""What the rounds so far leave to the next one.

    Attributes
    ----------
    frequency : (N,)
        How often each row counts.
    moved : (N,)
        F.
    influence : (N,)
        :math:`\sum_t \alpha_t d_n^t`, of one of the repetitions of a row.
    norm : float
        :math:`\|\alpha\|_1`.
    loss : float
        G/N, with soft margins where C > 0.
    weights : (N,)
        d; they sum to 1.
    """

    frequency: Array
    moved: Array
    influence: Array
    norm: float
    loss: float
    weights: Array

    @property
    def single(self) -> Array:
        """Weights of one repetition of each row, (N,)."""
        return self.weights / self.frequency


class Round(NamedTuple):
    """A round that was made.

    Attributes
    ----------
    member : object
    predicted : (N,)
    error, step : float
        ε and α.
    state : State
        After it.
    """

    member: Any
    predicted: Any
    error: float
    step: float
    state: State


class StepRule(NamedTuple):
    """How far a round goes.

    Attributes
    ----------
    n_classes : int
    arc_gv : bool
        Whether the least margin so far is aimed above.
    soft_margin : float
        C.
    """

    n_classes: int
    arc_gv: bool = False
    soft_margin: float = 0.0


def run_rounds(
    learn: Callable[[Array], Hypothesis], codes: Any, frequency: Array, rule: StepRule, draws: int
) -> Iterator[Round]:
    """Yield rounds until a hypothesis is perfect, or none is better than chance.

    Where the first is not, it is the only round, with a step of 0.

    Parameters
    ----------
    learn : callable
        Returns a hypothesis for weights (N,).
    codes : (N,)
        Places of the rows' classes.
    frequency : (N,)
    rule : StepRule
    draws : int
        How often ``learn`` is asked in a round: more than once where it draws rows.
    """
    state = _start(frequency)
    first = True
    while True:
        for _ in range(draws):
            member, predicted = learn(state.weights)
            wrong = predicted != codes
            error = float(np.dot(state.weights, wrong))
            step = _find_step(state, wrong, error, rule)
            if step > NO_STEP:
                break
        else:
            if first:
                yield Round(member, predicted, error, 0.0, state)
            return
        first = False
        state = _move(state, wrong, step, rule)
        yield Round(member, predicted, error, step, state)
        if step >= LARGEST_STEP or error == 0.0:
            return


def _start(frequency: Array) -> State:
    zeros = np.zeros(len(frequency))
    return State(frequency, zeros, zeros, 0.0, 1.0, frequency / frequency.sum())


def _coded(wrong: Any, n_classes: int) -> Array:
    """Return c, (N,)."""
    return np.where(wrong, -2.0 / n_classes, 2.0 - 2.0 / n_classes)


def _move(state: State, wrong: Any, step: float, rule: StepRule) -> State:
    moved = state.moved + step * _coded(wrong, rule.n_classes)
    norm, influence, reached = state.norm + step, state.influence, moved
    if rule.soft_margin > 0.0:
        influence = influence + step * state.single
        reached = moved + rule.soft_margin * influence * influence / norm  # ‖α‖ζ = C(Σαd)²/‖α‖
    least = float(reached.min())
    weights = least - reached
    np.exp(weights, out=weights)
    weights *= state.frequency  # w e^{−F − ‖α‖ζ}
    total = float(weights.sum())
    weights /= total
    loss = total / float(state.frequency.sum()) * math.exp(-least)
    return State(state.frequency, moved, influence, norm, loss, weights)


def _find_step(state: State, wrong: Any, error: float, rule: StepRule) -> float:
    if rule.soft_margin > 0.0:
        return _soft_step(state, wrong, rule)
    least = 0.0
    if rule.arc_gv and state.norm > 0.0:
        least = max(float(state.moved.min()) / state.norm, 0.0)
    return step_of(error, rule.n_classes, least)


def step_of(error: float, n_classes: int = 2, margin: float = 0.0) -> float:
    r"""Return :math:`\alpha = \frac12\ln\frac{1-\varepsilon}{\varepsilon} +
    \frac12\ln\frac{2 - 2/K - \rho}{2/K + \rho}`, which minimises :math:`\sum_n d_n e^{-\alpha(c_n-\rho)}`.

    AdaBoost has ρ = 0; Arc-GV the least margin so far (0 while it is negative).
    """
    error = min(max(error, _NO_ERROR), 1.0 - _NO_ERROR)
    chance = 2.0 / n_classes
    lead = (2.0 - chance - margin) / (chance + margin)
    if lead <= 0.0:
        return 0.0
    return min(0.5 * math.log((1.0 - error) / error) + 0.5 * math.log(lead), LARGEST_STEP)


def _soft_step(state: State, wrong: Any, rule: StepRule) -> float:
    """Return the step ≥ 0 at which the loss with soft margins stops falling."""
    c, single = _coded(wrong, rule.n_classes), state.single

    def fall(step: float) -> float:  # −(d/dα) ln G
        new = _move(state, wrong, step, rule)
        mean = new.influence / new.norm if new.norm > 0.0 else single
        return float(new.weights @ (c + rule.soft_margin * mean * (2.0 * single - mean)))

    if fall(NO_STEP) <= 0.0:
        return 0.0
    high = 0.5
    while fall(high) > 0.0:
        high *= 2.0
        if high >= LARGEST_STEP:
            return LARGEST_STEP
    return float(optimize.brentq(fall, NO_STEP, high, xtol=1e-13, rtol=1e-13))
