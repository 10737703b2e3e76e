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
from posteriori.kernels.periodic import Cosine as Cosine, Periodic as Periodic
from posteriori.kernels.radial import (
    RBF as RBF,
    InverseMultiquadric as InverseMultiquadric,
    InverseQuadratic as InverseQuadratic,
    Matern as Matern,
    Radial as Radial,
    RationalQuadratic as RationalQuadratic,
)
