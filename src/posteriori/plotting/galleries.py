"""A family at a glance: its densities for several parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from posteriori.plotting.dispatch import plot
from posteriori.plotting.parts.style import Axes

__all__ = ["plot_gallery"]


def plot_gallery(family: Any, parameters: Iterable[Any], ax: Any = None, **options: Any) -> Axes:
    """Draw the members of a family that belong to several choices of parameters.

    Parameters
    ----------
    family : type or function
        Returns a distribution of one number: ``Beta``, or ``lambda v: Normal(0, variance=v)``.
    parameters : iterable of tuples, mappings or numbers
        Arguments of the family, one entry for each member.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    **options
        ``between``, ``mass``, ``label``, as in :func:`posteriori.plot`.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from posteriori import Beta
    >>> ax = plot_gallery(Beta, [(0.1, 0.1), (1, 1), (2, 3), (8, 4)])
    >>> [line.get_label() for line in ax.lines]
    ['Beta(0.1, 0.1)', 'Beta(1, 1)', 'Beta(2, 3)', 'Beta(8, 4)']
    """
    members = [_make(family, given) for given in parameters]
    if not members:
        raise ValueError("parameters is empty: give at least one choice")
    return plot(members, ax=ax, **options)


def _make(family: Any, given: Any) -> Any:
    if isinstance(given, Mapping):
        return family(**given)
    return family(*given) if isinstance(given, (tuple, list)) else family(given)
