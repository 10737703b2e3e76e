r"""Expectation–maximisation, whatever is expected and maximised.

.. math:: q \leftarrow p(z\mid x, θ), \qquad
   θ \leftarrow \arg\max_θ E_q[\ln p(x, z\mid θ)] + \ln p(θ).

Neither step lowers :math:`\ln p(x\mid θ) + \ln p(θ)`. A step that only raises the expectation is
generalised EM; a q from a smaller family, with its bound as the objective, variational EM; a q that
is certain, classification EM; beliefs about θ in place of θ, variational Bayes.

References: A. Dempster, N. Laird & D. Rubin, "Maximum likelihood from incomplete data via the EM
algorithm", 1977; R. Neal & G. Hinton, "A view of the EM algorithm that justifies incremental, sparse,
and other variants", 1998.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.anderson import FALL, MEMORY, SLOW, Point, Step, extrapolate
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["EMResult", "maximize_by_em"]


class EMResult(NamedTuple):
    """Where expectation–maximisation ended.

    Attributes
    ----------
    parameters : float, array or tuple of arrays
        The best that were found.
    trace : tuple of float
        The objective at the start and after every step.
    n_iter : int
        Steps that were taken.
    converged : bool
        Whether the last step gained less than ``tol``.
    message : str
        How it ended.
    """

    parameters: Any
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    message: str

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has ended it."""
        return self.message.startswith("interrupted")


class _Place(NamedTuple):
    """Parameters, what is expected under them, and the objective there."""

    parameters: Any
    expectations: Any
    value: float


def maximize_by_em(
    expect: Callable[[Any], tuple[Any, float]],
    maximize: Callable[[Any], Any],
    start: Any,
    *,
    log_prior: Callable[[Any], float] | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    accelerated: bool = True,
    admit: Callable[[Any], Any] | None = None,
    callback: Callable[[int, float], Any] | None = None,
) -> EMResult:
    """Alternate expectation and maximisation until a step gains less than ``tol`` nats.

    Parameters
    ----------
    expect : callable
        From parameters, what :func:`maximize` needs to know of the hidden variables, and the
        objective at these parameters: the log likelihood, or a bound of it.
    maximize : callable
        From those expectations, the next parameters; with a prior its terms are part of what it
        maximises.
    start : float, array or tuple of them
        First parameters.
    log_prior : callable, optional
        ln p(θ), added to the objective.
    tol : float
        Nats.
    max_iter : int
    accelerated : bool
        Whether slow steps may be followed by a jump to where they lead; it is kept only where the
        objective is no lower. A jump may ask ``expect`` about parameters that cannot be: NaN and
        errors of value or arithmetic take it back, and NumPy does not warn of them.
    admit : callable, optional
        From parameters that a jump leads to, the nearest that may be: where bounds have been reached,
        all jumps would be taken back without it.
    callback : callable, optional
        Is told the number of the step and the objective, and stops the ascent by answering True.

    Returns
    -------
    EMResult

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` steps were not enough, or a step lowered the objective by more than 1e-10 of
        its size: then the step is taken back, and something is wrong with it.

    Notes
    -----
    After Ctrl-C the best parameters so far are returned.

    Examples
    --------
    Two coins, one of which is taken at random for five throws; heads are counted.

    >>> from scipy.stats import binom
    >>> heads = np.array([5, 9, 8, 4, 7])
    >>> def expect(bias):
    ...     joint = 0.5 * binom.pmf(heads[:, None], 10, bias)
    ...     share = joint / joint.sum(axis=1, keepdims=True)
    ...     return share, float(np.log(joint.sum(axis=1)).sum())
    >>> def maximize(share):
    ...     return heads @ share / (10 * share.sum(axis=0))
    >>> found = maximize_by_em(expect, maximize, np.array([0.6, 0.5]), tol=1e-9)
    >>> found.parameters.round(4), found.converged
    (array([0.7968, 0.5196]), True)
    """
    ascent = _Ascent(expect, maximize, log_prior, accelerated, admit)
    here = ascent.expectation(start)
    if not np.isfinite(here.value):
        raise ValueError(
            f"the objective is {here.value} at start: begin where the data are possible"
        )
    trace, converged, message = [here.value], False, f"stopped after {_steps(max_iter)}"
    try:
        for i in range(1, max_iter + 1):
            there, jumped = ascent.step(here)
            rise = there.value - here.value
            if not rise >= -FALL * max(1.0, abs(here.value)):
                message = f"stopped because step {i} lowered the objective by {-rise:.3g}"
                break
            here = there
            trace.append(here.value)
            if callback is not None and callback(i, here.value):
                message = "stopped by the callback"
                break
            if rise < tol and not jumped:  # after a jump a plain step decides
                converged, message = True, f"converged after {_steps(i)}"
                break
            ascent.watch(rise, jumped and rise < tol)
    except KeyboardInterrupt:
        message = f"interrupted after {_steps(len(trace) - 1)}"
    if message.startswith(("stopped after", "stopped because")):
        remedy = "check expect and maximize" if "because" in message else "raise max_iter or tol"
        warnings.warn(
            f"expectation–maximisation {message}; {remedy}", ConvergenceWarning, stacklevel=2
        )
    return EMResult(here.parameters, tuple(trace), len(trace) - 1, converged, message)


