"""Rows that threads share out, and inner products that run in the thread that asks for them."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from posteriori.numerics.threads import share_rows

LATER = """
from posteriori.numerics.threads import without_blas_threads
with without_blas_threads():
    pass
from threadpoolctl import threadpool_info
import scipy.linalg
def threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}
before = threads()
with without_blas_threads():
    print(threads() <= {1})
print(threads() == before)
"""


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("rows", [0, 1, 7])
def test_parts_are_all_rows_in_order_with_threads_of_their_own_or_given_ones(
    rows, parts, monkeypatch
):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    numbers = np.arange(rows)
    with ThreadPoolExecutor(3) as pool:
        for threads in (None, pool):
            found = share_rows(lambda part: numbers[part], rows, parts, threads)
            assert len(found) == min(parts, 3)
            assert np.concatenate(found).tolist() == numbers.tolist()


def test_a_library_that_is_loaded_later_is_kept_to_one_thread_too():
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", LATER], env=environment, check=True, capture_output=True, text=True
    )
    assert ran.stdout.split() == ["True", "True"]
