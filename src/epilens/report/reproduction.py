"""`epilens reproduce`: every table and figure of the paper from one finished run, on one page."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from epilens.analyses import ANALYSES
from epilens.core.progress import Progress, StepFunction
from epilens.evaluation.run import Run
from epilens.io.atomic import check_writable, write_atomically, write_bytes_atomically
from epilens.io.delimited import to_csv
from epilens.io.outputs import check_folder, replace_folder
from epilens.io.xlsx import workbook_of
from epilens.report.planning import workbook_cell
from epilens.report.reproduction_page import write_page
from epilens.report.run_analyses import RunResults, figure_bytes, figures_of, run_all
from epilens.report.tables import to_latex, to_markdown

KIND = "a reproduction"
FIGURE_FORMATS = ("pdf", "svg", "png")


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
        for kind in FIGURE_FORMATS:
            content = figure_bytes(results, name, kind)
            write_bytes_atomically(out / "figures" / f"{name}.{kind}", content)
    write_page(results, out / "index.html", files=True)


def _workbook(frame: pd.DataFrame, caption: str) -> bytes:
    """A table as .xlsx; a second sheet states what it is."""
    rows = [[str(name) for name in frame.columns]]
    rows += [[workbook_cell(value) for value in row] for row in frame.astype(object).to_numpy()]
    return workbook_of({"table": rows, "about": [[caption]]})
