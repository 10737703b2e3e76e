"""Learning made visible: before and after, step by step, and what is predicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.integrate import trapezoid

from posteriori.distributions import BayesResult, Distribution, bayes
from posteriori.numerics.types import Array
from posteriori.plotting.parts.frame import make_room, place_legend
from posteriori.plotting.parts.members import Member, Range
from posteriori.plotting.parts.style import (
    COLORS,
    INK,
    Axes,
    axes_for,
    color_of,
    dashes_of,
    panels_for,
    shades,
)
from posteriori.plotting.pictures.density_curves import draw_curve, grid_of, range_of
from posteriori.plotting.pictures.distribution_pictures import picture_of

__all__ = ["plot_predictive", "plot_sequence", "plot_update"]

#: The posterior takes up at least this share of the range of an update.
_LEAST_SHARE = 0.16


def plot_update(result: BayesResult, ax: Any = None, **options: Any) -> Axes:
    """Draw what the data did to the belief: prior, likelihood and posterior.

    The likelihood is no density; it is scaled to unit area over the range that is shown. Where
    the unknown is no single number, prior and posterior are drawn.

    Parameters
    ----------
    result : BayesResult
        What :func:`posteriori.bayes` returned, without a batch.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    **options
        ``between``, ``names``, ``mass``, as in :func:`posteriori.plot`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta, bayes
    >>> ax = plot_update(bayes(Beta(2, 2), Bernoulli, [1, 0, 1, 1]))
    >>> ax.get_legend_handles_labels()[1]
    ['prior Beta(2, 2)', 'likelihood of 4 data, scaled', 'posterior Beta(5, 3)']
    """
    prior, posterior = result.prior, result.posterior
    beliefs = {_titled("prior", prior): prior, _titled("posterior", posterior): posterior}
    if not np.all(prior.is_proper):
        del beliefs[_titled("prior", prior)]
    if posterior.event_shape != () or posterior.batch_shape != ():
        picture = picture_of(dict(reversed(beliefs.items())))  # the posterior in the first colour
        with axes_for(ax, picture.size) as axes:
            picture.paint(axes, options)
        return axes
    members = {label: Member(d) for label, d in beliefs.items()}
    where = _range_of_update(list(members.values()), options.pop("between", None))
    if options:
        raise TypeError(f"{next(iter(options))} is no option of an update; it takes between")
    with axes_for(ax) as axes:
        *before, (after, last) = members.items()
        for label, member in before:
            draw_curve(axes, member, label, COLORS[1], where=where, dashes=dashes_of(1))
        _draw_likelihood(axes, result, Member(posterior), where)
        x, p = draw_curve(axes, last, after, COLORS[0], where=where)
        axes.fill_between(x, p, color=COLORS[0], alpha=0.2, lw=0)
        axes.set_xlabel(axes.get_xlabel() or _unknown_name(result))
        place_legend(axes)
    return axes


def plot_sequence(
    prior: Any,
    likelihood: Any,
    data: Any,
    at: Sequence[int] = (3, 10, 50, 150),
    ax: Any = None,
    *,
    truth: float | None = None,
    between: Any = None,
) -> Any:
    """Draw the posterior after the first n data, for each n of ``at``.

    Parameters
    ----------
    prior : distribution, or list or mapping from names to them
        Belief about a single number; several show how the prior loses its influence.
    likelihood : family or function
        As for :func:`posteriori.bayes`.
    data : array (N, ...)
        All data, in order.
    at : sequence of int
        How many of them to use: n means the first n, 0 the prior itself.
    ax : matplotlib Axes or array of them, optional
        One for each n, or a single one that gets all curves; a figure of panels if None.
    truth : float, optional
        The true value, marked by a line.
    between : pair of float, optional
        The range; that which shows every posterior if None.

    Returns
    -------
    array of Axes, one for each n; the Axes where a single one was given

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta
    >>> tosses = Bernoulli(0.4).sample(192, rng=1)
    >>> panels = plot_sequence([Beta(1, 1), Beta(5, 5)], Bernoulli, tosses, truth=0.4)
    >>> panels[0].get_title()
    'after 3 data'
    """
    rows = np.asarray(data)
    counts = _check_counts(at, len(rows))
    priors = _name_priors(prior)
    unknown = _unknown_name(bayes(next(iter(priors.values())), likelihood, rows))
    steps = [
        {name: Member(_posterior(p, likelihood, rows[:n])) for name, p in priors.items()}
        for n in counts
    ]
    where = range_of([m for step in steps for m in step.values()], 0.95, between)
    if ax is not None and np.ndim(ax) == 0:
        with axes_for(ax) as axes:
            _draw_overlay(axes, counts, steps, where)
            axes.set_xlabel(axes.get_xlabel() or unknown)
            _finish_step(axes, truth)
        return axes
    columns = min(2, len(counts))
    height = -(-len(counts) // columns)
    size = (3.7 * columns, 2.4 * height + 0.2)
    with panels_for(ax, (height, columns), len(counts), size, sharex=True) as panels:
        for axes, n, step in zip(panels, counts, steps, strict=True):
            for position, (name, member) in enumerate(step.items()):
                color, dashes = color_of(position), dashes_of(position)
                draw_curve(axes, member, name, color, where=where, dashes=dashes)
            axes.set_title(f"after {n} {'datum' if n == 1 else 'data'}")
            axes.set_xlabel(unknown)
            _label_outside(axes)
            _finish_step(axes, truth, legend=axes is panels[0] and len(step) > 1)
    return np.array(panels)


def plot_predictive(
    result: BayesResult, ax: Any = None, *, data: Any = None, **options: Any
) -> Axes:
    """Draw the distribution of the next datum, before the data and after them.

    Parameters
    ----------
    result : BayesResult
        What :func:`posteriori.bayes` returned.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    data : array (N,), optional
        Data to show beside the predictions, as relative frequencies.
    **options
        ``between``, ``names``, ``mass``, as in :func:`posteriori.plot`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from posteriori import Gamma, Poisson, bayes
    >>> ax = plot_predictive(bayes(Gamma(2.0, 1.0), Poisson, [4, 5, 4, 1, 0, 4]))
    >>> ax.get_legend_handles_labels()[1]
    ['after 6 data', 'before the data']
    """
    things = {f"after {result.fingerprint.count} data": result.predictive}
    if np.all(result.prior.is_proper):
        things["before the data"] = result.prior_predictive
    picture = picture_of(things)
    with axes_for(ax, picture.size) as axes:
        picture.paint(axes, options)
        if data is not None:
            _draw_frequencies(axes, np.ravel(data), next(iter(picture.members.values())))
        axes.set_xlabel("next datum")
        place_legend(axes)
    return axes


# -- an update -----------------------------------------------------------------------------


def _draw_likelihood(axes: Axes, result: BayesResult, posterior: Member, where: Range) -> None:
    x, _, _ = grid_of(posterior, where)
    with np.errstate(all="ignore"):
        log_l = np.broadcast_to(result.pair.log_likelihood(x, result.statistics), x.shape)
    inside = (x >= posterior.support[0]) & (x <= posterior.support[1]) & ~np.isnan(log_l)
    x, log_l = x[inside], log_l[inside]
    scaled = np.exp(log_l - log_l.max())
    scaled = scaled / trapezoid(scaled, x)
    make_room(axes, where, float(scaled.max()))
    label = f"likelihood of {result.fingerprint.count} data, scaled"
    axes.plot(x, scaled, color=COLORS[2], ls=dashes_of(2), zorder=2.5, label=label)


def _range_of_update(members: list[Member], between: Any) -> Range:
    """Show the posterior whole, and of a much wider prior only the part around it."""
    low, high = range_of(members, 0.95, between)
    if between is not None:
        return low, high
    first, last = members[-1].reach(0.95)
    spare = (last - first) * (0.5 / _LEAST_SHARE - 0.5)
    return max(low, first - spare), min(high, last + spare)


def _unknown_name(result: BayesResult) -> str:
    return ", ".join(result.pair.unknown)


def _titled(role: str, belief: Distribution) -> str:
    text = repr(belief).replace("-", "−")
    return f"{role} {text}" if len(text) <= 40 else role


# -- a sequence ----------------------------------------------------------------------------


def _posterior(prior: Any, likelihood: Any, rows: Array) -> Any:
    return bayes(prior, likelihood, rows).posterior if len(rows) else prior


def _check_counts(at: Sequence[int], size: int) -> list[int]:
    counts = [int(n) for n in np.ravel(at)]
    if not counts:
        raise ValueError("at is empty: name at least one number of data")
    for n, given in zip(counts, np.ravel(at), strict=True):
        if n != given or not 0 <= n <= size:
            raise ValueError(f"at must hold whole numbers from 0 to {size}, got {given}")
    return counts


def _name_priors(prior: Any) -> dict[str, Any]:
    if isinstance(prior, Mapping):
        named = {str(key): one for key, one in prior.items()}
    else:
        several = prior if isinstance(prior, (list, tuple)) else [prior]
        named = {f"prior {one!r}": one for one in several}
    for one in named.values():
        if not isinstance(one, Distribution) or one.event_shape != () or one.batch_shape != ():
            raise TypeError(
                f"prior must be a distribution of one number, without batch; got {one!r}"
            )
    return named


def _draw_overlay(
    axes: Axes, counts: list[int], steps: list[dict[str, Member]], where: Range
) -> None:
    for shade, n, step in zip(shades(len(counts)), counts, steps, strict=True):
        for position, (name, member) in enumerate(step.items()):
            label = f"after {n}" if len(step) == 1 else f"after {n}, {name}"
            draw_curve(axes, member, label, shade, where=where, dashes=dashes_of(position))


def _label_outside(axes: Axes) -> None:
    """Keep the names of the axes at the edges of a figure of panels."""
    place = axes.get_subplotspec()
    if place is not None and not place.is_last_row():
        axes.set_xlabel("")
    if place is not None and not place.is_first_col():
        axes.set_ylabel("")


def _finish_step(axes: Axes, truth: float | None, *, legend: bool = True) -> None:
    if truth is not None:
        axes.axvline(truth, color=INK, lw=1.2, ls=(0, (2, 2)), label=f"truth {truth:.4g}")
    if legend:
        place_legend(axes)


# -- predictions ---------------------------------------------------------------------------


def _draw_frequencies(axes: Axes, data: Array, member: Member) -> None:
    """Draw relative frequencies of data behind the predictions."""
    label = f"frequencies of {len(data)} data"
    if member.is_discrete:
        values, counts = np.unique(data, return_counts=True)
        share = counts / len(data)
        top, low, high = share.max(), values.min() - 0.6, values.max() + 0.6
        make_room(axes, (low, high), top)
        axes.bar(values, share, width=0.8, color=INK, alpha=0.25, zorder=0, label=label)
        return
    share, edges = np.histogram(data, bins="auto", density=True)
    make_room(axes, (edges[0], edges[-1]), share.max())
    axes.stairs(share, edges, fill=True, color=INK, alpha=0.25, zorder=0, label=label)
