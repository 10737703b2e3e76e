"""Drawings say what the model says, and nothing in them overlaps."""

from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from posteriori import Bernoulli, Categorical, MvNormal, Normal
from posteriori.drawing.arrangement import place_shapes
from posteriori.drawing.drawing import Drawing
from posteriori.drawing.measures import text_width
from posteriori.factors import Factor
from posteriori.forney.forney_graph import ForneyGraph
from posteriori.modeling import Chain, Input, Model, take

SVG = "{http://www.w3.org/2000/svg}"


def fusion():
    m = Model()
    m.x = Normal(0.0, variance=4.0)
    m.y1 = Normal(m.x, variance=1.0)
    m.y2 = Normal(m.x, variance=2.0)
    return m, {"y1": 1.0, "y2": 2.0}


def regression():
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(3), cov=np.eye(3))
    m.b = Normal(0.0, variance=1.0)
    m.y = Normal(m.X @ m.w + m.b, variance=2.0)
    return m, {"X": np.ones((5, 3)), "y": np.ones(5)}


def hierarchy():
    m = Model()
    m.g = Input()
    m.mu = Normal(0.0, variance=10.0)
    m.theta = Normal(m.mu, variance=2.0).iid(3)
    m.y = Normal(m.theta[m.g], variance=0.5)
    return m, {"g": [0, 1, 2], "y": np.ones(3)}


def chain():
    m = Model()
    m.u = Input("t")
    m.drift = Normal(0.0, variance=1.0)
    m.s = Chain(
        Normal(0.0, variance=1.0), lambda s: Normal(s + m.u + m.drift, variance=1.0), length="t"
    )
    m.y = Normal(m.s, variance=1.0)
    return m, {"u": np.ones(4), "y": np.ones(4)}


def hidden_markov():
    m = Model()
    table = [[0.9, 0.1], [0.2, 0.8]]
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(table, z)), length="t")
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    return m, {"y": np.ones(4)}


def nested():
    m = Model()
    m.population = Normal(0.0, variance=1.0)
    m.theta = Normal(m.population, variance=1.0).iid("school")
    m.x = Normal(m.theta, variance=1.0).iid("pupil")
    m.bias = Normal(0.0, variance=1.0)
    m.y = Normal(m.x + m.bias, variance=1.0)
    return m, {"y": np.ones((2, 3))}


def crossed():
    m = Model()
    m.row = Normal(0.0, variance=1.0).iid("i")
    m.column = Normal(0.0, variance=1.0).iid("j")
    m.y = Normal(m.row + m.column, variance=0.5)
    return m, {"y": np.ones((2, 3))}


def two_parts():
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=np.eye(2))
    m.b = Normal(0.0, variance=1.0)
    m.y = Normal(m.X @ m.w + m.b, variance=1.0)
    m.mu = Normal(0.0, variance=10.0).iid(3)
    m.z = Categorical([0.2, 0.3, 0.5]).iid("n")
    m.x = Normal(m.mu[m.z], variance=1.0)
    return m, {"X": np.ones((4, 2)), "y": np.ones(4), "x": np.zeros(3)}


def loop():
    m = Model()
    m.a = Normal(0.0, variance=1.0)
    m.b = Normal(m.a, variance=0.5)
    m.c = Normal(m.a - m.b, variance=0.7)
    m.d = Normal(m.a + m.b + m.c, variance=0.2)
    return m, {"d": 1.0}


def network():
    m = Model()
    m.rain = Bernoulli(0.2)
    m.sprinkler = Bernoulli(take([0.4, 0.01], m.rain))
    m.grass = Bernoulli(0.1 + 0.4 * m.rain + 0.4 * m.sprinkler)
    m.shoes = Bernoulli(0.1 + 0.8 * m.grass)
    return m, {"grass": 1}


def mixture():
    m = Model()
    m.z = Categorical([0.5, 0.5]).iid("n")
    m.mu = Normal(0.0, variance=4.0).iid(2)
    m.y = Normal(m.mu[m.z], variance=1.0)
    return m, {"y": np.zeros(9)}


CASES = [
    *(fusion, regression, hierarchy, chain, hidden_markov, nested, crossed, loop),
    *(network, mixture, two_parts),
]


def drawings():
    for case in CASES:
        for kind in ("directed", "factor"):
            m, data = case()
            yield pytest.param(m.draw(kind, data), id=f"{case.__name__}-{kind}")
            constants = m.draw(kind, data, constants=True)
            yield pytest.param(constants, id=f"{case.__name__}-{kind}-constants")
        m, data = case()
        yield pytest.param(ForneyGraph.from_model(m, data).draw(), id=f"{case.__name__}-forney")


