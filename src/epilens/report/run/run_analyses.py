"""All analyses of a finished run: their results, figures, and why some are missing."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import matplotlib

from epilens.analyses import ANALYSES, run_analysis
from epilens.analyses.figures import all_figures, figure_of
from epilens.analyses.result import AnalysisResult
from epilens.compute.local import map_jobs
from epilens.core.errors import EpilensError, LedgerError
from epilens.core.progress import Progress, StepFunction
from epilens.core.redaction import hide_paths
from epilens.evaluation.run import Run


@dataclass(frozen=True)
class RunResults:
    """Results of a run by analysis, and why others are missing."""

    run: Run
    results: Mapping[str, AnalysisResult]
    missing: Mapping[str, str]

    @property
    def note(self) -> str:
        """The caveats of every number here."""
        return " ".join(self.run.caveats)


def paper_order() -> list[str]:
    """Analyses in the paper's order; the audit first: a run that fails it has no results."""
    return sorted(ANALYSES, key=lambda name: (name != "audit", _place(ANALYSES[name].shows)))


def _place(shows: str) -> tuple[int, str]:
    kinds = ("Audit", "Table", "Figure")
    roman = any(c in "IVX" for c in shows.split(" ")[-1][:1])
    kind = next((i for i, kind in enumerate(kinds) if shows.startswith(kind)), len(kinds))
    return (10 * roman + kind, shows)


def run_all(run: Run, tick: Progress | StepFunction | None = None) -> RunResults:
    """Compute all analyses, here or on a cluster; a failed audit stops everything.

    Analyses that cannot be computed are listed with the reason.
    """
    tick, names = Progress.of(tick), paper_order()
    tick.expect(len(names))
    compute = partial(result_or_reason, run)
    audit, *others = names
    computed = {audit: compute(audit)}
    _require_passed(computed[audit])
    tick(audit)
    lost = lambda name, error: str(error)  # noqa: E731
    for name, result in map_jobs(compute, others, 1, lost=lost):
        computed[name] = result
        tick(name)
    ordered = {name: computed[name] for name in names}  # they are ready in any order
    results = {n: result for n, result in ordered.items() if isinstance(result, AnalysisResult)}
    missing = {n: _without_places(r, run) for n, r in ordered.items() if isinstance(r, str)}
    return RunResults(run, results, missing)


def result_or_reason(run: Run, name: str) -> AnalysisResult | str:
    """The result of an analysis, or why there is none."""
    try:
        return run_analysis(name, run)
    except EpilensError as error:
        return str(error)
    except Exception as error:
        # A mistake of ours must be seen; one of a plugin must not take the page with it.
        if (package := ANALYSES.origin(name).package) == "epilens":
            raise
        return f"{package}: failed ({type(error).__name__})."


def _without_places(reason: str, run: Run) -> str:
    """A reason for the page, without paths of this computer: pages are passed on."""
    places = {run.folder.parent: "RUNS", run.loco: "LOCO", run.folder: "RUN", run.cubes: "CUBES"}
    return hide_paths(reason, {place: name for place, name in places.items() if place is not None})


def _require_passed(audit: AnalysisResult | str) -> None:
    if isinstance(audit, str):
        raise LedgerError(audit)
    failed = audit.frame[~audit.frame["passed"]]
    if len(failed):
        failures = "; ".join(
            f"{row.check} (expected {row.expected}, found {row.found})"
            for row in failed.head(3).itertuples()
        )
        raise LedgerError(
            f"audit: expected every check to pass, found {len(failed)} that fail: {failures}. No "
            "table is made from this run; run it again, with all methods of its plan."
        )


def figures_of(results: RunResults) -> list[str]:
    """Figures all of whose analyses have results."""
    return [
        name
        for name, figure in all_figures().items()
        if set(figure.analyses) <= set(results.results)
    ]


def figure_bytes(results: RunResults, name: str, kind: str) -> bytes:
    """A figure as PDF, SVG or PNG."""
    panels = {part: results.results[part] for part in all_figures()[name].analyses}
    figure, content = figure_of(panels, results.note), io.BytesIO()
    # No date and no random names inside: the same run gives the same bytes.
    stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(content, format=kind, dpi=200, metadata=stamp)
    return content.getvalue()
