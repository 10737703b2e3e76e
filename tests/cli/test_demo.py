"""The demonstration: its numbers against a direct computation, its report, its failures."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import nbinom
from typer.testing import CliRunner

import posteriori
from posteriori import Gamma
from posteriori.cli import app
from posteriori.cli.coal import analyse_counts, weigh_evidence
from posteriori.cli.demo import analyse_coal
from posteriori.cli.report import make_report, tell_analysis

SHAPE, RATE = 2.0, 1.0


def direct_log_evidence(counts):
    """ln ∫ Gamma(λ | a, b) ∏ Poisson(y | λ) dλ, written out."""
    n, total = len(counts), np.sum(counts)
    return (
        SHAPE * np.log(RATE)
        - gammaln(SHAPE)
        + gammaln(SHAPE + total)
        - (SHAPE + total) * np.log(RATE + n)
        - gammaln(np.asarray(counts) + 1).sum()
    )


@pytest.fixture(scope="module")
def analysis():
    return analyse_coal(seed=0)


@pytest.fixture(scope="module")
def splits(analysis):
    y = analysis.counts
    return np.array(
        [direct_log_evidence(y[:k]) + direct_log_evidence(y[k:]) for k in range(1, len(y))]
    )


def test_data_are_112_years_and_191_disasters(analysis):
    assert (analysis.years[0], analysis.years[-1], len(analysis.counts)) == (1851, 1962, 112)
    assert analysis.counts.sum() == 191


def test_evidence_of_the_constant_rate_is_that_of_the_formula(analysis):
    expected = direct_log_evidence(analysis.counts)
    assert float(analysis.constant.log_evidence) == pytest.approx(expected, rel=1e-12)
    assert analysis.constant.log_evidence.kind == "exact"


def test_evidence_of_one_change_averages_over_the_years(analysis, splits):
    expected = logsumexp(splits) - np.log(len(splits))
    assert float(analysis.change.log_evidence) == pytest.approx(expected, rel=1e-12)
    assert analysis.change.log_evidence.comparable(analysis.constant.log_evidence)


def test_posterior_of_the_year_is_the_share_of_each_split(analysis, splits):
    expected = np.exp(splits - logsumexp(splits))
    np.testing.assert_allclose(analysis.change_probabilities, expected, rtol=1e-9)
    low, high = analysis.change_interval
    inside = (analysis.change_years >= low) & (analysis.change_years <= high)
    assert expected[inside].sum() >= 0.95


def test_prediction_is_the_average_of_negative_binomials(analysis):
    n = np.arange(len(analysis.change.prediction.probabilities))
    y = analysis.counts
    late = np.array(
        [
            nbinom.pmf(n, SHAPE + y[k:].sum(), 1 - 1 / (RATE + len(y) - k + 1))
            for k in range(1, len(y))
        ]
    )
    expected = analysis.change_probabilities @ late
    np.testing.assert_allclose(analysis.change.prediction.probabilities, expected, rtol=1e-9)
    assert analysis.change.prediction.mean == pytest.approx(n @ expected, abs=1e-6)
    spread = np.sqrt(n**2 @ expected - (n @ expected) ** 2)
    assert analysis.change.prediction.std == pytest.approx(spread, abs=1e-5)


def test_mean_rates_by_year_lie_inside_their_bands(analysis):
    model = analysis.change
    assert np.all(model.yearly_low < model.yearly_mean)
    assert np.all(model.yearly_mean < model.yearly_high)
    early, late = model.rates.values()
    assert model.yearly_mean[0] == pytest.approx(early.mean)
    assert model.yearly_mean[-1] == pytest.approx(late.mean)


def test_same_seed_gives_the_same_report():
    assert make_report(analyse_coal(seed=3)) == make_report(analyse_coal(seed=3))


def test_steady_counts_favour_the_constant_rate():
    years = np.arange(1900, 1940)
    steady = analyse_counts(
        years, np.tile([1, 2], 20), Gamma(SHAPE, RATE), rng=np.random.default_rng(0)
    )
    assert steady.log_bayes_factor < 0
    assert steady.better is steady.constant
    assert "“constant rate” than under “one change”" in tell_analysis(steady)[1].verdict
    assert "<svg" in make_report(steady)


@pytest.mark.parametrize(
    ("log_factor", "words"),
    [(0.9, "not worth"), (1.1, "positive"), (2.9, "positive"), (-3.1, "strong"), (5.1, "very")],
)
def test_words_for_evidence_follow_the_published_scale(log_factor, words):
    assert weigh_evidence(log_factor).startswith(words)


class Page(HTMLParser):
    """Collect what a page would load, and check that every element is closed."""

    VOID = {"meta", "br", "link", "img"}

    def __init__(self):
        super().__init__()
        self.loads, self.open, self.ids, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids += [attrs["id"]] if "id" in attrs else []
        wanted = [attrs.get(key) for key in ("src", "href", "xlink:href", "data", "poster")]
        self.loads += [url for url in wanted if url and not url.startswith("#")]
        self.loads += [tag] if tag in {"script", "link", "iframe", "object"} else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def report(analysis):
    return make_report(analysis)


def test_report_is_well_formed_and_loads_nothing(report):
    page = Page()
    page.feed(report)
    assert page.open == []
    assert page.loads == []
    assert report.count("<svg") == 4
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"url\((?!#)|@import", report)


def test_report_shows_the_numbers_of_the_analysis(report, analysis):
    for section in tell_analysis(analysis):
        for row in section.rows:
            for cell in row:
                assert cell in report


def test_figures_take_their_colours_from_the_page(report):
    figures = re.findall(r"<svg.*?</svg>", report, flags=re.DOTALL)
    left = {c for f in figures for c in re.findall(r"#[0-9a-f]{6}\b", f)}
    assert left <= {"#ffffff"}
    assert "prefers-color-scheme: dark" in report


def test_help_and_version():
    runner = CliRunner()
    help_page = runner.invoke(app, ["--help"])
    assert help_page.exit_code == 0
    assert "demo" in help_page.output
    version = runner.invoke(app, ["--version"])
    assert version.output.strip() == f"posteriori {posteriori.__version__}"


def test_demo_writes_the_report_and_prints_its_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["demo"])
    assert done.exit_code == 0, done.output
    assert "posteriori-demo.html" in done.output
    assert "log evidence" in done.output
    assert [p.name for p in tmp_path.iterdir()] == ["posteriori-demo.html"]


def test_demo_into_a_missing_folder_says_so(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--html", str(tmp_path / "none" / "a.html")])
    assert done.exit_code == 1
    assert "Cannot write" in done.output
    assert "No such file or directory" in done.output
