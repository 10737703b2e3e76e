"""Random small models: the planner learns them all, and no evidence is below the bound."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from posteriori import Gamma, Model, MvNormal, Normal, StudentT, Wishart, dot
from posteriori.distributions import HalfNormal
from posteriori.modeling.contract.engine import GivesUpError


def random_model(seed: int) -> tuple[Model, np.ndarray]:
    """Return a model of rows in groups, in units of its own, and data around the means it may have."""
    rng = np.random.default_rng(seed)
    unit, groups = float(rng.choice([0.01, 1.0, 300.0])), int(rng.choice([1, 2, 5]))
    group = np.repeat(np.arange(groups), 3)
    m = Model()
    noise = str(rng.choice(["normal", "student", "heavy"]))
    kinds = ["known", "scale", "precision"] if noise == "normal" else ["known", "scale"]
    spread = _spread(m, unit, str(rng.choice(kinds)))
    mean = _mean(m, unit, groups, group, str(rng.choice(["one", "groups", "levels", "effects"])))
    if noise == "normal":
        m.y = Normal(mean, **spread)
        return m, unit * rng.normal(3.0, 1.0, size=len(group))
    dof: Any = 4.0
    if noise == "heavy":
        m.dof = Gamma(2, 0.1)
        dof = m.dof
    m.y = StudentT(dof, mean, **spread)
    return m, unit * (3.0 + rng.standard_t(4, size=len(group)))


def _spread(m: Model, unit: float, kind: str) -> dict[str, Any]:
    if kind == "precision":
        m.tau = Gamma(shape=2, rate=2 * unit**2)
        return {"precision": m.tau}
    if kind == "scale":
        m.s = HalfNormal(scale=2 * unit)
        return {"scale": m.s}
    return {"scale": unit}


def _mean(m: Model, unit: float, groups: int, group: np.ndarray, kind: str) -> Any:
    """Return the mean of each row: one for all, one for each group, or starts and slopes."""
    if kind == "effects":
        m.P = Wishart(4, np.eye(2) / (4 * unit**2))
        m.a = MvNormal([2 * unit, 0.0], precision=m.P).iid(groups)
        return dot(np.stack([np.ones(len(group)), np.tile([-1.0, 0, 1], groups)], 1), m.a[group])
    if kind == "one":
        m.a = Normal(0, scale=5 * unit)
        return m.a * np.ones(len(group))
    if kind == "levels":
        m.between = Gamma(shape=2, rate=2 * unit**2)
        m.a = Normal(0, precision=m.between).iid(groups)
    else:
        m.a = Normal(0, scale=5 * unit).iid(groups)
    return m.a[group]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_the_planner_learns_what_can_be_learned(seed: int) -> None:
    """Each of these has a bound, which the evidence of an integral is above; some have no integral."""
    m, y = random_model(seed)
    bound, found = m.infer(y=y, method="vmp"), m.infer(y=y)
    assert repr(bound)
    assert repr(found)
    assert float(found.log_evidence) >= float(bound.log_evidence) - 2e-3
    if _has_integral(m, y):
        with suppress(GivesUpError):  # who asks for an integral is told that it does not end
            integral = m.infer(y=y, method="quadrature")
            assert repr(integral)
            assert float(integral.log_evidence) >= float(bound.log_evidence) - 2e-3


def _has_integral(m: Model, y: np.ndarray) -> bool:
    try:
        return bool(m.plan(y=y, method="quadrature").blocks)
    except TypeError as error:
        return "does not fit" not in str(error)
