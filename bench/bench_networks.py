"""Bayesian networks: against pyAgrum and pgmpy, those that are installed, on public networks.

Usage: ``bench_networks.py FOLDER [--pgmpy | --memory]``: with pgmpy instead of pyAgrum, or the memory of all marginals
beside what ``plan`` says, of every network in the folder. The folder holds ``alarm.bif.gz`` and others; they ship in the
wheel of pgmpy 0.1.26 (``pgmpy/utils/example_models``). Both sides have the same float64 tables, the answers agree
to 1e-9 first, ten random variables are observed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from harness import ROUNDS, Comparison, compare, peak_memory, report, take_turns

from posteriori.networks import BayesianNetwork
from posteriori.networks.network_engine import Engine, Findings
from posteriori.numerics import compilation

NAMES = ("child", "alarm", "insurance", "hailfinder", "hepar2", "win95pts", "pigs")
OBSERVED, ROWS = 10, 100_000
#: Variables that pgmpy is asked for, of each network.
ASKED = 8
#: Networks that take more are left out where memory is measured.
MOST_BYTES = 2**30


def findings(bn: BayesianNetwork, count: int) -> list[dict[str, str]]:
    """Return states of the same ten variables, drawn from the network."""
    names = np.random.default_rng(0).permutation(bn.names)[:OBSERVED].tolist()
    rows = bn.sample(count, rng=1)
    return [{name: str(rows[name][i]) for name in names} for i in range(count)]


def our_marginals(bn: BayesianNetwork, given: dict[str, str]) -> dict[str, np.ndarray]:
    return {name: found.probabilities for name, found in bn.marginals(given).items()}


def agrum_network(bn: BayesianNetwork):
    import pyagrum as gum

    made = gum.BayesNet()
    for name in bn.names:
        made.add(gum.LabelizedVariable(name, name, list(map(str, bn.labels[name]))))
    for name, one in bn.conditionals.items():
        for parent in one.given:
            made.addArc(parent, name)
    for name, one in bn.conditionals.items():
        order = [*one.given, name]
        wanted = list(reversed(made.cpt(name).names))
        cells = np.transpose(one.probabilities, [order.index(v) for v in wanted])
        made.cpt(name).fillWith(cells.ravel().tolist())
    return made


def agrum_engine(made, kind: str, given: dict[str, str]) -> Callable:
    import pyagrum as gum

    engine = getattr(gum, kind)(made)
    engine.setEvidence(given)
    names = list(made.names())

    def ask(known: dict[str, str]) -> dict[str, np.ndarray]:
        for name, state in known.items():
            engine.chgEvidence(name, state)
        engine.makeInference()
        return {name: engine.posterior(name).toarray() for name in names}

    return ask


def cold(bn: BayesianNetwork, given: dict[str, str]) -> Callable[[], object]:
    network = bn._engine.network

    def ask() -> object:
        bn.__dict__["_engine"] = Engine(network)
        return our_marginals(bn, given)

    return ask


def agrum_cold(made, kind: str, given: dict[str, str]) -> Callable[[], object]:
    return lambda: agrum_engine(made, kind, given)(given)


def timed(
    ask: Callable[[dict[str, str]], object], known: list[dict[str, str]]
) -> Callable[[], object]:
    state = {"i": 0}

    def run() -> object:
        state["i"] = (state["i"] + 1) % len(known)
        return ask(known[state["i"]])

    return run


def _beside(name: str, runs: list[Callable[[], object]], bar: float) -> Comparison:
    """Compare ours, the first, with the fastest of the others."""
    for run in runs:
        run()
    (ours, busy), *others = take_turns(runs, ROUNDS)
    best, busy_best = min(others)
    return Comparison(name, ours, best, bar, faster=True, processor=(busy, busy_best))


def compare_marginals(folder: Path) -> list[Comparison]:
    found = []
    for name in NAMES:
        bn = BayesianNetwork.read(folder / f"{name}.bif.gz")
        known = findings(bn, 20)
        made = agrum_network(bn)
        kinds = ("LazyPropagation", "ShaferShenoyInference")
        for kind in kinds:
            ask = agrum_engine(made, kind, known[0])
            for given in known[:3]:
                theirs, ours = ask(given), our_marginals(bn, given)
                for v in bn.names:
                    np.testing.assert_allclose(ours[v], theirs[v], atol=1e-9)
        engines = [timed(agrum_engine(made, kind, known[0]), known) for kind in kinds]
        ours = timed(lambda given, bn=bn: our_marginals(bn, given), known)
        found.append(_beside(f"{name}: all marginals, warm", [ours, *engines], 2.0))
        starts = [agrum_cold(made, kind, known[0]) for kind in kinds]
        found.append(_beside(f"{name}: all marginals, cold", [cold(bn, known[0]), *starts], 0.5))
    for what, bar in (("warm", 8.0), ("cold", 1.0)):
        ratios = [one.ratio for one in found if one.name.endswith(what)]
        print(f"geometric mean, {what}: {np.exp(np.mean(np.log(ratios))):.2f} (goal >= {bar:g})")
    return found


def compare_rows(folder: Path) -> None:
    """Print the time of many rows beside loops, which are timed on a few."""
    bn = BayesianNetwork.read(folder / "alarm.bif.gz")
    rows = pd.DataFrame(bn.sample(ROWS, rng=3)).astype(object)
    rows = rows.mask(np.random.default_rng(4).random(rows.shape) < 0.3, None)
    target = "LVFAILURE"
    bn.predict_proba(rows.head(10), target)
    start = time.perf_counter()
    found = bn.predict_proba(rows, target)
    ours = (time.perf_counter() - start) / ROWS
    some = rows.drop(columns=target).head(50).to_dict("records")
    known = [{k: v for k, v in row.items() if v is not None} for row in some]
    start = time.perf_counter()
    single = [bn.query(target, given).probabilities for given in known]
    loop = (time.perf_counter() - start) / len(known)
    np.testing.assert_allclose(found[: len(known)], single, atol=1e-9)
    import pyagrum as gum

    engine = gum.LazyPropagation(agrum_network(bn))
    engine.addTarget(target)
    start = time.perf_counter()
    theirs = []
    for given in known:
        engine.setEvidence(given)
        theirs.append(engine.posterior(target).toarray())
    peer = (time.perf_counter() - start) / len(known)
    np.testing.assert_allclose(found[: len(known)], theirs, atol=1e-9)
    print(f"predict_proba, alarm, {ROWS:,} rows, 30 % missing: {ours * 1e6:.1f} us a row;")
    print(
        f"  loop over query {loop / ours:.0f} x (goal >= 20), loop over pyAgrum {peer / ours:.0f} x (goal >= 30)"
    )


def pgmpy_network(bn: BayesianNetwork):
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    peer = DiscreteBayesianNetwork(
        [(p, v) for v, one in bn.conditionals.items() for p in one.given]
    )
    peer.add_nodes_from(bn.names)
    for v, one in bn.conditionals.items():
        cells = np.moveaxis(one.probabilities, -1, 0).reshape(len(bn.labels[v]), -1)
        sizes = [len(bn.labels[p]) for p in one.given]
        states = {u: list(bn.labels[u]) for u in (v, *one.given)}
        peer.add_cpds(
            TabularCPD(v, len(cells), cells, list(one.given) or None, sizes or None, states)
        )
    return peer


def compare_pgmpy(folder: Path) -> list[Comparison]:
    """Time all marginals of ours beside ``VariableElimination``, which is asked for some of them.

    Its time is that of so many random variables times how many there are: it answers one at a time.
    """
    from pgmpy.inference import VariableElimination

    found = []
    for name in NAMES:
        bn = BayesianNetwork.read(folder / f"{name}.bif.gz")
        known = findings(bn, 5)
        engine = VariableElimination(pgmpy_network(bn))
        free = [v for v in bn.names if v not in known[0]]
        some = np.random.default_rng(2).permutation(free)[:ASKED].tolist()

        def theirs(given, engine=engine, asked=some):
            return {v: engine.query([v], given, show_progress=False).values for v in asked}

        mine = our_marginals(bn, known[0])
        for v, p in theirs(known[0]).items():
            np.testing.assert_allclose(mine[v], p, atol=1e-9)
        ours = timed(lambda given, bn=bn: our_marginals(bn, given), known)
        one = compare(
            f"{name}: warm, pgmpy", ours, timed(theirs, known), bar=20.0, faster=True, rounds=5
        )
        times = len(free) / len(some)
        busy, busy_peer = one.processor
        all_of_them = {"reference": one.reference * times, "processor": (busy, busy_peer * times)}
        found.append(replace(one, **all_of_them))
        report("so far", found[-1:])
    ratios = [one.ratio for one in found]
    print(f"geometric mean, pgmpy: {np.exp(np.mean(np.log(ratios))):.1f} (goal >= 100)")
    return found


def chain_time() -> None:
    rng = np.random.default_rng(0)
    move = rng.dirichlet(np.ones(5), size=5)
    bn = BayesianNetwork.chain(np.full(5, 0.2), move, 21)
    ends = {"x[0]": 0}
    for _ in range(300):
        bn.query("x[20]", ends)
    start = time.perf_counter()
    for _ in range(100):
        bn.query("x[20]", ends)
    print(f"chain of 20 factors 5 x 5: {(time.perf_counter() - start) * 10:.3f} ms (goal < 1)")


def show_memory(folder: Path) -> None:
    """Print the peak of all marginals, and of 50 rows with gaps, as a share of what the plan says."""
    for path in sorted(folder.glob("*.bif.gz"), key=lambda path: path.stat().st_size):
        bn = BayesianNetwork.read(path)
        plan, engine = bn.plan(), bn._engine
        if plan.bytes > MOST_BYTES:
            print(f"  {path.name:22} {plan.bytes / 2**20:10.3f} MiB: left out")
            continue
        states = np.zeros((50, len(engine.network.places)), dtype=np.int64)
        states[np.random.default_rng(0).random(states.shape) < 0.3] = -1
        states[:, 0] = -1
        bn.marginals(), engine.rows(0, states)
        whole = engine.plan([0], Findings({}, {}), rest=range(1, states.shape[1]))[0]
        shares = []
        for run, told in (
            (bn.marginals, plan.bytes),
            (partial(engine.rows, 0, states), whole.n_bytes),
        ):
            for kept in engine._plans.values():
                kept.spare.clear()
            shares.append(peak_memory(run) / told)
        print(
            f"  {path.name:22} {plan.bytes / 2**20:10.3f} MiB: marginals {shares[0]:.2f} x, rows {shares[1]:.2f} x "
            "(goal <= 3)",
            flush=True,
        )


def load_loops(folder: Path) -> None:
    """Compile all loops, or load them: plain ones would come first where Numba is not loaded."""
    compilation._pays = lambda body, work: True
    bn = BayesianNetwork.read(folder / "hailfinder.bif.gz")
    cold(bn, findings(bn, 1)[0])()


def main(arguments: list[str]) -> None:
    folder = Path(next(a for a in arguments if not a.startswith("--")))
    load_loops(folder)
    if "--memory" in arguments:
        show_memory(folder)
        return
    if "--pgmpy" in arguments:
        report("Networks beside pgmpy", compare_pgmpy(folder))
        return
    chain_time()
    report("Networks beside pyAgrum", compare_marginals(folder))
    compare_rows(folder)


if __name__ == "__main__":
    main(sys.argv[1:])
