from posteriori.inference.weighing.reliability import (
    Deviation as Deviation,
    Reliability as Reliability,
)
from posteriori.modeling.contract.engine import (
    Block as Block,
    Result as Result,
)
from posteriori.modeling.language.chain import (
    Autoregression as Autoregression,
    Chain as Chain,
)
from posteriori.modeling.language.expressions import Input as Input, dot as dot, take as take
from posteriori.modeling.language.processes import GaussianProcess as GaussianProcess
from posteriori.modeling.model import Model as Model
from posteriori.modeling.planning.planner import KINDS as KINDS, Plan as Plan
from posteriori.modeling.posterior.merging import merge as merge
from posteriori.modeling.posterior.messages import (
    EdgeMessages as EdgeMessages,
    Messages as Messages,
)
from posteriori.modeling.posterior.posterior import Posterior as Posterior
from posteriori.modeling.posterior.storage import (
    SavedPosterior as SavedPosterior,
    load_posterior as load_posterior,
)
from posteriori.modeling.variational.densities.densities import (
    register_law as register_law,
)
from posteriori.modeling.views.free_energy import (
    FreeEnergy as FreeEnergy,
    free_energy as free_energy,
    free_energy_of as free_energy_of,
)
from posteriori.modeling.views.posterior_bethe import bethe_free_energy_of as bethe_free_energy_of
