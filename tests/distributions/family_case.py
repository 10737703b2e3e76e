"""What the laws need to know about a family, and points that are plain or joint."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from posteriori.distributions.batches import take_members
from tests.distributions import oracles

__all__ = ["Case", "members", "pick", "restack", "spread"]

Make = Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A family under test."""

    #: A member of ordinary size, and another whose support is the same.
    one: Make
    two: Make
    #: Members side by side, with a batch shape.
    batch: Make
    #: Points of the support (n, *event), or a tuple of arrays for a joint event.
    inside: Any
    #: How to integrate over the support, ten digits for the members above; a rule that fits
    #: itself to a member takes it as argument.
    rule: Callable[..., oracles.Rule]
    #: Single points off the support: log_prob is −inf there.
    outside: Sequence[Any] = ()
    #: Whether the density is a probability of single points.
    discrete: bool = False
    #: The same member as ``one`` in scipy.stats.
    peer: Make | None = None
    #: Members near the ends of the floating-point range, for round trips.
    extremes: Sequence[Make] = ()
    #: Natural parameters of messages that are no distribution.
    improper: Sequence[tuple[Any, ...]] = ()
    #: Relative accuracy of ``rule``; looser where it has several dimensions.
    rtol: float = 1e-9
    #: Number of draws behind the checks of samples.
    n_draws: int = 20_000

    #: Whether draws differ from one another.
    varies: bool = True
    #: A member without batch that combines with those of ``batch``; ``one`` if None.
    beside_batch: Make | None = None
    #: Where the support of ``one`` begins; by default 0 if points lie off it, else −inf.
    begins: float | None = None
    #: How the family fits data, where that takes more than the data.
    fit_with: Callable[..., Any] | None = None

    @property
    def family(self) -> type:
        return type(self.one())

    @property
    def id(self) -> str:
        return self.family.__name__

    @property
    def joint(self) -> bool:
        """Whether an event is a tuple of arrays."""
        return isinstance(self.inside, tuple)

    @property
    def least(self) -> float:
        """Where an integral over the support of ``one`` begins."""
        default = 0.0 if len(self.outside) else -np.inf
        return default if self.begins is None else self.begins

    @property
    def points(self) -> Any:
        return tuple(map(np.asarray, self.inside)) if self.joint else np.asarray(self.inside)

    def event_shapes(self, d: Any) -> list[tuple[int, ...]]:
        """Shape of one event, part by part."""
        return list(d.event_shape) if self.joint else [d.event_shape]

    def rule_for(self, d: Any) -> oracles.Rule:
        takes_member = any(p.default is p.empty for p in signature(self.rule).parameters.values())
        return self.rule(d) if takes_member else self.rule()

    def broadcastable(self) -> Any:
        return (self.beside_batch or self.one)()

    def fit(self, data: Any, weights: Any = None) -> Any:
        return (self.fit_with or self.family.fit)(data, weights=weights)


def pick(points: Any, index: Any) -> Any:
    """Index plain or joint points."""
    return tuple(p[index] for p in points) if isinstance(points, tuple) else points[index]


def restack(points: Any, f: Callable[..., Any]) -> Any:
    """Apply ``f`` to plain points or to each part of joint ones; a list gives several arguments."""
    several = points if isinstance(points, list) else [points]
    if isinstance(several[0], tuple):
        return tuple(f(*parts) for parts in zip(*several, strict=True))
    return f(*several)


def spread(points: Any) -> Any:
    """Insert the axis along which a batch lies, between points and events."""
    return restack(points, lambda part: part[:, None])


def members(d: Any) -> list[Any]:
    """Return the members of a batch of shape (B,), one by one."""
    if hasattr(type(d), "_take_members"):
        return [take_members(d, i) for i in range(*d.batch_shape)]
    given = {k: v for k in d._parameters if isinstance(v := d.__dict__.get(k), np.ndarray)}
    rest = {k: v for k in d._parameters if (v := d.__dict__.get(k)) is not None and k not in given}
    (size,) = d.batch_shape
    return [d._from(**{k: v[i] for k, v in given.items()}, **rest) for i in range(size)]
