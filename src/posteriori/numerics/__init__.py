"""The numeric floor: stable special functions, linear algebra, random streams, validation."""

from posteriori.numerics.chunks import read_blocks
from posteriori.numerics.coding import from_one_hot, one_hot
from posteriori.numerics.derivatives import (
    DerivativeCheck,
    check_gradient,
    check_hessian,
    gradient,
    hessian,
    jacobian,
)
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.linalg import Factor, cholesky_jittered
from posteriori.numerics.logspace import (
    log1mexp,
    log_diff_exp,
    log_mean_exp,
    log_softmax,
    log_sum_exp,
    softmax,
)
from posteriori.numerics.matrices import (
    PowerIteration,
    geometric_sum,
    is_idempotent,
    joint_table_parameters,
    power_iteration,
    rayleigh_quotient,
)
from posteriori.numerics.norms import NormCheck, frobenius_norm, is_norm, p_norm
from posteriori.numerics.optimization import KKTReport, kkt_residuals, stationary_point
from posteriori.numerics.quadrature import Integral, integrate
from posteriori.numerics.random import as_generator, spawn_generators
from posteriori.numerics.special import (
    gamma_kernel,
    log1pmx,
    log_gamma_bregman,
    log_gamma_correction,
    multivariate_digamma,
    multivariate_log_gamma,
)
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "ConvergenceWarning",
    "DerivativeCheck",
    "Factor",
    "Fingerprint",
    "Integral",
    "KKTReport",
    "LogEvidence",
    "NormCheck",
    "PowerIteration",
    "Symbol",
    "as_generator",
    "check_gradient",
    "check_hessian",
    "cholesky_jittered",
    "frobenius_norm",
    "from_one_hot",
    "gamma_kernel",
    "geometric_sum",
    "gradient",
    "hessian",
    "integrate",
    "is_idempotent",
    "is_norm",
    "jacobian",
    "joint_table_parameters",
    "kkt_residuals",
    "log1mexp",
    "log1pmx",
    "log_diff_exp",
    "log_gamma_bregman",
    "log_gamma_correction",
    "log_mean_exp",
    "log_softmax",
    "log_sum_exp",
    "multivariate_digamma",
    "multivariate_log_gamma",
    "one_hot",
    "p_norm",
    "power_iteration",
    "rayleigh_quotient",
    "read_blocks",
    "softmax",
    "spawn_generators",
    "stationary_point",
]
