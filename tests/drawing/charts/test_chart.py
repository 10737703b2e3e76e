"""Charts: marks lie where their numbers say, texts are texts and do not meet, and all is plain SVG."""

import itertools
import re
import warnings
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

from posteriori.drawing.charts.arrows import Arrows
from posteriori.drawing.charts.chart import SMALL, WIDE, Axis, Chart
from posteriori.drawing.charts.marks import (
    Band,
    Bars,
    Cells,
    Curve,
    Dots,
    Segments,
    Texts,
    histogram,
)
from posteriori.drawing.measures import text_width

#: From 0 to 10 across and from 0 to 100 up.
AXES = Axis("across", 0.0, 10.0), Axis("up", 0.0, 100.0, grid=True)

CELLS = np.array([[0.2, 0.0], [1.0, 0.5]])

MARKS = {
    "line": Curve([0.0, 5.0, 10.0], [0.0, np.nan, 100.0], label="a line"),
    "band": Band([0.0, 10.0], [0.0, 10.0], [50.0, 100.0], label="a band"),
    "bars": Bars([0.0, 5.0], [4.0, 9.0], [30.0, 60.0], label="bars"),
    "dots": Dots([1.0, 2.0], [20.0, 40.0], label="dots"),
    "rings": Dots([1.0, 2.0], [20.0, 40.0], hollow=True, label="rings"),
    "segments": Segments(([1.0], [2.0]), ([20.0], [40.0]), dashes="4 2", label="segments"),
    "cells": Cells(CELLS, label="cells"),
    "texts": Texts([1.0], [20.0], ["two\nlines"]),
}


def drawn(*marks, axes=AXES, **options):
    svg = Chart("a title", marks, *axes, **options).svg()
    return svg, ElementTree.fromstring(svg)


class Box(NamedTuple):
    """The least width of a chart, its height, and what is left around the frame."""

    width: float
    height: float
    top: float
    right: float
    below: float
    left: float

    @property
    def frame(self):
        """Width and height of the frame."""
        return self.width - self.left - self.right, self.height - self.top - self.below

    def place(self, text):
        """Return how far from the left of the chart a place is: in pixels of the frame, or a part of it."""
        if not text.endswith("%"):
            return self.left + float(text)
        return self.left + self.frame[0] * float(text[:-1]) / 100.0


def box_of(svg):
    found = re.search(r"width:(\d+)px;height:(\d+)px;padding:(\d+)px (\d+)px (\d+)px (\d+)px", svg)
    assert found is not None
    return Box(*map(float, found.groups()))


def texts_of(root):
    return [(node, node.text or node[-1].tail) for node in root.iter("text")]


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_every_mark_is_plain_xml_in_the_colours_of_the_page(mark):
    svg, root = drawn(mark)
    assert root.get("role") == "img"
    assert root[0].tag == "title"
    assert root[0].text == "a title"
    assert root[1].text == "across, from 0 to 10; up, from 0 to 100"
    assert not re.findall(r'(?:fill|stroke)="#', svg)
    assert " id=" not in svg
    assert mark.label in [text for _, text in texts_of(root)] or not mark.label


def test_points_lie_where_their_numbers_say():
    svg, root = drawn(Dots([0.0, 2.5, 10.0], [0.0, 50.0, 100.0]))
    height = box_of(svg).frame[1]
    places = [(c.get("cx"), float(c.get("cy"))) for c in root.iter("circle")]
    expected = [("0.00%", height), ("25.00%", 0.5 * height), ("100.00%", 0.0)]
    assert [x for x, _ in places] == [x for x, _ in expected]
    np.testing.assert_allclose([y for _, y in places], [y for _, y in expected], atol=0.06)


def test_lines_are_stretched_and_points_are_moved_to_the_same_places():
    x, y = [0.0, 2.5, 10.0], [0.0, 50.0, 100.0]
    svg, root = drawn(Dots(x, y), Curve(x, y))
    path = next(node for node in root.iter("path") if node.get("fill") == "none")
    (paper,) = [node for node in root.iter("svg") if path in node]
    _, _, width, height = map(float, paper.get("viewBox").split())
    assert paper.get("preserveAspectRatio") == "none"
    assert height == box_of(svg).frame[1]
    ends = [tuple(map(float, pair.split())) for pair in re.split("[ML]", path.get("d"))[1:]]
    points = [(float(c.get("cx")[:-1]), float(c.get("cy"))) for c in root.iter("circle")]
    np.testing.assert_allclose([100.0 * x / width for x, _ in ends], [x for x, _ in points])
    assert [y for _, y in ends] == [y for _, y in points]


