"""`epilens reproduce`: every table and figure of the paper from one finished run, on one page.

The page is one self-contained HTML file, read on a screen, a phone, or in print.
"""

from __future__ import annotations

import base64
import html
from collections import Counter
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

import pandas as pd

from epilens.analyses import ANALYSES, sentence
from epilens.analyses.figures import PaperFigure, all_figures
from epilens.analyses.verdicts import ClaimOutcome
from epilens.core.errors import DataError
from epilens.core.glossary import REPRODUCTION_TERMS, explain
from epilens.core.progress import Progress, StepFunction
from epilens.evaluation.resampling import SMALL
from epilens.evaluation.run import Run
from epilens.io.atomic import (
    check_own_file,
    check_writable,
    write_atomically,
    write_bytes_atomically,
)
from epilens.io.delimited import to_csv
from epilens.io.outputs import check_folder, replace_folder
from epilens.io.xlsx import workbook_of
from epilens.report.markup import fill
from epilens.report.patient.planning import workbook_cell
from epilens.report.run.run_analyses import RunResults, figure_bytes, figures_of, run_all
from epilens.report.run.tables import page_table, to_latex, to_markdown

PAPER = "https://doi.org/10.48550/arXiv.2608.01076"
KIND = "a reproduction"
_SIGN = '<meta name="generator" content="EpiLENS">'
_MARKS = {
    ClaimOutcome.AGREE: ("agree", "agrees"),
    ClaimOutcome.DIFFER: ("differ", "differs"),
    ClaimOutcome.UNCLEAR: ("unclear", "no clear difference"),
    ClaimOutcome.NOT_COMPARABLE: ("untested", "not comparable"),
}
"""Style class and words of an outcome."""
_TABLE_FORMATS = ("xlsx", "csv", "md", "tex")
_FIGURE_FORMATS = ("png", "svg", "pdf")


def reproduce(run: Run, out: str | Path, tick: Progress | StepFunction | None = None) -> Path:
    """Write every table (CSV, Excel, LaTeX, Markdown), figure (PDF, SVG, PNG) and the page."""
    check_folder(out, KIND)
    check_writable(Path(out).absolute().parent)  # a new folder takes the place of the old one
    results = run_all(run, tick)
    with replace_folder(out, KIND) as place:
        _write_all(results, place)
    return Path(out) / "index.html"


def _write_all(results: RunResults, out: Path) -> None:
    for name, result in results.results.items():
        frame, columns = result.frame, result.columns
        caption = f"{ANALYSES[name].title}. {results.note}"
        place = out / "tables" / name
        write_atomically(place.with_suffix(".csv"), to_csv(frame))
        write_atomically(place.with_suffix(".md"), to_markdown(frame, columns))
        write_atomically(place.with_suffix(".tex"), to_latex(frame, columns, caption, name))
        write_bytes_atomically(place.with_suffix(".xlsx"), _workbook(frame, caption))
    for name in figures_of(results):
        for kind in _FIGURE_FORMATS:
            content = figure_bytes(results, name, kind)
            write_bytes_atomically(out / "figures" / f"{name}.{kind}", content)
    write_page(results, out / "index.html", links=True)


def _workbook(frame: pd.DataFrame, caption: str) -> bytes:
    """A table as .xlsx; a second sheet states what it is."""
    rows = [[str(name) for name in frame.columns]]
    rows += [[workbook_cell(value) for value in row] for row in frame.astype(object).to_numpy()]
    return workbook_of({"table": rows, "about": [[caption]]})


def check_page(path: str | Path) -> Path:
    """Refuse a path that is not an HTML file, before anything is computed."""
    if Path(path).suffix.lower() not in (".html", ".htm") or str(path).endswith("/"):
        raise DataError(
            f"{path}: expected the name of an HTML file, e.g. report.html, found another. "
            "`epilens reproduce RUN --out DIR` writes a folder."
        )
    page = check_own_file(path, _SIGN)
    check_writable(page.parent)
    return page


