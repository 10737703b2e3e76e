"""Every public family is under test and explains itself."""

import doctest
import inspect

import pytest

import posteriori
import posteriori.distributions as room
from posteriori.distributions.base import Distribution, Univariate
from posteriori.distributions.conjugate.predictive import Predictive
from posteriori.distributions.exponential import ExponentialFamily
from tests.distributions.cases import CASES

#: Abstract bases have laws but no members; a predictive is an integral over some family.
NO_FAMILIES = {Distribution, Univariate, ExponentialFamily, Predictive}

FAMILIES = sorted(
    {
        value
        for value in (getattr(room, name) for name in room.__all__)
        if inspect.isclass(value) and issubclass(value, Distribution) and value not in NO_FAMILIES
    },
    key=lambda family: family.__name__,
)


def test_every_family_has_a_row_in_the_case_table():
    missing = {family.__name__ for family in FAMILIES} - {case.id for case in CASES}
    assert not missing, f"add rows to tests/distributions/cases.py for {sorted(missing)}"


def test_every_row_is_about_a_public_family():
    hidden = {case.id for case in CASES} - {family.__name__ for family in FAMILIES}
    assert not hidden, f"export from posteriori.distributions: {sorted(hidden)}"


def test_every_distribution_promised_by_the_package_exists():
    names = set(posteriori.__all__) & set(posteriori.distributions.__all__)
    promised = {name for name in names if name[0].isupper()}
    assert promised
    assert promised <= {family.__name__ for family in FAMILIES}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_family_has_a_docstring_with_parameters_and_an_example(family):
    text = inspect.getdoc(family) or ""
    assert "Parameters\n----" in text
    for parameter in inspect.signature(family.__new__).parameters:
        if parameter not in ("cls", "args", "kwargs"):
            assert parameter in text, f"{parameter} is not documented"
    assert doctest.DocTestParser().get_examples(text), "add an example"


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_every_module_of_a_family_states_its_density(family):
    assert r":math:" in (inspect.getmodule(family).__doc__ or "")


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_public_properties_and_methods_are_documented(family):
    for name in (n for n in dir(family) if not n.startswith("_")):
        value = inspect.getattr_static(family, name)
        if name in family._parameters and not hasattr(value, "__get__"):
            continue
        assert inspect.getdoc(getattr(family, name)), f"{family.__name__}.{name} has no docstring"
