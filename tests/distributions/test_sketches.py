"""What notebooks show of distributions of one number: their names and a sketch, for every family that has one."""

import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

from posteriori import Beta, Normal, Poisson
from tests.distributions.families import UNIVARIATE


def drawn(d):
    page = d._repr_html_()
    assert page is not None
    return ElementTree.fromstring(f"<html>{page}</html>")


@pytest.mark.parametrize("case", UNIVARIATE)
def test_every_family_of_one_number_is_sketched(case):
    d = case.one()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        root = drawn(d)
    assert next(root.iter("code")).text == repr(d)
    numbers = [n for path in root.iter("path") for n in re.findall(r"[-\w.]+", path.get("d"))]
    assert not [n for n in numbers if "nan" in n or "inf" in n]
    assert next(root.iter("svg")).get("aria-label").startswith("from ")


def test_a_density_is_highest_at_its_mode_and_reaches_its_ends():
    root = drawn(Normal(3.0, variance=4.0))
    line = list(root.iter("path"))[1].get("d")[1:].split("L")
    x, y = np.array([[float(part) for part in point.split()] for point in line]).T
    assert (x[0], x[-1]) == (0.0, 240.0)
    assert abs(x[y.argmin()] - 120.0) < 2.0
    np.testing.assert_allclose(y, y[::-1], atol=0.11)  # it is symmetric
    ends = Normal(3.0, variance=4.0).quantile([0.002, 0.998])
    assert next(root.iter("small")).text == f"from {ends[0]:.4g} to {ends[1]:.4g}"


def test_masses_stand_at_whole_numbers():
    root = drawn(Poisson(3.0))
    (path,) = root.iter("path")
    heights = np.array([float(step.split("V")[1]) for step in path.get("d")[1:].split("M")])
    assert heights.argmin() in (2, 3)  # equally probable
    assert len(heights) == Poisson(3.0).quantile(0.998) + 1


def test_poles_do_not_hide_the_rest():
    (_, line) = drawn(Beta(0.5, 0.5)).iter("path")
    heights = np.array([float(p.split()[1]) for p in line.get("d")[1:].split("L")])
    assert heights[80] < 50.0  # the middle stands above the floor of 60


def test_batches_are_shown_as_text():
    assert Normal(np.zeros(3), variance=1.0)._repr_html_() is None


def test_what_has_no_quantiles_is_shown_as_text():
    assert Normal.from_natural(0.0, 0.0)._repr_html_() is None


@pytest.mark.parametrize("defect", [AttributeError, NotImplementedError, TypeError])
def test_a_defect_of_a_family_is_not_hidden(defect, monkeypatch):
    def fail(self, q):
        raise defect("of ours")

    monkeypatch.setattr(Normal, "_quantile", fail)
    with pytest.raises(defect):
        Normal(0.0, variance=1.0)._repr_html_()
