"""Decisions: from class probabilities to the action of least expected loss, and its error.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "bayes_errors": ("ErrorEstimate", "bayes_error", "error_of", "estimate_bayes_error"),
    "calibration": ("Confusion", "Reliability", "confusion", "proper_scores", "reliability"),
    "error_bounds": (
        "ChernoffBound",
        "bhattacharyya_bound",
        "chance_bound",
        "chernoff_bound",
        "harmonic_bound",
        "prior_bound",
    ),
    "intervals": ("Region", "decision_regions"),
    "posteriors": ("class_posterior", "combine_posteriors", "compensate_priors"),
    "rules": ("Decision", "decide"),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.decision.bayes_errors import ErrorEstimate as ErrorEstimate
    from posteriori.decision.bayes_errors import bayes_error as bayes_error
    from posteriori.decision.bayes_errors import error_of as error_of
    from posteriori.decision.bayes_errors import estimate_bayes_error as estimate_bayes_error
    from posteriori.decision.calibration import Confusion as Confusion
    from posteriori.decision.calibration import Reliability as Reliability
    from posteriori.decision.calibration import confusion as confusion
    from posteriori.decision.calibration import proper_scores as proper_scores
    from posteriori.decision.calibration import reliability as reliability
    from posteriori.decision.error_bounds import ChernoffBound as ChernoffBound
    from posteriori.decision.error_bounds import bhattacharyya_bound as bhattacharyya_bound
    from posteriori.decision.error_bounds import chance_bound as chance_bound
    from posteriori.decision.error_bounds import chernoff_bound as chernoff_bound
    from posteriori.decision.error_bounds import harmonic_bound as harmonic_bound
    from posteriori.decision.error_bounds import prior_bound as prior_bound
    from posteriori.decision.intervals import Region as Region
    from posteriori.decision.intervals import decision_regions as decision_regions
    from posteriori.decision.posteriors import class_posterior as class_posterior
    from posteriori.decision.posteriors import combine_posteriors as combine_posteriors
    from posteriori.decision.posteriors import compensate_priors as compensate_priors
    from posteriori.decision.rules import Decision as Decision
    from posteriori.decision.rules import decide as decide
