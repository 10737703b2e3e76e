"""In which order the latents of a linear-Gaussian model are eliminated, and which ones densely.

A latent may be eliminated vector by vector as long as each of its vectors meets one vector of
every neighbour; a neighbour met in several vectors (crossed effects) is first made dense: one
vector of length count · size.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.inference.gaussian.equations import Equation, Latent, Link, spread_link

__all__ = ["FEW_NUMBERS", "densify", "is_dense", "is_sparse", "plan_gaussian"]

_MANY_NUMBERS = 1000  # of a latent that meets itself
_MANY_LATENTS = 200  # from which on numbers may go one by one
_FILLED = 0.1  # share of all pairs that meet below which they do
_MANY_VECTORS = 16  # latents from which on short ones go together, however many numbers they have
#: Numbers of single vectors up to which they go together, densely, and rows may be made triangular.
FEW_NUMBERS = 512


def plan_gaussian(latents: Sequence[Latent], equations: Sequence[Equation]) -> tuple[Latent, ...]:
    """Return the latents in the order of their elimination, as one vector where they go densely."""
    if is_sparse(latents, equations):
        return tuple(latents)
    if is_dense(latents):
        return tuple(sorted(latents, key=_rank))
    originals = {latent.name: latent for latent in latents}
    dense = _choose_dense(originals, equations)
    shapes = [_densified(v) if v.name in dense else v for v in latents]
    return tuple(sorted(shapes, key=_rank))


def is_sparse(latents: Sequence[Latent], equations: Sequence[Equation]) -> bool:
    """Tell whether the numbers go one by one, in a sparse matrix.

    They do when a large latent would become dense because rows see two of its vectors, or when
    there are very many latents, and few of all pairs of numbers meet.
    """
    shapes = {latent.name: latent for latent in latents}
    numbers = sum(v.count * v.size for v in latents)
    if numbers < min(_MANY_NUMBERS, _MANY_LATENTS):
        return False
    looped = {name for equation in equations for name in _seen_twice(equation)}
    largest = max((shapes[n].count * shapes[n].size for n in looped), default=0)
    if largest < _MANY_NUMBERS and len(latents) < _MANY_LATENTS:
        return False
    pairs = 0.0
    for equation in equations:
        width = sum(shapes[link.name].size for link in equation.links)
        pairs += len(equation.constant) * float(width) ** 2
    return pairs < _FILLED * max(largest, len(latents)) ** 2


def is_dense(latents: Sequence[Latent]) -> bool:
    """Tell whether latents of one vector each go together, as one vector.

    One does, however long it is, and so do several that are short.
    """
    if not latents or any(latent.count > 1 for latent in latents):
        return False
    numbers = sum(latent.size for latent in latents)
    short = len(latents) >= _MANY_VECTORS and numbers <= 4 * len(latents)
    return len(latents) == 1 or numbers <= FEW_NUMBERS or short


def _seen_twice(equation: Equation) -> set[str]:
    """Return latents of which each row sees two vectors."""
    indices: dict[str, Any] = {}
    found = set()
    for link in equation.links:
        if not _same_index(indices.setdefault(link.name, link.index), link.index):
            found.add(link.name)
    return found


def densify(equation: Equation, dense: set[str], shapes: Mapping[str, Latent]) -> Equation:
    """Write the links to dense latents as coefficients of all their numbers."""
    if not any(link.name in dense for link in equation.links):
        return equation
    links = tuple(
        spread_link(link, shapes[link.name]) if link.name in dense else link
        for link in equation.links
    )
    return equation._replace(links=_joined(links))


def _rank(latent: Latent) -> tuple[int, int, str]:
    """Many small vectors first; one dense vector last."""
    return -latent.count, latent.size, latent.name


def _choose_dense(shapes: Mapping[str, Latent], equations: Sequence[Equation]) -> set[str]:
    """Return latents that some other latent's vectors would meet more than once.

    The graph of meetings is eliminated symbolically: many small vectors first; where a vector
    meets several vectors of a neighbour, the one with fewer numbers becomes dense.
    """
    dense: set[str] = set()
    while True:
        clash = _find_clash(shapes, equations, dense)
        if clash is None:
            return dense
        dense.add(clash)


def _find_clash(
    shapes: Mapping[str, Latent], equations: Sequence[Equation], dense: set[str]
) -> str | None:
    batched = [n for n, v in shapes.items() if v.count > 1 and n not in dense]
    order = sorted(batched, key=lambda n: (-shapes[n].count, shapes[n].size, n))
    meetings: dict[str, list[tuple[str, Any, Any]]] = {n: [] for n in order}
    for equation in equations:
        links = [link for link in equation.links if link.name in meetings]
        for i, link in enumerate(links):
            for other in links[i + 1 :]:
                if link.name == other.name:
                    if not _same_index(link.index, other.index):
                        return link.name
                    continue
                meetings[link.name].append((other.name, link.index, other.index))
                meetings[other.name].append((link.name, other.index, link.index))
    for name in order:
        targets: dict[str, Any] = {}
        for neighbour, i, j in meetings[name]:
            if order.index(neighbour) < order.index(name):
                continue
            target = _single_valued(i, j, shapes[name].count, targets.get(neighbour))
            if target is None:
                return neighbour
            targets[neighbour] = target
        names = list(targets)
        for k, a in enumerate(names):  # eliminating `name` makes its neighbours meet
            for b in names[k + 1 :]:
                meetings[a].append((b, targets[a], targets[b]))
                meetings[b].append((a, targets[b], targets[a]))
    return None


def _single_valued(i: Any, j: Any, count: int, known: Any) -> Any:
    """Return for each vector the one it meets (−1: none), or None where there are several."""
    rows = len(i) if i is not None else (len(j) if j is not None else count)
    mine = np.arange(rows) if i is None else np.asarray(i)
    theirs = np.arange(rows) if j is None else np.asarray(j)
    target = np.full(count, -1) if known is None else known.copy()
    fresh = target[mine] < 0
    target[mine[fresh]] = theirs[fresh]
    return target if np.array_equal(target[mine], theirs) else None


def _same_index(i: Any, j: Any) -> bool:
    return (i is None and j is None) or (i is not None and j is not None and np.array_equal(i, j))


def _densified(latent: Latent) -> Latent:
    return Latent(latent.name, 1, latent.count * latent.size)


def _joined(links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Add up links to one dense latent."""
    first: dict[str, int] = {}
    out: list[Link] = []
    for link in links:
        at = first.setdefault(link.name, len(out))
        if at == len(out):
            out.append(link)
        elif out[at].coefficients.shape == link.coefficients.shape:
            total = out[at].coefficients + link.coefficients
            out[at] = out[at]._replace(coefficients=total)
        else:
            out.append(link)
    return tuple(out)
