"""What a finished run gives: a frame of every analysis, figures, and why some are missing."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pandas as pd

from epilens.analyses import ANALYSES, analyse
from epilens.analyses.figures import all_figures, figure_of
from epilens.compute.local import map_jobs
from epilens.core.errors import EpilensError, LedgerError
from epilens.core.progress import Progress, StepFunction
from epilens.evaluation.run import Run


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


@dataclass(frozen=True)
class Asked:
    """An analysis of a run, to be computed here or elsewhere."""

    name: str
    run: Run


def in_paper_s_order() -> list[str]:
    """The audit first: nothing is shown of a run that fails it."""
    return sorted(ANALYSES, key=lambda name: (name != "audit", _place(ANALYSES[name].shows)))


def _place(shows: str) -> tuple[int, str]:
    kinds = ("Audit", "Table", "Figure")
    roman = any(c in "IVX" for c in shows.split(" ")[-1][:1])
    kind = next((i for i, kind in enumerate(kinds) if shows.startswith(kind)), len(kinds))
    return (10 * roman + kind, shows)


def find(run: Run, tick: Progress | StepFunction | None = None) -> Findings:
    """Compute all analyses, here or on a cluster; a failed audit stops everything.

    What is lacking is noted.
    """
    tick, names = Progress.of(tick), in_paper_s_order()
    tick.expect(len(names))
    audit, *others = [Asked(name, run) for name in names]
    found = {audit.name: compute(audit)}
    _require(found[audit.name])
    tick(audit.name)
    lost = lambda asked, error: str(error)  # noqa: E731
    for asked, outcome in map_jobs(compute, others, 1, lambda asked: asked.name, lost):
        found[asked.name] = outcome
        tick(asked.name)
    outcomes = {name: found[name] for name in names}  # they are ready in any order
    frames = {n: frame for n, frame in outcomes.items() if not isinstance(frame, str)}
    missing = {n: _without_places(w, run) for n, w in outcomes.items() if isinstance(w, str)}
    return Findings(run, frames, missing)


def compute(asked: Asked) -> pd.DataFrame | str:
    """The frame of an analysis, or why there is none."""
    try:
        return analyse(asked.name, asked.run)
    except EpilensError as error:
        return str(error)
    except Exception as error:
        # A mistake of ours must be seen; one of a plugin must not take the page with it.
        if (package := ANALYSES.origin(asked.name).package) == "epilens":
            raise
        return f"{package}: failed ({type(error).__name__})."


def _without_places(why: str, run: Run) -> str:
    """A reason for the page: where things lie on this computer is for nobody who is sent it."""
    places = {run.folder.parent: "RUNS", run.loco: "LOCO", run.folder: "RUN", run.cubes: "CUBES"}
    # Longest first: one can lie in another.
    for place, name in sorted(places.items(), key=lambda item: -len(str(item[0]))):
        why = why.replace(str(place), name) if place not in (None, Path()) else why
    return why


def _require(audit: pd.DataFrame | str) -> None:
    if isinstance(audit, str):
        raise LedgerError(audit)
    failed = audit[~audit["passed"]]
    if len(failed):
        failures = "; ".join(
            f"{row.check} (expected {row.expected}, found {row.found})"
            for row in failed.head(3).itertuples()
        )
        raise LedgerError(
            f"audit: expected every check to pass, found {len(failed)} that fail: {failures}. No "
            "table is made from this run; run it again, with all methods of its plan."
        )


def drawn(findings: Findings) -> list[str]:
    """Figures all of whose analyses are there."""
    return [
        name
        for name, figure in all_figures().items()
        if set(figure.analyses) <= set(findings.frames)
    ]


def figure_bytes(findings: Findings, name: str, kind: str) -> bytes:
    """A figure as PDF, SVG or PNG."""
    frames = {part: findings.frames[part] for part in all_figures()[name].analyses}
    figure, content = figure_of(frames, findings.note), io.BytesIO()
    # No date and no random names inside: the same run gives the same bytes.
    stamp = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(kind)
    with matplotlib.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
        figure.savefig(content, format=kind, dpi=200, metadata=stamp)
    return content.getvalue()
