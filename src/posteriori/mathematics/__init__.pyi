from posteriori.mathematics.coding import from_one_hot as from_one_hot, one_hot as one_hot
from posteriori.mathematics.matrices import (
    PowerIteration as PowerIteration,
    deflated_eigenpairs as deflated_eigenpairs,
    geometric_sum as geometric_sum,
    is_idempotent as is_idempotent,
    joint_table_parameters as joint_table_parameters,
    power_iteration as power_iteration,
    rayleigh_quotient as rayleigh_quotient,
)
from posteriori.mathematics.norms import (
    NormCheck as NormCheck,
    frobenius_norm as frobenius_norm,
    is_norm as is_norm,
    p_norm as p_norm,
)
from posteriori.mathematics.optimization import (
    KKTReport as KKTReport,
    kkt_residuals as kkt_residuals,
    slater_point as slater_point,
    stationary_point as stationary_point,
)