@pytest.mark.parametrize("drawing", list(drawings()))
def test_nothing_overlaps(drawing):
    layout = place_shapes(drawing)
    borders = {}
    for shape in drawing.shapes:
        (x, y), (left, right, half) = layout.centres[shape.key], layout.extents[shape.key]
        borders[shape.key] = (x - left, y - half, x + right, y + half)
        assert 0 <= x - left < x + right <= layout.width
        assert 0 <= y - half < y + half <= layout.height
    for a, b in combinations(borders.values(), 2):
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart
    for box in drawing.boxes:
        border = layout.boxes[box.key]
        for shape in drawing.shapes:
            left, top, right, bottom = borders[shape.key]
            if box.key in shape.plates:
                assert border.left < left < right < border.right
                assert border.top < top < bottom < border.bottom
            else:
                assert (
                    right <= border.left
                    or left >= border.right
                    or bottom <= border.top
                    or top >= border.bottom
                )


@pytest.mark.parametrize("drawing", list(drawings()))
def test_labels_stay_on_the_paper_and_apart(drawing):
    root = ElementTree.fromstring(drawing.svg())
    spots = []
    for text in root.iter(f"{SVG}text"):
        x, y, size = (float(text.get(name)) for name in ("x", "y", "font-size"))
        wide = text_width(text.text, size)
        left = x - {"start": 0.0, "middle": 0.5, "end": 1.0}[text.get("text-anchor")] * wide
        spots.append((left, y - 0.7 * size, left + wide, y))
        assert left >= 0
        assert left + wide <= float(root.get("width"))
    for a, b in combinations(spots, 2):
        assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]


@pytest.mark.parametrize("drawing", list(drawings()))
def test_svg_is_well_formed_and_complete(drawing):
    text = drawing.svg()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    written = [element.text for element in root.iter(f"{SVG}text")]
    for shape in drawing.shapes:
        assert not shape.label or shape.label in written
    for box in drawing.boxes:
        assert box.label in written
    assert len(list(root.iter(f"{SVG}path"))) == len(drawing.lines)
    assert len(list(root.iter(f"{SVG}polygon"))) == sum(line.arrow for line in drawing.lines)
    assert "nan" not in text
    assert "inf" not in text
    assert text == drawing._repr_svg_()


@pytest.mark.topic("004/3.7")
def test_the_directed_graph():
    m, data = hierarchy()
    drawing = m.draw(data=data)
    lines = {(line.start, line.end) for line in drawing.lines}
    assert lines == {("mu", "theta"), ("theta", "y"), ("g", "y")}
    shapes = {shape.key: shape for shape in drawing.shapes}
    assert {key for key, shape in shapes.items() if shape.shaded} == {"g", "y"}
    assert shapes["g"].form == "square"
    assert shapes["theta"].form == "circle"
    assert [box.label for box in drawing.boxes] == ["3"]
    assert shapes["theta"].hint == "theta ~ Normal(mean=mu, variance=2)"


def test_children_stand_below_their_parents():
    m, data = nested()
    drawing = m.draw(data=data)
    layout = place_shapes(drawing)
    for line in drawing.lines:
        assert layout.centres[line.start][1] < layout.centres[line.end][1]


def test_parts_that_nothing_ties_together_stand_side_by_side():
    m, _ = two_parts()
    places = place_shapes(m.draw()).centres
    gap = min(places[k][0] for k in ("mu", "z", "x")) - max(places[k][0] for k in "Xwby")
    assert 40.0 < gap < 120.0  # about the room between neighbours


def test_plates_take_their_sizes_from_the_data():
    m, data = nested()
    assert {box.label for box in m.draw().boxes} == {"school", "pupil"}
    assert {box.label for box in m.draw(data=data).boxes} == {"pupil = 2", "school = 3"}
    m, data = chain()
    drawing = m.draw(data=data)
    assert {shape.key for shape in drawing.shapes if shape.plates == ("t",)} == {"u", "s", "y"}
    assert ("s", "s") in {(line.start, line.end) for line in drawing.lines}


def test_the_factor_graph():
    m, data = fusion()
    drawing = m.draw("factor", data)
    factors = [shape for shape in drawing.shapes if shape.form == "factor"]
    assert [shape.key for shape in factors] == ["p(x)", "p(y1)", "p(y2)"]
    lines = {(line.start, line.end) for line in drawing.lines}
    assert {("p(x)", "x"), ("x", "p(y1)"), ("p(y1)", "y1"), ("x", "p(y2)")} < lines


