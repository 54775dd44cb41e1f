"""The typed result of an analysis: table, comparisons, verdict and the data of its figure."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from epilens.analyses.columns import Column
from epilens.analyses.verdicts import ClaimOutcome, Verdict
from epilens.evaluation.resampling import Comparison


@dataclass(frozen=True)
class AnalysisResult:
    """What an analysis computed from a run."""

    frame: pd.DataFrame
    """One row per item; with the paper's values when `run_analysis` returns it."""
    verdict: Verdict | str = ""
    """Agreement with the paper's claim, or a sentence about the frame where there is no claim."""
    comparisons: tuple[Comparison | None, ...] = ()
    """Paired patient bootstraps that decide the verdict; None where a metric is undefined."""
    figure: pd.DataFrame | None = None
    """What the figure draws, where that is not the frame."""
    columns: tuple[Column, ...] = ()
    """Meaning of the frame's columns; set by `run_analysis`."""

    @property
    def outcome(self) -> ClaimOutcome | None:
        """Agreement with the paper; None: the paper claims nothing."""
        return self.verdict.outcome if isinstance(self.verdict, Verdict) else None

    @property
    def drawn(self) -> pd.DataFrame:
        """Data of the figure."""
        return self.frame if self.figure is None else self.figure
