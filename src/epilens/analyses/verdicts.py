"""Whether a cohort agrees with a claim of the paper, given the variability over patients.

A claim of the kind "A is better than B" is tested by the paired differences of this cohort's
patients. Their 95 % interval (a bootstrap; a t interval with fewer than 30 patients) is above zero
(they agree), below zero (they differ), or includes zero (no conclusion).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import isnan
from typing import Any

import pandas as pd

from epilens.analyses.tables import title_of
from epilens.core.errors import LedgerError
from epilens.evaluation.resampling import Comparison, compare_scores

DRAWS = 2000
"""Bootstrap draws for a verdict; tables with intervals draw as often as the paper."""
FEWEST = 5
"""Patients that a usable interval needs."""
TOO_FEW = f"fewer than {FEWEST} patients, too few for an interval"
Comparisons = tuple[Comparison | None, ...]
"""Comparisons that decide a verdict; None where a metric is undefined."""


class ClaimOutcome(StrEnum):
    """Agreement with a claim of the paper; the value is the last sentence of a verdict."""

    AGREE = "They agree."
    DIFFER = "They differ."
    UNCLEAR = "No clear difference."
    NOT_COMPARABLE = "Not comparable here."

    @property
    def counted(self) -> str:
        """Words after the number of claims with this outcome."""
        return {
            ClaimOutcome.AGREE: "agree with the paper",
            ClaimOutcome.DIFFER: "differ from the paper",
            ClaimOutcome.UNCLEAR: "show no clear difference",
            ClaimOutcome.NOT_COMPARABLE: "cannot be compared with this cohort",
        }[self]


@dataclass(frozen=True)
class Verdict:
    """The claim of the paper, the result of this cohort, and whether they agree."""

    outcome: ClaimOutcome
    paper: str
    here: str

    def __str__(self) -> str:
        return f"The paper: {self.paper}. Here: {self.here}. {self.outcome.value}"


def usable(comparisons: Iterable[Any]) -> list[Comparison]:
    """Comparisons, or rows of a frame with their fields, that are defined with enough patients."""
    defined = [c for c in comparisons if c is not None and not isnan(c.estimate)]
    return [c for c in defined if c.patients >= FEWEST]


def outcome_of(comparisons: Iterable[Any]) -> ClaimOutcome:
    """Outcome of "each first beats its second": all intervals above zero, one below, or neither."""
    tested = usable(comparisons)
    if not tested:
        return ClaimOutcome.NOT_COMPARABLE
    if any(c.high < 0 for c in tested):
        return ClaimOutcome.DIFFER
    return ClaimOutcome.AGREE if all(c.low > 0 for c in tested) else ClaimOutcome.UNCLEAR


def versus(scores: pd.DataFrame, a: str, b: str, metric: str) -> Comparison | None:
    """Method `a` minus method `b`, paired over patients; None if no patient has the metric."""
    try:
        return compare_scores(scores, a, b, metric, DRAWS)
    except LedgerError:
        return None


def versus_best(scores: pd.DataFrame, method: str, metric: str) -> Comparison | None:
    """A method minus the best of the others in this metric."""
    others = scores[scores["method"] != method]
    means = others.groupby(["method", "patient"])[metric].mean().groupby("method").mean().dropna()
    return versus(scores, method, str(means.idxmax()), metric) if len(means) else None


def cdel_versus_best(scores: pd.DataFrame, by: str, groups: Iterable[Any]) -> Comparisons:
    """Macro-F1 of CDEL minus that of the best other method, in each group of patients or seeds."""
    return tuple(versus_best(scores[scores[by] == value], "cdel", "macro_f1") for value in groups)


def centers_excluding_zero(comparisons: Comparisons) -> str:
    """State in how many centers the best two methods differ by more than chance."""
    tested = usable(comparisons)
    if not tested:
        return f"in every center {TOO_FEW}"
    apart = sum(not c.low <= 0 <= c.high for c in tested)
    return (
        f"the interval of its difference from the best of the others excludes zero in "
        f"{apart} of {len(tested)} with {FEWEST} patients or more"
    )


def in_words(comparison: Comparison | None, digits: int = 3) -> str:
    """A comparison in words: methods, difference, interval if there is a usable one, patients.

    Examples
    --------
    >>> in_words(Comparison("cdel", "prq", "auroc", 0.02, -0.01, 0.05, 40, 0.1, 2000))
    'CDEL − PRQ-Net +0.020 (95 % bootstrap interval -0.010 to +0.050, 40 patients)'
    >>> in_words(None)
    'not defined'
    """
    if comparison is None:
        return "not defined"
    c, spec = comparison, f"+.{digits}f"
    difference = f"{title_of(c.a)} − {title_of(c.b)} {c.estimate:{spec}}"
    if c.patients < FEWEST:
        return f"{difference} ({c.patients} patients, too few for an interval)"
    kind = {"percentile": "bootstrap", "t": "t"}[c.interval]
    interval = f"95 % {kind} interval {c.low:{spec}} to {c.high:{spec}}"
    return f"{difference} ({interval}, {c.patients} patients)"
