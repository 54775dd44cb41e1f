"""The page of all analyses: files, caveats, a failed audit stops it, nothing from the network."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib.image
import pandas as pd
import pytest

from epilens.analyses import ANALYSES
from epilens.core.errors import LedgerError
from epilens.evaluation.ledger import read_ledger
from epilens.evaluation.protocol import run
from epilens.evaluation.run import open_run
from epilens.plan import Plan, Runtime
from epilens.report.run.reproduction import reproduce, write_page
from epilens.report.run.run_analyses import paper_order, run_all
from epilens.testing import make_cohort

PLAN = Plan(name="small", seeds=(1, 2), smoke=True).override(
    splits={"folds": 2}, training={"epochs": 1, "least_epochs": 1}, methods=("prq", "bcr", "cdel")
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    cohort = make_cohort(tmp_path_factory.mktemp("cubes"), patients=10)
    return run(PLAN, cohort, Runtime(out=tmp_path_factory.mktemp("runs")))


@pytest.fixture(scope="module")
def made(folder, tmp_path_factory):
    out, done = tmp_path_factory.mktemp("page"), []
    page = reproduce(open_run(folder), out, lambda note, steps: done.append(note))
    assert done == paper_order()
    return page


def test_the_audit_comes_first():
    assert paper_order()[0] == "audit"
    assert sorted(paper_order()) == sorted(ANALYSES)


def test_every_table_and_figure_is_there_in_every_form(made):
    tables, figures = made.parent / "tables", made.parent / "figures"
    names = {p.stem for p in tables.glob("*.csv")}
    assert {"audit", "main", "permutation", "cross-seizure", "cohort", "ranking"} <= names
    for kind in ("md", "tex", "xlsx"):
        assert {p.stem for p in tables.glob(f"*.{kind}")} == names
    for name in ("fusion", "mechanism", "centers"):
        assert (figures / f"{name}.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
        assert (figures / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert matplotlib.image.imread(figures / f"{name}.png").std() > 0.01  # not empty
    csv, sheet = pd.read_csv(tables / "main.csv"), pd.read_excel(tables / "main.xlsx")
    assert len(csv) == 3
    pd.testing.assert_frame_equal(sheet[["method", "auroc"]], csv[["method", "auroc"]])


def test_the_page_is_one_file_that_says_what_it_is(made):
    text = made.read_text(encoding="utf-8")
    assert "Quick test" in text.split("<nav>")[0]
    assert "For research, not for diagnosis." in text.split("<nav>")[0]
    assert "default-src &#x27;none&#x27;" in text or "default-src 'none'" in text
    assert "<script" not in text
    sources = re.findall(r'src="([^"]{0,30})', text)
    assert sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    links = re.findall(r'href="([^"]*)"', text)
    cited = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    (doi,) = re.findall(r"doi: (\S+)", cited)
    own = ("tables/", "figures/")
    elsewhere = [link for link in links if not link.startswith(("#", *own))]
    assert elsewhere == [f"https://doi.org/{doi}"]  # the paper, to be followed by who wants to
    assert {link.rpartition(".")[2] for link in links if link.startswith(own)} >= {"xlsx", "png"}
    assert all((made.parent / link).exists() for link in links if link.startswith(own))
    assert all(f'id="{link[1:]}"' in text for link in links if link.startswith("#"))


def test_the_top_counts_the_claims_and_a_glossary_ends_the_page(made):
    text = made.read_text(encoding="utf-8")
    tally = text.split('<div class="tally">')[1].split("</div>")[0]
    counts = [int(n) for n in re.findall(r"<b>(\d+)</b>", tally)]
    ((tested, claims),) = re.findall(r"(\d+) of (\d+) claims of the paper", tally)
    assert sum(counts) == int(claims) > int(tested) > 1
    assert 'class="untested"' in tally
    assert "Table 1" in tally.split('class="untested"')[1]  # another cohort by design
    top = text.split("<h1>")[1]
    places = [top.index(part) for part in ('class="lead"', 'class="caveats"', 'class="tally"')]
    assert places == sorted(places)
    assert "checks passed" in tally
    assert 'id="glossary"' in text
    table = text.split('<section id="main">')[1].split("</section>")[0]
    assert "macro_f1" not in table
    assert "Macro-F1" in table
    assert not re.search(r">[^<]*(macro_f1|ez_auprc|recall_at_k)[^<]*<", text)


def test_each_figure_has_a_heading_of_its_own(made):
    text = made.read_text(encoding="utf-8")
    for name, title in (
        ("fusion", "Figure 3"),
        ("mechanism", "Figure 4"),
        ("centers", "Figure II"),
    ):
        part = text.split(f'<section id="figure-{name}">')[1].split("</section>")[0]
        assert part.startswith(f"<h2>{title}: ")
        assert part.count("<img") == 1
    assert text.count("<img") == text.count('<section id="figure-')


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_screen_and_its_tables_scroll_on_a_phone(made, browser, width):
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(made.resolve().as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        "[...document.querySelectorAll('td > span')].filter(e => e.offsetParent)"
        ".filter(e => e.getBoundingClientRect().right > innerWidth)"
        ".filter(e => getComputedStyle(e.closest('table')).overflowX !== 'auto').length"
    )
    assert outside == 0
    at = page.evaluate(
        "[...document.querySelectorAll('table')].filter(e => e.offsetParent).map(e => {"
        "  e.scrollLeft = 1e4;"
        "  const left = (part) => part.getBoundingClientRect().left;"
        "  return left(e.querySelector('td')) - left(e);"
        "})"
    )
    assert max(map(abs, at)) < 1  # the names stay while the numbers move
    heights = page.evaluate("[...document.querySelectorAll('figure img')].map(e => e.height)")
    assert min(heights) >= 200  # three panels side by side would be 80 on a phone


def test_what_the_run_lacks_is_listed_with_the_command(made):
    missing = made.read_text(encoding="utf-8").split('<section id="missing">')[1]
    assert "leave-one-center-out" in missing
    assert "--only prq/base" in missing


def test_the_same_run_gives_the_same_bytes(made, folder, tmp_path):
    again = reproduce(open_run(folder), tmp_path)
    assert again.read_bytes() == made.read_bytes()


def test_a_failed_audit_stops_everything(folder, tmp_path):
    ledger = read_ledger(folder / "ledger.parquet")
    cell = (ledger["method"] == "prq") & (ledger["seed"] == 1) & (ledger["fold"] == "0")
    ledger.loc[cell, "threshold"] = 0.123  # not what validation selects
    broken = tmp_path / "small"
    broken.mkdir()
    for name in ("run.json", "plan.toml", "split.csv"):
        (broken / name).write_bytes((folder / name).read_bytes())
    ledger.to_parquet(broken / "ledger.parquet")
    with pytest.raises(LedgerError, match="audit: expected every check to pass, found"):
        reproduce(open_run(broken), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_report_alone_links_nothing(folder, tmp_path):
    path = write_page(run_all(open_run(folder)), tmp_path / "one.html")
    assert "tables/" not in Path(path).read_text(encoding="utf-8")
