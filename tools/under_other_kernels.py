"""Run a command under each set of OpenBLAS kernels that differs from the one of this machine.

``python tools/under_other_kernels.py pytest -m blas`` runs the tests as on other processors: the
wheels of NumPy and SciPy bring OpenBLAS, which picks its kernels by processor, and sums that are
taken in another order round otherwise. The sets are Haswell (AVX2) and SkylakeX (AVX-512) where
the processor has them and does not run them already, and Nehalem (SSE4.2) where neither is left.
"""

import os
import platform
import subprocess
import sys
from pathlib import Path

#: Instructions that a processor must have to run a set of kernels, as /proc/cpuinfo spells them.
NEEDS = {
    "Haswell": {"avx2", "fma"},
    "SkylakeX": {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"},
}
#: Instructions of every processor of 64 bits since 2008.
OLDEST = "Nehalem"

_REPORT = """
import numpy.linalg, scipy.linalg, threadpoolctl
for library in threadpoolctl.threadpool_info():
    if library["internal_api"] == "openblas":
        print(library["architecture"], library["version"], library["filepath"].split("/")[-2])
"""


def main(command: list[str]) -> int:
    """Run the command once for each set and return the first status that is not 0."""
    present = _kernels_in_use({})
    if platform.machine().lower() not in {"x86_64", "amd64"} or not present:
        print("Skipped: other kernels are run where OpenBLAS is used on x86-64.")
        return 0
    for name in choose_kernels(set(present.values()), _instructions()):
        chosen = {"OPENBLAS_CORETYPE": name}
        found = _kernels_in_use(chosen)
        if set(found.values()) != {name}:
            sys.exit(f"FAILED: asked for the kernels {name}, OpenBLAS runs {found}.")
        print(
            f"-- kernels {name} instead of {' and '.join(set(present.values()))}: {', '.join(found)}"
        )
        status = subprocess.run(command, env=os.environ | chosen, check=False).returncode
        if status:
            return status
    return 0


def choose_kernels(present: set[str], instructions: set[str]) -> list[str]:
    """Return the sets that the processor can run and does not run by itself."""
    able = [name for name, needed in NEEDS.items() if needed <= instructions]
    return [name for name in able if name not in present] or [OLDEST]


def _instructions() -> set[str]:
    """Return what the processor says of itself; nothing where the system does not tell."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return {word for line in lines if line.startswith("flags") for word in line.split()}


def _kernels_in_use(variables: dict[str, str]) -> dict[str, str]:
    """Return the set of kernels of each OpenBLAS that a process with these variables loads."""
    done = subprocess.run(
        [sys.executable, "-c", _REPORT],
        env=os.environ | variables,
        capture_output=True,
        check=True,
        text=True,
    )
    rows = (line.split(maxsplit=1) for line in done.stdout.splitlines())
    return {library: kernels for kernels, library in rows}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
