from posteriori.decomposition.bayesian_factors import (
    BayesianFactorAnalysis as BayesianFactorAnalysis,
    BayesianPCA as BayesianPCA,
)
from posteriori.decomposition.covariance_diagnosis import (
    CovarianceReport as CovarianceReport,
    covariance_report as covariance_report,
    pca_fisher_parameters as pca_fisher_parameters,
)
from posteriori.decomposition.factor_analysis import FactorAnalysis as FactorAnalysis
from posteriori.decomposition.fitted_lines import (
    FittedLine as FittedLine,
    fit_line as fit_line,
    residual_projector as residual_projector,
)
from posteriori.decomposition.independent_components import ICA as ICA
from posteriori.decomposition.kernel_components.kernel_pca import KernelPCA as KernelPCA
from posteriori.decomposition.low_rank_product import (
    LowRank as LowRank,
    low_rank as low_rank,
    norm_scores as norm_scores,
)
from posteriori.decomposition.principal_components import PCA as PCA
from posteriori.decomposition.probabilistic_pca import ProbabilisticPCA as ProbabilisticPCA
from posteriori.decomposition.source_matching import (
    SourceMatch as SourceMatch,
    amari_distance as amari_distance,
    match_sources as match_sources,
)
