from posteriori.estimators.ascent_arguments import (
    check_ascent as check_ascent,
    warn_unless_converged as warn_unless_converged,
)
from posteriori.estimators.estimator_rows import (
    check_inputs as check_inputs,
    check_rows as check_rows,
)
from posteriori.estimators.standardized import (
    Standardization as Standardization,
    standardize as standardize,
)
