"""Oracles for the pages of the gallery about networks: tables of all variables, by NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["PAGES"]

Names = dict[str, Any]


def chest_clinic() -> np.ndarray:
    """Return p(asia, tub, smoke, lung, bronc, either, xray, dysp), "yes" first, as it was published."""

    def link(*yes: float) -> np.ndarray:
        return np.stack([np.array(yes), 1.0 - np.array(yes)], axis=-1)

    either = np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
    dysp = link(0.9, 0.8, 0.7, 0.1).reshape(2, 2, 2)  # by bronchitis, then by either
    small = link(0.01), link(0.05, 0.01), link(0.5), link(0.1, 0.01), link(0.6, 0.3)
    asia, tub, smoke, lung, bronc = (table.squeeze() for table in small)
    return np.einsum(
        "a,at,s,sl,sb,lte,ex,bed->atslbexd",
        *(asia, tub, smoke, lung, bronc, either, link(0.98, 0.05), dysp),
    )


def log_odds(joint: np.ndarray, axis: int) -> float:
    yes, no = np.moveaxis(joint, axis, 0).reshape(2, -1).sum(axis=1)
    return float(np.log(yes / no))


def nats(p: np.ndarray) -> float:
    """Return the mutual information of the two axes of a table."""
    p = p / p.sum()
    both = np.outer(p.sum(axis=1), p.sum(axis=0))
    return float(np.sum(p[p > 0] * np.log(p[p > 0] / both[p > 0])))


def check_asia(page: Names) -> None:
    p = chest_clinic()
    breath, both = p[..., 0], p[..., 0, 0]  # axes: asia, tub, smoke, lung, bronc, either, xray
    shares = [both.take(0, axis).sum() / both.sum() for axis in (3, 1, 4)]
    found = [page["found"][name].probabilities[0] for name in ("lung", "tub", "bronc")]
    np.testing.assert_allclose(found, shares, rtol=1e-12)
    for name, axes in {"xray": (0, 1, 2, 4, 5), "smoke": (0, 1, 4, 5, 6)}.items():
        np.testing.assert_allclose(page["told"][name], nats(breath.sum(axis=axes)), rtol=1e-10)
    known = {"dysp": p[..., 0, :][:, :, 1], "xray": p[..., 0][:, :, 1], "smoke": p[..., 0, 0]}
    every = log_odds(p[..., 0, 0][:, :, 1], 2)
    for name, without in known.items():
        axis = 3 if name == "smoke" else 2
        np.testing.assert_allclose(
            page["weights"][name], every - log_odds(without, axis), rtol=1e-10
        )


def check_reasons(page: Names) -> None:
    causes = np.outer([0.8, 0.2], [0.7, 0.3])  # rain, sprinkler; "yes" last

    def rain(wet: np.ndarray) -> float:
        p = causes * wet[..., 1]
        return float(p[1].sum() / p.sum())

    wet = np.array(page["wet"])
    np.testing.assert_allclose(page["lawn"].query("rain=yes | wet=yes"), rain(wet))
    for cell in np.ndindex(2, 2):  # slopes by central differences
        ends = []
        for move in (1e-6, -1e-6):
            moved = wet.copy()
            moved[(*cell, 1)] += move
            ends.append(rain(moved))
        slope = (ends[0] - ends[1]) / 2e-6
        np.testing.assert_allclose(page["slopes"]["wet"][(*cell, 1)], slope, rtol=1e-7)
    given_both = np.log(0.2 * 0.99 / (0.8 * 0.9))
    weights = page["lawn"].weights_of_evidence("rain=yes", "wet=yes, sprinkler=yes")
    np.testing.assert_allclose(weights["wet"], given_both - np.log(0.2 / 0.8))
    np.testing.assert_allclose(
        weights["sprinkler"], given_both - np.log(rain(wet) / (1 - rain(wet)))
    )
    told = page["lawn"].information("rain", "wet=yes")["sprinkler"]
    np.testing.assert_allclose(told, nats(causes * wet[..., 1]))


PAGES = {"asia": check_asia, "reasons": check_reasons}
