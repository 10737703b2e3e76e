"""The families, and what SciPy and PyMC write for the same distribution."""

import inspect
from typing import NamedTuple

import posteriori.distributions as room
from posteriori.distributions import Distribution, ExponentialFamily, Univariate

ABSTRACT = (Distribution, ExponentialFamily, Univariate)


class Elsewhere(NamedTuple):
    """Calls of other libraries in terms of the parameters here; empty where there is none."""

    scipy: str = ""
    pymc: str = ""


ELSEWHERE = {
    "Bernoulli": Elsewhere("bernoulli(p=probability)", "Bernoulli(p=probability)"),
    "Beta": Elsewhere("beta(a=a, b=b)", "Beta(alpha=a, beta=b)"),
    "BetaBinomial": Elsewhere(
        "betabinom(n=trials, a=a, b=b)", "BetaBinomial(n=trials, alpha=a, beta=b)"
    ),
    "Binomial": Elsewhere("binom(n=trials, p=probability)", "Binomial(n=trials, p=probability)"),
    "Categorical": Elsewhere(pymc="Categorical(p=probabilities)"),
    "Cauchy": Elsewhere("cauchy(loc=location, scale=scale)", "Cauchy(alpha=location, beta=scale)"),
    "Dirichlet": Elsewhere("dirichlet(alpha=concentration)", "Dirichlet(a=concentration)"),
    "DirichletMultinomial": Elsewhere(
        "dirichlet_multinomial(alpha=concentration, n=trials)",
        "DirichletMultinomial(n=trials, a=concentration)",
    ),
    "Empirical": Elsewhere(),
    "Exponential": Elsewhere("expon(scale=1 / rate)", "Exponential(lam=rate)"),
    "Gamma": Elsewhere("gamma(a=shape, scale=1 / rate)", "Gamma(alpha=shape, beta=rate)"),
    "Geometric": Elsewhere(
        "geom(p=probability, loc=start - 1)", "start - 1 + Geometric(p=probability)"
    ),
    "HalfCauchy": Elsewhere("halfcauchy(scale=scale)", "HalfCauchy(beta=scale)"),
    "HalfNormal": Elsewhere("halfnorm(scale=scale)", "HalfNormal(sigma=scale)"),
    "HalfStudentT": Elsewhere(pymc="HalfStudentT(nu=dof, sigma=scale)"),
    "InverseGamma": Elsewhere(
        "invgamma(a=shape, scale=scale)", "InverseGamma(alpha=shape, beta=scale)"
    ),
    "InverseWishart": Elsewhere("invwishart(df=dof, scale=scale)"),
    "Laplace": Elsewhere("laplace(loc=mean, scale=scale)", "Laplace(mu=mean, b=scale)"),
    "LogNormal": Elsewhere("lognorm(s=scale, scale=exp(mean))", "LogNormal(mu=mean, sigma=scale)"),
    "MatrixNormal": Elsewhere(
        "matrix_normal(mean=mean, rowcov=row_cov, colcov=col_cov)",
        "MatrixNormal(mu=mean, rowcov=row_cov, colcov=col_cov)",
    ),
    "MatrixNormalWishart": Elsewhere(),
    "Mixture": Elsewhere(pymc="Mixture(w=probabilities, comp_dists=components)"),
    "Multinomial": Elsewhere(
        "multinomial(n=trials, p=probabilities)", "Multinomial(n=trials, p=probabilities)"
    ),
    "MvNormal": Elsewhere("multivariate_normal(mean=mean, cov=cov)", "MvNormal(mu=mean, cov=cov)"),
    "MvStudentT": Elsewhere(
        "multivariate_t(df=dof, loc=mean, shape=scale)", "MvStudentT(nu=dof, mu=mean, scale=scale)"
    ),
    "NegativeBinomial": Elsewhere(
        "nbinom(n=count, p=probability)", "NegativeBinomial(n=count, p=probability)"
    ),
    "Normal": Elsewhere("norm(loc=mean, scale=scale)", "Normal(mu=mean, sigma=scale)"),
    "NormalGamma": Elsewhere(),
    "NormalInverseGamma": Elsewhere(
        "normal_inverse_gamma(mu=mean, lmbda=mean_strength, a=shape, b=scale)"
    ),
    "NormalInverseWishart": Elsewhere(),
    "NormalWishart": Elsewhere(),
    "Numeric": Elsewhere(),
    "NumericCounts": Elsewhere(),
    "Pareto": Elsewhere("pareto(b=shape, scale=minimum)", "Pareto(alpha=shape, m=minimum)"),
    "PointMass": Elsewhere(pymc="DiracDelta(c=location)"),
    "Poisson": Elsewhere("poisson(mu=rate)", "Poisson(mu=rate)"),
    "PolyaGamma": Elsewhere(pymc="PolyaGamma(h=shape, z=tilt)"),
    "Predictive": Elsewhere(),
    "StudentT": Elsewhere(
        "t(df=dof, loc=mean, scale=scale)", "StudentT(nu=dof, mu=mean, sigma=scale)"
    ),
    "Transformed": Elsewhere(),
    "TruncatedNormal": Elsewhere(
        "truncnorm(a=(lower - mean) / scale, b=(upper - mean) / scale, loc=mean, scale=scale)",
        "TruncatedNormal(mu=mean, sigma=scale, lower=lower, upper=upper)",
    ),
    "Uniform": Elsewhere("uniform(loc=low, scale=high - low)", "Uniform(lower=low, upper=high)"),
    "UnivariateEmpirical": Elsewhere(),
    "UnivariateMixture": Elsewhere(pymc="Mixture(w=probabilities, comp_dists=components)"),
    "UnivariateTransformed": Elsewhere(),
    "VectorNormalGamma": Elsewhere(),
    "VectorNormalInverseGamma": Elsewhere(),
    "VonMises": Elsewhere(
        "vonmises(loc=mean, kappa=concentration)", "VonMises(mu=mean, kappa=concentration)"
    ),
    "Wishart": Elsewhere("wishart(df=dof, scale=scale)", "Wishart(nu=dof, V=scale)"),
}


def list_families() -> list[type[Distribution]]:
    """Return the public families: exponential ones first, then by name."""
    named = (getattr(room, name) for name in room.__all__)
    found = [c for c in named if inspect.isclass(c) and issubclass(c, Distribution)]
    found = [family for family in found if family not in ABSTRACT]
    return sorted(found, key=lambda c: (not issubclass(c, ExponentialFamily), c.__name__))


def list_parameters(family: type[Distribution]) -> list[str]:
    """Return the parameters of a family; those that can only be given by name end in "="."""
    known = inspect.signature(family).parameters.values()
    named = [p for p in known if p.kind is not p.VAR_POSITIONAL]
    return [p.name + "=" * (p.kind is p.KEYWORD_ONLY) for p in named]
