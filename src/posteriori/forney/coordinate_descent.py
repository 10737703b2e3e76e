r"""Mean field on tables: a product of beliefs, each updated in turn given the others.

A factor tells a variable :math:`\nu_a(x_j) \propto \exp E_{q_{-j}}[\ln f_a]`, and
:math:`q_j \propto \prod_a \nu_a` is where the free energy is smallest in :math:`q_j`. Beliefs of
one factor depend on one another, so that rounds are repeated; the free energy never rises.

Reference: D. M. Blei, A. Kucukelbir & J. D. McAuliffe, "Variational inference: a review for
statisticians", JASA 112, 2017, algorithm 1; J. Dauwels, "On variational message passing on factor
graphs", ISIT 2007.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors import Factor
from posteriori.forney.forney_graph import ForneyGraph
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["MeanField", "mean_field", "mean_field_energy", "variational_message"]


class MeanField(NamedTuple):
    """Independent beliefs about the variables of a product of tables.

    Attributes
    ----------
    beliefs : dict of str to Factor
        Normalised, by variable.
    trace : tuple of float
        The free energy after every round.
    converged : bool
    """

    beliefs: Mapping[str, Factor]
    trace: tuple[float, ...]
    converged: bool

    @property
    def free_energy(self) -> float:
        """F[q], at least minus the logarithm of the sum over all configurations."""
        return self.trace[-1]

    @property
    def n_iter(self) -> int:
        """Number of rounds."""
        return len(self.trace)


def variational_message(factor: Factor, name: str, beliefs: Mapping[str, Factor]) -> Factor:
    r"""Return what a factor tells a variable, :math:`\exp E[\ln f]` over its other variables.

    Parameters
    ----------
    factor : Factor
    name : str
        The variable that receives.
    beliefs : mapping of str to Factor
        Normalised, for the other variables.

    Examples
    --------
    >>> agree = Factor(["a", "b"], [[4.0, 1.0], [1.0, 4.0]])
    >>> variational_message(agree, "a", {"b": Factor("b", [0.5, 0.5])}).values
    array([2., 2.])
    """
    if name not in factor.names:
        raise ValueError(f"the factor has no variable {name!r}; it has {', '.join(factor.names)}")
    logs = factor.transpose((name, *(n for n in factor.names if n != name))).log_values
    others = [n for n in factor.names if n != name]
    for other in reversed(others):
        logs = _average(logs, beliefs[other].values)
    return Factor.from_log(name, logs, [factor.labels[name]])


def mean_field_energy(
    factors: ForneyGraph | Iterable[Factor], beliefs: Mapping[str, Factor]
) -> float:
    r"""Return :math:`F = \sum_a E[-\ln f_a] - \sum_i H[q_i]` of independent beliefs.

    A variable that equality nodes copy counts once.
    """
    energy = 0.0
    for factor in _tables(factors):
        logs = factor.log_values
        for name in reversed(factor.names):
            logs = _average(logs, beliefs[name].values)
        energy -= float(logs)
    return energy - sum(belief.entropy() for belief in beliefs.values())


def mean_field(
    factors: ForneyGraph | Iterable[Factor],
    *,
    start: Mapping[str, Any] | None = None,
    max_iter: int = 1000,
    tol: float = 1e-12,
) -> MeanField:
    """Find independent beliefs by coordinate descent on the free energy.

    Parameters
    ----------
    factors : ForneyGraph or iterable of Factor
        Tables; their product need not be normalised.
    start : mapping of str to probabilities, optional
        First beliefs; uniform where none is given. Symmetric tables keep a uniform start.
    max_iter : int
        Most rounds.
    tol : float
        Stop when a round lowers the free energy by less, in nats.

    Returns
    -------
    MeanField
        A local minimum. It depends on the start where there are several.

    Examples
    --------
    Two variables that like to agree: with a strong coupling, mean field takes one of two sides.

    >>> agree = Factor(["a", "b"], [[9.0, 1.0], [1.0, 9.0]])
    >>> found = mean_field([agree], start={"a": [0.6, 0.4]})
    >>> found.beliefs["b"].values.round(4)
    array([0.75, 0.25])
    >>> round(-found.free_energy, 4), round(agree.log_total, 4)  # a bound, and what it bounds
    (2.4979, 2.9957)
    """
    tables = _tables(factors)
    labels = {name: t.labels[name] for t in tables for name in t.names}
    beliefs = {name: _belief(name, labels[name], (start or {}).get(name)) for name in labels}
    for name in start or {}:
        if name not in labels:
            raise ValueError(f"start names {name!r}, which no factor has")
    order = sorted(labels, key=lambda name: name in (start or {}))  # a start must be heard
    trace: list[float] = []
    while len(trace) < max_iter:
        for name in order:
            beliefs[name] = _updated(name, tables, beliefs)
        trace.append(mean_field_energy(tables, beliefs))
        if len(trace) > 1 and trace[-2] - trace[-1] < tol:
            return MeanField(beliefs, tuple(trace), True)
    warnings.warn(f"mean field stopped after {max_iter} rounds", ConvergenceWarning, stacklevel=2)
    return MeanField(beliefs, tuple(trace), False)


# -- steps -----------------------------------------------------------------------------------


def _tables(factors: ForneyGraph | Iterable[Factor]) -> list[Factor]:
    """Return the factors over variables; of a graph without its equality nodes."""
    if not isinstance(factors, ForneyGraph):
        return list(factors)
    return list(factors.tables_on_variables().values())


def _belief(name: str, labels: tuple[Any, ...], start: Any) -> Factor:
    values = np.ones(len(labels)) if start is None else np.asarray(start, dtype=np.float64)
    if values.shape != (len(labels),):
        raise ValueError(f"start of {name!r} must have {len(labels)} entries, got {values.shape}")
    return Factor(name, values, [labels]).normalize().factor


def _updated(name: str, tables: Iterable[Factor], beliefs: Mapping[str, Factor]) -> Factor:
    """Return the product of all messages, Σ_a ln ν_a(x_j) + const."""
    product = math.prod(
        (variational_message(t, name, beliefs) for t in tables if name in t.names),
        start=Factor.scalar(1.0),
    )
    if product.log_total == -math.inf:
        raise ValueError(
            f"no state of {name!r} is possible for all states of the others: independent beliefs "
            "need a start that leaves out impossible pairs"
        )
    return product.normalize().factor


def _average(logs: Array, probabilities: Array) -> Array:
    """Return E[logs] over the last axis; states without probability do not count."""
    held = probabilities > 0
    return np.asarray(logs[..., held] @ probabilities[held])
