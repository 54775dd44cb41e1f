"""Where and how a job runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from epilens.core.progress import Progress, StepFunction


@dataclass(frozen=True)
class Runtime:
    """Where and how a job runs; never changes a number.

    Parameters
    ----------
    out : path or str
        Folder, or the URL of a store.
    jobs : int
        Processes.
    only : names
        Methods to run; none: the plan's.
    tick : function of (note, steps)
        Called for every cell that is done.

    Examples
    --------
    >>> Runtime(out=Path("runs"), jobs=2, only=("cdel",)).jobs  # processes
    2
    """

    out: Path | str = Path("runs")
    jobs: int = 1
    only: tuple[str, ...] = ()
    tick: Progress | StepFunction = field(default_factory=Progress)
