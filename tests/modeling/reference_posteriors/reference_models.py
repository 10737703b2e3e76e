"""Models of posteriordb as they are written in Stan, in the language of this library.

A coefficient without a prior statement has a flat prior there, and a spread one that is flat above
zero. Here both are written as wide proper priors: a normal one of scale 10⁷ and a uniform one up to
10⁷ differ from flat ones by less than 10⁻⁴ standard deviations on all of these data.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Chain,
    Dirichlet,
    Input,
    Model,
    MvNormal,
    Normal,
    take,
)
from posteriori.datasets import load_radon
from posteriori.distributions import HalfCauchy, HalfNormal, Uniform

DATA = Path(__file__).parent / "data"
WIDE = 1e7
#: The spread of what Stan computes without noise: a millionth of the data's.
NARROW = 1e-6
SIGMA = ("sigma", None)
#: Of the National Election Study.
YEARS = (1980, 1988, 1996, 2000)


class Case(NamedTuple):
    """A model with its data, and the parameters of Stan as parts of its posterior.

    Attributes
    ----------
    model : Model
    data : mapping
    parts : mapping
        Parameters of Stan: a variable of the model, or a function of draws, and which member of it.
    derived : mapping
        Functions of draws.
    options : mapping
        Of inference.
    """

    model: Model
    data: Mapping[str, Any]
    parts: Mapping[str, tuple[str, Any]]
    derived: Mapping[str, Callable[[Mapping[str, np.ndarray]], np.ndarray]] = {}
    options: Mapping[str, Any] = {}


def read(name: str) -> dict[str, np.ndarray]:
    with (DATA / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {key: np.array([float(row[key]) for row in rows]) for key in rows[0]}


def numbered(name: str, stan: str, count: int) -> dict[str, tuple[str, Any]]:
    return {f"{stan}[{i + 1}]": (name, i) for i in range(count)}


def regression(y: np.ndarray, *columns: Any, spread: Any = None, scale: float = WIDE) -> Case:
    X = np.stack(np.broadcast_arrays(*columns, y)[:-1], axis=1).astype(float)
    m = Model()
    m.X = Input()
    m.beta = MvNormal(np.zeros(X.shape[1]), cov=scale**2 * np.eye(X.shape[1]))
    m.sigma = spread or Uniform(0, WIDE)
    m.y = Normal(m.X @ m.beta, scale=m.sigma)
    return Case(m, {"X": X, "y": y}, {**numbered("beta", "beta", X.shape[1]), "sigma": SIGMA})


# -- regressions of Gelman and Hill --------------------------------------------------------------


def earnings(kind: str) -> Case:
    table = read("earnings")
    earn, height, male = table["earn"], table["height"], table["male"]
    z = (height - height.mean()) / height.std(ddof=1)
    log = np.log(earn)
    return {
        "earn_height": lambda: regression(earn, 1.0, height),
        "log10earn_height": lambda: regression(np.log10(earn), 1.0, height),
        "logearn_height": lambda: regression(log, 1.0, height),
        "logearn_height_male": lambda: regression(log, 1.0, height, male),
        "logearn_interaction": lambda: regression(log, 1.0, height, male, height * male),
        "logearn_interaction_z": lambda: regression(log, 1.0, z, male, z * male),
        "logearn_logheight_male": lambda: regression(log, 1.0, np.log(height), male),
    }[kind]()


def kidiq(kind: str) -> Case:
    table = read("kidiq")
    y, hs, iq, work = (table[key] for key in ("kid_score", "mom_hs", "mom_iq", "mom_work"))
    c_hs, c_iq = hs - hs.mean(), iq - iq.mean()
    z_hs, z_iq = c_hs / (2 * hs.std(ddof=1)), c_iq / (2 * iq.std(ddof=1))
    half = {"spread": HalfCauchy(scale=2.5)}
    return {
        "momhs": lambda: regression(y, 1.0, hs, **half),
        "momiq": lambda: regression(y, 1.0, iq, **half),
        "momhsiq": lambda: regression(y, 1.0, hs, iq, **half),
        "interaction": lambda: regression(y, 1.0, hs, iq, hs * iq, **half),
        "interaction_c": lambda: regression(y, 1.0, c_hs, c_iq, c_hs * c_iq),
        "interaction_c2": lambda: regression(y, 1.0, hs - 0.5, iq - 100, (hs - 0.5) * (iq - 100)),
        "interaction_z": lambda: regression(y, 1.0, z_hs, z_iq, z_hs * z_iq),
        "mom_work": lambda: regression(y, 1.0, work == 2, work == 3, work == 4),
    }[kind]()


def mesquite(kind: str) -> Case:
    t = read("mesquite")
    log = {key: np.log(values) for key, values in t.items() if key != "group"}
    y, group = log["weight"], t["group"]
    area, shape = log["diam1"] + log["diam2"], log["diam1"] - log["diam2"]
    volume = area + log["canopy_height"]
    height, density = log["total_height"], log["density"]
    sizes = ("diam1", "diam2", "canopy_height", "total_height", "density")
    return {
        "mesquite": lambda: regression(t["weight"], 1.0, *(t[key] for key in sizes), group),
        "logmesquite": lambda: regression(y, 1.0, *(log[key] for key in sizes), group),
        "logvolume": lambda: regression(y, 1.0, volume),
        "logva": lambda: regression(y, 1.0, volume, area, group),
        "logvas": lambda: regression(y, 1.0, volume, area, shape, height, density, group),
        "logvash": lambda: regression(y, 1.0, volume, area, shape, height, group),
    }[kind]()


def party(year: int) -> Case:
    """Party of voters: ideology, race, age in four classes, education, sex and income."""
    t = read(f"nes{year}")
    ages = (t["age_discrete"] == k for k in (2, 3, 4))
    columns = (t["real_ideo"], t["race_adj"], *ages, t["educ1"], t["gender"], t["income"])
    return regression(t["partyid7"], 1.0, *columns)


def sesame() -> Case:
    """Of 152 children encouraged to watch 138 did, of 88 others 48."""
    encouraged = np.repeat([1.0, 1.0, 0.0, 0.0], [138, 14, 48, 40])
    watched = np.repeat([1.0, 0.0, 1.0, 0.0], [138, 14, 48, 40])
    return regression(watched, 1.0, encouraged)


# -- other regressions and series ----------------------------------------------------------------


def simulated(name: str) -> Case:
    table = read(name)
    columns = [table[f"x{i}"] for i in range(1, 6)]
    return regression(table["y"], *columns, spread=HalfNormal(scale=10), scale=10.0)


def autoregression() -> Case:
    y = read("arK")["y"]
    lags = np.stack([y[5 - k : len(y) - k] for k in range(1, 6)], axis=1)
    m = Model()
    m.lags = Input()
    m.alpha = Normal(0, scale=10)
    m.beta = MvNormal(np.zeros(5), cov=100.0 * np.eye(5))
    m.sigma = HalfCauchy(scale=2.5)
    m.y = Normal(m.alpha + m.lags @ m.beta, scale=m.sigma)
    parts = {"alpha": ("alpha", None), **numbered("beta", "beta", 5), "sigma": SIGMA}
    return Case(m, {"lags": lags, "y": y[5:]}, parts)


def moving_average() -> Case:
    """ARMA(1, 1): errors follow from one another, and each is seen to be 0 with spread sigma."""
    y = read("arma")["y"]
    m = Model()
    m.now = Input("t")
    m.before = Input("t")
    m.mu = Normal(0, scale=10)
    m.phi = Normal(0, scale=2)
    m.theta = Normal(0, scale=2)
    m.sigma = HalfCauchy(scale=2.5)
    m.error = Chain(
        Normal(y[0] - m.mu - m.phi * m.mu, scale=NARROW),
        lambda e: Normal(m.now - m.mu - m.phi * m.before - m.theta * e, scale=NARROW),
        length="t",
    )
    m.zero = Normal(m.error, scale=m.sigma)
    data = {"now": y, "before": np.append(0.0, y[:-1]), "zero": np.zeros(len(y))}
    return Case(m, data, {name: (name, None) for name in ("mu", "phi", "theta", "sigma")})


def kilpisjarvi() -> Case:
    table = read("kilpisjarvi")
    m = Model()
    m.x = Input("year")
    m.alpha = Normal(table["y"].mean(), scale=100)
    m.beta = Normal(0, scale=1 / 30)
    m.sigma = Uniform(0, WIDE)
    m.y = Normal(m.alpha + m.beta * m.x, scale=m.sigma)
    return Case(m, table, {"alpha": ("alpha", None), "beta": ("beta", None), "sigma": SIGMA})


def radon_pooled() -> Case:
    radon = load_radon()
    m = Model()
    m.floor = Input("house")
    m.alpha = Normal(0, scale=10)
    m.beta = Normal(0, scale=10)
    m.sigma_y = HalfNormal(scale=1)
    m.y = Normal(m.alpha + m.beta * m.floor, scale=m.sigma_y)
    data = {"floor": radon["floor"], "y": np.log(radon["radon"] + 0.1)}
    return Case(m, data, {name: (name, None) for name in ("alpha", "beta", "sigma_y")})


# -- hierarchies -----------------------------------------------------------------------------------

SCHOOLS = {
    "y": np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0]),
    "error": np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0]),
}


def eight_schools(is_centered: bool) -> Case:
    m = Model()
    m.error = Input("school")
    m.mu = Normal(0, scale=5)
    m.tau = HalfCauchy(scale=5)
    if is_centered:
        m.theta = Normal(m.mu, scale=m.tau).iid("school")
        m.y = Normal(m.theta, scale=m.error)
    else:
        m.unit = Normal(0, scale=1).iid("school")
        m.y = Normal(m.mu + m.tau * m.unit, scale=m.error)
    parts = {**numbered("theta", "theta", 8), "mu": ("mu", None), "tau": ("tau", None)}
    if is_centered:
        return Case(m, SCHOOLS, parts)
    theta = {"theta": lambda draws: draws["mu"][:, None] + draws["tau"][:, None] * draws["unit"]}
    return Case(m, SCHOOLS, parts, theta)


# -- classes -------------------------------------------------------------------------------------


def two_classes() -> Case:
    """Stan has the means in order; asked for, an integral is over one of the two orders."""
    m = Model()
    m.theta = Dirichlet([5.0, 5.0])
    m.mu = Normal(0, scale=2).iid(2)
    m.sigma = HalfNormal(scale=2).iid(2)
    m.z = Categorical(m.theta).iid("n")
    m.y = Normal(take(m.mu, m.z), scale=take(m.sigma, m.z))
    parts = {**numbered("mu", "mu", 2), **numbered("sigma", "sigma", 2), "theta": ("theta", 0)}
    return Case(m, read("low_dim_gauss_mix"), parts, options={"method": "quadrature"})


def hidden_states() -> Case:
    m = Model()
    m.theta = Dirichlet(np.ones((2, 2)))
    m.mu = Normal([3.0, 10.0], scale=1)
    m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(m.theta, z)), length="t")
    m.y = Normal(take(m.mu, m.z), scale=1)
    moves = {f"theta{i + 1}[{j + 1}]": ("theta", (i, j)) for i in (0, 1) for j in (0, 1)}
    return Case(m, read("hmm_example"), {**moves, **numbered("mu", "mu", 2)})


# -- rates -----------------------------------------------------------------------------------------


def rates(counts: Mapping[str, tuple[int, int, str]], *more: str) -> Case:
    """Counts k of n with a uniform rate each; names of rates that no count depends on."""
    m = Model()
    for rate in dict.fromkeys([*(rate for _, _, rate in counts.values()), *more]):
        m[rate] = Beta(1, 1)
    for name, (_, n, rate) in counts.items():
        m[name] = Binomial(n, m[rate])
    named = [rate for _, _, rate in counts.values()]
    data = {name: k for name, (k, _, _) in counts.items()}
    return Case(m, data, {rate: (rate, None) for rate in (*named, *more)})


def captures() -> Case:
    """Of 87 animals 37 were caught once, 38 twice and 12 three times; 150 may not exist."""
    m = Model()
    m.omega = Uniform(0, 1)
    m.p = Uniform(0, 1)
    m.z = Bernoulli(m.omega).iid("animal")
    m.s = Binomial(3, take([0.0, m.p], m.z))
    counts = np.repeat([1, 2, 3, 0], [37, 38, 12, 150])
    return Case(m, {"s": counts}, {"omega": ("omega", None), "p": ("p", None)})


CASES: dict[str, Callable[[], Case]] = {
    **{
        f"earnings-{kind}": lambda kind=kind: earnings(kind)
        for kind in (
            "earn_height",
            "log10earn_height",
            "logearn_height",
            "logearn_height_male",
            "logearn_interaction",
            "logearn_interaction_z",
            "logearn_logheight_male",
        )
    },
    **{
        f"kidiq-kidscore_{kind}": lambda kind=kind: kidiq(kind)
        for kind in ("interaction", "momhs", "momhsiq", "momiq")
    },
    **{
        f"kidiq_with_mom_work-kidscore_{kind}": lambda kind=kind: kidiq(kind)
        for kind in ("interaction_c", "interaction_c2", "interaction_z", "mom_work")
    },
    "mesquite-mesquite": lambda: mesquite("mesquite"),
    "mesquite-logmesquite": lambda: mesquite("logmesquite"),
    **{
        f"mesquite-logmesquite_{kind}": lambda kind=kind: mesquite(kind)
        for kind in ("logva", "logvas", "logvash", "logvolume")
    },
    **{f"nes{year}-nes": lambda year=year: party(year) for year in YEARS},
    "sesame_data-sesame_one_pred_a": sesame,
    "sblrc-blr": lambda: simulated("sblrc"),
    "sblri-blr": lambda: simulated("sblri"),
    "arK-arK": autoregression,
    "arma-arma11": moving_average,
    "kilpisjarvi_mod-kilpisjarvi": kilpisjarvi,
    "radon_mn-radon_pooled": radon_pooled,
    "eight_schools-eight_schools_centered": lambda: eight_schools(is_centered=True),
    "eight_schools-eight_schools_noncentered": lambda: eight_schools(is_centered=False),
    "hmm_example-hmm_example": hidden_states,
    "low_dim_gauss_mix-low_dim_gauss_mix": two_classes,
    "M0_data-M0_model": captures,
    "Rate_1_data-Rate_1_model": lambda: rates({"k": (5, 10, "theta")}),
    "Rate_2_data-Rate_2_model": lambda: rates({"k1": (5, 10, "theta1"), "k2": (7, 10, "theta2")}),
    "Rate_3_data-Rate_3_model": lambda: rates({"k1": (5, 10, "theta"), "k2": (7, 10, "theta")}),
    "Rate_4_data-Rate_4_model": lambda: rates({"k": (1, 15, "theta")}, "thetaprior"),
    "Rate_5_data-Rate_5_model": lambda: rates({"k1": (0, 10, "theta"), "k2": (10, 10, "theta")}),
}
