from posteriori.kernels.coregion import Coregion as Coregion
from posteriori.kernels.enclosing_balls import (
    EnclosingBall as EnclosingBall,
    enclosing_ball as enclosing_ball,
)
from posteriori.kernels.expansions import (
    MercerExpansion as MercerExpansion,
    mercer_expansion as mercer_expansion,
)
from posteriori.kernels.feature_space import (
    center_gram as center_gram,
    distance_to_mean as distance_to_mean,
    kernel_distance as kernel_distance,
)
from posteriori.kernels.inner_products import (
    Features as Features,
    FisherKernel as FisherKernel,
    Function as Function,
    Linear as Linear,
    Overlap as Overlap,
    Polynomial as Polynomial,
    White as White,
)
from posteriori.kernels.kernel import Constant as Constant, Kernel as Kernel
from posteriori.kernels.mercer import Mercer as Mercer, is_mercer as is_mercer
from posteriori.kernels.periodic import Cosine as Cosine, Periodic as Periodic
from posteriori.kernels.radial import (
    RBF as RBF,
    InverseMultiquadric as InverseMultiquadric,
    InverseQuadratic as InverseQuadratic,
    Matern as Matern,
    Radial as Radial,
    RationalQuadratic as RationalQuadratic,
)
