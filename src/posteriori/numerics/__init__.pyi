from posteriori.numerics.blocks.chunks import read_blocks as read_blocks
from posteriori.numerics.calculus.derivatives import (
    DerivativeCheck as DerivativeCheck,
    check_gradient as check_gradient,
    check_hessian as check_hessian,
    gradient as gradient,
    hessian as hessian,
    jacobian as jacobian,
)
from posteriori.numerics.calculus.quadrature import Integral as Integral, integrate as integrate
from posteriori.numerics.evidence import Fingerprint as Fingerprint, LogEvidence as LogEvidence
from posteriori.numerics.linalg import (
    CholeskyFactor as CholeskyFactor,
    cholesky_jittered as cholesky_jittered,
)
from posteriori.numerics.logspace import (
    log1mexp as log1mexp,
    log_diff_exp as log_diff_exp,
    log_mean_exp as log_mean_exp,
    log_softmax as log_softmax,
    log_sum_exp as log_sum_exp,
    softmax as softmax,
)
from posteriori.numerics.random import (
    as_generator as as_generator,
    spawn_generators as spawn_generators,
)
from posteriori.numerics.special import (
    gamma_kernel as gamma_kernel,
    log1pmx as log1pmx,
    log_gamma_bregman as log_gamma_bregman,
    log_gamma_correction as log_gamma_correction,
    multivariate_digamma as multivariate_digamma,
    multivariate_log_gamma as multivariate_log_gamma,
)
from posteriori.numerics.symbol import Symbol as Symbol
from posteriori.numerics.warnings import ConvergenceWarning as ConvergenceWarning
