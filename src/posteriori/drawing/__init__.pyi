from posteriori.drawing.drawing import Drawing as Drawing
