"""Lines of one level of a function on a grid, and pictures of many cells."""

import re
import struct
import zlib
from base64 import b64decode

import numpy as np
import pytest

from posteriori.drawing.charts.chart import Axis, Chart
from posteriori.drawing.charts.level_sets import level_set
from posteriori.drawing.charts.raster import Raster

GRID = np.linspace(-2.0, 2.0, 81)


@pytest.mark.parametrize("level", [0.25, 1.0, 2.2])
def test_the_level_of_a_bowl_is_a_circle(level):
    found = level_set(GRID, GRID, GRID**2 + GRID[:, None] ** 2, level)
    x, y = np.stack(found.x), np.stack(found.y)
    np.testing.assert_allclose(
        np.hypot(x, y), np.sqrt(level), atol=2e-3
    )  # h²/8 of the second derivative
    lengths = np.hypot(np.diff(x, axis=0), np.diff(y, axis=0))
    assert lengths.sum() == pytest.approx(2.0 * np.pi * np.sqrt(level), rel=2e-3)


def test_the_level_of_a_plane_is_a_line():
    x, y = np.linspace(0.0, 3.0, 7), np.linspace(0.0, 1.0, 4)
    found = level_set(x, y, 2.0 * x + y[:, None], 3.0)
    np.testing.assert_allclose(2.0 * np.stack(found.x) + np.stack(found.y), 3.0, atol=1e-12)
    assert np.ptp(np.stack(found.y)) == pytest.approx(1.0)


@pytest.mark.parametrize("level", [-1.0, 99.0])
def test_a_level_that_is_not_reached_has_no_line(level):
    assert not len(level_set(GRID, GRID, GRID**2 + GRID[:, None] ** 2, level).x[0])


def test_a_picture_holds_its_cells():
    table = np.array([[0.0, 0.5, 1.0], [1.0, 0.25, 0.0]])
    chart = Chart("t", [Raster(table, "#2b7fd4")], Axis(places=()), Axis(places=()), bare=True)
    held = re.search(r"base64,([^\"]*)\"", chart.svg())
    assert held is not None
    png = b64decode(held[1])
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, place = {}, 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        kind, body = png[place + 4 : place + 8], png[place + 8 : place + 8 + length]
        (check,) = struct.unpack(">I", png[place + 8 + length : place + 12 + length])
        assert check == zlib.crc32(kind + body)
        chunks[kind], place = body, place + 12 + length
    assert struct.unpack(">2I5B", chunks[b"IHDR"]) == (3, 2, 8, 6, 0, 0, 0)
    lines = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(2, 13)
    pixels = lines[:, 1:].reshape(2, 3, 4)
    assert (lines[:, 0] == 0).all()
    assert (pixels[..., :3] == [0x2B, 0x7F, 0xD4]).all()
    np.testing.assert_array_equal(pixels[..., 3], np.round(255 * table))
