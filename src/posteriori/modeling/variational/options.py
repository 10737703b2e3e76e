"""What a user may choose about variational inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from posteriori.numerics.types import Seed

__all__ = ["OPTION_NAMES", "Options"]


@dataclass(frozen=True)
class Options:
    """Choices for variational inference; exact blocks need none.

    Attributes
    ----------
    restarts : int, optional
        Number of starts, of which the best is carried to the end. By default 5 where the start
        matters (mixtures, products of unknowns) and 1 otherwise.
    tol : float
        The ascent ends when a sweep raises the bound by less than this, in nats.
    max_iter : int
        Most sweeps.
    rng : Generator, int or None
        For the starts. The default gives the same answer every time.
    callback : callable, optional
        Called with the number of the sweep and the bound; True ends the ascent.
    init : mapping, optional
        First means of normal variables, or probabilities or codes of discrete ones, by name.
    factorize : sequence of sequences of names, or "full"
        Within each, variables are believed in independently although they could be solved together;
        "full" keeps all variables apart.
    form : mapping, optional
        ``{"x": "point"}`` for variables of which only the best value is wanted.
    batch_size : int, optional
        Rows of the data that are looked at in each step of stochastic ascent.
    progress : bool, optional
        Whether to show the bound while it rises; by default when it takes long.
    """

    restarts: int | None = None
    tol: float = 1e-6
    max_iter: int = 2000
    rng: Seed = 0
    callback: Callable[[int, float], Any] | None = None
    init: Mapping[str, Any] = field(default_factory=dict)
    factorize: Sequence[Sequence[str]] | str = ()
    form: Mapping[str, str] = field(default_factory=dict)
    batch_size: int | None = None
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("restarts", "max_iter", "batch_size"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if not self.tol > 0:
            raise ValueError(f"tol must be positive, got {self.tol!r}")
        if isinstance(self.factorize, str) and self.factorize != "full":
            raise ValueError(f'factorize takes groups of names or "full", got {self.factorize!r}')
        for name, form in self.form.items():
            if form != "point":
                raise ValueError(f'form of {name} must be "point", got {form!r}')

    @property
    def asks_for_approximation(self) -> bool:
        """Whether exact blocks are not wanted where there are some."""
        return bool(self.factorize or self.form)


#: Names that no variable can have, because infer() takes them as its own arguments.
OPTION_NAMES = frozenset(f.name for f in fields(Options))
