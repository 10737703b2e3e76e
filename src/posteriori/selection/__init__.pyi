from posteriori.distributions.composites.predictive_mixture import (
    PredictiveMixture as PredictiveMixture,
)
from posteriori.selection.averaging import (
    ClassifierAverage as ClassifierAverage,
    ModelAverage as ModelAverage,
    average as average,
)
from posteriori.selection.candidates import (
    CANDIDATES as CANDIDATES,
    Candidate as Candidate,
    candidates_for as candidates_for,
)
from posteriori.selection.checks import (
    PredictiveCheck as PredictiveCheck,
    check_posterior as check_posterior,
    check_predictions as check_predictions,
    check_replicates as check_replicates,
)
from posteriori.selection.comparing import rank_models as rank_models, select as select
from posteriori.selection.comparison import Comparison as Comparison, Row as Row
from posteriori.selection.held_out import HeldOut as HeldOut, held_out_density as held_out_density
from posteriori.selection.model_set import (
    ModelSet as ModelSet,
    strength_of_evidence as strength_of_evidence,
)
from posteriori.selection.occam import (
    EvidenceCurve as EvidenceCurve,
    OccamFactor as OccamFactor,
    evidence_curve as evidence_curve,
    occam_factor as occam_factor,
)
from posteriori.selection.prequential import prequential_evidence as prequential_evidence
from posteriori.selection.psis import (
    LeaveOneOut as LeaveOneOut,
    leave_one_out as leave_one_out,
    waic as waic,
)
from posteriori.selection.stacking import stacking_weights as stacking_weights
