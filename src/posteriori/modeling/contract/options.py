"""What a user may choose about variational inference."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any

from posteriori.modeling.contract.costs import counted
from posteriori.numerics.types import Seed

__all__ = ["OPTION_NAMES", "OTHER_WORDS", "Options"]


@dataclass(frozen=True)
class Options:
    """Choices for variational inference, as :meth:`Model.infer` takes them; exact blocks need none."""

    n_init: int | None = None
    tol: float = 1e-6
    max_iter: int = 2000
    rng: Seed = 0
    callback: Callable[[int, float], Any] | None = None
    init: Mapping[str, Any] = field(default_factory=dict)
    factorize: Sequence[Sequence[str]] | str = ()
    form: Mapping[str, str] = field(default_factory=dict)
    batch_size: int | None = None
    progress: bool | None = None
    method: str | None = None

    def __post_init__(self) -> None:
        for name in ("n_init", "max_iter", "batch_size"):
            value = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if value is not None and not (whole and value >= 1):
                raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
        if not (isinstance(self.tol, Real) and self.tol > 0):
            raise ValueError(f"tol must be positive, got {self.tol!r}")
        if not (self.callback is None or callable(self.callback)):
            raise TypeError(
                f"callback must be a function of sweep and bound, got {self.callback!r}"
            )
        for key in ("init", "form"):
            if not isinstance(getattr(self, key), Mapping):
                raise TypeError(
                    f'{key} must map names to values, as in {key}={{"x": ...}}, '
                    f"got {getattr(self, key)!r}"
                )
        if not (self.progress is None or isinstance(self.progress, bool)):
            raise TypeError(
                "progress must be True, False, or None to show the bound when it takes long, "
                f"got {self.progress!r}"
            )
        if self.method not in (None, "vmp", "quadrature"):
            raise ValueError(
                'method must be "vmp" (beliefs that are independent between groups), '
                f'"quadrature" (an integral over a few unknowns) or None, got {self.method!r}'
            )
        _require_groups(self.factorize)
        for name, form in self.form.items():
            if form != "point":
                raise ValueError(f'form of {name} must be "point", got {form!r}')

    def require_unknown(self, names: Collection[str]) -> None:
        """Refuse choices about what is no unknown variable."""
        apart = () if isinstance(self.factorize, str) else self.factorize
        asked = {
            "init": self.init,
            "form": self.form,
            "factorize": dict.fromkeys(name for group in apart for name in group),
        }
        for key, chosen in asked.items():
            for name in chosen:
                if name not in names:
                    raise ValueError(
                        f"{key} names {name!r}, which is no unknown variable of the model; "
                        f"these are {', '.join(names) or 'none'}"
                    )

    def require_rows(self, plate: str, count: int) -> None:
        """Refuse batches of more rows than there are."""
        if self.batch_size is not None and self.batch_size > count:
            raise ValueError(
                f"batch_size={self.batch_size} is more than the {counted(count, 'row')} with data "
                f"of plate {plate!r}; give fewer, or leave batch_size out to look at all of them"
            )

    @property
    def asks_for_ascent(self) -> bool:
        """Whether something was chosen that only an ascent of the bound knows."""
        default = Options()
        chosen = any(getattr(self, n) != getattr(default, n) for n in _OF_ASCENTS)
        return self.method == "vmp" or (chosen and self.method is None)

    @property
    def asks_for_approximation(self) -> bool:
        """Whether exact blocks are not wanted where there are some."""
        return bool(self.factorize or self.form)


#: Choices that have no meaning for an integral.
_OF_ASCENTS = (
    "n_init",
    "tol",
    "max_iter",
    "callback",
    "init",
    "factorize",
    "form",
    "batch_size",
)

#: What others call these choices.
OTHER_WORDS = {
    "algorithm": "method",
    "engine": "method",
    "inference": "method",
    "iterations": "max_iter",
    "n_iter": "max_iter",
    "n_restarts": "n_init",
    "random_state": "rng",
    "restarts": "n_init",
    "seed": "rng",
    "start": "init",
    "tolerance": "tol",
    "verbose": "progress",
}

#: Names that no variable can have, because infer() takes them as its own arguments.
OPTION_NAMES = frozenset(f.name for f in fields(Options))


def _require_groups(factorize: Any) -> None:
    """Refuse what is neither groups of names nor "full"."""
    if isinstance(factorize, str):
        fits = factorize == "full"
    else:
        fits = isinstance(factorize, Iterable) and not any(isinstance(g, str) for g in factorize)
    if not fits:
        raise ValueError(
            f'factorize takes groups of names, as in [("a", "b")], or "full", got {factorize!r}'
        )
