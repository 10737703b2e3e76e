"""What a family states to be learned, and to be learned from: the table of laws.

A law may be registered in any file: that of a family of one's own stands beside its family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from posteriori.distributions.base import Distribution
from posteriori.distributions.exponential import ExponentialFamily

__all__ = ["LAWS", "Law", "register_law"]

#: What other laws ask for when a variable is their parameter: x, ln x or ln|x|, 1/x, ln(1 − x).
STATISTICS = ("value", "log", "inverse", "log of rest")


@dataclass(frozen=True)
class Law:
    """What a family states to take part in variational inference.

    Parameters
    ----------
    family : type
        A distribution.
    log_density : callable, optional
        Takes a view of a factor and returns the log density of each row as a formula in its data,
        its known parameters and the statistics of its unknown ones. Without it, all parameters of
        the family must be known.
    statistics : mapping of str to int, optional
        Which entry of the sufficient statistics T(x) is the "value", the "log", the "inverse" or the
        "log of rest", ln(1 − x): so variables of the family may be parameters of others.
    priors : mapping of str to str, optional
        The families to recommend for an unknown parameter, by its name.
    off_support : callable, optional
        Takes the view and the data, and marks those that the known parameters rule out.
    node : callable, optional
        Makes the node of an unknown of the family from its name, family, layout and the label of
        starts; by default its belief is of the family itself.

    Examples
    --------
    The time until the k-th event at an unknown rate, were it not there already:

    >>> from posteriori import Gamma
    >>> def erlang(view):
    ...     k, x, log_x = view.known("shape"), view.observed(), view.observed(np.log)
    ...     logs = k * view.log("rate") + k.map(lambda k: k - 1.0) * log_x
    ...     return logs - x * view.value("rate") - k.map(special.gammaln)
    >>> Law(Gamma, erlang, priors={"rate": "Gamma"}).priors
    {'rate': 'Gamma'}
    """

    family: type
    log_density: Callable[[Any], Any] | None = None
    statistics: Mapping[str, int] = field(default_factory=dict)
    priors: Mapping[str, str] = field(default_factory=dict)
    off_support: Callable[[Any, Any], Any] | None = None
    node: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.family, type) and issubclass(self.family, Distribution)):
            raise TypeError(f"family must be a class of distributions, got {self.family!r}")
        for key in ("log_density", "off_support", "node"):
            value = getattr(self, key)
            if not (value is None or callable(value)):
                raise TypeError(f"{key} must be a function, got {value!r}")
        self._require_statistics()
        name = self.family.__name__
        for key in self.priors:
            if key not in self.family._parameters:
                known = ", ".join(self.family._parameters)
                raise ValueError(f"priors names {key!r}; the parameters of {name} are {known}")
        if self.log_density is None and not self.statistics:
            raise ValueError(
                f"the law of {name} states nothing: give log_density, so that its parameters can be "
                "unknown, or statistics, so that its variables can"
            )

    def _require_statistics(self) -> None:
        if not self.statistics:
            return
        name = self.family.__name__
        if not issubclass(self.family, ExponentialFamily):
            raise TypeError(f"statistics are of exponential families; {name} is none")
        count = len(self.family._natural_ndims)
        for kind, entry in self.statistics.items():
            if kind not in STATISTICS:
                raise ValueError(
                    f"statistics names {kind!r}; laws ask for {', '.join(map(repr, STATISTICS))}"
                )
            if entry not in range(count):
                raise ValueError(
                    f"statistics[{kind!r}] must be one of the {count} entries of T(x) of {name}, "
                    f"0 to {count - 1}, got {entry!r}"
                )


#: The law of each family that has one.
LAWS: dict[type, Law] = {}


def register_law(law: Law) -> Law:
    """Let models use a law, from now on in this process; return it.

    Raises
    ------
    TypeError
        When it is no law.
    ValueError
        When its family has one.
    """
    if not isinstance(law, Law):
        raise TypeError(f"register_law takes a Law, got {law!r}")
    if law.family in LAWS:
        raise ValueError(
            f"{law.family.__name__} has a law already; derive a class of your own from it for another"
        )
    LAWS[law.family] = law
    return law
