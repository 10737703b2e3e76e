r"""A compiled filter of one series under many chains side by side.

Numbers of the chains lie beside one another, in lanes, so that each step of the recursion is taken for
several of them at once. Covariance and mean are one table :math:`[P \mid m]`, which a value changes by
:math:`-\,Pz\,[z^\top P \mid -v]/F`. States that only move, as those of seasons and lags do, stay where they
are in the table and are renamed: rows are computed for states that become sums of others. The filter of single
chains, called for each, takes three to four times as long: its lists of entries leave nothing to do side by side.
"""

from __future__ import annotations

from typing import NamedTuple

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["LANES", "ChainMoves", "LaneChains", "LaneWorkspace", "filter_lanes"]

#: Chains that are filtered at once.
LANES = 8


class ChainMoves(NamedTuple):
    """Which states of a chain only move, and which become sums, as :func:`filter_lanes` takes them.

    Attributes
    ----------
    sources : (D,)
        The state whose place each takes over.
    heads : (H,)
        Those that are sums.
    ends : (H + 1,)
        Where the entries of each sum begin and end.
    entries : (E,)
        Entries of the transition that sums are made of, by sum.
    columns : (E,)
        The states that they take.
    shared : (E,) of bool
        Whether all chains have the same weight there.
    """

    sources: IntArray
    heads: IntArray
    ends: IntArray
    entries: IntArray
    columns: IntArray
    shared: Array


class LaneChains(NamedTuple):
    """How the states of S chains move, and how they are seen; S is a multiple of the lanes.

    Attributes
    ----------
    emission : (1 or T, D)
    variances : (S,)
        Of the noise of values.
    weights : (1 or T, E, S)
        Of the entries of sums.
    noise_rows, noise_columns, noise : (F,), (F,), (1 or T, F, S)
        Entries of Q.
    """

    emission: Array
    variances: Array
    weights: Array
    noise_rows: IntArray
    noise_columns: IntArray
    noise: Array


class LaneWorkspace(NamedTuple):
    """Workspaces: [P | m], its sums, their covariances, two rows, and where states lie."""

    table: Array
    sums: Array
    crossed: Array
    work: Array
    places: IntArray


@kernel(allocates=False, sums="fused")
def filter_lanes(
    chains: LaneChains,
    moves: ChainMoves,
    y: Array,
    states: Array,
    workspace: LaneWorkspace,
    innovations: Array,
    spreads: Array,
) -> None:
    """Turn states [P | m] (D, D + 1, S) before the first step into those after the last, and fill the rest.

    State i becomes what state ``sources[i]`` was. The ``heads`` among them become sums instead, head k of the
    entries from ``ends[k]`` to ``ends[k + 1]``; their sources are states that nobody else becomes.
    """
    emission, weights, noise = chains.emission, chains.weights, chains.noise
    sources, heads, ends, columns = moves.sources, moves.heads, moves.ends, moves.columns
    table, places = workspace.table, workspace.places
    size, mean = len(sources), len(sources) * LANES
    gain, tiled = workspace.work[0], workspace.work[1]
    for first in range(0, states.shape[2], LANES):
        _load(states, first, table, places[0])
        for t in range(len(y)):
            z = emission[t if len(emission) > 1 else 0]
            _predict_value(z, table, places[0], gain)
            for a in range(LANES):
                spreads[t, first + a] = chains.variances[first + a]
                gain[mean + a] -= y[t] if y[t] == y[t] else 0.0
                innovations[t, first + a] = -gain[mean + a]  # y − zᵀm; of a gap: −zᵀm
            for i in range(size):
                if z[i] != 0.0:
                    for a in range(LANES):  # F = zᵀPz + h
                        spreads[t, first + a] += z[i] * gain[places[0, i] * LANES + a]
            if y[t] == y[t]:
                _condition(table, gain, spreads[t], first, tiled)
            if t < len(y) - 1:
                w = weights[t if len(weights) > 1 else 0]
                u = noise[t if len(noise) > 1 else 0]
                _add_up(
                    ends, columns, w, moves.shared, first, table, places[0], workspace.sums, tiled
                )
                _cross(ends, columns, w, first, places[0], workspace.sums, workspace.crossed)
                _rename(sources, heads, table, places, workspace.sums, workspace.crossed)
                _add_noise(chains.noise_rows, chains.noise_columns, u, first, table, places[0])
        _unload(table, places[0], states, first)


