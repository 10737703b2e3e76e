r"""Sums over whole numbers, in panels between quantiles that are halved where they are rough.

.. math:: \sum_{n=a}^{a+N-1} g(n) \approx \sum_j c_j \sum_n P_j(y_n),\qquad
          y_n = \frac{2(n-a)+1-N}{N}.

Short panels are added up. In long ones g is interpolated at 16 whole numbers by Legendre
polynomials, whose sums are known from the formula of Euler and Maclaurin, with midpoints; the last
coefficients tell the error. The probability of a panel is known from the cdf beside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from posteriori.distributions.base import Univariate
from posteriori.numerics.calculus.quadrature import Integral
from posteriori.numerics.calculus.refinement import UNSEEN, Pieces, refine
from posteriori.numerics.types import Array

__all__ = ["sum_counts"]

#: Numbers up to which a panel is added up.
_SHORT = 512

#: Interpolated numbers of a panel.
_DEGREE = 16

#: Where in a panel they lie: denser at its ends, so that interpolation is stable.
_CHEBYSHEV = 0.5 - 0.5 * np.cos(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE)

#: Terms of Euler's and Maclaurin's formula with midpoints: −1/24 h² f′ + 7/5760 h⁴ f‴ − …
_MIDPOINT = (-1.0 / 24.0, 7.0 / 5760.0, -31.0 / 967680.0, 127.0 / 154828800.0)

#: The farthest number that is looked at, where there is no last one.
_LARGEST = 1e300


def _integrals() -> tuple[Array, Array]:
    """Return ∫ P_j over [−1, 1], and the jumps of odd derivatives from −1 to 1, (terms, degree)."""
    basis = np.eye(_DEGREE)
    jumps = [
        legendre.legval(1.0, legendre.legder(basis, 2 * k + 1, axis=0))
        - legendre.legval(-1.0, legendre.legder(basis, 2 * k + 1, axis=0))
        for k in range(len(_MIDPOINT))
    ]
    return 2.0 * basis[0], np.array(jumps)


_WHOLE, _JUMPS = _integrals()


def sum_counts(
    d: Univariate, f: Callable[[Array], Any], breaks: Array, rtol: float = 1e-11
) -> Integral:
    """Return Σ f(n) p(n), its error and Σ |f(n)| p(n).

    Parameters
    ----------
    d : distribution of a whole number, without batch axes
    f : callable
        Takes numbers (n,) of positive probability and returns one number for each.
    breaks : array
        Increasing points at which panels begin and end, the ends of the support first and last.
    """
    with np.errstate(all="ignore"):
        panels = _panels(np.unique(np.floor(breaks)))
        found = refine(lambda rows: _measure(d, f, rows), _halve, panels, rtol)
        return found._replace(error=found.error + _beyond(d, f, panels[:, 0] + panels[:, 1]))


def _panels(breaks: Array) -> Array:
    """Return rows (first, size) up to the last break, or on for ever in doubling steps."""
    inner = breaks[np.isfinite(breaks)]
    edges = np.append(inner, inner[-1] + 1.0)  # the last number belongs to a panel
    width = edges[-1] - edges[0]
    steps = np.maximum(width, 1.0) * 2.0 ** np.arange(1024)
    if breaks[-1] == np.inf:
        ahead = np.floor(edges[-1] + steps)
        edges = np.append(edges, ahead[ahead <= _LARGEST])
    if breaks[0] == -np.inf:
        back = np.floor(edges[0] - steps)
        edges = np.append(back[back >= -_LARGEST][::-1], edges)
    return np.stack([edges[:-1], np.diff(edges)], axis=1)


def _beyond(d: Univariate, f: Callable[[Array], Any], stops: Array) -> float:
    """Return about what lies beyond the farthest number, 0 where the support has ended."""
    last = np.atleast_1d(stops.max())
    edge = np.exp(d.log_prob(last)) * last
    return float(np.abs(edge * f(last))[0]) if edge[0] > 0 else 0.0


def _halve(rows: Array) -> Array:
    left = np.floor(0.5 * rows[:, 1])
    first = np.stack([rows[:, 0], left], axis=1)
    return np.concatenate([first, np.stack([rows[:, 0] + left, rows[:, 1] - left], axis=1)])


def _measure(d: Univariate, f: Callable[[Array], Any], rows: Array) -> Pieces:
    share = d.cdf(rows[:, 0] + rows[:, 1] - 1.0) - d.cdf(rows[:, 0] - 1.0)
    short = rows[:, 1] <= _SHORT
    out = Pieces(*(np.zeros(len(rows)) for _ in range(5)), final=short)  # type: ignore[misc]
    for which, rule in ((short, _added), (~short, _interpolated)):
        if which.any():
            parts = rule(d, f, rows[which], share[which])
            for whole, part in zip(out, parts, strict=False):
                whole[which] = part
    return out


def _masses_and_values(d: Univariate, f: Callable[[Array], Any], x: Array) -> tuple[Array, Array]:
    p = np.exp(d.log_prob(x))
    values = np.zeros(x.shape)
    values[p > 0] = np.asarray(f(x[p > 0]), dtype=np.float64)
    return p, values


def _added(
    d: Univariate, f: Callable[[Array], Any], rows: Array, share: Array
) -> tuple[Array, ...]:
    steps = np.arange(rows[:, 1].max())
    inside = steps < rows[:, 1:]
    x = np.broadcast_to(rows[:, :1] + steps, inside.shape)[inside]
    p, values = _masses_and_values(d, f, x)
    terms, masses = np.zeros((2, *inside.shape))
    terms[inside], masses[inside] = p * values, p
    value, mass = terms.sum(axis=1), masses.sum(axis=1)
    error = np.where(np.isfinite(value), 0.0, np.inf)
    return value, error, np.abs(terms).sum(axis=1), mass, np.zeros(len(rows))


def _interpolated(
    d: Univariate, f: Callable[[Array], Any], rows: Array, share: Array
) -> tuple[Array, ...]:
    first, size = rows[:, :1], rows[:, 1:]
    x = first + np.floor(size * _CHEBYSHEV)
    y = (2.0 * (x - first) + 1.0 - size) / size
    p, values = _masses_and_values(d, f, x)
    both = np.stack([p * values, p], axis=-1)
    coefficients = np.linalg.solve(legendre.legvander(y, _DEGREE - 1), both)  # (P, degree, 2)
    h = 2.0 / size
    sums = _WHOLE + sum(c * h ** (2 * k + 2) * _JUMPS[k] for k, c in enumerate(_MIDPOINT))
    value, mass = (0.5 * size * np.einsum("pj,pjk->pk", sums, coefficients)).T
    error = size[:, 0] * np.abs(coefficients[:, -3:, 0]).sum(axis=1)
    missing = np.abs(mass - share) * np.abs(values).max(axis=1)
    hidden = np.where((p > 0).any(axis=1), missing, np.where(share > UNSEEN, np.inf, 0.0))
    absolute = np.abs(p * values).mean(axis=1) * size[:, 0]
    return value, np.where(np.isnan(error), np.inf, error), absolute, mass, hidden
