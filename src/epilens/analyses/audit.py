"""The audit: checks that a run must pass before its numbers are used; one row per check."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.audit_cells import cell_checks, ledger_checks
from epilens.analyses.audit_cohort import count_checks, cube_checks, digest_checks, split_checks
from epilens.analyses.audit_parts import AuditCheck, cells_of_ledger
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.evaluation.run import Run


def compute(run: Run) -> pd.DataFrame:
    """Checks of the run, and of its leave-one-center-out run if it has one.

    Callers stop at a row that has not `passed`.
    """
    runs = {"run": run} | ({} if run.loco is None else {"leave-one-center-out": run.loco_run})
    rows = [(name, *check) for name, checked in runs.items() for check in _checks(checked)]
    frame = pd.DataFrame(rows, columns=["of", "check", "expected", "found"]).astype(str)
    frame["passed"] = frame["expected"] == frame["found"]
    return frame


def _checks(run: Run) -> Iterator[AuditCheck]:
    cells = cells_of_ledger(run)
    yield from count_checks(run, cells)
    yield from split_checks(run)
    yield from digest_checks(run)
    yield from cell_checks(run)
    yield from ledger_checks(run, cells)
    if run.cubes is not None:
        yield from cube_checks(run, cells)


def claim(frame: pd.DataFrame) -> Verdict:
    """Verdict: all checks pass, or which do not."""
    failed = frame.loc[~frame["passed"], "check"].tolist()
    return Verdict(
        ClaimOutcome.DIFFER if failed else ClaimOutcome.AGREE,
        "every patient is tested once, thresholds come from validation patients, held-out centers "
        "enter no decision (80 patients, 7,635 channels, 256 seizures)",
        f"{int(frame['passed'].sum())} of {len(frame)} checks passed"
        + (f"; these do not: {'; '.join(failed)}" if failed else ""),
    )


ENTRIES = (
    Analysis(
        name="audit",
        title="Audit of the run",
        shows="Appendix, evaluation controls",
        compute=compute,
        claim=claim,
    ),
)
