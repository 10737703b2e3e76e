from posteriori.drawing.drawing import Drawing as Drawing
from posteriori.drawing.graph_drawing import draw_graph as draw_graph
from posteriori.drawing.shapes import Box as Box, Line as Line, Shape as Shape
