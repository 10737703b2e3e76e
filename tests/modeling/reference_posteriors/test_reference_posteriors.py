"""Posteriors of posteriordb against the means and spreads of its reference draws."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.modeling.reference_posteriors.reference_models import CASES, Case

FOLDER = Path(__file__).parent
#: Shifts in standard deviations, and relative errors of standard deviations, at most.
SHIFT, SPREAD = 0.1, 0.07
#: Integrals over four numbers and more take several seconds.
LONG = ("arma-arma11", "hmm_example-hmm_example", "low_dim_gauss_mix-low_dim_gauss_mix")


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


POSTERIORS = {row["posterior"]: row for row in rows("posteriors")}
REFERENCES: dict[str, dict[str, tuple[float, float]]] = {}
for row in rows("references"):
    parameters = REFERENCES.setdefault(row["posterior"], {})
    parameters[row["parameter"]] = (float(row["mean"]), float(row["sd"]))


def moments(case: Case, posterior) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each parameter of Stan."""
    draws = posterior.sample(20_000, rng=0) if case.derived else {}
    found = {}
    for stan, (name, i) in case.parts.items():
        if name in case.derived:
            values = case.derived[name](draws)
            mean, std = values.mean(0), values.std(0)
        else:
            marginal = posterior.predict(name)
            mean, std = marginal.mean, marginal.std
        found[stan] = (float(mean if i is None else mean[i]), float(std if i is None else std[i]))
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in CASES]
)
def test_means_and_spreads_are_those_of_the_draws(name):
    case = CASES[name]()
    posterior = case.model.infer(dict(case.data), **case.options)
    found = moments(case, posterior)
    assert found.keys() == REFERENCES[name].keys()
    for parameter, (mean, sd) in REFERENCES[name].items():
        assert abs(found[parameter][0] - mean) < SHIFT * sd, parameter
        assert found[parameter][1] == pytest.approx(sd, rel=SPREAD), parameter
    kinds = {"exact": "exact", "quadrature": "quadrature", "bound": "variational"}
    assert kinds[posterior.log_evidence.kind] == POSTERIORS[name]["solved_by"]


def test_every_posterior_with_data_and_draws_is_tested():
    had = {n for n, row in POSTERIORS.items() if row["data"] == row["draws"] == "yes"}
    assert had == CASES.keys() == REFERENCES.keys()


def test_the_table_holds_all_posteriors_and_says_why_some_are_not_written():
    assert len(POSTERIORS) == 147
    for row in POSTERIORS.values():
        assert row["expressible"] in ("yes", "no")
        assert (row["expressible"] == "yes") == (row["solved_by"] != "")
        if row["expressible"] == "no":
            assert row["remark"]
    counted = [
        r for r in POSTERIORS.values() if r["likelihood"] in ("normal", "discrete", "conjugate")
    ]
    assert all(row["expressible"] == "yes" for row in counted)
