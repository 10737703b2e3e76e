from posteriori.modeling.views.model_drawing import (
    draw_model as draw_model,
    html_of_model as html_of_model,
)
from posteriori.modeling.views.model_expansion import expand_model as expand_model
