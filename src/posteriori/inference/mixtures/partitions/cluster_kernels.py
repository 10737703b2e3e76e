r"""Compiled statistics of clusters whose parameters are integrated out.

A cluster is a row of numbers; each part of the model (a vector, or a column) has its own stretch in it:

=========  =======================  ==============================================  ==========================
kind       likelihood               statistics                                      constants
=========  =======================  ==============================================  ==========================
NORMAL     normal vector            n, ½ ln|Ψₙ|, mean mₙ, root of Ψₙ                κ, ν, Σ of what depends on n
GAMMA      rate with a Gamma prior  Σt₁, Σt₂, ln Γ(a + Σt₁) − (a + Σt₁) ln(b + Σt₂)  a, b, the third at no rows
CATEGORY   codes                    n, counts                                       Σα, α
COUNTS     vectors of counts        Σ of all, Σ of each                             Σα, α
=========  =======================  ==============================================  ==========================

Features of normal vectors are measured from the prior mean in units of the prior scale, so that the
prior has m = 0 and Ψ = I. A feature that is NaN is a gap: its part says nothing of the row.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "CATEGORY",
    "CONSTANT",
    "COUNTS",
    "FEATURE",
    "GAMMA",
    "KIND",
    "NORMAL",
    "STATE",
    "WIDTH",
    "ClusterModel",
    "include_row",
    "clear_cluster",
    "cluster_log_marginal",
    "copy_cluster",
    "drop_row",
    "gather_rows",
    "log_gain",
    "log_marginals_alone",
    "rows_log_marginal",
]

# Kinds of parts.
NORMAL, GAMMA, CATEGORY, COUNTS = range(4)

# Places in the table of parts: the kind, where its features begin and how many there are (of a code: how
# many it can be), and where its statistics and constants begin.
KIND, FEATURE, WIDTH, STATE, CONSTANT = range(5)

#: What is left of a sum from which a row is taken has lost six digits: it is added up anew.
_LOST = 1e-6
#: Products of probabilities share a logarithm until they are so small; a factor may be as small again.
_SMALL = 1e-100


class ClusterModel(NamedTuple):
    """All that compiled loops must know of rows and prior.

    Attributes
    ----------
    features : (N, F)
    parts : (P, 5)
        By the places above.
    constants : (C,)
    n_statistics : int
        Length of a cluster's statistics.
    log_carrier : float
        What no partition changes of ln p(rows).
    """

    features: Array
    parts: IntArray
    constants: Array
    n_statistics: int
    log_carrier: float


@kernel(called="kernels")
def clear_cluster(model: ClusterModel, states: Array, k: int) -> None:
    """Make cluster k empty."""
    for p in range(model.parts.shape[0]):
        kind, width, s = model.parts[p, KIND], model.parts[p, WIDTH], model.parts[p, STATE]
        if kind == NORMAL:
            _clear_normal(states, k, s, width)
        elif kind == GAMMA:
            states[k, s] = states[k, s + 1] = 0.0
            states[k, s + 2] = model.constants[model.parts[p, CONSTANT] + 2]
        else:
            for j in range(width + 1):
                states[k, s + j] = 0.0


@kernel(called="kernels")
def copy_cluster(states: Array, source: int, target: int) -> None:
    """Make one cluster like another."""
    for j in range(states.shape[1]):
        states[target, j] = states[source, j]


@kernel(called="kernels")
def cluster_log_marginal(model: ClusterModel, states: Array, k: int) -> float:
    """Return ln p(rows of cluster k), but for the rows' own constants."""
    total = 0.0
    for p in range(model.parts.shape[0]):
        kind, width = model.parts[p, KIND], model.parts[p, WIDTH]
        s, c = model.parts[p, STATE], model.parts[p, CONSTANT]
        if kind == NORMAL:  # Σ c_m − (ν + n) ½ ln|Ψₙ|
            n = states[k, s]
            total += model.constants[c + 2 + int(n)]
            total -= (model.constants[c + 1] + n) * states[k, s + 1]
        elif kind == GAMMA:
            total += states[k, s + 2] - model.constants[c + 2]
        else:  # ln B(α + n) − ln B(α)
            for j in range(width + 1):
                if states[k, s + j] > 0.0:
                    prior = model.constants[c + j]
                    term = math.lgamma(prior + states[k, s + j]) - math.lgamma(prior)
                    total += term if j > 0 else -term
    return total


