"""The Bethe free energy of a posterior, factor by factor of its model."""

from __future__ import annotations

from posteriori.forney import BetheFreeEnergy
from posteriori.modeling.binding.labelled import count_of
from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["bethe_free_energy_of"]


def bethe_free_energy_of(posterior: Posterior) -> BetheFreeEnergy:
    """Return the Bethe free energy of a posterior's marginals, factor by factor of its model.

    It is minus the log evidence where the posterior is exact and the factors close no loop.

    Parameters
    ----------
    posterior : Posterior
        Of a model whose unknown variables are on no plate; observations may be.

    Raises
    ------
    ValueError
        When an unknown variable is on a plate.

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.x = Normal(0, variance=4)
    >>> m.y1 = Normal(m.x, variance=1)
    >>> m.y2 = Normal(m.x, variance=2)
    >>> round(float(bethe_free_energy_of(m.infer(y1=1.0, y2=2.0))), 9)
    3.514548588
    """
    bound = posterior._solved.bound
    energies = posterior.explain().energies
    for name in posterior._solved.by_name:
        layout = bound.layouts[name]
        if layout.plates or layout.ints:
            raise ValueError(f"{name} is on a plate; its Bethe free energy is not taken apart")
    nodes, degrees = {}, dict.fromkeys(posterior._solved.by_name, 0)
    for factor in bound.factors:
        if factor.name not in energies:
            continue
        scope = sorted(bound.unknowns_of(factor), key=list(bound.layouts).index)
        rows = count_of(factor.rows)
        entropy = _entropy(posterior, scope)
        nodes[factor.name] = -energies[factor.name] - rows * entropy
        for name in scope:
            degrees[name] += rows
    edges = {name: (d - 1) * _entropy(posterior, [name]) for name, d in degrees.items()}
    return BetheFreeEnergy(nodes, edges)


def _entropy(posterior: Posterior, names: list[str]) -> float:
    if not names:
        return 0.0
    belief = posterior[names[0]] if len(names) == 1 else posterior.joint(*names)
    return float(belief.entropy())
