"""Class frequencies against their integrals."""

import numpy as np
import pytest
from scipy import integrate

from posteriori.classification import ClassFrequencies
from tests.scikit_learn_checks import every_check


@every_check([ClassFrequencies(), ClassFrequencies(0.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 3.0])
def test_the_evidence_is_the_integral_over_the_probability(alpha):
    y = [0, 0, 0, 1, 1]
    model = ClassFrequencies(alpha).fit(np.zeros((5, 1)), y)

    def weighted(p):
        return p ** (2 + alpha - 1) * (1 - p) ** (3 + alpha - 1)

    norm = integrate.quad(lambda p: (p * (1 - p)) ** (alpha - 1), 0, 1)[0]
    expected = np.log(integrate.quad(weighted, 0, 1)[0] / norm)
    assert float(model.log_evidence_) == pytest.approx(expected, rel=1e-8)
    share = integrate.quad(lambda p: p * weighted(p), 0, 1)[0] / integrate.quad(weighted, 0, 1)[0]
    assert model.predict_proba([[9.0]])[0, 1] == pytest.approx(share, rel=1e-8)


def test_the_evidence_is_the_product_of_predictions():
    y = np.array(["a", "c", "b", "a", "a", "c"])
    total = 0.0
    for n, label in enumerate(y):  # the chain rule, all three classes known from the start
        counts = np.array([(y[:n] == k).sum() for k in "abc"])
        total += np.log((counts["abc".index(label)] + 1) / (n + 3))
    model = ClassFrequencies().fit(np.zeros((6, 1)), y)
    assert float(model.log_evidence_) == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_the_concentration_must_be_positive(alpha):
    with pytest.raises(ValueError, match="concentration must be a positive number"):
        ClassFrequencies(alpha).fit(np.zeros((2, 1)), [0, 1])


@pytest.mark.parametrize("alpha", [1e8, 1e16, 1e100])
def test_the_evidence_of_certain_probabilities_is_that_of_even_odds(alpha):
    model = ClassFrequencies(alpha).fit(np.zeros((40, 1)), np.arange(40) % 3)
    assert float(model.log_evidence_) == pytest.approx(-40.0 * np.log(3.0), rel=1e-5)
