from posteriori import (
    analysis as analysis,
    classification as classification,
    cli as cli,
    datasets as datasets,
    decision as decision,
    distributions as distributions,
    drawing as drawing,
    ensemble as ensemble,
    estimation as estimation,
    estimators as estimators,
    factors as factors,
    graphs as graphs,
    inference as inference,
    information as information,
    mathematics as mathematics,
    mixture as mixture,
    modeling as modeling,
    numerics as numerics,
    plotting as plotting,
    regression as regression,
    selection as selection,
    tables as tables,
    tree as tree,
)
from posteriori.analysis import analyze as analyze
from posteriori.distributions import (
    Bernoulli as Bernoulli,
    Beta as Beta,
    Binomial as Binomial,
    Categorical as Categorical,
    Dirichlet as Dirichlet,
    Exponential as Exponential,
    Gamma as Gamma,
    InverseGamma as InverseGamma,
    InverseWishart as InverseWishart,
    Multinomial as Multinomial,
    MvNormal as MvNormal,
    MvStudentT as MvStudentT,
    Normal as Normal,
    NormalGamma as NormalGamma,
    NormalInverseGamma as NormalInverseGamma,
    NormalInverseWishart as NormalInverseWishart,
    NormalWishart as NormalWishart,
    PointMass as PointMass,
    Poisson as Poisson,
    StudentT as StudentT,
    Wishart as Wishart,
    bayes as bayes,
)
from posteriori.modeling import (
    Autoregression as Autoregression,
    Chain as Chain,
    Input as Input,
    Model as Model,
    dot as dot,
    take as take,
)
from posteriori.numerics import LogEvidence as LogEvidence
from posteriori.plotting import plot as plot
from posteriori.selection import compare as compare

__version__: str