@kernel(called="kernels")
def log_gain(model: ClusterModel, states: Array, k: int, i: int, room: Array) -> float:
    """Return ln p(row i | rows of cluster k), but for the row's own constant."""
    total, product = 0.0, 1.0
    for p in range(model.parts.shape[0]):
        kind, f, width = model.parts[p, KIND], model.parts[p, FEATURE], model.parts[p, WIDTH]
        s, c = model.parts[p, STATE], model.parts[p, CONSTANT]
        x = model.features[i, f]
        if x != x:
            continue
        if kind == NORMAL:
            total += _normal_gain(model, c, f, width, states, k, s, i, room)
        elif kind == GAMMA:
            a = model.constants[c] + states[k, s] + x
            b = model.constants[c + 1] + states[k, s + 1] + model.features[i, f + 1]
            total += math.lgamma(a) - a * math.log(b) - states[k, s + 2]
        elif kind == CATEGORY:
            j = int(x) + 1
            part = model.constants[c + j] + states[k, s + j]
            product *= part / (model.constants[c] + states[k, s])
            if product < _SMALL:
                total += math.log(product)
                product = 1.0
        else:
            total += _counts_gain(model, c, f, width, states, k, s, i)
    return total + math.log(product)


@kernel(called="kernels")
def include_row(model: ClusterModel, states: Array, k: int, i: int, room: Array) -> None:
    """Put row i into cluster k."""
    for p in range(model.parts.shape[0]):
        kind, f, width = model.parts[p, KIND], model.parts[p, FEATURE], model.parts[p, WIDTH]
        s, c = model.parts[p, STATE], model.parts[p, CONSTANT]
        x = model.features[i, f]
        if x != x:
            continue
        if kind == NORMAL:
            _add_normal(model, c, f, width, states, k, s, i, room)
        elif kind == GAMMA:
            states[k, s] += x
            states[k, s + 1] += model.features[i, f + 1]
            _set_gamma(model, c, states, k, s)
        elif kind == CATEGORY:
            states[k, s] += 1.0
            states[k, s + 1 + int(x)] += 1.0
        else:
            for j in range(width):
                states[k, s] += model.features[i, f + j]
                states[k, s + 1 + j] += model.features[i, f + j]


@kernel(called="kernels")
def drop_row(model: ClusterModel, states: Array, k: int, i: int, room: Array) -> bool:
    """Take row i out of cluster k; False where digits are lost, and the cluster is of no more use."""
    for p in range(model.parts.shape[0]):
        kind, f, width = model.parts[p, KIND], model.parts[p, FEATURE], model.parts[p, WIDTH]
        s, c = model.parts[p, STATE], model.parts[p, CONSTANT]
        x = model.features[i, f]
        if x != x:
            continue
        if kind == NORMAL:
            if not _drop_normal(model, c, f, width, states, k, s, i, room):
                return False
        elif kind == GAMMA:
            a = model.constants[c] + states[k, s]
            b = model.constants[c + 1] + states[k, s + 1]
            if a - x < _LOST * a or b - model.features[i, f + 1] < _LOST * b:
                return False
            states[k, s] -= x
            states[k, s + 1] -= model.features[i, f + 1]
            _set_gamma(model, c, states, k, s)
        elif kind == CATEGORY:
            states[k, s] -= 1.0
            states[k, s + 1 + int(x)] -= 1.0
        else:
            for j in range(width):
                states[k, s] -= model.features[i, f + j]
                states[k, s + 1 + j] -= model.features[i, f + j]
    return True


@kernel(called="kernels")
def gather_rows(
    model: ClusterModel,
    states: Array,
    k: int,
    labels: IntArray,
    label: int,
    left_out: int,
    room: Array,
) -> None:
    """Put all rows of a label but one into cluster k, which is emptied first."""
    clear_cluster(model, states, k)
    for i in range(labels.shape[0]):
        if labels[i] == label and i != left_out:
            include_row(model, states, k, i, room)


@kernel(allocates=False)
def log_marginals_alone(model: ClusterModel, states: Array, room: Array, out: Array) -> None:
    """Write ln p(row i), as the only one of its cluster, to out (N,)."""
    clear_cluster(model, states, 0)
    for i in range(out.shape[0]):
        out[i] = log_gain(model, states, 0, i, room)


@kernel
def rows_log_marginal(model: ClusterModel, states: Array, room: Array, rows: IntArray) -> float:
    """Return ln p(rows) of one cluster that holds them."""
    clear_cluster(model, states, 0)
    for i in rows:
        include_row(model, states, 0, i, room)
    return cluster_log_marginal(model, states, 0)


# -- normal vectors ----------------------------------------------------------------------------


@kernel(called="kernels")
def _clear_normal(states: Array, k: int, s: int, width: int) -> None:
    states[k, s] = states[k, s + 1] = 0.0
    at = s + 2 + width
    for a in range(width):
        states[k, s + 2 + a] = 0.0
        for b in range(a):
            states[k, at + b] = 0.0
        states[k, at + a] = 1.0
        at += a + 1


