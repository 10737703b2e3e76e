"""Files with bytes changed at random: read, or refused with a message; never anything else."""

import gzip

import numpy as np
import pytest

from posteriori.networks.files.network_files import read_network_file
from posteriori.networks.files.uai_evidence import read_evidence
from tests.networks.files.test_read_files import BIF, MARKOV, UAI, XMLBIF
from tests.tampering import damaged

#: A small valid file of each kind.
FILES = {
    "a.bif": BIF.encode(),
    "a.xmlbif": XMLBIF.encode("latin-1"),
    "a.uai": UAI.encode(),
    "b.uai": MARKOV.encode(),
    "a.bif.gz": gzip.compress(BIF.encode(), mtime=0),
    "a.evid": b"2\n1 0 1\n2 1 0 3 1\n",
}


def read_spoilt(tmp_path, seed, count):
    """Read spoilt files in turn, and return how many were read."""
    rng = np.random.default_rng(seed)
    fine = 0
    for k in range(count):
        name = list(FILES)[k % len(FILES)]
        content = FILES[name]
        for _ in range(int(rng.integers(1, 3))):
            content = damaged(rng, content)
        path = tmp_path / name
        path.write_bytes(content)
        read = read_evidence if name == "a.evid" else read_network_file
        try:
            read(path)
        except (ValueError, MemoryError) as error:
            assert name in str(error)  # noqa: PT017
        else:
            fine += 1
    return fine


def test_spoilt_files_are_read_or_refused(tmp_path):
    assert 0 < read_spoilt(tmp_path, seed=0, count=500) < 500


@pytest.mark.slow
def test_many_spoilt_files_are_read_or_refused(tmp_path):
    assert 0 < read_spoilt(tmp_path, seed=1, count=10_000) < 10_000
