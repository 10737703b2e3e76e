"""Figures of pages: texts stay texts, in whatever alphabet."""

from posteriori.plotting.page_figures import render_svg


def test_letters_that_matplotlib_lacks_are_drawn_by_the_page(recwarn):
    name = "\N{GRINNING FACE} size \N{CJK UNIFIED IDEOGRAPH-7530} $x$"
    svg = render_svg("odd", "a title", lambda axes: axes.set_xlabel(name))
    assert f">{name}</text>" in svg
    assert not recwarn.list
