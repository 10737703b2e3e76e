r"""The parameters of a kernel that explain data best.

.. math:: \ln\theta^\star = \arg\max\, \ln p(y\mid X, \theta)

by a quasi-Newton ascent (L-BFGS) within bounds. The evidence of a kernel can have several tops: data are
noise, or a function that turns often. So the ascent begins at the better of what the kernel says and of
what is usual for the data, and again at random if asked; the highest top is kept.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, §5.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from posteriori.inference.processes.search_bounds import SearchBounds
from posteriori.numerics.lazy import optimize
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = [
    "SEARCH_TOL",
    "Objective",
    "Parametrized",
    "SearchedKernel",
    "find_free",
    "maximize_evidence",
    "some_rows",
]


class Parametrized(Protocol):
    """A kernel, or a kernel with what is learned beside it."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Names of what is learned."""

    @property
    def log_parameters(self) -> Array:
        """Its logarithms."""

    def with_log_parameters(self, values: Any) -> Self:
        """Return the same with other parameters."""


#: From a kernel to its log evidence and the gradient of that in ``kernel.log_parameters``.
Objective = Callable[[Any], tuple[float, Array]]

#: Slopes below this, in nats for a factor e, end an ascent; so do gains of this share of the evidence.
_FLAT, _ROUNDING = 1e-3, 1e-10

#: Gain in nats at which a search ends whose end needs no digits: on some of the rows, or of many scales.
SEARCH_TOL = 0.01

#: Most evaluations in one ascent.
_MOST = 500


class SearchedKernel(NamedTuple):
    """Where a search ended.

    Attributes
    ----------
    kernel : Kernel or Parametrized
        The best that was found.
    log_evidence : float
        Its evidence.
    n_iter : int
        Evaluations of the evidence.
    converged : bool
        Whether the ascent that found it came to an end by itself.
    trace : tuple of float
        The highest evidence so far, after each evaluation.
    """

    kernel: Any
    log_evidence: float
    n_iter: int
    converged: bool
    trace: tuple[float, ...]


def maximize_evidence(
    objective: Objective,
    kernel: Parametrized,
    *,
    bounds: SearchBounds,
    fixed: Sequence[str] = (),
    n_init: int = 1,
    rng: Seed = None,
    callback: Callable[[int, float], Any] | None = None,
    tol: float = 0.0,
) -> SearchedKernel:
    """Return the kernel of highest evidence within bounds.

    Parameters
    ----------
    objective : callable
        From a kernel to its log evidence and the gradient in ``kernel.log_parameters``.
    kernel : Kernel or Parametrized
        Where the search begins, unless what is usual for the data explains them better.
    bounds : SearchBounds
    fixed : sequence of str
        Names of parameters that stay as they are; "RBF.scale" are all of "RBF.scale[0]", ….
    n_init : int
        Starts, of which all but the first are at random around what is usual.
    rng : Generator, int or None
        Of these.
    callback : callable, optional
        Is told the number of the evaluation and the highest evidence so far, and ends the search by
        answering True.
    tol : float
        A step that gains less than this, in nats, ends an ascent.

    Notes
    -----
    After Ctrl-C the best kernel so far is returned.

    Examples
    --------
    >>> from posteriori.inference.processes.search_bounds import default_bounds
    >>> from posteriori.kernels import White
    >>> def objective(kernel):  # of three independent numbers 1
    ...     v = kernel.variance
    ...     return -1.5 * np.log(v) - 1.5 / v, np.array([1.5 / v - 1.5])
    >>> bounds = default_bounds(White(), np.zeros((3, 1)), np.ones(3))
    >>> found = maximize_evidence(objective, White(5.0), bounds=bounds)
    >>> round(float(found.kernel.variance), 3), round(found.log_evidence, 6)
    (1.0, -1.5)
    """
    free = find_free(kernel, fixed)
    search = _Search(objective, kernel, free, callback, tol)
    try:
        for start in _starts(search, bounds, n_init, as_generator(rng)):
            search.climb(start, bounds.low[free], bounds.high[free])
    except (KeyboardInterrupt, _Enough):
        if search.best is None:
            raise
    assert search.best is not None  # the objective was asked at least once
    return SearchedKernel(*search.best, len(search.trace), search.converged, tuple(search.trace))