def write_page(results: RunResults, path: str | Path, links: bool = False) -> Path:
    """One self-contained HTML page; with `links`, to the tables in its folder."""
    return write_atomically(check_own_file(path, _SIGN), page(results, links))


def page(results: RunResults, links: bool = False) -> str:
    """The page as text; with `links`, to the tables in its folder."""
    # The audit is computed first but printed last, because it is long.
    shown = sorted(results.results, key=lambda name: name == "audit")
    pictures = {all_figures()[name].analyses[0]: name for name in figures_of(results)}
    sections = []
    for name in shown:
        if name in pictures:
            sections.append(_picture(results, all_figures()[pictures[name]], links))
        sections.append(_section(results, name, links))
    sections += [_missing(results)] if results.missing else []
    pieces = {
        "SIGN": _SIGN,
        "STYLE": (files("epilens.report.run") / "reproduction.css").read_text(encoding="utf-8"),
        "TITLE": html.escape(f"Reproduction of the EpiLENS paper: {results.run.plan.name}"),
        "LEAD": html.escape(_lead(results)),
        "CAVEATS": "".join(f"<p>{html.escape(text)}</p>" for text in results.run.caveats),
        "TALLY": _tally(results),
        "FACTS": _facts(results.run),
        "LINKS": "".join(_link(results, name) for name in shown),
        "SECTIONS": "\n".join(sections),
        "GLOSSARY": _glossary(),
        "PAPER": PAPER,
        "VERSION": html.escape(version("epilens")),
    }
    return fill(_PAGE, pieces)


def _lead(results: RunResults) -> str:
    """What the page shows, in two sentences."""
    patients = results.run.setting["patients"].values()
    kind = "simulated patients" if results.run.simulated else "patients"
    centers = len({patient["center"] for patient in patients})
    figures = len(figures_of(results))
    return (
        f"This page compares {len(results.run.methods)} methods on {len(patients)} {kind} of "
        f"{centers} {'center' if centers == 1 else 'centers'}. It has {len(results.results)} "
        f"tables and {figures} figures of the paper and beyond."
    )


def _tally(results: RunResults) -> str:
    """How many claims of the paper this cohort agrees with, and which."""
    outcomes = {name: result.outcome for name, result in results.results.items()}
    claimed = {name: o for name, o in outcomes.items() if o is not None and name != "audit"}
    counts = Counter(claimed.values())
    tested = len(claimed) - counts[ClaimOutcome.NOT_COMPARABLE]
    items = "".join(
        f'<li class="{_MARKS[outcome][0]}"><b>{counts[outcome]}</b> {outcome.counted}: '
        f"{_links(claimed, outcome)}</li>"
        for outcome in ClaimOutcome
        if counts[outcome]
    )
    checks = results.results["audit"].frame["passed"]
    audit = "passed" if checks.all() else "failed"
    return (
        f"<p>{tested} of {len(claimed)} claims of the paper could be tested on this cohort. A "
        "difference counts if its 95 % interval over patients excludes zero. The interval is a "
        f"percentile bootstrap as in the paper. With fewer than {SMALL} patients it is a t "
        "interval, because bootstrap intervals are too narrow for so few patients. "
        "<code>epilens compare</code> uses the same rule.</p>"
        f'<ul>{items}</ul><p>Audit: <a href="#audit">{len(checks)} checks {audit}</a>.</p>'
    )


def _links(claimed: dict[str, ClaimOutcome], outcome: ClaimOutcome) -> str:
    return ", ".join(
        f'<a href="#{name}">{html.escape(ANALYSES[name].shows)}</a>'
        for name, other in claimed.items()
        if other is outcome
    )


def _mark(results: RunResults, name: str) -> str:
    """A word and a colour for the agreement of an analysis with the paper."""
    outcome = results.results[name].outcome
    if outcome is None:
        return ""
    kind, words = _MARKS[outcome]
    return f'<span class="mark {kind}">{words}</span>'


