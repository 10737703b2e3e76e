"""Which plates are drawn around which shapes, where plates may cross."""

from __future__ import annotations

from collections.abc import Mapping

from posteriori.drawing.shapes import Shape, Sketch

__all__ = ["full_label", "nest_plates"]


def nest_plates(sketch: Sketch) -> dict[str, tuple[str, ...]]:
    """Return the plates around each shape, from the outside in; of crossing ones, the larger."""
    members = sketch.members()
    kept: list[str] = []
    for key in sorted(members, key=lambda k: -len(members[k])):
        crossing = (
            members[key] & members[other]
            and not (members[key] <= members[other] or members[other] <= members[key])
            for other in kept
        )
        if not any(crossing):
            kept.append(key)
    return {
        shape.key: tuple(key for key in kept if shape.key in members[key])
        for shape in sketch.shapes
    }


def full_label(shape: Shape, sketch: Sketch, tree: Mapping[str, tuple[str, ...]]) -> str:
    """Return the label of a shape with those of its plates that are not drawn around it."""
    left = [b.label for b in sketch.boxes if b.key in shape.plates and b.key not in tree[shape.key]]
    if not left or shape.form == "end":
        return shape.label
    return f"{shape.label} [{', '.join(left)}]".strip()
