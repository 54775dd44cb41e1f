"""What each method of a run cost: processor time, from the run's own notes."""

from __future__ import annotations

import pandas as pd

from epilens.analyses import Analysis
from epilens.analyses.tables import title_of
from epilens.core.errors import LedgerError
from epilens.evaluation.run import Run


def compute(run: Run) -> pd.DataFrame:
    """Cells, minutes and share of each method that was fitted; most expensive first.

    A method that draws nothing is fitted for the first seed only. Methods that are made of others
    (CDEL, smoothed methods) cost next to nothing and are not listed.
    """
    times = run.times
    if times.empty:
        raise LedgerError(
            f"cost: expected the times of cells in {run.folder}, found none. Runs of earlier "
            "versions have none: run the plan again in another folder."
        )
    by_method = times.groupby("method")["processor_s"]
    frame = pd.DataFrame({"cells": by_method.size(), "minutes": by_method.sum() / 60})
    frame["seconds_a_cell"] = by_method.mean()
    frame["share"] = frame["minutes"] / frame["minutes"].sum()
    frame = frame.sort_values("minutes", ascending=False, kind="stable").reset_index()
    frame.insert(1, "title", [title_of(str(method)) for method in frame["method"]])
    return frame


def claim(frame: pd.DataFrame) -> str:
    """State the total time, and which methods need most of it."""
    first = frame.iloc[0]
    return (
        f"Beyond the paper. {frame['cells'].sum()} cells took {_duration(frame['minutes'].sum())} "
        f"of processor time, {100 * first['share']:.0f} % of them for {first['title']}."
    )


def _duration(minutes: float) -> str:
    """Whole minutes; seconds below two minutes.

    Examples
    --------
    >>> _duration(1.2), _duration(95.4)
    ('72 s', '95 minutes')
    """
    return f"{60 * minutes:.0f} s" if minutes < 2 else f"{minutes:.0f} minutes"


ENTRIES = (
    Analysis(
        name="cost",
        title="Processor time by method",
        shows="beyond the paper",
        compute=compute,
        claim=claim,
        keys=("method",),
        formats={"minutes": ".1f", "seconds_a_cell": ".1f", "share": ".1%"},
    ),
)
