r"""Integrals against a density, in panels between quantiles that are halved where they are rough.

.. math:: E[f] = \sum_i \int_{a_i}^{b_i} f(x)\,p(x)\,dx,\qquad
          x = t\quad\text{or}\quad x = e \pm e^t.

Distances from an end of the support are taken in logarithms, so that poles and heavy tails are
smooth; Gauss's and Kronrod's rules of 7 and 15 points are compared. The probability P of a panel is
known from the cdf beside: where the density does not add up to it, the panel hides something.
Where numbers are coarse, :math:`\int f p = cP + \int (f-c)\,p` rests on the cdf, and panels as narrow
as numbers allow count as atoms.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.numerics.calculus.quadrature import Integral
from posteriori.numerics.calculus.refinement import UNSEEN, Pieces, refine
from posteriori.numerics.types import Array

__all__ = ["integrate_density"]

#: Kronrod's nodes in [−1, 0), of which every other is Gauss's (QUADPACK, 1983).
_HALF_NODES = np.array(
    [
        0.991455371120812639206854697526329,
        0.949107912342758524526189684047851,
        0.864864423359769072789712788640926,
        0.741531185599394439863864773280788,
        0.586087235467691130294144691693013,
        0.405845151377397166906606412076961,
        0.207784955007898467600689403773245,
    ]
)
#: Kronrod's weights of these nodes.
_HALF_KRONROD = np.array(
    [
        0.022935322010529224963732008058970,
        0.063092092629978553290700663189204,
        0.104790010322250183839876322541518,
        0.140653259715525918745189590510238,
        0.169004726639267902826583426598550,
        0.190350578064785409913256402421014,
        0.204432940075298892414161999234649,
    ]
)
#: Gauss's weights of every other.
_HALF_GAUSS = np.array(
    [
        0.129484966168869693270611432679082,
        0.279705391489276667901467771423780,
        0.381830050505118944950369775488975,
    ]
)
_NODES = np.concatenate([-_HALF_NODES, [0.0], _HALF_NODES[::-1]])
_KRONROD = np.concatenate(
    [_HALF_KRONROD, [0.209482141084727828012999174891714], _HALF_KRONROD[::-1]]
)
_GAUSS = np.concatenate([_HALF_GAUSS, [0.417959183673469387755102040816327], _HALF_GAUSS[::-1]])

#: Spacings of neighbouring numbers across which a panel is an atom.
_NARROW = 16.0

#: Differences across an atom that its error may be: so many where ln x meets a pole x^−0.98.
_POLE = 32.0

#: Numbers from here on have all their digits.
_LEAST = 1e-306

#: Spacings within which the rounding of points shows in the density.
_COARSE = 1e9

#: Ratio of distances from an anchor beyond which a panel is taken in their logarithm.
_FAR = 4.0

#: The farthest point.
_LARGEST = 1e300

#: Where powers show: f that overflows before may be an exponential.
_FAR_AWAY = 1e50


def integrate_density(
    d: Univariate, f: Callable[[Array], Any], breaks: Array, rtol: float = 1e-11
) -> Integral:
    """Return ∫ f(x) p(x) dx, its error and ∫ |f(x)| p(x) dx.

    It is infinite where f is not negative and x p(x) f(x) does not fall towards infinity.

    Parameters
    ----------
    d : distribution of a number, without batch axes
    f : callable
        Takes points (n,) of positive density and returns one number for each.
    breaks : array
        Increasing points at which panels begin and end, the ends of the support first and last.
    """
    with np.errstate(all="ignore"):
        reach = [_reach(d, f, e) if np.isinf(e) else float(e) for e in breaks[[0, -1]]]
        panels = np.array(_panels(breaks, *reach))
        found = refine(lambda rows: _measure(d, f, rows), _halve, panels, rtol)
        far = [x for x, e in zip(reach, breaks[[0, -1]], strict=True) if np.isinf(e)]
        infinite = found.value == found.size and any(_grows(d, f, x) for x in far)
    return Integral(np.inf, 0.0, np.inf) if infinite else found


def _reach(d: Univariate, f: Callable[[Array], Any], end: float) -> float:
    """Return the farthest point towards ±∞ at which f is finite, or has no weight."""
    sign = np.sign(end)
    low, high = 0.0, np.log(_LARGEST)
    for _ in range(3):
        t = np.linspace(low, high, 65)
        x = sign * np.exp(t)
        finite = np.isfinite(_asked(f, x, d.log_prob(x) > -np.inf))
        if finite.all():
            return float(x[-1])
        first = int(np.argmin(finite))  # that is not
        low, high = float(t[max(first - 1, 0)]), float(t[first])
    return float(sign * np.exp(low))


def _grows(d: Univariate, f: Callable[[Array], Any], reach: float) -> bool:
    """Tell whether x p(x) f(x) does not fall like a power on the way to infinity."""
    if abs(reach) < _FAR_AWAY:
        return False  # f overflows too soon to tell
    x = reach * np.array([1e-10, 1.0])
    log_weight = d.log_prob(x)
    if not np.isfinite(log_weight).all():
        return False
    with np.errstate(all="ignore"):
        first, last = log_weight + np.log(np.abs(x)) + np.log(_asked(f, x, x == x))
    return bool(last >= first > -np.inf)


def _panels(breaks: Array, left: float, right: float) -> list[tuple[float, float, float, float]]:
    """Return rows (anchor, sign, start, stop): x = anchor + sign eᵗ, or x = t where sign is 0."""
    lower, upper = float(breaks[0]), float(breaks[-1])
    inner = [float(b) for b in breaks if np.isfinite(b) and abs(b) < _LARGEST]
    middle = inner[len(inner) // 2]
    rows = []
    for a, b in pairwise(inner):
        rows += _between(a, b, lower, middle, upper)
    several = len(inner) > 1
    if upper > inner[-1]:
        rows += _outwards(inner[-1], inner[-1] - inner[-2] if several else 0.0, right)
    if lower < inner[0]:
        rows += _outwards(inner[0], inner[1] - inner[0] if several else 0.0, left)
    return rows


def _between(a: float, b: float, *anchors: float) -> list[tuple[float, float, float, float]]:
    """Take [a, b] by the logarithm of the distance from the anchor that is nearest to one side."""
    lower, _, upper = anchors
    if a == lower:
        return _towards(a, 1.0, b - a)
    if b == upper:
        return _towards(b, -1.0, b - a)
    best, ratio = 0.0, _FAR
    for e in anchors:
        near, far = sorted((abs(a - e), abs(b - e)))
        if near > 0 and np.isfinite(far) and far > ratio * near:
            best, ratio = e, far / near
    if ratio == _FAR:
        return [(0.0, 0.0, a, b)]
    sign = 1.0 if a > best else -1.0
    t = sorted((np.log(abs(a - best)), np.log(abs(b - best))))
    return [(best, sign, t[0], t[1])]


def _towards(end: float, sign: float, width: float) -> list[tuple[float, float, float, float]]:
    """Panels from an end of the support on, shorter where the bulk is, and an atom at the end."""
    gap = max(_NARROW * np.spacing(abs(end)), _LEAST)
    if width <= gap:
        return [_atom(end, end + sign * width)]
    top, bottom = np.log(width), np.log(gap)
    steps = top - _ladder(top - bottom)
    panels = [(end, sign, t, s) for s, t in pairwise(steps)]
    return [_atom(end, end + sign * gap), *panels]


def _outwards(start: float, width: float, reach: float) -> list[tuple[float, float, float, float]]:
    """Panels from ``start`` to ±∞, longer with the distance, and an atom at the far end."""
    sign = float(np.sign(reach))
    gap = max(width, _NARROW * np.spacing(abs(start)))
    anchor = start - sign * gap if width else start
    near = [] if width else [_atom(start, start + sign * gap)]
    if sign * (reach - start) <= gap:
        return [*near, _atom(start, sign * np.inf)]
    steps = np.log(gap) + _ladder(np.log(abs(reach - anchor)) - np.log(gap))
    panels = [(anchor, sign, s, t) for s, t in pairwise(steps)]
    return [*near, *panels, _atom(reach, sign * np.inf)]


def _atom(a: float, b: float) -> tuple[float, float, float, float]:
    return (0.0, 0.0, min(a, b), max(a, b))


def _ladder(length: float) -> Array:
    """Steps 0, ½, 1, 2, 4, … up to ``length``."""
    steps = np.concatenate([[0.0], 0.5 * 2.0 ** np.arange(12)])
    return np.append(steps[steps < length], length)


def _halve(rows: Array) -> Array:
    middle = 0.5 * rows[:, 2] + 0.5 * rows[:, 3]
    left, right = rows.copy(), rows.copy()
    left[:, 3] = right[:, 2] = middle
    return np.concatenate([left, right])


def _at(rows: Array, t: Array) -> Array:
    """Return x(t), (P, M) for parameters (P, M)."""
    anchor, sign = rows[:, :1], rows[:, 1:2]
    return np.where(sign == 0, t, anchor + sign * np.exp(np.where(sign == 0, 0.0, t)))


def _measure(d: Univariate, f: Callable[[Array], Any], rows: Array) -> Pieces:
    ends = np.sort(_at(rows, rows[:, 2:]), axis=1)
    share = d.cdf(ends[:, 1]) - d.cdf(ends[:, 0])
    spacings = (ends[:, 1] - ends[:, 0]) / np.spacing(np.abs(ends).max(axis=1))
    narrow = ~(spacings > _NARROW) | (ends[:, 1] - ends[:, 0] <= _LEAST)
    out = Pieces(*(np.zeros(len(rows)) for _ in range(5)), final=narrow)  # type: ignore[misc]
    parts = _atoms(d, f, ends[narrow], share[narrow])
    for whole, part in zip(out, parts, strict=False):
        whole[narrow] = part
    wide = ~narrow
    parts = _kronrod(d, f, rows[wide], ends[wide], share[wide], spacings[wide] < _COARSE)
    for whole, part in zip(out, parts, strict=False):
        whole[wide] = part
    return out


def _atoms(
    d: Univariate, f: Callable[[Array], Any], ends: Array, share: Array
) -> tuple[Array, ...]:
    """Give each panel the value in its middle, and the difference across it as error."""
    beyond = np.asarray(~np.isfinite(ends).all(axis=1))
    edge = np.where(np.isfinite(ends[:, 0]), ends[:, 0], ends[:, 1])
    low, high = np.where(beyond, edge, 0.9375 * ends.T + 0.0625 * ends[:, ::-1].T)
    low = np.where(beyond, 1e-8 * low, low)  # f changes so over the last decades
    some = share > 0
    low, high, middle = (
        _asked(f, x, some) for x in (low, high, np.where(beyond, edge, 0.5 * low + 0.5 * high))
    )
    error = _POLE * share * np.maximum(np.abs(middle - low), np.abs(high - middle))
    # Beyond lies x p(x) f(x)/δ, if that falls like x^−δ.
    last, before = (_far_term(d, f, scale * edge, beyond) for scale in (1.0, 1e-8))
    decay = np.log(before / last) / np.log(1e8)
    error = error + np.where(last > 0, last / np.maximum(decay, 1e-12), 0.0)
    return share * middle, _known(error), share * np.abs(middle), share, np.zeros(len(share))


def _far_term(d: Univariate, f: Callable[[Array], Any], x: Array, beyond: Array) -> Array:
    """Return |x p(x) f(x)| where it is asked for, and 0 elsewhere."""
    weight = np.zeros(len(x))
    weight[beyond] = np.exp(d.log_prob(x[beyond]) + np.log(np.abs(x[beyond])))
    return weight * np.abs(_asked(f, x, weight > 0))


def _kronrod(
    d: Univariate, f: Callable[[Array], Any], rows: Array, ends: Array, share: Array, coarse: Array
) -> tuple[Array, ...]:
    half = 0.5 * (rows[:, 3] - rows[:, 2])[:, None]
    t = 0.5 * (rows[:, 3] + rows[:, 2])[:, None] + half * _NODES
    x = np.clip(_at(rows, t), ends[:, :1], ends[:, 1:])
    log_slope = np.where(rows[:, 1:2] == 0, 0.0, t)
    weight = half * np.exp(d.log_prob(x) + log_slope)  # p(x) dx/dt: p alone may underflow
    values = _asked(f, x, weight > 0)
    centre = np.where(coarse & np.isfinite(values[:, 7]), values[:, 7], 0.0)
    terms = weight * (values - centre[:, None])
    value = terms @ _KRONROD
    size = np.abs(weight * values) @ _KRONROD
    mass = weight @ _KRONROD
    missing = np.abs(mass - share) * np.abs(values - centre[:, None]).max(axis=1)
    hidden = np.where((weight > 0).any(axis=1), missing, np.where(share > UNSEEN, np.inf, 0.0))
    error = _known(_difference(terms, value, coarse))
    return value + share * centre, error, size, np.where(coarse, share, mass), _known(hidden)


def _asked(f: Callable[[Array], Any], x: Array, some: Array) -> Array:
    """Return f where it counts, and 0 elsewhere."""
    values = np.zeros(x.shape)
    if some.any():
        values[some] = np.asarray(f(x[some]), dtype=np.float64)
    return values


def _known(error: Array) -> Array:
    return np.where(np.isnan(error), np.inf, error)


def _difference(terms: Array, value: Array, coarse: Array) -> Array:
    """Return QUADPACK's estimate: the difference of the rules, sharpened where it is no noise."""
    plain = np.abs(value - terms[:, 1::2] @ _GAUSS)
    spread = np.abs(terms - 0.5 * value[:, None]) @ _KRONROD
    ratio = np.divide(200.0 * plain, spread, out=np.zeros_like(plain), where=spread > 0)
    return np.where(coarse, plain, spread * np.minimum(1.0, ratio**1.5))
