from posteriori.decision.bayes_errors import (
    ErrorEstimate as ErrorEstimate,
    bayes_error as bayes_error,
    error_of as error_of,
    estimate_bayes_error as estimate_bayes_error,
)
from posteriori.decision.calibration import (
    Confusion as Confusion,
    ReliabilityCurve as ReliabilityCurve,
    confusion as confusion,
    proper_scores as proper_scores,
    reliability as reliability,
)
from posteriori.decision.class_posteriors import (
    class_posterior as class_posterior,
    combine_posteriors as combine_posteriors,
    compensate_priors as compensate_priors,
)
from posteriori.decision.error_bounds import (
    ChernoffBound as ChernoffBound,
    bhattacharyya_bound as bhattacharyya_bound,
    chance_bound as chance_bound,
    chernoff_bound as chernoff_bound,
    harmonic_bound as harmonic_bound,
    prior_bound as prior_bound,
)
from posteriori.decision.intervals import Region as Region, decision_regions as decision_regions
from posteriori.decision.rules import Decision as Decision, decide as decide
