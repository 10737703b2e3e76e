import numpy as np
import pytest

from posteriori.inference.processes.forms.choosing import choose_form
from posteriori.inference.processes.forms.feature_form import FeatureForm, count_features
from posteriori.inference.processes.forms.process_form import DenseForm
from posteriori.inference.processes.mean_effects import NO_MEAN, mean_effects
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.kernels import RBF, Constant, Cosine, Features, Linear, Polynomial, White
from tests.inference.processes.forms.form_laws import assert_same_as_dense, wavy_targets

FINITE = {
    "line": 0.7 * Linear() + White(0.2),
    "polynomial": 0.3 * Polynomial(2, offset=0.8) + Constant(0.5) + White(0.1),
    "wave": Cosine(1.7).on([0]) * Linear().on([1]) + White(0.1),
    "features": Features(lambda x: np.column_stack([np.ones(len(x)), x])) + White(0.3),
    "noise that grows": Linear() + 0.1 * Linear().on([0]) * White(1.0) + White(0.05),
    "noise alone": White(0.3),
}


def _rows(seed=0, n=25, outputs=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    X = np.vstack([X, X[:3]])
    return X, wavy_targets(X[:, 0], rng, outputs), rng.uniform(0.5, 2.0, len(X))


@pytest.mark.parametrize("kind", ["zero", "constant", "linear"])
@pytest.mark.parametrize("name", FINITE)
def test_features_say_what_a_matrix_says(name, kind):
    X, y, variance = _rows(outputs=2)
    form = FeatureForm(merge_rows(X, y, None, variance), mean_effects(kind, X, y), False)
    assert_same_as_dense(form, FINITE[name], np.vstack([X[:2], [[3.0, -2.0]]]))


def test_many_rows_and_few_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    rows = merge_rows(X, X[:, :1])
    assert isinstance(choose_form(FINITE["polynomial"], rows, NO_MEAN, False), FeatureForm)
    assert isinstance(choose_form(Linear(), rows, NO_MEAN, False), DenseForm)  # no noise
    assert isinstance(choose_form(RBF() + White(), rows, NO_MEAN, False), DenseForm)
    wide = Polynomial(8) + White()
    assert count_features(wide, 2) == 45
    assert isinstance(choose_form(wide, rows, NO_MEAN, False), DenseForm)
    assert count_features(RBF() + White(), 2) is None
