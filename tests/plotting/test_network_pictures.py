"""Pictures of networks: a card for each variable, apart and on the paper, shaded where observed."""

from itertools import combinations

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle

from posteriori import plot
from posteriori.datasets import network_path
from posteriori.networks import BayesianNetwork
from posteriori.tables import ConditionalTable


@pytest.fixture(scope="module")
def asia():
    return BayesianNetwork.read(network_path("asia"))


def cards(axes):
    axes.figure.draw_without_rendering()
    return {p.get_gid(): p for p in axes.patches if isinstance(p, FancyBboxPatch)}


def test_cards_stand_apart_and_on_the_paper(asia):
    axes = plot(asia)
    found = cards(axes)
    assert set(found) == set(asia.names)
    boxes = [card.get_window_extent() for card in found.values()]
    assert not [pair for pair in combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    width, height = axes.figure.canvas.get_width_height()
    assert all(b.x0 >= 0 and b.x1 <= width and b.y0 >= 0 and b.y1 <= height for b in boxes)
    assert sum(isinstance(p, PathPatch) for p in axes.patches) == len(asia.graph.edges)


def test_letters_stay_inside_their_cards(asia, ax):
    for axes in (plot(asia, given="xray=yes"), plot(asia, ax=ax)):
        boxes = [card.get_window_extent() for card in cards(axes).values()]
        for text in axes.texts:
            place = text.get_window_extent()
            assert any(
                b.x0 <= place.x0 and place.x1 <= b.x1 and b.y0 <= place.y0 and place.y1 <= b.y1
                for b in boxes
            ), text


def test_what_is_given_is_shaded_and_changes_the_bars(asia):
    axes = plot(asia, given={"xray": "yes", "dysp": "yes"})
    fills = {name: to_hex(card.get_facecolor()) for name, card in cards(axes).items()}
    assert {name for name, fill in fills.items() if fill != "#ffffff"} == {"xray", "dysp"}
    p = asia.query("lung=yes | xray=yes, dysp=yes")
    assert f"{100 * p:.1f} %" in {text.get_text() for text in axes.texts}
    bars = [q.get_width() for q in axes.patches if isinstance(q, Rectangle)]
    whole = max(bars)
    assert any(width == pytest.approx(whole * p) for width in bars)


def test_bad_evidence_and_networks_too_large_for_a_picture(asia):
    with pytest.raises(ValueError, match=r"no variable 'xrays'.*did you mean 'xray'"):
        plot(asia, given="xrays=yes")
    wide = BayesianNetwork(*(ConditionalTable(f"v{i}", (), [0.5, 0.5]) for i in range(60)))
    with pytest.raises(ValueError, match=r"a picture of 60 variables is .* too large"):
        plot(wide)
