"""Public tables: what a user of ``compare`` gets, beside tuned peers, on rows that nobody has seen.

One split of each table. Ours is ``compare(train, target)`` as it stands: its model tells the held-out rows.
Beside it stand a tuned ridge (logistic) regression, LightGBM, CatBoost and a random forest, of numbers each with
the best of normal, Student's, row-wise and logarithmic densities, chosen out of fold (``table_peers.py``). A line
a table: nats ahead of each peer ± one standard error of the difference, the ratio of RMSE to the better of
LightGBM and CatBoost (of classes the area under the ROC curve, and theirs), how many held-out targets
intervals of 90 % hold, processor seconds of ours and of LightGBM and CatBoost together. Last come wins, ties and losses
at one and two standard errors.

What peers say is kept in ``.cache/held_out`` and asked once. ``--save FILE`` keeps what ours says: of the
model that is kept, the average, and every model, with their densities of training rows out of fold;
``--against FILE`` compares with another state of the package, and fails when the kept model is worse on one table by
more than a standard error of the difference, or in the sum of all.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from public_tables import TABLES, Table, load_table
from sklearn.metrics import roc_auc_score
from table_peers import PEERS, Told, ask_peer

from posteriori import compare
from posteriori.estimators.contract import predictive_of
from posteriori.selection.cross_validation import recorded_log_density, recording_step

CACHE = Path(__file__).parent.parent / ".cache" / "held_out"

#: Nats that a table may lose to another order of additions.
SAME = 0.1

#: What is said to be impossible counts as this at least, of all.
LEAST = -50.0


# -- ours --------------------------------------------------------------------------------------


def told_by(model: Any, table: Table) -> Told:
    """Return what a model of tables says of the held-out rows."""
    inputs, y = model.read_some(table.test), table.test[table.target].to_numpy()
    if model.classes is not None:
        p = np.asarray(model.pipeline.predict_proba(inputs))
        came = p[np.arange(len(y)), np.searchsorted(model.classes, _as_labels(y, model.classes))]
        return Told(np.log(np.maximum(came, 1e-12)), p, np.full(len(y), np.nan), 0.0, model.name)
    y, step = y.astype(float), recording_step(table.train[table.target].to_numpy(float))
    predictive = predictive_of(model.pipeline, inputs)
    density = recorded_log_density(predictive, y, step)
    low, high = predictive.quantile(0.05), predictive.quantile(0.95)
    held = (np.asarray(low) <= y) & (y <= np.asarray(high))
    return Told(density, np.asarray(model.pipeline.predict(inputs)), held, 0.0, model.name)


def _as_labels(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return y.astype(str) if classes.dtype.kind == "U" else y.astype(classes.dtype)


def ask_ours(table: Table) -> tuple[Told, dict[str, np.ndarray]]:
    """Return what is said by the model to act on, and the densities of all models for ``--save``."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        analysis = compare(table.train, table.target, jobs=1)
        told = told_by(analysis.model, table)
        seconds = time.process_time() - start
        names = [n for n, o in analysis.outcomes.items() if o.unseen is not None]
        each = [told_by(analysis.table_model(n), table) for n in names]
    fold_of = np.empty(len(analysis.problem.y), dtype=int)
    for k, (_, rows) in enumerate(analysis.problem.splits):
        fold_of[rows] = k
    kept = {
        "kept": told.log_density,
        "average": each[names.index("average")].log_density
        if "average" in names
        else told.log_density,
        "single": each[names.index(analysis.best_single)].log_density,
        "names": np.array(names),
        "all": np.stack([t.log_density for t in each]),
        "folds": fold_of,
        "left out": np.stack([analysis.outcomes[n].unseen.log_density for n in names]),
        "seconds": np.array([analysis.outcomes[n].seconds for n in names]),
    }
    if analysis.problem.classes is None:
        kept["predictions"] = np.stack([t.prediction for t in each])
    return told._replace(seconds=seconds), kept


# -- peers, asked once -------------------------------------------------------------------------


def ask_once(peer: str, name: str, table: Table, seed: int) -> Told | None:
    rows = len(table.train) + len(table.test)
    path = CACHE / f"{name.replace(' ', '_')}-{peer}-{seed}-{rows}.npz"
    if not path.exists():
        try:
            told = ask_peer(peer, table)
        except Exception as error:
            print(f"  {peer} failed on {name}: {error}", file=sys.stderr)
            return None
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(path, **{k: np.asarray(v) for k, v in told._asdict().items()})
    kept = np.load(path)
    found = Told(*(kept[k] for k in Told._fields))
    return found._replace(seconds=float(found.seconds), how=str(found.how))


# -- scores ------------------------------------------------------------------------------------


