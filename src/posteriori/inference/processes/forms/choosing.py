"""Which structure of a kernel and of points is used, and why."""

from __future__ import annotations

from posteriori.inference.processes.forms.process_form import DenseForm, ProcessForm
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.kernel import Kernel

__all__ = ["choose_form"]


def choose_form(
    kernel: Kernel, rows: ProcessRows, mean: MeanEffects, absolute: bool
) -> ProcessForm:
    """Return the cheapest way to compute with a kernel of this form.

    Parameters
    ----------
    kernel : Kernel
        Its form is what matters; parameters may change later.
    rows : ProcessRows
    mean : MeanEffects
    absolute : bool
        Whether targets have noise of their own, and the kernel none.
    """
    return DenseForm(rows, mean, absolute)