def _link(results: RunResults, name: str) -> str:
    analysis = ANALYSES[name]
    return (
        f'<li><a href="#{name}">{html.escape(analysis.title)}</a> '
        f"<small>{html.escape(analysis.shows)}</small> {_mark(results, name)}</li>"
    )


def _facts(run: Run) -> str:
    setting = run.setting
    facts = {
        "Patients": len(setting["patients"]),
        "Centers": ", ".join(sorted({p["center"] for p in setting["patients"].values()})),
        "Methods": len(run.methods),
        "Seeds": ", ".join(map(str, run.plan.seeds)),
        "Plan": setting["plan_digest"],
        "Split": setting["split_digest"],
        "Cohort": setting["cohort_digest"],
    }
    return "".join(
        f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(str(value))}</dd></div>"
        for name, value in facts.items()
    )


def _picture(results: RunResults, figure: PaperFigure, files: bool) -> str:
    """A figure under its own heading; its panels link the tables of their numbers."""
    coded = base64.b64encode(figure_bytes(results, figure.name, "svg")).decode()
    shows = figure.shows[:1].upper() + figure.shows[1:]
    about = html.escape(f"{shows}: {figure.title}")
    tables = ", ".join(
        f'<a href="#{name}">{html.escape(ANALYSES[name].title)}</a>' for name in figure.analyses
    )
    links = " ".join(
        f'<a href="figures/{figure.name}.{kind}">{kind}</a>' for kind in _FIGURE_FORMATS
    )
    return (
        f'<section id="figure-{figure.name}"><h2>{about}</h2>'
        f'<p class="shows">Numbers: {tables}{" · " + links if files else ""}</p>'
        f'<figure><img alt="{about}" '
        f'src="data:image/svg+xml;base64,{coded}"></figure></section>'
    )


def _section(results: RunResults, name: str, files: bool) -> str:
    analysis, result = ANALYSES[name], results.results[name]
    links = " ".join(f'<a href="tables/{name}.{kind}">{kind}</a>' for kind in _TABLE_FORMATS)
    return (
        f'<section id="{name}"><h2>{html.escape(analysis.title)} {_mark(results, name)}</h2>'
        f'<p class="shows">{html.escape(analysis.shows)} · <code>epilens analyse {name}</code>'
        f"{' · ' + links if files else ''}</p>"
        f'<p class="claim">{html.escape(sentence(result, results.run))}</p>'
        f"{page_table(result.frame, analysis)}</section>"
    )


def _missing(results: RunResults) -> str:
    rows = "".join(
        f"<li><b>{html.escape(ANALYSES[name].title)}</b>: {html.escape(reason)}</li>"
        for name, reason in results.missing.items()
    )
    return f'<section id="missing"><h2>Not in this run</h2><ul>{rows}</ul></section>'


def _glossary() -> str:
    return "".join(
        f"<dt>{html.escape(term)}</dt><dd>{html.escape(text)}</dd>"
        for term, text in explain(REPRODUCTION_TERMS)
    )


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
{{SIGN}}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{{TITLE}}</title>
<style>
{{STYLE}}</style></head><body>
<h1>{{TITLE}}</h1>
<p class="lead">{{LEAD}}</p>
<div class="caveats">{{CAVEATS}}</div>
<div class="tally">{{TALLY}}</div>
<p>Coloured numbers are the values of <a href="{{PAPER}}" rel="noreferrer">the paper</a> where it
has them (80 patients of four centers). ▲ marks the best value of a column.
<a href="#glossary">What the words mean</a></p>
<dl class="facts">{{FACTS}}</dl>
<nav aria-labelledby="contents"><h2 id="contents">Contents</h2><ul>{{LINKS}}</ul></nav>
{{SECTIONS}}
<section id="glossary"><h2>What the words mean</h2><dl class="words">{{GLOSSARY}}</dl></section>
<footer>EpiLENS {{VERSION}}. For research, not for diagnosis.</footer>
</body></html>
"""
