r"""Jeffrey's rule: new marginals of some variables, everything else given them as before.

One variable needs :math:`q(x) = \sum_y p(x \mid y)\, q(y)`, which is a likelihood q(y)/p(y). Several are fitted in
turn until all hold: of all distributions with these marginals, the one nearest to the old one.

Reference: I. Csiszár, "I-divergence geometry of probability distributions and minimization problems", 1975.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from posteriori.factors.axes import Label
from posteriori.networks.network_engine import Engine, Findings
from posteriori.numerics.types import Array

__all__ = ["fit_margins"]

#: Marginals hold to this; sweeps at most.
_TOLERANCE, _SWEEPS = 1e-12, 10_000


def fit_margins(
    engine: Engine,
    findings: Findings,
    soft: Mapping[int, Array],
    labels: Mapping[str, tuple[Label, ...]],
) -> Findings:
    """Return findings under which the variables have the marginals of ``soft``, by index.

    Their probability is that of the findings without ``soft``, which is a change of belief and no event.

    Raises
    ------
    ValueError
        Where a marginal asks for what is impossible, or marginals contradict each other.
    """
    before = engine.log_total(findings)
    if before == -np.inf:  # the caller tells which findings contradict each other
        return findings
    fitted = dict(findings.likelihoods)
    for v in soft:
        fitted.setdefault(v, np.ones(len(soft[v])))
    first = np.concatenate([[0], np.cumsum(engine.network.tables.sizes)])
    names = tuple(engine.network.places)
    for _ in range(_SWEEPS):
        worst = 0.0
        for v, wanted in soft.items():
            p = engine.marginals(Findings(findings.states, fitted))[1]
            now = p[first[v] : first[v + 1]]
            impossible = np.flatnonzero((now <= 0.0) & (wanted > 0.0))
            if impossible.size:
                state = labels[names[v]][impossible[0]]
                raise ValueError(
                    f"soft evidence gives {names[v]}={state} a probability of {wanted[impossible[0]]:g}, but it "
                    "is impossible given the rest of the evidence"
                )
            worst = max(worst, float(np.abs(now - wanted).max()))
            ratio = np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0.0)
            changed = fitted[v] * ratio
            fitted[v] = changed / changed.max()
        if worst <= _TOLERANCE:
            after = engine.log_total(Findings(findings.states, fitted))
            fitted[v] = fitted[v] * math.exp(before - after)
            return Findings(findings.states, fitted)
    told = ", ".join(names[v] for v in soft)
    raise ValueError(
        f"soft evidence of {told} cannot hold together: after {_SWEEPS} sweeps marginals are still "
        f"{worst:.2g} off"
    )
