"""Centre and spread of columns: by seen entries and frequencies, and of columns without spread."""

import numpy as np

from posteriori.inference.latent.units import column_scale, standardized, table_spread

NAN = np.nan
X = np.array([[1.0, 7.0, NAN], [3.0, 7.0, 2.0], [NAN, 7.0, 6.0], [8.0, 7.0, 1.0]])
TIMES = np.array([2.0, 1.0, 3.0, 1.0])


def test_gaps_are_left_out_and_frequencies_are_repeated_rows():
    again = np.repeat(X, TIMES.astype(int), axis=0)
    for x, frequency in ((X, TIMES), (again, None)):
        seen, mean, variance = table_spread(x, frequency)
        np.testing.assert_allclose(seen, (~np.isnan(again)).sum(axis=0))
        np.testing.assert_allclose(mean, np.nanmean(again, axis=0))
        np.testing.assert_allclose(variance, np.nanvar(again, axis=0), atol=1e-12)
    np.testing.assert_allclose(
        np.repeat(standardized(X, TIMES), TIMES.astype(int), axis=0), standardized(again)
    )


def test_standardized_columns_have_mean_0_and_spread_1_and_gaps_lie_at_the_mean():
    z = standardized(X)
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=0), [1.0, 0.0, 1.0])
    assert z[0, 2] == z[2, 0] == 0.0


def test_a_column_without_spread_is_measured_in_its_size():
    mean, variance = np.array([5.0, 0.0, 2.0]), np.array([0.0, 0.0, 3.0])
    np.testing.assert_allclose(column_scale(mean, variance), [25.0, 1.0, 3.0])