@pytest.mark.topic("004/3.7")
def test_the_forney_graph():
    m, data = fusion()
    drawing = ForneyGraph.from_model(m, data).draw()
    forms = [shape.form for shape in drawing.shapes]
    assert forms.count("point") == 2  # observations are small black squares
    assert "=" in [shape.label for shape in drawing.shapes]
    assert {line.label for line in drawing.lines} == {"x", "x'", "x''", "y1", "y2"}
    tables = ForneyGraph.from_factors(f=Factor(["a", "b"], np.ones((2, 2))))
    assert {line.label for line in tables.draw().lines} == {"a", "b"}


def test_constants_on_request():
    m, data = fusion()
    drawing = m.draw(data=data, constants=True)
    constants = [shape.label for shape in drawing.shapes if shape.form == "constant"]
    assert constants == ["mean 0", "variance 4", "variance 1", "variance 2"]
    assert not [shape for shape in m.draw(data=data).shapes if shape.form == "constant"]


@pytest.mark.topic("000/P20")
def test_dot():
    m, data = nested()
    text = m.draw(data=data).dot()
    assert text.startswith("digraph {")
    assert text.count("{") == text.count("}")
    assert text.count("->") == 4
    assert 'label="pupil = 2"' in text
    assert text.index("school") < text.index("pupil")  # the outer plate comes first
    assert text.count("fillcolor") == 1


@pytest.mark.parametrize("kind", ["directed", "factor"])
def test_plates_that_cross_are_named_where_they_cannot_be_drawn(kind):
    m, data = crossed()
    drawing = m.draw(kind, data)
    for text in (drawing.dot(), drawing.mermaid().replace("#91;", "[").replace("#93;", "]")):
        drawn = [
            box
            for box in drawing.boxes
            if f'label="{box.label}"' in text or f'["{box.label}"]' in text
        ]
        assert len(drawn) == 1
        (left,) = (box for box in drawing.boxes if box not in drawn)
        inside = [shape for shape in drawing.shapes if left.key in shape.plates]
        assert text.count(f"[{left.label}]") == len(inside) > 1


def test_plates_of_a_forney_graph_are_folded():
    m = Model()
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(2.0 * m.mu, variance=1.0).iid("n")
    graph = ForneyGraph.from_model(m, {"y": np.zeros(1_000_000)})
    assert len(graph.nodes) == 4
    drawing = graph.draw()
    assert [box.label for box in drawing.boxes] == ["n = 1000000"]
    on_plate = {shape.key for shape in drawing.shapes if shape.plates == ("n",)}
    assert on_plate == {"gain 1", "p(y|mu)", "clamp y"}
    m, data = chain()
    graph = ForneyGraph.from_model(m, data)
    outside = [node.name for node in graph.nodes.values() if node.plates != ("t",)]
    assert outside == ["p(drift)", "p(s) first"]


def test_mermaid():
    m, data = nested()
    text = m.draw(data=data).mermaid()
    lines = text.splitlines()
    assert lines[0] == "flowchart TD"
    assert sum(line.strip().startswith("subgraph") for line in lines) == 2
    assert sum(line.strip() == "end" for line in lines) == 2
    assert text.count("-->") == 4
    assert lines[-1].strip() == "class n4 observed"


def test_names_cannot_break_out():
    hostile = '<script>alert("&")</script>\n--> "]; x'
    m = Model()
    m[hostile] = Normal(0.0, variance=1.0)
    m.y = Normal(m[hostile], variance=1.0)
    for kind in ("directed", "factor"):
        drawing = m.draw(kind)
        root = ElementTree.fromstring(drawing.svg())
        assert not list(root.iter(f"{SVG}script"))
        assert "<script" not in drawing.svg()
        mermaid = drawing.mermaid()
        assert "<script" not in mermaid
        assert '"]; x' not in mermaid
        assert '\\"&\\"' in drawing.dot()
        assert len(drawing.dot().splitlines()) == len(drawing.shapes) + len(drawing.lines) + 3


def test_refusals():
    m, _ = fusion()
    with pytest.raises(ValueError, match="kind must be 'directed' or 'factor'"):
        m.draw("triangular")
    with pytest.raises(ValueError, match="no variable or input 'z'"):
        m.draw(data={"z": 1.0})


def test_an_empty_model_and_a_large_one():
    assert ElementTree.fromstring(Model().draw().svg()) is not None
    m = Model()
    m.x0 = Normal(0.0, variance=1.0)
    for i in range(300):
        m[f"x{i + 1}"] = Normal(m[f"x{i}"], variance=1.0)
    drawing = m.draw()
    assert repr(drawing) == "Drawing(301 shapes, 300 lines)"
    assert isinstance(drawing, Drawing)
    assert drawing.svg() == m.draw().svg()