def find_free(kernel: Parametrized, fixed: Sequence[str]) -> Array:
    """Return which parameters are learned, (P,) of bool, or say which name does not exist."""
    names = kernel.parameter_names
    free = np.ones(len(names), dtype=bool)
    for wanted in (fixed,) if isinstance(fixed, str) else fixed:
        named = np.array([name == wanted or name.split("[")[0] == wanted for name in names])
        if not named.any():
            raise ValueError(f"fixed names {wanted!r}, and the kernel has {', '.join(names)}")
        free &= ~named
    return free


def some_rows(count: int, most: int | None) -> slice:
    """Return rows at equal steps, at most so many of them; all where ``most`` is None.

    A search costs many evaluations and needs no more digits of parameters than some thousand rows tell.

    Examples
    --------
    >>> list(range(10))[some_rows(10, 4)]
    [0, 3, 6, 9]
    """
    return slice(None) if most is None else slice(None, None, max(-(-count // int(most)), 1))


class _Enough(Exception):  # noqa: N818  # no error: the callback's answer
    """The callback has ended the search."""


class _Search:
    """Asks for evidence, and keeps the best; of the last few points it remembers the answer."""

    def __init__(
        self, objective: Objective, kernel: Parametrized, free: Array, callback: Any, tol: float
    ) -> None:
        self.objective, self.kernel, self.free, self.callback = objective, kernel, free, callback
        self.tol = tol
        self.own = kernel.log_parameters
        self.best: tuple[Any, float] | None = None
        self.converged = not free.any()
        self.climbed = False
        self.trace: list[float] = []
        self.answers: dict[bytes, tuple[float, Any]] = {}

    def evaluate(self, point: Array) -> tuple[float, Any]:
        """Return −ln p and its gradient at some free parameters."""
        if point.tobytes() not in self.answers:
            self.answers = dict(list(self.answers.items())[-2:])
            self.answers[point.tobytes()] = self._ask(point)
        return self.answers[point.tobytes()]

    def _ask(self, point: Array) -> tuple[float, Any]:
        values = self.own.copy()
        values[self.free] = point
        kernel = self.kernel.with_log_parameters(values)
        value, gradient = self.objective(kernel)
        if self.best is None or value > self.best[1]:
            self.best = (kernel, float(value))
        self.trace.append(self.best[1])
        if self.callback is not None and self.callback(len(self.trace), self.best[1]):
            raise _Enough
        return -value, -gradient[self.free]

    def climb(self, start: Array, low: Array, high: Array) -> None:
        """Go uphill from a start."""
        before = self.trace[-1] if self.trace else -np.inf
        height = -np.inf

        def rest(intermediate_result: Any) -> None:
            nonlocal height
            last, height = height, -float(intermediate_result.fun)
            if height - last < self.tol:
                raise StopIteration

        found = optimize.minimize(
            self.evaluate,
            np.clip(start, low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            callback=rest,
            options={"gtol": _FLAT, "ftol": _ROUNDING, "maxfun": _MOST, "maxcor": 20},
        )
        if self.trace[-1] > before or not self.climbed:  # a start may be the top itself
            self.converged = bool(found.nfev < _MOST)
        self.climbed = True


def _starts(
    search: _Search, bounds: SearchBounds, n_init: int, rng: np.random.Generator
) -> Iterator[Array]:
    """Yield the better of the kernel's own parameters and of usual ones, then random ones."""
    free = search.free
    own, usual = search.own[free], np.clip(bounds.center, bounds.low, bounds.high)[free]
    if not free.any():
        search.evaluate(own)
        return
    yield min((own, usual), key=lambda point: search.evaluate(point)[0])
    for _ in range(n_init - 1):
        yield usual + bounds.spread[free] * rng.standard_normal(usual.size)
