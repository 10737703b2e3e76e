from posteriori.forney.bethe import (
    BetheFreeEnergy as BetheFreeEnergy,
    LocalBeliefs as LocalBeliefs,
    bethe_free_energy as bethe_free_energy,
    local_beliefs as local_beliefs,
)
from posteriori.forney.coordinate_descent import (
    MeanField as MeanField,
    mean_field as mean_field,
    mean_field_energy as mean_field_energy,
    variational_message as variational_message,
)
from posteriori.forney.forney_graph import ForneyGraph as ForneyGraph
from posteriori.forney.message_passing import (
    SumProduct as SumProduct,
    loopy_sum_product as loopy_sum_product,
    sum_product as sum_product,
)
from posteriori.forney.operation_counts import count_operations as count_operations
from posteriori.forney.schedules import find_schedule as find_schedule
