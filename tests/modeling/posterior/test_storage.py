"""Saved posteriors: the same after a round trip; damaged or hostile files are refused."""

import hashlib
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori.distributions import (
    Bernoulli,
    Binomial,
    Categorical,
    Empirical,
    Exponential,
    Gamma,
    LogNormal,
    MvNormal,
    MvStudentT,
    Normal,
    Poisson,
    TruncatedNormal,
)
from posteriori.modeling import Model, load_posterior, take
from posteriori.modeling.posterior.storage import _FAMILIES, _read_marginal, _write_marginal
from tests.distributions.cases import CASES
from tests.modeling.posterior.calibrated_models import mixture
from tests.modeling.test_planning import GALLERY


@pytest.mark.parametrize("name", GALLERY)
def test_round_trip(name: str, tmp_path: Path) -> None:
    build, data = GALLERY[name]
    post = build().infer(data)
    post.save(tmp_path / "post")
    again = load_posterior(tmp_path / "post")
    assert again.log_evidence == post.log_evidence
    assert again.log_evidence.fingerprint == post.log_evidence.fingerprint
    assert again.names == tuple(post._solved.by_name)
    for variable in again.names:
        assert type(again[variable]) is type(post[variable])
        assert again[variable] == post[variable]
    assert [p.name for p in tmp_path.iterdir()] == ["post"]


#: Members that were given in other forms than those of the common table.
OTHER_FORMS = [
    Normal([1.0, 3.0], precision=[0.5, 2.0]),
    LogNormal([1.0, 3.0], scale=[0.5, 2.0]),
    MvNormal(np.ones((3, 2)), precision=2.0 * np.eye(2)),
    MvStudentT([3.0, 4.0, 5.0], np.ones((3, 2)), scale=2.0 * np.eye(2)),
    TruncatedNormal([0.0, 1.0], -np.inf, [2.0, 3.0], scale=[1.0, 2.0]),
]
#: A single member and a batch of every family that a file may hold.
MEMBERS = [m for c in CASES if c.id in _FAMILIES for m in (c.one(), c.batch())]


@pytest.mark.parametrize("member", MEMBERS + OTHER_FORMS, ids=lambda m: type(m).__name__)
def test_every_family_comes_back(member: Any, tmp_path: Path) -> None:
    m = Model()
    m.x = member
    m.infer().save(tmp_path / "post")
    again = load_posterior(tmp_path / "post").x
    assert type(again) is type(member)
    assert again.batch_shape == member.batch_shape
    x = member.sample(rng=0)
    np.testing.assert_array_equal(again.sample(rng=0), x)
    np.testing.assert_allclose(again.log_prob(x), member.log_prob(x), rtol=1e-14)


@pytest.mark.parametrize("shape", [(6,), (6, 2)])
def test_weighted_points_come_back(shape: tuple[int, ...]) -> None:
    """As integrals over classes leave them for shares and for numbers that are chosen by states."""
    rng = np.random.default_rng(0)
    member = Empirical(rng.normal(size=shape), rng.dirichlet(np.ones(6)))
    entry, numbers = _write_marginal(member)
    again = _read_marginal(entry, iter(numbers))
    assert type(again) is type(member)
    assert again.event_shape == member.event_shape
    np.testing.assert_array_equal(again.sample(50, rng=0), member.sample(50, rng=0))


def test_integrated_mixtures_are_saved(tmp_path: Path) -> None:
    m = mixture(3.0)
    post = m.infer(y=m.simulate(plates={"n": 30}, rng=0)["y"])
    assert isinstance(post.pi, Empirical)
    post.save(tmp_path / "post")
    pd.testing.assert_frame_equal(load_posterior(tmp_path / "post").summary(), post.summary())


def test_no_family_of_the_format_is_left_out() -> None:
    assert {type(member).__name__ for member in MEMBERS} == set(_FAMILIES)


def labelled() -> Any:
    m = Model()
    m.z = Categorical([0.2, 0.8], labels=["low", "high"])
    m.y = Normal(take([0.0, 1.0], m.z), variance=1.0)
    return m.infer(y=0.3)


def test_labels_are_kept(tmp_path: Path) -> None:
    post = labelled()
    post.save(tmp_path / "post")
    assert load_posterior(tmp_path / "post").z.labels == post.z.labels


def with_leaves() -> Model:
    m = Model()
    m.rate = Gamma(2.0, rate=1.0)
    m.y = Poisson(m.rate)
    m.count = Poisson(m.rate).iid(3)
    m.z = Categorical([0.2, 0.8])
    m.x = Normal(take([0.0, 1.0], m.z), variance=1.0)
    m.mixed = Normal(take([-1.0, 1.0], m.z), variance=1.0).iid(2)
    m.vector = MvNormal(take([[0.0, 1.0], [2.0, 3.0]], m.z), cov=np.eye(2))
    m.coin = Bernoulli(0.3)
    m.trials = Binomial(10, 0.3)
    m.wait = Exponential(2.0)
    m.hopeless = Normal(m.rate, variance=1.0)
    return m


