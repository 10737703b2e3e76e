"""The terms of the bound of a variational posterior."""

import pytest

from tests.modeling.variational.small_models import CASES


@pytest.mark.parametrize("case", CASES)
def test_energies_and_entropies_sum_to_the_bound(case):
    model, data = CASES[case]()
    post = model.infer(data)
    account = post.explain()
    assert account.log_evidence == pytest.approx(float(post.log_evidence), abs=1e-8)
    named = {name for key in account.entropies for name in key.split(", ")}
    assert named == set(post._solved.bound.latent)
    assert account.energies.keys() == set(post._solved.bound.variables)


def test_energy_of_data_is_the_average_log_density():
    """E_q[ln p(x | mu, tau)], from the beliefs by hand."""
    model, data = CASES["location and precision"]()
    post = model.infer(data)
    squares = (data["x"] - post.mu.mean) ** 2 + post.mu.variance
    log_tau, tau = post.tau.mean_params
    rows = 0.5 * (log_tau - 1.8378770664093453 - tau * squares)
    assert post.explain().energies["x"] == pytest.approx(rows.sum(), rel=1e-12)
