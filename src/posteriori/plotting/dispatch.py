"""``plot``: a picture of whatever it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posteriori.distributions import BayesResult, Distribution
from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.estimators.contract import (
    Classifies,
    HasComponents,
    PredictsDistributions,
    offers,
)
from posteriori.numerics import LogEvidence
from posteriori.plotting.calibrations import plot_confusion, plot_reliability
from posteriori.plotting.classifiers import plot_boundary
from posteriori.plotting.comparisons import plot_comparison
from posteriori.plotting.evidences import plot_evidence
from posteriori.plotting.parts.part_names import short_name
from posteriori.plotting.parts.style import Axes, axes_for
from posteriori.plotting.pictures.chain_pictures import (
    plot_factorial,
    plot_hidden_model,
    plot_state_posterior,
    plot_transitions,
)
from posteriori.plotting.pictures.component_pictures import plot_components, plot_principal
from posteriori.plotting.pictures.density_estimates import (
    plot_adaptive_histogram,
    plot_histogram,
    plot_kernel_density,
)
from posteriori.plotting.pictures.distribution_pictures import PLOTTABLE, picture_of
from posteriori.plotting.pictures.mixture_pictures import plot_mixture
from posteriori.plotting.pictures.network_pictures import plot_network
from posteriori.plotting.pictures.partition_pictures import plot_choice, plot_partitions
from posteriori.plotting.pictures.prediction_pictures import plot_prediction
from posteriori.plotting.pictures.tree_pictures import plot_tree
from posteriori.plotting.posteriors.marginals import plot_marginals
from posteriori.plotting.posteriors.views import plot_posterior
from posteriori.plotting.updates import plot_update

__all__ = ["plot"]

#: Pictures of records by their path: rooms beside this one are not imported.
_BY_PATH: dict[str, Any] = {
    "posteriori.decision.calibration.Confusion": plot_confusion,
    "posteriori.decision.calibration.ReliabilityCurve": plot_reliability,
    "posteriori.decomposition.bayesian_factors.BayesianFactorAnalysis": plot_components,
    "posteriori.decomposition.bayesian_factors.BayesianPCA": plot_components,
    "posteriori.decomposition.factor_analysis.FactorAnalysis": plot_components,
    "posteriori.decomposition.independent_components.ICA": plot_components,
    "posteriori.decomposition.principal_components.PCA": plot_principal,
    "posteriori.decomposition.probabilistic_pca.ProbabilisticPCA": plot_components,
    "posteriori.density.adaptive_bins.AdaptiveHistogram": plot_adaptive_histogram,
    "posteriori.density.equal_bins.Histogram": plot_histogram,
    "posteriori.density.kernel_density.KernelDensity": plot_kernel_density,
    "posteriori.estimators.component_choice.ComponentChoice": plot_choice,
    "posteriori.inference.state_chains.hidden_markov.HiddenMarkovPosterior": plot_state_posterior,
    "posteriori.mixture.partition_posterior.EnumeratedPartitions": plot_partitions,
    "posteriori.mixture.partition_posterior.SampledPartitions": plot_partitions,
    "posteriori.modeling.posterior.posterior.Posterior": plot_posterior,
    "posteriori.modeling.posterior.storage.SavedPosterior": plot_marginals,
    "posteriori.networks.bayesian_network.BayesianNetwork": plot_network,
    "posteriori.selection.comparison.Comparison": plot_comparison,
    "posteriori.sequence.factorial_model.FactorialHiddenMarkovModel": plot_factorial,
    "posteriori.sequence.hidden_markov_chain.HiddenMarkovChain": plot_transitions,
    "posteriori.sequence.hidden_markov_model.HiddenMarkovModel": plot_hidden_model,
    "posteriori.sequence.markov_chain.MarkovChain": plot_transitions,
    "posteriori.tree.labelled_tree.LabelledTree": plot_tree,
}


def plot(
    thing: Any, view: Any = None, /, *, ax: Any = None, label: Any = None, **options: Any
) -> Axes:
    """Draw a distribution, several of them, or a result.

    ==============================  ==============================================================
    thing                           picture
    ==============================  ==============================================================
    distribution of one number      density with its central interval and mean; stems if discrete
    distribution of two numbers     contours that hold 50%, 80% and 95%
    ``Categorical``                 bars with the names of the categories
    ``Dirichlet`` of three          contours on the simplex
    distribution of a vector        mean and intervals of every coordinate
    ``PointMass``                   a spike
    batch, list or mapping of them  all of them, with labels
    ``BayesResult``                 prior, likelihood and posterior (:func:`plot_update`)
    posterior of a ``Model``        every number that was learned, members of a plate in rows; ``names=``
                                    chooses (one Axes for each panel). ``pairs=["a", "b"]``: numbers two by
                                    two; ``"predictive", y=y``: the data against tables drawn anew
    list or mapping of evidences    models in the order of evidence (:func:`plot_evidence`)
    ``rank_models(…)``              how far each model is behind the best on rows held out, and by evidence
    ``ReliabilityCurve``            observed against given probability (:func:`plot_reliability`)
    ``Confusion``                   true against chosen classes (:func:`plot_confusion`)
    ``model.tree_``                 questions and answers of a decision tree, yes to the left
    fitted classifier               regions, boundaries and rows, with ``X=`` and ``y=``
                                    (:func:`plot_boundary`)
    fitted regression of one        mean and bands that hold half and nine tenths of new targets,
    column                          with ``X=`` and ``y=``, or ``between=``; a Gaussian process needs
                                    neither
    fitted mixture, or ``Mixture``  weighted components of one column, ellipses of two, over the rows
                                    ``X=``
    fitted ``PCA``                  variances of its components (scree)
    fitted decomposition            loadings; with ``X=`` rows and columns along two components, with
                                    ``shape=(8, 8)`` components as images
    fitted histogram or kernel      steps or curve of one column, contours of two, over the rows
    density                         ``X=``
    ``choose_components(…)``        what speaks for each number of components
    posterior of partitions         which rows share a cluster, and how many there are: two Axes
    ``BayesianNetwork``             a card for each variable with its probabilities as bars, shaded if
                                    observed by ``given=``
    chain, or hidden chain          its states, and where each of them leads
    ``hmm.smooth(x)``               how probable each state is at every step
    fitted hidden Markov model      states and their moves; with ``X=`` a column over its states
                                    (of several chains, with ``X=``, the states of each)
    ==============================  ==============================================================

    Parameters
    ----------
    thing : distribution, BayesResult, LogEvidence, or list or mapping of those
        What to draw; the keys of a mapping are the labels. Or one of the others of the table.
    view : str, optional
        Which side of it to show, where there are several. Axes mean the same as ``ax``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None.
    label : str or sequence of str, optional
        Label of a distribution, or labels of the members of a batch.
    **options
        ``mass`` (of the interval or the contours), ``between`` (the range: two numbers, or two
        pairs for contours), ``names`` (of coordinates or categories), ``color``; each where the
        picture has it.

    Returns
    -------
    matplotlib Axes, or an array of them where there are several panels

    Raises
    ------
    TypeError
        When the thing cannot be plotted, or an option does not apply to it.

    Examples
    --------
    >>> from posteriori import Beta, plot
    >>> ax = plot(Beta(5, 4))
    >>> ax.get_legend_handles_labels()[1]
    ['Beta(5, 4)', '95%: 0.2449 to 0.843', 'mean 0.5556']
    """
    if isinstance(view, str):
        options["view"] = view
    elif view is not None:
        ax = view
    if isinstance(thing, BayesResult):
        return plot_update(thing, ax=ax, **options)
    by_path = _BY_PATH.get(f"{type(thing).__module__}.{type(thing).__name__}")
    if by_path is not None:
        return by_path(thing, ax=ax, **options)
    if offers(thing, Classifies):
        return plot_boundary(thing, ax=ax, **options)
    if offers(thing, HasComponents) or (isinstance(thing, MixtureFamily) and "X" in options):
        return plot_mixture(thing, ax=ax, **options)
    if offers(thing, PredictsDistributions):
        return plot_prediction(thing, ax=ax, **options)
    if isinstance(thing, LogEvidence):
        return plot_evidence(thing, ax=ax, label=label, **options)
    if isinstance(thing, Distribution):
        things: Any = {label if isinstance(label, str) else None: thing}
    else:
        things = _several(thing, label)
        if all(isinstance(one, LogEvidence) for one in things.values()):
            return plot_evidence(thing, ax=ax, label=label, **options)
    picture = picture_of(things, label)
    with axes_for(ax, picture.size) as axes:
        picture.paint(axes, options)
    return axes


def _several(thing: Any, label: Any) -> Any:
    """Return the distributions or evidences of a list or a mapping, by name."""
    if not isinstance(thing, (Mapping, list, tuple)) or not len(thing):
        raise TypeError(f"cannot plot {type(thing).__name__}; plot takes {PLOTTABLE}")
    named: Any = thing if isinstance(thing, Mapping) else dict(enumerate(thing))
    kinds = {LogEvidence if isinstance(v, LogEvidence) else Distribution for v in named.values()}
    for one in named.values():
        if not isinstance(one, (Distribution, LogEvidence)):
            raise TypeError(f"cannot plot a list with {type(one).__name__}; plot takes {PLOTTABLE}")
    if len(kinds) > 1:
        raise TypeError("distributions and evidences cannot share one pair of axes")
    if isinstance(thing, Mapping) or LogEvidence in kinds:
        return {str(key): one for key, one in named.items()}
    labels = [short_name(one) for one in thing] if label is None else list(label)
    if len(labels) != len(thing):
        raise ValueError(f"label has {len(labels)} entries for {len(thing)} distributions")
    return _numbered(labels, thing)


def _numbered(labels: list[Any], things: Any) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for text, one in zip(map(str, labels), things, strict=True):
        copies = sum(key == text or key.startswith(f"{text} (") for key in made)
        made[f"{text} ({copies + 1})" if copies else text] = one
    return made
