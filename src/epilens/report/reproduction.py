"""`epilens reproduce`: every table and figure of the paper from one finished run, on one page."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import matplotlib
import pandas as pd

from epilens.analyses import ANALYSES, analyse, sentence
from epilens.analyses.figures import all_figures, figure_of
from epilens.errors import DataError, EpilensError, LedgerError
from epilens.evaluation.run import Run
from epilens.progress import StepFunction, Ticks
from epilens.report.tables import to_html, to_latex, to_markdown
from epilens.spreadsheet import to_csv
from epilens.storage import (
    check_folder,
    own_file,
    own_folder,
    write_atomically,
    write_bytes_atomically,
)

KIND = "a reproduction"
FIGURE_FORMATS = ("pdf", "svg", "png")


@dataclass(frozen=True)
class Findings:
    """What a run gave: frames by analysis, and why others are missing."""

    run: Run
    frames: Mapping[str, pd.DataFrame]
    missing: Mapping[str, str]

    @property
    def note(self) -> str:
        """What must be said of every number here."""
        return " ".join(self.run.caveats)


def in_paper_s_order() -> list[str]:
    """The audit first: nothing is shown of a run that fails it."""
    return sorted(ANALYSES, key=lambda name: (name != "audit", _place(ANALYSES[name].shows)))


def _place(shows: str) -> tuple[int, str]:
    kinds = ("Audit", "Table", "Figure")
    roman = any(c in "IVX" for c in shows.split(" ")[-1][:1])
    kind = next((i for i, kind in enumerate(kinds) if shows.startswith(kind)), len(kinds))
    return (10 * roman + kind, shows)


def find(run: Run, tick: Ticks | StepFunction | None = None) -> Findings:
    """Compute all analyses; a failed audit stops everything, what is lacking is noted."""
    tick = Ticks.of(tick)
    tick.expect(len(ANALYSES))
    frames, missing = {}, {}
    for name in in_paper_s_order():
        try:
            frames[name] = analyse(name, run)
        except EpilensError as error:
            missing[name] = str(error)
        except Exception as error:
            # A mistake of ours must be seen; one of a plugin must not take the page with it.
            if (package := ANALYSES.origin(name).package) == "epilens":
                raise
            missing[name] = f"{package}: failed ({type(error).__name__}: {error})."
        if name == "audit":
            _require(frames, missing)
        tick(name)
    return Findings(run, frames, missing)


def _require(frames: Mapping[str, pd.DataFrame], missing: Mapping[str, str]) -> None:
    if "audit" in missing:
        raise LedgerError(missing["audit"])
    failed = frames["audit"][~frames["audit"]["passed"]]
    if len(failed):
        failures = "; ".join(
            f"{row.check} (expected {row.expected}, found {row.found})"
            for row in failed.head(3).itertuples()
        )
        raise LedgerError(
            f"audit: expected every check to pass, found {len(failed)} that fail: {failures}. No "
            "table is made from this run; run it again."
        )


def reproduce(run: Run, out: str | Path, tick: Ticks | StepFunction | None = None) -> Path:
    """Write every table (CSV, LaTeX, Markdown), every figure (PDF, SVG, PNG) and the page."""
    check_folder(out, KIND)
    findings = find(run, tick)
    out = own_folder(out, KIND)
    for name, frame in findings.frames.items():
        analysis = ANALYSES[name]
        title = f"{analysis.title}. {findings.note}"
        place = out / "tables" / name
        write_atomically(place.with_suffix(".csv"), to_csv(frame))
        write_atomically(place.with_suffix(".md"), to_markdown(frame, analysis.formats))
        write_atomically(place.with_suffix(".tex"), to_latex(frame, analysis.formats, title, name))
    for name in _drawn(findings):
        for kind in FIGURE_FORMATS:
            content = _figure(findings, name, kind)
            write_bytes_atomically(out / "figures" / f"{name}.{kind}", content)
    return write_page(findings, out / "index.html", files=True)


def _drawn(findings: Findings) -> list[str]:
    """Figures all of whose analyses are there."""
    return [
        name
        for name, figure in all_figures().items()
        if set(figure.analyses) <= set(findings.frames)
    ]


def _figure(findings: Findings, name: str, kind: str) -> bytes:
    frames = {part: findings.frames[part] for part in all_figures()[name].analyses}
    figure, content = figure_of(frames, findings.note), io.BytesIO()
    # No date and no random names inside: the same run gives the same bytes.
    stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(content, format=kind, dpi=200, metadata=stamp)
    return content.getvalue()


def check_page(path: str | Path) -> Path:
    """Refuse a place that is no HTML file, before anything is computed."""
    if Path(path).suffix.lower() not in (".html", ".htm") or str(path).endswith("/"):
        raise DataError(
            f"{path}: expected the name of an HTML file, e.g. report.html, found another. "
            "`epilens reproduce RUN --out DIR` writes a folder."
        )
    return own_file(path, _SIGN)


def write_page(findings: Findings, path: str | Path, files: bool = False) -> Path:
    """One self-contained HTML page; with `files`, it links the tables beside it."""
    # The audit was computed first and is long: it stands behind what it vouches for.
    shown = sorted(findings.frames, key=lambda name: name == "audit")
    sections = [_section(findings, name, files) for name in shown]
    sections += [_lacking(findings)] if findings.missing else []
    links = "".join(
        f'<li><a href="#{name}">{html.escape(ANALYSES[name].title)}</a> '
        f"<small>{html.escape(ANALYSES[name].shows)}</small></li>"
        for name in shown
    )
    said = "".join(f"<p>{html.escape(text)}</p>" for text in findings.run.caveats)
    page = _PAGE.format(
        title=html.escape(f"EpiLENS: {findings.run.plan.name}"),
        caveats=said,
        facts=_facts(findings.run),
        links=links,
        sections="\n".join(sections),
        version=html.escape(version("epilens")),
    )
    return write_atomically(own_file(path, _SIGN), page)


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


def _section(findings: Findings, name: str, files: bool) -> str:
    analysis, frame = ANALYSES[name], findings.frames[name]
    picture = ""
    for figure in (all_figures()[drawn] for drawn in _drawn(findings)):
        if figure.analyses[0] == name:
            coded = base64.b64encode(_figure(findings, figure.name, "svg")).decode()
            about = html.escape(f"{figure.shows}: {figure.title}")
            source = f"data:image/svg+xml;base64,{coded}"
            picture += f'<figure><img alt="{about}" src="{source}"><figcaption>{about}'
            picture += "</figcaption></figure>"
    links = " ".join(f'<a href="tables/{name}.{kind}">{kind}</a>' for kind in ("csv", "md", "tex"))
    return (
        f'<section id="{name}"><h2>{html.escape(analysis.title)}</h2>'
        f'<p class="shows">{html.escape(analysis.shows)} · <code>epilens analyse {name}</code>'
        f"{' · ' + links if files else ''}</p>"
        f'<p class="claim">{html.escape(sentence(name, frame, findings.run))}</p>{picture}'
        f'<div class="wide">{to_html(frame, analysis.formats)}</div></section>'
    )


def _lacking(findings: Findings) -> str:
    rows = "".join(
        f"<li><b>{html.escape(ANALYSES[name].title)}</b>: {html.escape(why)}</li>"
        for name, why in findings.missing.items()
    )
    return f'<section id="missing"><h2>Not in this run</h2><ul>{rows}</ul></section>'


_SIGN = '<meta name="generator" content="EpiLENS">'
_PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
{_SIGN}
"""
_PAGE += """<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>
:root {{ --ink: #1d2733; --soft: #5b6875; --line: #dde3e9; --paper: #8a5a00; --ground: #fff; }}
* {{ box-sizing: border-box; }}
body {{ margin: 0 auto; max-width: 76rem; padding: 1.5rem; color: var(--ink);
  background: var(--ground); font: 15px/1.5 system-ui, sans-serif; }}
h1 {{ font-size: 1.6rem; margin: 0 0 .5rem; }}
h2 {{ font-size: 1.15rem; margin: 0 0 .2rem; }}
.caveats {{ border-left: 5px solid #b3261e; background: #fdf1f0; padding: .6rem 1rem; }}
.caveats p {{ margin: .1rem 0; font-weight: 600; }}
dl {{ display: flex; flex-wrap: wrap; gap: .4rem 2rem; margin: 1rem 0; }}
dt {{ color: var(--soft); font-size: .8rem; }} dd {{ margin: 0; }}
nav ul {{ columns: 2; padding-left: 1.1rem; }} nav small {{ color: var(--soft); }}
section {{ border-top: 1px solid var(--line); padding: 1.2rem 0; }}
.shows {{ color: var(--soft); margin: 0 0 .4rem; font-size: .85rem; }}
.claim {{ max-width: 60rem; margin: .3rem 0 .8rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: .82rem; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .6rem; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap; }}
thead th {{ border-bottom: 2px solid var(--ink); vertical-align: bottom; white-space: normal; }}
.number {{ text-align: right; }} .paper {{ color: var(--paper); }}
tbody tr:hover {{ background: #f4f7fa; }}
figure {{ margin: 0 0 1rem; }} img {{ max-width: 100%; height: auto; }}
figcaption {{ color: var(--soft); font-size: .85rem; }}
a {{ color: #00558c; }} footer {{ color: var(--soft); font-size: .85rem; padding: 1rem 0; }}
@media (max-width: 50rem) {{ nav ul {{ columns: 1; }} body {{ padding: .8rem; }} }}
@media print {{ nav {{ display: none; }} section {{ break-inside: avoid-page; }}
  .wide {{ overflow: visible; }} table {{ font-size: .6rem; }} }}
</style></head><body>
<h1>{title}</h1>
<div class="caveats">{caveats}</div>
<dl>{facts}</dl>
<p>Columns in brown are what the paper reports on its 80 patients of four centers.</p>
<nav><ul>{links}</ul></nav>
{sections}
<footer>EpiLENS {version}. For research, not for diagnosis.</footer>
</body></html>
"""