@kernel(called="inlined")
def _load(states: Array, first: int, table: Array, places: IntArray) -> None:
    for i in range(len(places)):
        places[i] = i
        for j in range(len(places) + 1):
            for a in range(LANES):
                table[i, j * LANES + a] = states[i, j, first + a]


@kernel(called="inlined")
def _unload(table: Array, places: IntArray, states: Array, first: int) -> None:
    size = len(places)
    for i in range(size):
        for j in range(size + 1):
            begin = (places[j] if j < size else size) * LANES
            for a in range(LANES):
                states[i, j, first + a] = table[places[i], begin + a]


@kernel(called="inlined", sums="fused")
def _predict_value(z: Array, table: Array, places: IntArray, gain: Array) -> None:
    """Fill in zᵀ[P | m]."""
    for q in range(len(gain)):
        gain[q] = 0.0
    for i in range(len(z)):
        if z[i] != 0.0:
            w, row = z[i], table[places[i]]
            for q in range(len(gain)):
                gain[q] += w * row[q]


@kernel(called="inlined", sums="fused")
def _condition(table: Array, gain: Array, spread: Array, first: int, tiled: Array) -> None:
    """[P | m] ← [P | m] − Pz [zᵀP | −v]/F."""
    for s in range(len(table)):
        for a in range(LANES):
            tiled[a] = gain[s * LANES + a] / spread[first + a]
        for j in range(1, len(gain) // LANES):
            for a in range(LANES):
                tiled[j * LANES + a] = tiled[a]
        row = table[s]
        for q in range(len(gain)):
            row[q] -= tiled[q] * gain[q]


@kernel(called="inlined", sums="fused")
def _add_up(
    ends: IntArray,
    columns: IntArray,
    weights: Array,
    shared: Array,
    first: int,
    table: Array,
    places: IntArray,
    sums: Array,
    tiled: Array,
) -> None:
    """Fill in the rows of T[P | m] that are sums; weights of an entry may be shared by all chains."""
    for k in range(len(sums)):
        made = sums[k]
        for q in range(len(made)):
            made[q] = 0.0
        for e in range(ends[k], ends[k + 1]):
            row = table[places[columns[e]]]
            if shared[e]:
                w = weights[e, first]
                for q in range(len(made)):
                    made[q] += w * row[q]
            else:
                for q in range(len(made)):
                    tiled[q] = weights[e, first + q % LANES]
                for q in range(len(made)):
                    made[q] += tiled[q] * row[q]


@kernel(called="inlined", sums="fused")
def _cross(
    ends: IntArray,
    columns: IntArray,
    weights: Array,
    first: int,
    places: IntArray,
    sums: Array,
    crossed: Array,
) -> None:
    """Fill in the covariances TPTᵀ of sums with those before them and with themselves."""
    for k in range(len(sums)):
        for m in range(k + 1):
            for a in range(LANES):
                crossed[k, m * LANES + a] = 0.0
            for e in range(ends[m], ends[m + 1]):
                begin = places[columns[e]] * LANES
                for a in range(LANES):
                    crossed[k, m * LANES + a] += weights[e, first + a] * sums[k, begin + a]


@kernel(called="inlined")
def _rename(
    sources: IntArray,
    heads: IntArray,
    table: Array,
    places: IntArray,
    sums: Array,
    crossed: Array,
) -> None:
    """Give states the places of their sources, and write sums into theirs, as rows and as columns."""
    for i in range(len(sources)):
        places[1, i] = places[0, sources[i]]
    for i in range(len(sources)):
        places[0, i] = places[1, i]
    for k in range(len(heads)):
        place, made = places[0, heads[k]], sums[k]
        row = table[place]
        for q in range(len(made)):
            row[q] = made[q]
        for s in range(len(sources)):
            for a in range(LANES):
                table[s, place * LANES + a] = made[s * LANES + a]
    for k in range(len(heads)):  # the same number on either side: a difference would grow
        one = places[0, heads[k]]
        for m in range(k + 1):
            other = places[0, heads[m]]
            for a in range(LANES):
                table[one, other * LANES + a] = crossed[k, m * LANES + a]
                table[other, one * LANES + a] = crossed[k, m * LANES + a]


@kernel(called="inlined")
def _add_noise(
    rows: IntArray, columns: IntArray, noise: Array, first: int, table: Array, places: IntArray
) -> None:
    """P ← P + Q."""
    for e in range(len(rows)):
        begin = places[columns[e]] * LANES
        for a in range(LANES):
            table[places[rows[e]], begin + a] += noise[e, first + a]