def test_ticks_stand_at_their_numbers():
    _, root = drawn(Dots([], []))
    below = [
        (text, node.get("x"))
        for node, text in texts_of(root)
        if node.get("text-anchor") == "middle" and text.replace(".", "").isdigit()
    ]
    assert below == [
        (text, f"{10.0 * float(text):.2f}%") for text in ("0", "2.5", "5", "7.5", "10")
    ]


def test_wide_pages_show_more_ticks():
    _, root = drawn(Dots([], []), axes=(Axis(low=0.0, high=90_000.0, most=10), Axis(places=())))
    groups = {node.get("class"): node for node in root.iter("g")}
    few, many = (len(list(groups[name].iter("text"))) for name in ("few", "many"))
    assert 1 < few < many == 10


def test_what_lies_beyond_the_ends_is_drawn_at_them():
    svg, root = drawn(Segments((-np.inf, np.inf), (50.0, 50.0)), Dots([20.0, 5.0], [50.0, 500.0]))
    middle = 0.5 * box_of(svg).frame[1]
    assert f'd="M0.0 {middle:.1f}L1000.0 {middle:.1f}"' in svg
    assert not list(root.iter("circle"))  # a point that is not there is not moved


def test_missing_numbers_break_a_line():
    svg, _ = drawn(Curve(np.arange(5.0), [0.0, 1.0, np.nan, 3.0, 4.0]))
    path = re.search(r'd="([^"]*)" fill="none"', svg)
    assert path is not None
    assert re.sub(r"[\d. ]", "", path[1]) == "MLML"


def test_the_axes_reach_all_marks_with_room():
    _, root = drawn(Dots([3.0, 4.0], [-7.0, 9.0]), axes=(Axis(), Axis()))
    assert len(list(root.iter("circle"))) == 2
    told = {text for _, text in texts_of(root)}
    assert {"−5", "0", "5"} <= told


