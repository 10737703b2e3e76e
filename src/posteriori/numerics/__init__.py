"""The numeric floor: stable special functions, linear algebra, random streams, validation."""

from posteriori.numerics.chunks import read_blocks
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

__all__ = [
    "DerivativeCheck",
    "Factor",
    "Fingerprint",
    "LogEvidence",
    "Symbol",
    "as_generator",
    "check_gradient",
    "check_hessian",
    "cholesky_jittered",
    "gamma_kernel",
    "gradient",
    "hessian",
    "jacobian",
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
    "read_blocks",
    "softmax",
    "spawn_generators",
]
