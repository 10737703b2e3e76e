"""The model language: write a joint distribution, give it data, get its posterior.

Every name is loaded on first use.
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from posteriori.numerics.lazy import load_on_use as _load_on_use

#: Which file defines which public names.
_FILES = {
    "bethe": (
        "BetheFreeEnergy",
        "LocalBeliefs",
        "bethe_free_energy",
        "bethe_free_energy_of",
        "local_beliefs",
    ),
    "chain": ("Chain",),
    "coordinate_descent": (
        "MeanField",
        "mean_field",
        "mean_field_energy",
        "variational_message",
    ),
    "drawing": ("Drawing",),
    "expressions": (
        "Input",
        "dot",
        "take",
    ),
    "forney": ("ForneyGraph",),
    "message_passing": (
        "SumProduct",
        "count_operations",
        "find_schedule",
        "loopy_sum_product",
        "sum_product",
    ),
    "messages": (
        "EdgeMessages",
        "Messages",
    ),
    "model": ("Model",),
    "planning": ("Plan",),
    "posterior": ("Posterior",),
    "storage": (
        "SavedPosterior",
        "load_posterior",
    ),
    "variational.free_energy": (
        "FreeEnergy",
        "free_energy",
        "free_energy_of",
    ),
    "variational.shards": ("merge",),
}

__all__, __getattr__, __dir__ = _load_on_use(__name__, _FILES)

if _TYPE_CHECKING:  # what type checkers and editors see; a test keeps it equal to the table
    from posteriori.modeling.bethe import BetheFreeEnergy as BetheFreeEnergy
    from posteriori.modeling.bethe import LocalBeliefs as LocalBeliefs
    from posteriori.modeling.bethe import bethe_free_energy as bethe_free_energy
    from posteriori.modeling.bethe import bethe_free_energy_of as bethe_free_energy_of
    from posteriori.modeling.bethe import local_beliefs as local_beliefs
    from posteriori.modeling.chain import Chain as Chain
    from posteriori.modeling.coordinate_descent import MeanField as MeanField
    from posteriori.modeling.coordinate_descent import mean_field as mean_field
    from posteriori.modeling.coordinate_descent import mean_field_energy as mean_field_energy
    from posteriori.modeling.coordinate_descent import variational_message as variational_message
    from posteriori.modeling.drawing import Drawing as Drawing
    from posteriori.modeling.expressions import Input as Input
    from posteriori.modeling.expressions import dot as dot
    from posteriori.modeling.expressions import take as take
    from posteriori.modeling.forney import ForneyGraph as ForneyGraph
    from posteriori.modeling.message_passing import SumProduct as SumProduct
    from posteriori.modeling.message_passing import count_operations as count_operations
    from posteriori.modeling.message_passing import find_schedule as find_schedule
    from posteriori.modeling.message_passing import loopy_sum_product as loopy_sum_product
    from posteriori.modeling.message_passing import sum_product as sum_product
    from posteriori.modeling.messages import EdgeMessages as EdgeMessages
    from posteriori.modeling.messages import Messages as Messages
    from posteriori.modeling.model import Model as Model
    from posteriori.modeling.planning import Plan as Plan
    from posteriori.modeling.posterior import Posterior as Posterior
    from posteriori.modeling.storage import SavedPosterior as SavedPosterior
    from posteriori.modeling.storage import load_posterior as load_posterior
    from posteriori.modeling.variational.free_energy import FreeEnergy as FreeEnergy
    from posteriori.modeling.variational.free_energy import free_energy as free_energy
    from posteriori.modeling.variational.free_energy import free_energy_of as free_energy_of
    from posteriori.modeling.variational.shards import merge as merge
