r"""The variational free energy of a model and a belief, taken apart in three ways.

.. math::

   F[q] = \sum_z q(z)\ln\frac{q(z)}{p(x, z)}
        &= E_q[-\ln p(x, z)] - H[q] \\
        &= KL(q \,\|\, p(z\mid x)) - \ln p(x) \\
        &= KL(q \,\|\, p(z)) - E_q[\ln p(x\mid z)]:

energy less entropy, divergence from the posterior less log evidence, complexity less accuracy.

Reference: C. M. Bishop, "Pattern Recognition and Machine Learning", Springer 2006, section 10.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.forms.state_tables import DISCRETE, number_of_states
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.densities.densities import log_density
from posteriori.modeling.variational.densities.heavy_tails import without_weight
from posteriori.modeling.variational.densities.references import find_references, measured_from
from posteriori.modeling.variational.nodes.given_node import make_given_node

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["FreeEnergy", "free_energy", "free_energy_of"]

#: Energies beyond this come from −ln 0, which has a finite stand-in.
_IMPOSSIBLE = 1e30


@dataclass(frozen=True, repr=False)
class FreeEnergy:
    """F[q] by factors and beliefs; ``float()`` of it is the whole.

    Attributes
    ----------
    energies : mapping of str to float
        E[−ln p] of the factors of each variable.
    entropies : mapping of str to float
        Entropy of each independent belief, by its variable or its variables.
    scopes : mapping of str to tuple of str
        The unknown variables that the factors of each variable see.
    observed : frozenset of str
        Variables with data.
    """

    energies: Mapping[str, float]
    entropies: Mapping[str, float]
    scopes: Mapping[str, tuple[str, ...]]
    observed: frozenset[str]

    @property
    def value(self) -> float:
        """F[q], at least −ln p(x)."""
        return self.energy - self.entropy

    def __float__(self) -> float:
        return self.value

    @property
    def energy(self) -> float:
        """E[−ln p(x, z)]."""
        return sum(self.energies.values())

    @property
    def entropy(self) -> float:
        """Entropy of the belief."""
        return sum(self.entropies.values())

    @property
    def accuracy(self) -> float:
        """E[ln p(x | z)]: how well the belief predicts the data."""
        return -sum(u for name, u in self.energies.items() if name in self.observed)

    @property
    def complexity(self) -> float:
        """KL(q ‖ p(z)): how far the belief moved away from the prior."""
        prior = sum(u for name, u in self.energies.items() if name not in self.observed)
        return prior - self.entropy

    def divergence(self, log_evidence: Any) -> float:
        """Return KL(q ‖ p(z | x)), given the exact log evidence."""
        return self.value + float(log_evidence)

    def local(self, name: str) -> float:
        """Return the part of F that depends on the belief about a variable.

        It is the energy of all factors that see the variable less the entropy of its belief; the
        best belief given the others is where this is smallest.
        """
        owner = next((key for key in self.entropies if name in key.split(", ")), None)
        if owner is None:
            raise KeyError(f"there is no belief about {name!r}, only {', '.join(self.entropies)}")
        group = set(owner.split(", "))
        near = (u for key, u in self.energies.items() if group & set(self.scopes[key]))
        return sum(near) - self.entropies[owner]

    def __repr__(self) -> str:
        rows = [(f"energy of {name}", value) for name, value in self.energies.items()]
        rows += [(f"less entropy of {names}", -value) for names, value in self.entropies.items()]
        rows.append(("free energy", self.value))
        width = max(len(title) for title, _ in rows)
        return "\n".join(f"{title:<{width}}  {value:>12.6g}" for title, value in rows)


def free_energy(model: Any, data: Mapping[str, Any], beliefs: Mapping[str, Any]) -> FreeEnergy:
    """Return the free energy of independent beliefs about the unknown variables of a model.

    Parameters
    ----------
    model : Model
    data : mapping
        Observations and inputs by name.
    beliefs : mapping of str to Distribution
        For every unknown variable that the data depend on: a batch over its plates and integer
        axes, or one distribution for all of them. Members are believed in independently. Normal
        variables may have a belief of any family with a mean and a variance, other numbers one of
        any family; vectors and matrices need the family of their prior. A
        :class:`~posteriori.distributions.PointMass` has entropy 0.

    Returns
    -------
    FreeEnergy

    Raises
    ------
    ValueError
        When a belief is missing or does not have the shape of its variable.
    TypeError
        When an expected log density has no closed form.

    Examples
    --------
    A coin that fell heads up 5 of 8 times, and an even belief:

    >>> from posteriori import Bernoulli, Beta, Model
    >>> m = Model()
    >>> m.p = Beta(1, 1)
    >>> m.x = Bernoulli(m.p).iid("n")
    >>> x = [1, 1, 1, 1, 1, 0, 0, 0]
    >>> f = free_energy(m, {"x": x}, {"p": Beta(4, 4)})
    >>> round(f.complexity, 4), round(f.accuracy, 5)
    (0.3845, -6.07619)
    >>> round(f.divergence(m.infer(x=x).log_evidence), 6)
    0.238114
    """
    bound = bind(model._variables, model._inputs, data)
    unknown = _require_beliefs(bound, beliefs)
    factors = [f for f in bound.factors if bound.unknowns_of(f) <= unknown]
    references = find_references(factors, bound)
    moved = measured_from(references, factors, bound.layouts)
    first = {f.name: f for f in reversed(bound.factors)}
    nodes = [
        make_given_node(
            name,
            beliefs[name],
            bound,
            number_of_states(first[name]) if bound.families[name] in DISCRETE else None,
            references.get(name),
        )
        for name in bound.layouts
        if name in unknown
    ]
    monomials = [
        monomial
        for i, factor in enumerate(moved)
        if bound.unknowns_of(factor)
        for monomial in log_density(factor, bound, i)
    ]
    expected = Problem(monomials, nodes, (), Axis("restart", 1)).energies()
    energies: dict[str, float] = {}
    for i, factor in enumerate(factors):
        log_p = float(expected[i][0]) if i in expected else log_prob_of_known(factor, bound)
        log_p = log_p if log_p > -_IMPOSSIBLE else -math.inf
        energies[factor.name] = energies.get(factor.name, 0.0) - log_p
    entropies = {node.names[0]: float(node.entropy()[0]) for node in nodes}
    return FreeEnergy(energies, entropies, _scopes(factors, bound), _with_data(bound))


def free_energy_of(posterior: Posterior) -> FreeEnergy:
    """Return the free energy of a posterior: minus its log evidence or its bound, taken apart.

    Parameters
    ----------
    posterior : Posterior
        Its blocks are independent beliefs, of several variables together where they were solved
        together.

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.x = Normal(0, variance=4)
    >>> m.y1 = Normal(m.x, variance=1)
    >>> m.y2 = Normal(m.x, variance=2)
    >>> free_energy_of(m.infer(y1=1.0, y2=2.0))
    energy of x             1.84678
    energy of y1            1.21486
    energy of y2            1.59204
    less entropy of x      -1.13913
    free energy             3.51455
    """
    bound = posterior._solved.bound
    account = posterior.explain()
    energies = {name: -value for name, value in account.energies.items()}
    factors = [f for f in bound.factors if f.name in energies]
    rank = list(bound.layouts)
    groups = sorted(
        account.entropies, key=lambda names: rank.index(without_weight(names.split(", ")[0]))
    )
    entropies = {names: account.entropies[names] for names in groups}
    return FreeEnergy(energies, entropies, _scopes(factors, bound), _with_data(bound))


def _require_beliefs(bound: Bound, beliefs: Mapping[str, Any]) -> set[str]:
    for name in beliefs:
        if name not in bound.latent:
            what = "was observed" if name in bound.observed else "is no variable of the model"
            raise ValueError(f"beliefs name {name!r}, which {what}")
    idle = set(bound.barren()) - beliefs.keys()
    missing = [name for name in bound.latent if name not in beliefs and name not in idle]
    if missing:
        raise ValueError(f"beliefs must name every unknown variable; there is none about {missing}")
    return set(beliefs)


def _scopes(factors: list[BoundFactor], bound: Bound) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for factor in factors:
        found.setdefault(factor.name, set()).update(bound.unknowns_of(factor))
    rank = list(bound.layouts)
    return {name: tuple(sorted(scope, key=rank.index)) for name, scope in found.items()}


def _with_data(bound: Bound) -> frozenset[str]:
    return frozenset(name for name in bound.layouts if name in bound.observed)
