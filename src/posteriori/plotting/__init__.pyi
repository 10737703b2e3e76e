from posteriori.plotting.calibrations import (
    plot_confusion as plot_confusion,
    plot_reliability as plot_reliability,
)
from posteriori.plotting.classifiers import plot_boundary as plot_boundary
from posteriori.plotting.decisions import plot_decision as plot_decision
from posteriori.plotting.dispatch import plot as plot
from posteriori.plotting.evidences import plot_evidence as plot_evidence
from posteriori.plotting.galleries import plot_gallery as plot_gallery
from posteriori.plotting.likelihoods import plot_likelihood as plot_likelihood
from posteriori.plotting.parts.style import STYLE as STYLE
from posteriori.plotting.updates import (
    plot_predictive as plot_predictive,
    plot_sequence as plot_sequence,
    plot_update as plot_update,
)
