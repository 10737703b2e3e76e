"""Pictures of components show what was learned."""

import numpy as np
import pytest

from posteriori import plot
from posteriori.decomposition import ICA, PCA, FactorAnalysis, ProbabilisticPCA

X = np.random.default_rng(0).laplace(size=(800, 3)) @ np.random.default_rng(1).normal(size=(3, 6))
X = X + 0.3 * np.random.default_rng(2).normal(size=X.shape)


def test_the_scree_shows_all_eigenvalues_and_those_that_are_kept():
    model = PCA(2).fit(X)
    ax = plot(model)
    whole, kept = (line.get_ydata() for line in ax.lines)
    np.testing.assert_allclose(whole, model.eigenvalues_)
    np.testing.assert_allclose(kept, model.eigenvalues_[:2])
    share = model.explained_variance_ratio_.sum()
    assert f"kept: 2, {share:.1%}" in ax.get_legend().get_texts()[0].get_text()


@pytest.mark.parametrize("model", [PCA(3), ProbabilisticPCA(3), FactorAnalysis(3), ICA(3)])
def test_a_biplot_shows_rows_and_names_of_columns(model):
    model.fit(X)
    names = [f"c{j}" for j in range(6)]
    labels = np.repeat(["a", "b"], 400)
    ax = plot(model, X=X, y=labels, components=(0, 2), names=names)
    drawn = np.concatenate([line.get_xydata() for line in ax.lines[:2]])
    np.testing.assert_allclose(drawn, model.transform(X)[:, [0, 2]])
    assert {t.get_text() for t in ax.texts} - {""} == set(names)
    assert ax.get_xlabel() == "component 1"
    assert ax.get_ylabel() == "component 3"


def test_components_are_images():
    model = PCA(3).fit(X)
    panels = plot(model, shape=(2, 3))
    assert len(panels) == 3
    shown = panels[1].images[0].get_array()
    np.testing.assert_allclose(shown, model.components_[1].reshape(2, 3))
    with pytest.raises(ValueError, match=r"shape \(3, 3\) holds 9 of 6 columns"):
        plot(model, shape=(3, 3))


def test_loadings_are_a_table():
    model = FactorAnalysis(2).fit(X)
    shown = plot(model).images[0].get_array()
    np.testing.assert_allclose(shown, model.components_)


def test_components_that_are_not_there_are_refused():
    with pytest.raises(ValueError, match="components 0 and 2 need 3 components"):
        plot(PCA(2).fit(X), X=X, components=(0, 2))
