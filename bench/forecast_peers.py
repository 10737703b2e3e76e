"""Forecasts of StatsForecast for public series, kept in a file: reruns of a bench cost those of ours alone."""

from __future__ import annotations

import json
import os
import time
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from public_series import Series

__all__ = ["LEVELS", "MEAN", "PEERS", "Quantiles", "peer_quantiles"]

#: Levels over which scores are integrated, midpoints, and the ends of 80 and 95 % intervals.
LEVELS = np.concatenate([(np.arange(40) + 0.5) / 40, [0.1, 0.9, 0.025, 0.975]])
#: Models of StatsForecast, and their equal mean: of quantiles.
PEERS, MEAN = ("AutoETS", "AutoARIMA", "AutoTheta", "AutoCES"), "equal mean"
KEPT = Path(__file__).parents[1] / ".cache" / "forecast_peers.json"


class Quantiles(NamedTuple):
    """Quantiles (H, Q) at the levels, and the processor seconds that they took."""

    values: np.ndarray
    seconds: float


def peer_quantiles(past: Series) -> dict[str, Quantiles]:
    """Return what all peers, and their mean, say of the steps after a past."""
    import statsforecast

    file = KEPT.with_stem(f"{KEPT.stem}_{statsforecast.__version__}")
    kept = _read(file)
    found = {}
    for peer in PEERS:
        key = f"{past.name}, {len(past.values)} values: {peer}"
        if key not in kept:
            kept[key] = _ask(peer, past)
            _write(kept, file)
        values, seconds = kept[key]
        found[peer] = Quantiles(np.array(values), seconds)
    mean = np.mean([one.values for one in found.values()], axis=0)
    return found | {MEAN: Quantiles(mean, sum(one.seconds for one in found.values()))}


@cache
def _read(file: Path) -> dict[str, Any]:
    """Return what is kept; what is added to it later is added here."""
    return json.loads(file.read_text()) if file.exists() else {}


def _write(kept: dict[str, object], file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    made = file.with_suffix(f".{os.getpid()}")
    made.write_text(json.dumps(kept))
    made.replace(file)


def _ask(peer: str, past: Series) -> tuple[list[list[float]], float]:
    """Return quantiles by a model of StatsForecast, from its intervals."""
    from statsforecast import models

    masses = np.unique(np.round(100 * np.abs(2 * LEVELS - 1), 6))
    start = time.process_time()
    found = getattr(models, peer)(season_length=past.period).forecast(
        past.values, h=past.horizon, level=masses.tolist()
    )
    seconds = time.process_time() - start
    columns = []
    for level in LEVELS:
        mass, side = np.round(100 * abs(2 * level - 1), 6), "lo" if level < 0.5 else "hi"
        columns.append(found[_interval_name(found, side, mass)])
    return np.column_stack(columns).tolist(), seconds


def _interval_name(found: dict[str, object], side: str, mass: float) -> str:
    for name in (f"{side}-{mass:g}", f"{side}-{mass}", f"{side}-{int(mass)}"):
        if name in found:
            return name
    raise KeyError(f"{side} {mass} among {sorted(found)[:4]}")
