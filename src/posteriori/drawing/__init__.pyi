from posteriori.drawing.drawing import Drawing as Drawing
from posteriori.drawing.shapes import Box as Box, Line as Line, Shape as Shape