class _Ascent:
    """Takes steps, and jumps once these are slow."""

    def __init__(
        self, expect: Any, maximize: Any, log_prior: Any, accelerated: bool, admit: Any
    ) -> None:
        self.expect, self.maximize, self.log_prior = expect, maximize, log_prior
        self.accelerated, self.admit = accelerated, admit
        self._steps: list[Step] = []
        self._slow = False

    def expectation(self, parameters: Any) -> _Place:
        """Take the E-step: what is expected under some parameters."""
        expectations, value = self.expect(parameters)
        if self.log_prior is not None:
            value = value + self.log_prior(parameters)
        return _Place(parameters, expectations, float(value))

    def step(self, here: _Place) -> tuple[_Place, bool]:
        """Return the next place, and whether a jump led there."""
        after = self.maximize(here.expectations)
        if self.accelerated and self._slow:
            self._steps = [*self._steps[1 - MEMORY :], (_parts(here.parameters), _parts(after))]
            if len(self._steps) > 1:
                target = self._try(_like(after, extrapolate(self._steps)))
                if target is not None and target.value >= here.value:
                    return target, True
                self._steps = []
        return self.expectation(after), False

    def watch(self, rise: float, was_poor_jump: bool) -> None:
        """Learn what the last step gained."""
        self._slow = rise < SLOW
        if was_poor_jump or not self._slow:
            self._steps = []

    def _try(self, parameters: Any) -> _Place | None:
        """Return the place of parameters that may be impossible: no fault of those who wrote ``expect``."""
        try:
            with np.errstate(all="ignore"):
                found = self.expectation(
                    parameters if self.admit is None else self.admit(parameters)
                )
        except (ArithmeticError, ValueError):
            return None
        return found if np.isfinite(found.value) else None


def _parts(parameters: Any) -> Point:
    parts = parameters if isinstance(parameters, tuple) else (parameters,)
    return [np.asarray(part, dtype=np.float64) for part in parts]


def _like(parameters: Any, parts: Point) -> Any:
    """Return parts in the form that the parameters have."""
    if isinstance(parameters, tuple):
        given = tuple(_one_like(a, b) for a, b in zip(parameters, parts, strict=True))
        return type(parameters)(*given) if hasattr(parameters, "_fields") else given
    return _one_like(parameters, parts[0])


def _one_like(given: Any, part: Any) -> Any:
    return part if isinstance(given, np.ndarray) else float(part)


def _steps(count: int) -> str:
    return f"{count} step{'' if count == 1 else 's'}"
