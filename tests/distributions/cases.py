"""One row per family: what the laws of ``test_laws.py`` and its neighbours need to know about it.

To add a family, add a row to the table it belongs to: two members of ordinary size, a batch, a few
points, and the rule of ``oracles.py`` that integrates (or sums) over its support. Every law that
applies runs on it.
"""

from tests.distributions.cases_of_composites import COMPOSITES
from tests.distributions.cases_of_counts import COUNTS
from tests.distributions.cases_of_numbers import NUMBERS
from tests.distributions.cases_of_vectors import VECTORS
from tests.distributions.family_case import Case

__all__ = ["CASES"]

CASES: tuple[Case, ...] = NUMBERS + COUNTS + VECTORS + COMPOSITES
