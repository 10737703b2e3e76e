"""Pictures of distributions, of learning and of decisions, drawn with matplotlib."""

from posteriori.plotting.calibrations import plot_confusion, plot_reliability
from posteriori.plotting.classifiers import plot_boundary
from posteriori.plotting.decisions import plot_decision
from posteriori.plotting.dispatch import plot
from posteriori.plotting.evidences import plot_evidence
from posteriori.plotting.galleries import plot_gallery
from posteriori.plotting.likelihoods import plot_likelihood
from posteriori.plotting.style import STYLE
from posteriori.plotting.updates import plot_predictive, plot_sequence, plot_update

__all__ = [
    "STYLE",
    "plot",
    "plot_boundary",
    "plot_confusion",
    "plot_decision",
    "plot_evidence",
    "plot_gallery",
    "plot_likelihood",
    "plot_predictive",
    "plot_reliability",
    "plot_sequence",
    "plot_update",
]
