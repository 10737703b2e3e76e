r"""Series that were observed themselves, continued after their end.

Given all else, what follows a normal series is normal, and its mean affine in the last members:

.. math:: p(x_{T+k} \mid x) = \int p(x_{T+k} \mid x_{T-p+1}, \dots, x_T, \theta)\, p(\theta \mid x)\, d\theta,

exact where nothing is unknown, and otherwise an average over draws of θ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.composites.averages import average_first
from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior
from posteriori.modeling.binding.bound import Bound, gap_name
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.binding.observations import read_observation
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock, find_chain
from posteriori.modeling.exact.chain.chain_prediction import bind_future, run_on
from posteriori.modeling.exact.gaussian.gaussian_block import is_affine
from posteriori.modeling.forms.fixing import at_point, fix_at_points
from posteriori.numerics.types import Array

__all__ = ["continue_observed"]

#: Draws of what is unknown: means are off by 3 % of what it adds to the spread.
_DRAWS = 1000


def continue_observed(solved: Solved, request: Request) -> Any:
    """Return the members that follow the end of an observed normal series."""
    bound, name = solved.bound, request.name
    variable = bound.variables[name]
    plate = str(variable.length)
    future = bind_future(bound, request, plate, variable.order)
    others = [n for n in future.latent if n != name and plate in future.plates_of(n)]
    _require(not others, name, others)
    values, last = _drawn(solved, future, request)
    points = Axis("points", len(last))
    own = [factor for factor in future.factors if factor.name == name]
    factors = fix_at_points(own, future.layouts, values, points)
    first = [at_point(factor, points, 0) for factor in factors]
    moves = all(map(is_affine, first)) and find_chain(future, (name,), first) is not None
    _require(moves, name, others)
    block = GaussianChainBlock(future, (name,), factors, (name,), points)
    known = ChainPosterior(
        last[:, None], np.zeros((len(last), 1, *last.shape[1:] * 2)), None, np.zeros(len(last))
    )
    found = run_on(block, known, future, list(factors), request)
    return average_first(np.full(len(last), 1.0 / len(last)), [found])


def _drawn(solved: Solved, future: Bound, request: Request) -> tuple[dict[str, Array], Array]:
    """Return draws of what is unknown, (S, ...), and the last members, the newest first, (S, p D)."""
    bound, name = solved.bound, request.name
    held = bound.variables[name].order
    series = read_observation(name, bound.given[name], None)
    if len(series) < held:
        raise TypeError(f"{name} has {len(series)} members, but its next depends on {held}")
    missing = np.isnan(series)
    unknown = [n for n in future.latent if n != name]
    if not unknown and not missing[-held:].any():
        return {}, series[-held:][::-1].reshape(1, -1)
    draws = solved.sample(_DRAWS, np.random.default_rng(0))
    series = np.repeat(series[None], _DRAWS, axis=0)
    if missing.any():
        series[:, missing] = draws[gap_name(name)].reshape(_DRAWS, -1)
    last = series[:, -held:][:, ::-1].reshape(_DRAWS, -1)
    return {n: np.asarray(draws[n], dtype=np.float64) for n in unknown}, last


def _require(holds: bool, name: str, others: list[str]) -> None:
    """Refuse a series that does not follow from its own past alone."""
    if not holds:
        raise TypeError(
            f"{name} cannot be continued after its end: it depends on more than its own past"
            f"{''.join(f', {n}' for n in others)}; give its further members as NaN with the data, "
            f'and read post["{gap_name(name)}"]'
        )
