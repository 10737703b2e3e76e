"""Let the tests import their own oracles and case tables as ``tests.…``."""

import os
import sys
from pathlib import Path

import hypothesis

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

# The same examples on every machine and run; no deadline, since a shared core may stall.
hypothesis.settings.register_profile(
    "posteriori", derandomize=True, deadline=None, max_examples=60, print_blob=True
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "posteriori"))
