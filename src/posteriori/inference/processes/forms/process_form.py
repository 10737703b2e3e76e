"""What every way of computing a process offers: evidence with its slopes, and what is known after rows."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from posteriori.inference.processes.dense_process import Moments, score_dense, solve_dense
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.types import Array

__all__ = ["DenseForm", "ProcessForm", "SolvedProcess"]


class SolvedProcess(Protocol):
    """What is known of a function after rows."""

    @property
    def log_evidence(self) -> float:
        """Ln p(y)."""

    @property
    def jitter(self) -> float:
        """What was added to the diagonal of the covariance, 0 where it was definite as it stood."""

    def predict(self, X: Array) -> Moments:
        """Return means and variances of the function at points."""

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the function's values at points, (M, M)."""

    def effects(self, X: Array) -> list[Moments]:
        """Return moments of the mean, if there is one, and of each summand of the kernel."""

    def left_out(self) -> Moments:
        """Return moments of the mean target at each input, given all others, noise included."""


class ProcessForm(Protocol):
    """A way of computing, for rows of which all is known but the parameters of the kernel."""

    @property
    def account(self) -> str:
        """How it computes, and at what cost."""

    def score(self, kernel: Kernel) -> tuple[float, Array]:
        """Return ln p(y) and its gradient in the logarithms of the kernel's parameters."""

    def solve(self, kernel: Kernel) -> SolvedProcess:
        """Return what is known of the function after the rows."""


class DenseForm(NamedTuple):
    """One Cholesky factor of all distinct inputs."""

    rows: ProcessRows
    mean: MeanEffects
    absolute: bool

    @property
    def account(self) -> str:
        return f"Cholesky factor of {len(self.rows.X)} distinct inputs, O(N³)"

    def score(self, kernel: Kernel) -> tuple[float, Array]:
        return score_dense(kernel, *self)

    def solve(self, kernel: Kernel) -> SolvedProcess:
        return solve_dense(kernel, *self)
