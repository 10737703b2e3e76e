from posteriori.inference.ascent.expectation_maximization import (
    EMResult as EMResult,
    maximize_by_em as maximize_by_em,
)
from posteriori.inference.chains.chain_forecast import (
    ChainForecast as ChainForecast,
    ChainSample as ChainSample,
    predict_chain as predict_chain,
    simulate_chain as simulate_chain,
)
from posteriori.inference.chains.linear_gaussian_chain import (
    ChainPosterior as ChainPosterior,
    FilteredChain as FilteredChain,
    LinearGaussianChain as LinearGaussianChain,
    filter_chain as filter_chain,
    sample_chain_posterior as sample_chain_posterior,
    smooth_chain as smooth_chain,
)
from posteriori.inference.chains.static_effects import (
    StaticPosterior as StaticPosterior,
    add_static_effects as add_static_effects,
    split_static_effects as split_static_effects,
)
from posteriori.inference.clusters.stirling import count_partitions as count_partitions
from posteriori.inference.gaussian.elimination import (
    GaussianPosterior as GaussianPosterior,
    solve_gaussian as solve_gaussian,
)
from posteriori.inference.gaussian.equations import (
    Equation as Equation,
    Latent as Latent,
    Link as Link,
)
from posteriori.inference.messages.node_messages import (
    Message as Message,
    message as message,
    node_kinds as node_kinds,
    scaled_message as scaled_message,
)
from posteriori.inference.mixtures.mixture_bounds import (
    EvidenceBound as EvidenceBound,
    MixtureGradient as MixtureGradient,
    evidence_bound as evidence_bound,
    jensen_gap as jensen_gap,
    log_likelihood_gradient as log_likelihood_gradient,
)
from posteriori.inference.predictors.fixed_form import (
    FixedForm as FixedForm,
    fit_normal_belief as fit_normal_belief,
)
from posteriori.inference.series.matern_chain import (
    MaternChain as MaternChain,
    matern_chain as matern_chain,
)
from posteriori.inference.series.scalar_chain import (
    Entries as Entries,
    FilteredSeries as FilteredSeries,
    ScalarChain as ScalarChain,
    SeriesScore as SeriesScore,
    SmoothedSeries as SmoothedSeries,
    filter_scalar as filter_scalar,
    score_scalar as score_scalar,
    smooth_scalar as smooth_scalar,
)
from posteriori.inference.state_chains.hidden_markov import (
    HiddenMarkovPosterior as HiddenMarkovPosterior,
    MostLikelyPath as MostLikelyPath,
    forward_backward as forward_backward,
    impossible_steps as impossible_steps,
    most_likely_path as most_likely_path,
    sample_path as sample_path,
)
from posteriori.inference.state_chains.ranked_paths import (
    most_likely_paths as most_likely_paths,
    optimal_paths as optimal_paths,
)
from posteriori.inference.state_chains.run_lengths import (
    RunLengthPosterior as RunLengthPosterior,
    filter_runs as filter_runs,
    most_likely_runs as most_likely_runs,
    run_log_evidence as run_log_evidence,
    sample_runs as sample_runs,
    smooth_runs as smooth_runs,
    step_runs as step_runs,
)
from posteriori.inference.state_chains.state_filters import (
    FilteredStates as FilteredStates,
    filter_states as filter_states,
    step_states as step_states,
)
from posteriori.inference.systems.chain_sums import (
    ChainSums as ChainSums,
    RegressionSums as RegressionSums,
    sum_chain_moments as sum_chain_moments,
)
from posteriori.inference.systems.gap_expectations import impute_chain as impute_chain
from posteriori.inference.systems.variational_system import SystemBeliefs as SystemBeliefs
from posteriori.inference.weighing.approximate_beliefs import (
    ApproximateBelief as ApproximateBelief,
    BeliefDraws as BeliefDraws,
    DrawsPosterior as DrawsPosterior,
    PosteriorDraws as PosteriorDraws,
    StatesDensity as StatesDensity,
    weigh_belief as weigh_belief,
)
from posteriori.inference.weighing.parameter_intervals import (
    ParameterIntervals as ParameterIntervals,
)