@pytest.mark.parametrize("values", [[], [np.nan], [5.0], [0.0, 0.0], [-1.7e308, 1.7e308], [np.inf]])
def test_no_numbers_break_a_chart(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg, _ = drawn(Curve(values, values), Dots(values, values), axes=(Axis("x"), Axis("y")))
    assert not re.findall(r"nan|inf", svg)


def test_strange_names_are_texts():
    name = "</g>$x$ \N{GRINNING FACE} & 'q \x1b \N{CJK UNIFIED IDEOGRAPH-7530}"
    up = Axis(name, places=[0.0], names=[name], longest=99)
    _, root = drawn(Dots([0], [0], label=name), axes=(Axis(name), up))
    clean = " ".join(name.replace("\x1b", " ").split())
    assert [text for _, text in texts_of(root)].count(clean) == 4  # tick, labels and legend


def test_long_names_are_cut_and_tell_themselves_whole():
    long = "A rather long name of a town in the north"
    _, root = drawn(Dots([0], [0]), axes=(Axis(), Axis(places=[0.0], names=[long], longest=12)))
    (node,) = [node for node, _ in texts_of(root) if len(node)]
    assert node[0].tag == "title"
    assert node[0].text == long
    assert len(node[0].tail) == 12
    assert "…" in node[0].tail


@pytest.mark.parametrize("scale", [1.0, 1e3, 12_345.0, 1e-3, 1e8, -1e5])
@pytest.mark.parametrize("names", [(), ("short", "a name of some twenty letters")])
def test_texts_lie_on_the_paper_and_apart(scale, names):
    places = None if not names else [0.0, scale]
    axes = Axis("what is measured across", grid=True), Axis("up", places=places, names=names)
    svg, root = drawn(Curve([0.0, 3.3 * scale], [0.0, scale]), axes=axes)
    box, spans = box_of(svg), {}
    assert box.width == SMALL[0]
    many = {node for group in root.iter("g") if group.get("class") == "many" for node in group}
    for node, text in texts_of(root):
        if node.get("transform"):
            continue
        paper = box._replace(width=WIDE) if node in many else box
        x, width = paper.place(node.get("x")), text_width(text, 12.0)
        start = {"start": x, "middle": x - 0.5 * width, "end": x - width}[node.get("text-anchor")]
        assert start >= -0.5
        assert start + width <= paper.width + 0.5
        spans.setdefault((paper, node.get("y")), []).append((start, start + width))
    for row in spans.values():
        ordered = sorted(row)
        assert all(left[1] < right[0] for left, right in itertools.pairwise(ordered))


def test_the_last_tick_of_a_wide_chart_lies_on_the_paper():
    svg, root = drawn(Dots([], []), axes=(Axis(low=99_000.0, high=501_000.0), Axis()))
    (many,) = [node for node in root.iter("g") if node.get("class") == "many"]
    last = list(many.iter("text"))[-1]
    assert last.text == "500,000"
    right = box_of(svg)._replace(width=WIDE).place(last.get("x")) + 0.5 * text_width(
        "500,000", 12.0
    )
    assert right <= WIDE + 0.5


def test_legends_stand_above_the_frame():
    lines = [Curve([0, 10], [0, 100], label=f"class number {k}") for k in range(5)]
    svg, root = drawn(*lines)
    assert box_of(svg).top > 3 * 12.0  # three rows of them at least
    legend = [node for node, text in texts_of(root) if text.startswith("class number")]
    assert len(legend) == 5
    assert all(-box_of(svg).top < float(node.get("y")) < 0.0 for node in legend)


def test_a_histogram_counts_or_has_an_area_of_one():
    values = np.array([0.1, 0.2, 0.7, 1.0])
    np.testing.assert_array_equal(histogram(values, (0.0, 1.0), 2).top, [2.0, 2.0])
    bars = histogram(values, (0.0, 1.0), 2, density=True, filled=0.5)
    assert (bars.top * 0.5).sum() == pytest.approx(1.0)
    np.testing.assert_allclose(bars.right - bars.left, 0.25)


@pytest.mark.parametrize("values", [[3.0, 3.0], [-1.7e308, 1.7e308], [0.0, 5e-324], []])
def test_a_histogram_of_any_numbers_counts_them_all(values):
    ends = (min(values, default=0.0), max(values, default=1.0))
    bars = histogram(np.clip(values, -8e307, 8e307), ends, 24)
    assert bars.top.sum() == len(values)
    assert np.isfinite(bars.left).all()


def test_cells_are_coloured_by_their_shares():
    axes = Axis(low=-0.5, high=1.5, places=()), Axis(low=1.5, high=-0.5, places=())
    _, root = drawn(Cells(CELLS), axes=axes, bare=True)
    cells = [
        (float(c.get("x")), float(c.get("y")), c.get("fill-opacity")) for c in root.iter("rect")
    ]
    assert [opacity for *_, opacity in cells] == ["0.10", "0.50", "0.25"]
    # the first row stands on top, and the cell of 0 is not drawn
    assert cells[0][1] < cells[1][1] == cells[2][1]
    assert cells[0][0] == cells[1][0] < cells[2][0]


def test_arrows_end_at_their_points_and_the_way_back_has_its_own_place():
    ends = np.array([[1.0, 50.0], [9.0, 50.0]])
    svg, root = drawn(Arrows(ends, ends[::-1], np.array([1.0, 2.0])), fixed=True)
    width, height = box_of(svg).frame
    heads = [node.get("points").split()[0] for node in root.iter("polygon")]
    tips = np.array([tuple(map(float, head.split(","))) for head in heads])
    expected = width * np.array([0.9, 0.1])
    np.testing.assert_allclose(tips[:, 0], expected, atol=0.11)
    np.testing.assert_allclose(tips[:, 1], 0.5 * height, atol=0.11)
    there, back = (float(y) for y in re.findall(r"Q[\d.]+ ([\d.]+) ", svg))
    assert there - tips[0, 1] == pytest.approx(tips[0, 1] - back, abs=0.2)
    assert abs(there - back) > 10.0


def test_long_names_of_rows_stand_on_two_lines():
    long = "one smooth function (Gaussian process)"
    names = ["constant", long]
    up = Axis(low=-0.5, high=1.5, places=[0.0, 1.0], names=names, longest=40)
    svg, root = drawn(Dots([0], [0]), axes=(Axis("across"), up), size=(300.0, None))
    assert box_of(svg).left < text_width(long, 12.0)
    lines = {text: float(node.get("y")) for node, text in texts_of(root)}
    above, below = lines["one smooth function"], lines["(Gaussian process)"]
    assert 12.0 < below - above < 16.0
    assert lines["constant"] - below > 12.0
