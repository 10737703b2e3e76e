"""A table of many shares as a picture: a pixel for each, see-through where it is 0."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import Any, NamedTuple

import numpy as np

from posteriori.drawing.charts.marks import Frame
from posteriori.numerics.types import Array

__all__ = ["Raster"]

#: What every PNG begins with.
_SIGNATURE = b"\x89PNG\r\n\x1a\n"

#: Eight bits of red, green, blue and opacity.
_FORM = (8, 6, 0, 0, 0)


class Raster(NamedTuple):
    """Shares between 0 and 1 over the whole frame, the first row on top: the larger, the stronger the colour.

    Attributes
    ----------
    table : (R, C)
    color : str
        "#rrggbb", as a picture has no variables.
    """

    table: Array
    color: str
    label: str = ""

    def reach(self) -> tuple[Any, Any]:
        """Return the borders: a unit for each pixel."""
        rows, columns = self.table.shape
        return (0.0, columns), (0.0, rows)

    def svg(self, frame: Frame) -> str:
        """Return an image that brings its pixels along."""
        held = b64encode(self._png()).decode("ascii")
        return (
            '<image width="100%" height="100%" '
            f'preserveAspectRatio="none" style="image-rendering:pixelated" '
            f'href="data:image/png;base64,{held}"/>'
        )

    def key(self, x: float, y: float) -> str:
        """Return nothing: a picture has no sign."""
        return ""

    def _png(self) -> bytes:
        rows, columns = self.table.shape
        pixels = np.empty((rows, columns, 4), dtype=np.uint8)
        pixels[..., :3] = list(bytes.fromhex(self.color[1:]))
        pixels[..., 3] = np.round(255.0 * np.clip(self.table, 0.0, 1.0))
        lines = np.zeros((rows, 1 + 4 * columns), dtype=np.uint8)  # 0: a line as it is
        lines[:, 1:] = pixels.reshape(rows, -1)
        head = struct.pack(">2I5B", columns, rows, *_FORM)
        chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(lines.tobytes())), (b"IEND", b""))
        return _SIGNATURE + b"".join(_chunk(kind, body) for kind, body in chunks)


def _chunk(kind: bytes, body: bytes) -> bytes:
    """Return a part of a PNG: its length, its kind, its body and their check sum."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
