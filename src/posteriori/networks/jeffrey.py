r"""Jeffrey's rule: new marginals of some variables, everything else given them as before.

One variable needs :math:`q(x) = \sum_y p(x \mid y)\, q(y)`, which is a likelihood q(y)/p(y). Several are fitted in
turn until all hold: of all distributions with these marginals, the one nearest to the old one.

Reference: I. Csiszár, "I-divergence geometry of probability distributions and minimization problems", 1975.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posteriori.networks.network_engine import Engine, Findings
from posteriori.numerics.types import Array

__all__ = ["fit_margins"]

#: Marginals hold to this; sweeps at most.
_TOLERANCE, _SWEEPS = 1e-12, 10_000


def fit_margins(engine: Engine, findings: Findings, soft: Mapping[int, Array]) -> Findings:
    """Return findings under which the variables have the marginals of ``soft``, by index.

    Raises
    ------
    ValueError
        Where a marginal asks for what is impossible, or marginals contradict each other.
    """
    fitted = dict(findings.likelihoods)
    for v in soft:
        fitted.setdefault(v, np.ones(len(soft[v])))
    first = np.concatenate([[0], np.cumsum(engine.network.tables.sizes)])
    for _ in range(_SWEEPS):
        worst = 0.0
        for v, wanted in soft.items():
            total, p = engine.marginals(Findings(findings.states, fitted))
            now = p[first[v] : first[v + 1]]
            if total == -np.inf or (wanted[now <= 0.0] > 0.0).any():
                raise ValueError(
                    "soft evidence asks for a state that is impossible given the rest of the evidence"
                )
            worst = max(worst, float(np.abs(now - wanted).max()))
            ratio = np.divide(wanted, now, out=np.zeros_like(wanted), where=now > 0.0)
            changed = fitted[v] * ratio
            fitted[v] = changed / changed.max()
        if worst <= _TOLERANCE:
            return Findings(findings.states, fitted)
    raise ValueError(
        f"soft evidence cannot hold together: after {_SWEEPS} sweeps marginals are still {worst:.2g} off"
    )
