from posteriori.estimation.estimate_ascent import EstimateReport as EstimateReport
from posteriori.estimation.gaussian_approximation import (
    LaplaceApproximation as LaplaceApproximation,
    laplace_approximation as laplace_approximation,
)
from posteriori.estimation.likelihood_estimates import (
    map_estimate as map_estimate,
    maximum_likelihood as maximum_likelihood,
)
from posteriori.estimation.ml_and_bayes import (
    FlatPriorEvidence as FlatPriorEvidence,
    MLBayesReport as MLBayesReport,
    compare_ml_bayes as compare_ml_bayes,
    evidence_under_flat_priors as evidence_under_flat_priors,
)
from posteriori.estimation.point_estimates import point_estimate as point_estimate
from posteriori.estimation.risk import (
    BiasVariance as BiasVariance,
    bias_variance as bias_variance,
    unbiased_covariance as unbiased_covariance,
    unbiased_variance as unbiased_variance,
)
from posteriori.estimation.shrinkage import (
    JamesStein as JamesStein,
    ShrinkageCovariance as ShrinkageCovariance,
    james_stein as james_stein,
    james_stein_means as james_stein_means,
    shrinkage_covariance as shrinkage_covariance,
)