def test_leaves_are_saved_as_they_are_predicted(tmp_path: Path) -> None:
    post = with_leaves().infer(y=3, x=0.4)
    post.save(tmp_path / "post")
    again = load_posterior(tmp_path / "post")
    names = ("rate", "count", "z", "mixed", "vector", "coin", "trials", "wait")
    assert again.names == names
    for name in names:
        assert type(again[name]) is type(post[name])
        points = post[name].sample(5, rng=0)
        np.testing.assert_array_equal(again[name].log_prob(points), post[name].log_prob(points))


def test_leaves_without_closed_form_are_named(tmp_path: Path) -> None:
    with_leaves().infer(y=3, x=0.4).save(tmp_path / "post")
    again = load_posterior(tmp_path / "post")
    assert set(again.left_out) == {"hopeless"}
    with pytest.raises(AttributeError, match=r"hopeless was not saved: .*no closed-form"):
        _ = again.hopeless


def test_a_saved_posterior_reads_like_the_other(tmp_path: Path) -> None:
    post = labelled()
    post.save(tmp_path / "post")
    again = load_posterior(tmp_path / "post")
    assert repr(again) == "Saved" + repr(post)
    assert "z" in dir(again)
    pd.testing.assert_frame_equal(again.summary(), post.summary())
    assert again.marginals("z") == {"z": again.z}


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    labelled().save(tmp_path / "post")
    return tmp_path / "post"


def test_every_changed_byte_and_every_cut_is_noticed(saved: Path) -> None:
    content = saved.read_bytes()
    for i in range(len(content)):
        saved.write_bytes(content[:i] + bytes([content[i] ^ 1]) + content[i + 1 :])
        with pytest.raises(ValueError, match=r"not a saved|version|damaged"):
            load_posterior(saved)
        saved.write_bytes(content[:i])
        with pytest.raises(ValueError, match=r"not a saved|version|damaged"):
            load_posterior(saved)


def forge(path: Path, header: Any, numbers: bytes = b"") -> None:
    """Write a file whose checksum is right."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    body = text + b"\n" + numbers
    digest = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b"posteriori posterior 1\n" + digest + b"\n" + body)


def header(**changes: Any) -> dict[str, Any]:
    entry = {"name": "x", "family": "Normal", "parameters": {"mean": [], "variance": []}}
    start = {"log_evidence": -1.0, "kind": "exact", "of": "X", "count": 1, "checksum": 2}
    return {**start, "variables": [{**entry, **changes}]}


TWO = np.array([1.0, 2.0]).tobytes()
NUMERIC = header(family="Numeric", parameters={"nodes": [2], "density": [2]})


@pytest.mark.parametrize(
    ("head", "numbers"),
    [
        (header(parameters={"mean": [10**12], "variance": []}), TWO),
        (header(parameters={"mean": [-1], "variance": []}), TWO),
        (header(parameters={"mean": [0, 10**30], "variance": [2]}), TWO),
        (header(parameters={"mean": [1] * 60, "variance": []}), TWO),
        (header(parameters={"mean": [True], "variance": []}), TWO),
        (header(parameters={"mean": [], "_given": []}), TWO),
        (header(family="os.system"), TWO),
        (header(family="Mixture"), TWO),
        (header(family="Mixture", parameters={"probabilities": [2]}, components={}), TWO),
        ({**header(), "left_out": ["x"]}, TWO),
        (header(family="Posterior"), TWO),
        (header(family=["Normal"]), TWO),
        (header(), np.array([1.0, -2.0]).tobytes()),
        (header(), np.array([np.nan, 1.0]).tobytes()),
        (header(), TWO + b"more"),
        (NUMERIC, np.array([-1e308, 1e308, 1.0, 1.0]).tobytes()),  # its area overflows
        (NUMERIC, np.array([0.0, 1.0, 3.0, 3.0]).tobytes()),  # its area is 3
        ({**header(), "kind": "invented"}, TWO),
        ({**header(), "log_evidence": "much"}, TWO),
        (b"[" * 100_000, b""),
        (b"[]", b""),
        (b"3", b""),
        (b"\xff\xfe", b""),
        (b"", b""),
    ],
)
def test_forged_files_are_refused(tmp_path: Path, head: Any, numbers: bytes) -> None:
    forge(tmp_path / "forged", head, numbers)
    with pytest.raises(ValueError, match="does not hold a posterior"):
        load_posterior(tmp_path / "forged")


def test_the_forge_itself_works(tmp_path: Path) -> None:
    forge(tmp_path / "forged", header(), TWO)
    assert load_posterior(tmp_path / "forged").x == Normal(1.0, variance=2.0)


def test_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(ValueError, match="not a saved posterior"):
        load_posterior(path)
    path.write_bytes(b"posteriori posterior 2\n")
    with pytest.raises(ValueError, match="version 2"):
        load_posterior(path)


def test_a_failed_save_leaves_the_old_file(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = saved.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="no space"):
        labelled().save(saved)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == ["post"]


def test_unknown_names_say_what_there_is(saved: Path) -> None:
    with pytest.raises(AttributeError, match="it has z"):
        _ = load_posterior(saved).w
    with pytest.raises(KeyError, match="did you mean 'z'"):
        load_posterior(saved).summary("Z")
