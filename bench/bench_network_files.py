"""Reading networks in BIF: ours beside pgmpy's ``BIFReader``.

    python bench/bench_network_files.py FOLDER

reads every ``*.bif.gz`` of a folder. The networks of the literature (alarm, munin, diabetes, …) ship in
the wheel of pgmpy 0.1.26, under ``pgmpy/utils/example_models``. Before anything is timed the tables
of both are asserted to be equal to 1e-6, the most by which ours divides a row by its sum. pgmpy
builds its grammar anew for every file, which is most of its time on small ones. Without a folder
nothing is measured.
"""

from __future__ import annotations

import argparse
import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from harness import Comparison, compare, report

from posteriori.networks.files.network_files import read_network_file

#: How many times faster ours shall be.
BAR = 20.0


def assert_equal_tables(path: Path) -> None:
    """Compare all tables; pgmpy has a row for each own state, a column for each of the parents'."""
    ours, theirs = read_network_file(path), read_peer(path)
    assert list(ours.names) == list(theirs.variable_names)
    for name, parents, table in zip(ours.names, ours.parents, ours.tables, strict=True):
        assert list(parents) == list(theirs.variable_parents[name])
        columns = np.asarray(theirs.variable_cpds[name])
        np.testing.assert_allclose(table.reshape(-1, table.shape[-1]).T, columns, atol=1e-6)


def read_peer(path: Path) -> Any:
    from pgmpy.readwrite import BIFReader  # only where there are files to read

    return BIFReader(string=gzip.decompress(path.read_bytes()).decode())


def time_file(path: Path, rounds: int) -> Comparison:
    assert_equal_tables(path)
    name = f"{path.name.removesuffix('.bif.gz')}, {path.stat().st_size >> 10} KiB packed"
    return compare(
        name,
        lambda: read_network_file(path),
        lambda: read_peer(path),
        bar=BAR,
        faster=True,
        rounds=rounds,
        warm=False,
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("folder", type=Path, nargs="?", help="holds *.bif.gz")
    arguments.add_argument("--rounds", type=int, default=7, help="alternating runs for each file")
    chosen = arguments.parse_args()
    if chosen.folder is None:
        print("no folder with *.bif.gz was given: nothing is measured")
        return
    warnings.simplefilter("ignore")
    paths = sorted(chosen.folder.glob("*.bif.gz"), key=lambda path: path.stat().st_size)
    report("reading BIF", [time_file(path, chosen.rounds) for path in paths])


if __name__ == "__main__":
    main()