def ahead(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Return how many nats ours is ahead, and the standard error of that."""
    gap = np.maximum(ours, LEAST) - np.maximum(theirs, LEAST)
    return float(gap.sum()), float(gap.std(ddof=1) * np.sqrt(len(gap)))


def errors(table: Table, ours: Told, peers: dict[str, Told]) -> tuple[float, float]:
    """Return the ratio of RMSE to the better of the boosted peers, or the areas of ours and theirs."""
    y = table.test[table.target].to_numpy()
    boosted = [peers[p].prediction for p in ("LightGBM", "CatBoost") if p in peers]
    if not table.labels:
        rmse = [float(np.sqrt(np.mean((y - p) ** 2))) for p in (ours.prediction, *boosted)]
        return rmse[0], min(rmse[1:], default=np.nan)
    classes = np.unique(table.train[table.target].to_numpy())
    truth = y[:, None] == classes
    areas = [float(roc_auc_score(truth, p)) for p in (ours.prediction, *boosted)]
    return areas[0], max(areas[1:], default=np.nan)


def tell(name: str, table: Table, ours: Told, peers: dict[str, Told]) -> float:
    """Print a line; return the ratio of RMSE, not a number for classes."""
    gaps = "".join(
        "{:9.1f} ± {:4.1f}".format(*ahead(ours.log_density, peers[p].log_density))
        if p in peers
        else f"{'failed':>16}"
        for p in PEERS
    )
    mine, best = errors(table, ours, peers)
    ratio = np.nan if table.labels else mine / best
    shown = f"AUC {mine:.3f} {best:.3f}" if table.labels else f"{ratio:5.3f} × RMSE"
    held = "" if table.labels else f"{100 * ours.held.mean():3.0f} %"
    boosted = sum(peers[p].seconds for p in ("LightGBM", "CatBoost") if p in peers)
    print(
        f"{name:14}{len(table.train):5}{gaps}  {shown:>16} {held:>5} {ours.seconds:6.1f} {boosted:6.1f}"
        f"  {ours.how}",
        flush=True,
    )
    return ratio


def summarize(found: dict[str, tuple[Told, dict[str, Told]]], ratios: list[float]) -> None:
    """Print wins, ties and losses beside each peer, and beside the best of them in hindsight."""
    print(f"\n{'beside':22}{'1 se: won tied lost':>22}{'2 se: won tied lost':>22}{'nats':>9}")
    for peer in (*PEERS, "best in hindsight"):
        gaps = []
        for ours, peers in found.values():
            told = list(peers.values()) if peer == "best in hindsight" else [peers.get(peer)]
            told = [t for t in told if t is not None]
            if told:
                theirs = max(told, key=lambda t: np.maximum(t.log_density, LEAST).sum())
                gaps.append(ahead(ours.log_density, theirs.log_density))
        counts = ""
        for limit in (1.0, 2.0):
            won, lost = (sum(sign * g > limit * e for g, e in gaps) for sign in (1.0, -1.0))
            counts += f"{won:11}{len(gaps) - won - lost:5}{lost:6}"
        print(f"{peer:22}{counts}{sum(g for g, _ in gaps):9.1f}")
    ours = [o for o, _ in found.values()]
    levels = [o.held.mean() for o in ours if not np.isnan(o.held.astype(float)).any()]
    seconds = sum(o.seconds for o in ours)
    boosted = sum(
        p[n].seconds for _, p in found.values() for n in ("LightGBM", "CatBoost") if n in p
    )
    geometric = float(np.exp(np.nanmean(np.log(ratios)))) if np.isfinite(ratios).any() else np.nan
    print(
        f"RMSE beside the better of LightGBM and CatBoost: {geometric:.3f} in the geometric mean; intervals of 90 % "
        f"hold {100 * np.mean(levels) if levels else np.nan:.1f} %;\nprocessor seconds {seconds:.0f}, a table "
        f"{np.median([o.seconds for o in ours]):.1f} in the median; LightGBM and CatBoost together {boosted:.0f}"
    )


# -- two states of the package -----------------------------------------------------------------


def worse_than(path: Path, kept: dict[str, dict[str, np.ndarray]]) -> list[str]:
    """Print what was gained on each table since densities were saved; return where too much was lost."""
    before, worse, total, parts = np.load(path), [], 0.0, ("kept", "average", "single")
    print(f"\n{'gained, in nats':14} " + "".join(f"{part:>18}" for part in parts))
    for name, said in kept.items():
        if f"{name}/kept" not in before:
            print(f"{name:14}  not saved")
            continue
        gains = [ahead(said[part], before[f"{name}/{part}"]) for part in parts]
        gain, error = gains[0]
        total += gain
        late = -gain > max(error, SAME)
        worse += [f"{name}: {-gain:.1f} ± {error:.1f} nats"] if late else []
        shown = "".join(f"{g:10.2f} ± {e:5.2f}" for g, e in gains)
        print(f"{name:14} {shown}{'   WORSE' if late else ''}")
    print(f"{'sum':14} {total:10.2f}")
    return worse + ([f"the sum: {-total:.1f} nats"] if total < -SAME else [])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES), metavar="table")
    parser.add_argument("--seed", type=int, default=0, help="of the split")
    parser.add_argument("--rows", type=int, default=2000, help="of a table, at most")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), help=", ".join(PEERS))
    parser.add_argument("--save", type=Path, metavar="FILE")
    parser.add_argument("--against", type=Path, metavar="FILE")
    asked = parser.parse_args()
    print(
        f"{'table':14}{'rows':>5}"
        + "".join(f"{'beside ' + p:>16}" for p in PEERS)
        + f"{'error':>18}{'90 %':>6}{'s':>7}{'boosted s':>10}  model"
    )
    found, kept, ratios = {}, {}, []
    for name in asked.tables:
        try:
            table = load_table(name, asked.seed, asked.rows)
        except ModuleNotFoundError as missing:
            print(f"{name:14}skipped: {missing}")
            continue
        try:
            ours, kept[name] = ask_ours(table)
        except Exception:
            print(f"{name:14}failed\n{traceback.format_exc()}", flush=True)
            continue
        asked_peers = {p: ask_once(p, name, table, asked.seed) for p in asked.peers}
        found[name] = ours, {p: told for p, told in asked_peers.items() if told is not None}
        ratios.append(tell(name, table, *found[name]))
        if asked.save:
            np.savez_compressed(
                asked.save, **{f"{n}/{part}": v for n, s in kept.items() for part, v in s.items()}
            )
    if found:
        summarize(found, ratios)
    worse = worse_than(asked.against, kept) if asked.against else []
    if worse:
        print("WORSE: " + "; ".join(worse))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
