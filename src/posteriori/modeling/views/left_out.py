r"""Leave-one-out predictive densities in closed form, ln p(y_n | all other data).

Of a normal datum with noise variance :math:`\sigma^2`, whose mean has the posterior
:math:`N(m, v)`, with the leverage :math:`h = v/\sigma^2` and the residual :math:`e = y - m`,

.. math:: y_n \mid y_{-n} \sim N\{y - e/(1-h),\ \sigma^2/(1-h)\}.

Where the noise is integrated out, its rate falls by :math:`e^2/\{2\sigma^2(1-h)\}` and its shape by ½.
Of a child of a conjugate variable, what the datum added to the natural parameters is taken back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import NaturalPair
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.statistics import Sums
from posteriori.distributions.unknown import Conditional
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.exact.chain.chain_block import ChainResult
from posteriori.modeling.exact.conjugate.conjugate_block import (
    ConjugateResult,
    plain_parameters,
    reshaped,
)
from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionResult
from posteriori.modeling.exact.scaled.scaled_factors import (
    MATRICES,
    PRECISIONS,
    at_unit,
    places_of_spread,
)
from posteriori.modeling.forms.normal_rows import residual_rows
from posteriori.modeling.views.pointwise import Data, as_codes, log_likelihood
from posteriori.modeling.views.prior_scale import options_of
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["LeftOut", "leave_one_out", "log_density_without"]

#: Data that determine their own mean to this share lose their digits.
_LEAST_LEFT = 1e-9


class LeftOut(NamedTuple):
    """Log predictive densities of data given all others.

    Attributes
    ----------
    pointwise : (N,)
    leverage : float
        Sum of the leverages, which counts parameters; NaN where there are none.
    """

    pointwise: Array
    leverage: float = float("nan")


def leave_one_out(posterior: Posterior, data: Data) -> LeftOut | None:
    """Return the leave-one-out densities of data; None where there is no closed form."""
    bound = posterior._plan.bound
    if len(data.names) > 1:
        return None
    (factor,) = (f for f in bound.factors if f.name == data.names[0])
    results = {id(r): r for a in factor.accesses if (r := posterior._results[a.name])}
    layout = bound.layouts[factor.name]
    if len(results) != 1 or factor.rows != data.axes or layout.plates + layout.ints != data.axes:
        return None
    (result,) = results.values()
    if isinstance(result, ConjugateResult):
        return _of_conjugate(result, factor)
    if factor.family is not Normal:
        return None
    try:
        if isinstance(result, (GaussianResult, ChainResult)):
            return _of_normal(posterior, data, factor)
        if isinstance(result, CommonPrecisionResult) and not isinstance(result.belief, MATRICES):
            return _of_scaled(posterior, data, factor, result)
    except TypeError:  # no closed-form predictive
        return None
    return None


def log_density_without(
    posterior: Posterior, data: Data, rows: Any, *, draws: int, rng: Seed
) -> Array:
    """Infer without some data and return their log predictive densities, one by one.

    Where their prediction has no closed form, or several numbers make a datum, it is the mean
    likelihood under draws.

    Parameters
    ----------
    posterior : Posterior
    data : Data
    rows : (R,) of int
        Which of ``data.positions``.
    draws : int
    rng : Generator, int or None
    """
    again = _infer_without(posterior, data, data.positions[rows])
    bound = posterior._plan.bound
    (name, *others) = data.names
    layout = bound.layouts[name]
    if not others and layout.plates + layout.ints == data.axes:
        try:
            predicted = again.predict(name)
        except TypeError:  # no closed form
            pass
        else:
            logs = predicted.log_prob(_filled(bound.observed[name], data))
            return np.ravel(logs)[data.positions[rows]]
    unknowns = as_codes(again.sample(draws, rng=rng), bound)
    known = {key: values for key, values in unknowns.items() if key in bound.latent}
    try:
        logs = log_likelihood(posterior, data, known, rows)
    except TypeError:  # states of several data depend on one another: they were drawn together
        logs = log_likelihood(posterior, data, known, rows, sum_states=False)
    return np.asarray(log_sum_exp(logs, axis=0)) - np.log(len(logs))


def _infer_without(posterior: Posterior, data: Data, positions: Any) -> Posterior:
    from posteriori.modeling.binding.binder import bind
    from posteriori.modeling.planning.planner import make_plan

    plan = posterior._plan
    given = dict(plan.given)
    for name in data.names:
        values = plan.bound.observed[name]
        gone = values.reshape(-1, *values.shape[len(data.axes) :]).copy()
        gone[positions] = np.nan
        given[name] = gone.reshape(values.shape)
    bound = bind(plan.variables, plan.inputs, given)
    return make_plan(bound, plan.variables, plan.inputs, given, options_of(plan)).run()


def _filled(values: Array, data: Data) -> Array:
    """Return data with gaps filled by what is possible."""
    flat = values.reshape(-1, *values.shape[len(data.axes) :])
    return np.where(np.isnan(flat), flat[data.positions[0]], flat).reshape(values.shape)


def _of_normal(posterior: Posterior, data: Data, factor: BoundFactor) -> LeftOut | None:
    """Use y − E = e/(1 − h) and the variance σ²/(1 − h)."""
    y, noise = _values(posterior, data, factor)
    predicted = posterior.predict(factor.name)
    mean = np.ravel(predicted.mean)[data.positions]
    leverage = np.ravel(predicted.variance)[data.positions] / noise - 1.0
    left = 1.0 - leverage
    if np.any(left < _LEAST_LEFT):
        return None
    logs = Normal((y - mean) / left, variance=noise / left).log_prob(0.0)
    return LeftOut(np.asarray(logs), float(leverage.sum()))


def _of_scaled(
    posterior: Posterior, data: Data, factor: BoundFactor, result: CommonPrecisionResult
) -> LeftOut | None:
    """The same at unit precision, with a − ½ and b − e²/{2σ²(1 − h)} for its belief."""
    belief, layout = result.belief, posterior._plan.bound.layouts[result.spread]
    y, noise = _values(posterior, data, at_unit(factor, result.spread, type(belief)))
    owners = places_of_spread(factor, result.spread, layout).ravel()[data.positions]
    amount = belief.rate if isinstance(belief, PRECISIONS) else belief.scale
    a, b = (np.ravel(part)[owners] for part in (belief.shape, amount))
    predicted = posterior.predict(factor.name)
    mean, scale = (np.ravel(part)[data.positions] for part in (predicted.mean, predicted.scale))
    leverage = scale**2 * a / b / noise - 1.0
    left, gone = 1.0 - leverage, y - mean
    if np.any(left < _LEAST_LEFT):
        return None
    shape, rate = a - 0.5, b - 0.5 * gone**2 / (noise * left)
    wide = np.sqrt(rate / shape * noise / left)
    logs = StudentT(2.0 * shape, gone / left, scale=wide).log_prob(0.0)
    return LeftOut(np.asarray(logs), float(leverage.sum()))


def _of_conjugate(result: ConjugateResult, factor: BoundFactor) -> LeftOut | None:
    """Take the increments of each row back, and ask for the evidence of that row alone."""
    block = result.block
    child = next(c for c in block.children if c.name == factor.name)
    belief = reshaped(result.posterior, (block.count,))
    if not issubclass(child.pair_class(type(belief)), NaturalPair):
        return None
    count = len(child.values)
    pair = child.pair(take_members(belief, 0))
    added = pair.summarize(child.values[None])
    parts = tuple(
        np.broadcast_to(s, (count, *np.shape(n)[1:]))
        for s, n in zip(added.sums, belief.natural, strict=True)
    )
    index = np.arange(block.count) if child.index is None else child.index
    seen = take_members(belief, np.broadcast_to(index, (count,)))
    before = seen._from_natural(*(n - s for n, s in zip(seen.natural, parts, strict=True)))
    rule: Any = type(pair)(before, Conditional(child.family, plain_parameters(child)))
    carrier = np.broadcast_to(added.log_carrier, (count,))
    logs = rule.log_evidence(seen, Sums(np.ones(count), parts, carrier))
    return LeftOut(np.asarray(logs))


def _values(posterior: Posterior, data: Data, factor: BoundFactor) -> tuple[Array, Array]:
    """Return targets and noise variances of the data."""
    y = np.ravel(posterior._plan.bound.observed[factor.name])[data.positions]
    (rows,) = residual_rows(factor, posterior._plan.bound)
    shape = tuple(axis.size for axis in factor.rows)
    return y, 1.0 / np.broadcast_to(rows.weight, shape).ravel()[data.positions]
