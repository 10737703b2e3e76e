"""scikit-learn's checks of models of one series: they take (T,), which most of the checks cannot give."""

import pickle

import numpy as np
import pytest

from posteriori.sequence import AutoregressiveSeries, CountSeries, StructuralSeries
from tests.scikit_learn_checks import every_check

#: What the checks do that a series contradicts, and which checks do it.
CONTRADICTED = {
    "the second argument of fit is the times of the values, and no target": (
        "check_fit_score_takes_y",
        "check_estimators_overwrite_params",
        "check_estimators_fit_returns_self",
        "check_readonly_memmap_input",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_estimators_dtypes",
        "check_dtype_object",
        "check_pipeline_consistency",
        "check_estimators_pickle",
        "check_fit_idempotent",
        "check_fit_check_is_fitted",
        "check_n_features_in",
    ),
    "the check asks for columns of its own one series": (
        "check_dont_overwrite_parameters",
        "check_f_contiguous_array_estimator",
        "check_methods_sample_order_invariance",
        "check_methods_subset_invariance",
        "check_fit2d_1sample",
        "check_fit2d_1feature",
        "check_dict_unchanged",
        "check_fit2d_predict1d",
        "check_estimator_sparse_array",
    ),
    "transform is a parameter, not a method": (
        "check_transformer_data_not_an_array",
        "check_transformer_general",
        "check_transformer_preserve_dtypes",
        "check_transformers_unfitted",
    ),
}


def expected_failures(estimator):
    return {check: reason for reason, checks in CONTRADICTED.items() for check in checks}


MODELS = [StructuralSeries("constant"), AutoregressiveSeries(), CountSeries()]


@every_check(MODELS, expected_failures)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_those_checks_ask_for_holds_of_series(model):
    """Read-only values, equal answers of equal fits and of copies, and nothing changed by asking."""
    y = np.array([3.0, 5.0, 4.0, 6.0, 2.0, 5.0, 4.0, 4.0])
    y.setflags(write=False)
    parameters = model.get_params()
    fitted = model.fit(y)
    assert fitted is model
    assert model.get_params() == parameters
    ahead, kept = model.forecast(3), dict(vars(model))
    assert vars(model).keys() == kept.keys()
    for same in (pickle.loads(pickle.dumps(model)), model.fit(y[:, None]), model.fit(list(y))):
        np.testing.assert_array_equal(same.forecast(3).mean, ahead.mean)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_is_no_series_of_numbers_is_refused(model):
    with pytest.raises(ValueError, match="Complex data not supported"):
        model.fit(np.array([1.0, 2.0, 1j]))
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(12, 0\)\)"):
        model.fit(np.zeros((12, 0)))
    with pytest.raises(ValueError, match="must be one series"):
        model.fit(np.zeros((12, 2)))
