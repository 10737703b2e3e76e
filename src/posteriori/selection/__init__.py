"""Comparing models: evidence, held-out predictive density, averages and checks.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "averaging": (
        "ClassifierAverage",
        "ModelAverage",
        "average",
        "stacking_weights",
    ),
    "candidates": (
        "CANDIDATES",
        "Candidate",
        "candidates_for",
    ),
    "checks": (
        "PredictiveCheck",
        "check_posterior",
        "check_predictions",
        "check_replicates",
    ),
    "comparing": (
        "compare",
        "select",
    ),
    "comparison": (
        "Comparison",
        "Row",
    ),
    "held_out": (
        "HeldOut",
        "held_out_density",
    ),
    "model_set": (
        "ModelSet",
        "strength_of_evidence",
    ),
    "occam": (
        "EvidenceCurve",
        "OccamFactor",
        "evidence_curve",
        "occam_factor",
    ),
    "predictive_mixture": ("PredictiveMixture",),
    "psis": (
        "LeaveOneOut",
        "leave_one_out",
        "waic",
    ),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.selection.averaging import ClassifierAverage as ClassifierAverage
    from posteriori.selection.averaging import ModelAverage as ModelAverage
    from posteriori.selection.averaging import average as average
    from posteriori.selection.averaging import stacking_weights as stacking_weights
    from posteriori.selection.candidates import CANDIDATES as CANDIDATES
    from posteriori.selection.candidates import Candidate as Candidate
    from posteriori.selection.candidates import candidates_for as candidates_for
    from posteriori.selection.checks import PredictiveCheck as PredictiveCheck
    from posteriori.selection.checks import check_posterior as check_posterior
    from posteriori.selection.checks import check_predictions as check_predictions
    from posteriori.selection.checks import check_replicates as check_replicates
    from posteriori.selection.comparing import compare as compare
    from posteriori.selection.comparing import select as select
    from posteriori.selection.comparison import Comparison as Comparison
    from posteriori.selection.comparison import Row as Row
    from posteriori.selection.held_out import HeldOut as HeldOut
    from posteriori.selection.held_out import held_out_density as held_out_density
    from posteriori.selection.model_set import ModelSet as ModelSet
    from posteriori.selection.model_set import strength_of_evidence as strength_of_evidence
    from posteriori.selection.occam import EvidenceCurve as EvidenceCurve
    from posteriori.selection.occam import OccamFactor as OccamFactor
    from posteriori.selection.occam import evidence_curve as evidence_curve
    from posteriori.selection.occam import occam_factor as occam_factor
    from posteriori.selection.predictive_mixture import PredictiveMixture as PredictiveMixture
    from posteriori.selection.psis import LeaveOneOut as LeaveOneOut
    from posteriori.selection.psis import leave_one_out as leave_one_out
    from posteriori.selection.psis import waic as waic
