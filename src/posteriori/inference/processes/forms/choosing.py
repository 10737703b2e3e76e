"""Which structure of a kernel and of points is used, and why."""

from __future__ import annotations

from posteriori.inference.processes.dense_process import noise_variances
from posteriori.inference.processes.forms.chain_form import ChainForm, is_chain
from posteriori.inference.processes.forms.feature_form import FeatureForm, count_features
from posteriori.inference.processes.forms.grid_form import GridForm, find_grid
from posteriori.inference.processes.forms.process_form import DenseForm, ProcessForm
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.kernel import Kernel

__all__ = ["choose_form"]

#: Distinct inputs from which on a grid is looked for.
_WORTH_GRID = 256


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
    if is_chain(kernel, rows, mean):
        return ChainForm(rows, mean, absolute)
    if _has_few_features(kernel, rows, absolute):
        return FeatureForm(rows, mean, absolute)
    if len(rows.X) >= _WORTH_GRID and (layout := find_grid(kernel, rows, absolute)) is not None:
        return GridForm(rows, mean, absolute, layout)
    return DenseForm(rows, mean, absolute)


def _has_few_features(kernel: Kernel, rows: ProcessRows, absolute: bool) -> bool:
    """Tell whether lines in M features, with slopes by differences, are cheaper than a factor."""
    features = count_features(kernel, rows.X.shape[1])
    if features is None or not noise_variances(kernel, rows.X, absolute).all():
        return False
    return features**2 * (2 * len(kernel.log_parameters) + 1) <= len(rows.X) ** 2