@kernel(called="kernels")
def _normal_gain(
    model: ClusterModel,
    c: int,
    f: int,
    width: int,
    states: Array,
    k: int,
    s: int,
    i: int,
    room: Array,
) -> float:
    """Return the log density of the multivariate Student distribution that predicts row i."""
    n = states[k, s]
    strength = model.constants[c] + n
    at, squares = s + 2 + width, 0.0
    for a in range(width):  # L y = x − mₙ
        y = model.features[i, f + a] - states[k, s + 2 + a]
        for b in range(a):
            y -= states[k, at + b] * room[b]
        y /= states[k, at + a]
        room[a] = y
        squares += y * y
        at += a + 1
    m = c + 2 + int(n)
    growth = math.log1p(strength / (strength + 1.0) * squares)  # ln|Ψₙ₊₁| − ln|Ψₙ|
    fixed = model.constants[m + 1] - model.constants[m]
    return fixed - states[k, s + 1] - 0.5 * (model.constants[c + 1] + n + 1.0) * growth


@kernel(called="kernels")
def _add_normal(
    model: ClusterModel,
    c: int,
    f: int,
    width: int,
    states: Array,
    k: int,
    s: int,
    i: int,
    room: Array,
) -> None:
    """Move the mean, and turn √(κₙ/κₙ₊₁) (x − mₙ) into the root of Ψ, by rotations."""
    strength = model.constants[c] + states[k, s]
    share = 1.0 / (strength + 1.0)
    factor = math.sqrt(strength * share)
    for a in range(width):
        error = model.features[i, f + a] - states[k, s + 2 + a]
        room[a] = factor * error
        states[k, s + 2 + a] += share * error
    states[k, s] += 1.0
    half_log_det, at = 0.0, s + 2 + width
    for a in range(width):
        at += a
        old = states[k, at]
        new = math.sqrt(old * old + room[a] * room[a])
        cosine, sine = new / old, room[a] / old
        states[k, at] = new
        half_log_det += math.log(new)
        below = at
        for b in range(a + 1, width):
            below += b  # from entry (b − 1, a) to (b, a) of the packed triangle
            states[k, below] = (states[k, below] + sine * room[b]) / cosine
            room[b] = cosine * room[b] - sine * states[k, below]
        at += 1
    states[k, s + 1] = half_log_det


@kernel(called="kernels")
def _drop_normal(
    model: ClusterModel,
    c: int,
    f: int,
    width: int,
    states: Array,
    k: int,
    s: int,
    i: int,
    room: Array,
) -> bool:
    """Move the mean back, and turn √(κₙ/κₙ₋₁) (x − mₙ) out of the root of Ψ."""
    n = states[k, s]
    if n == 1.0:
        _clear_normal(states, k, s, width)
        return True
    strength = model.constants[c] + n
    share = 1.0 / (strength - 1.0)
    factor = math.sqrt(strength * share)
    for a in range(width):
        error = model.features[i, f + a] - states[k, s + 2 + a]
        room[a] = factor * error
        states[k, s + 2 + a] -= share * error
    states[k, s] = n - 1.0
    half_log_det, at = 0.0, s + 2 + width
    for a in range(width):
        at += a
        old = states[k, at]
        square = old * old - room[a] * room[a]
        if square < _LOST * old * old:
            return False
        new = math.sqrt(square)
        cosine, sine = new / old, room[a] / old
        states[k, at] = new
        half_log_det += math.log(new)
        below = at
        for b in range(a + 1, width):
            below += b
            states[k, below] = (states[k, below] - sine * room[b]) / cosine
            room[b] = cosine * room[b] - sine * states[k, below]
        at += 1
    states[k, s + 1] = half_log_det
    return True


# -- rates and counts --------------------------------------------------------------------------


@kernel(called="kernels")
def _set_gamma(model: ClusterModel, c: int, states: Array, k: int, s: int) -> None:
    a = model.constants[c] + states[k, s]
    b = model.constants[c + 1] + states[k, s + 1]
    states[k, s + 2] = math.lgamma(a) - a * math.log(b)


@kernel(called="kernels")
def _counts_gain(
    model: ClusterModel, c: int, f: int, width: int, states: Array, k: int, s: int, i: int
) -> float:
    """Return Σ ln Γ(α + n + t)/Γ(α + n) of the parts less that of their sum."""
    total, whole = 0.0, 0.0
    for j in range(width):
        t = model.features[i, f + j]
        if t > 0.0:
            whole += t
            before = model.constants[c + 1 + j] + states[k, s + 1 + j]
            total += math.lgamma(before + t) - math.lgamma(before)
    before = model.constants[c] + states[k, s]
    return total - (math.lgamma(before + whole) - math.lgamma(before))
