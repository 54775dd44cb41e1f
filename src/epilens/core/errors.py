"""One exception family for bad input.

Every message has the same grammar: who: what was expected, what was found. What to do.
The command line turns these into one sentence and exit code 2; anything else is a defect.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class EpilensError(ValueError):
    """Bad input; the message says who, what was expected, what was found, and what to do."""


class PlanError(EpilensError):
    """A plan has an unknown key or a value that is not allowed."""


class DataError(EpilensError):
    """A dataset, a sidecar or a recording cannot be used."""


class StorageError(DataError):
    """A place cannot be written: full, closed, gone, or in use; or what is there is damaged."""


class OnsetError(DataError):
    """No seizure onset, or more than one, can be read from the events of a run."""


class CubeError(EpilensError):
    """A cube breaks its rules, or cannot be read."""


class DamagedError(CubeError):
    """A store lacks a piece, or has one that is not as it was written."""


class SplitError(EpilensError):
    """A split overlaps, leaves patients out, or names unknown ones."""


class LedgerError(EpilensError):
    """A ledger is incomplete, has a channel twice, or cannot be read."""


class MethodError(EpilensError):
    """A method cannot be fitted: too few patients, one class, packages or weights missing."""


class WorkerError(EpilensError):
    """A process that did a piece of the work was killed, twice."""


class ModelError(EpilensError):
    """A model or checkpoint cannot be used."""


class ReadingError(EpilensError):
    """A reading cannot be saved: it is signed, somebody was faster, or it names no contact."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """' Did you mean 'x'?' for a misspelt name, else the known names.

    Examples
    --------
    >>> did_you_mean("hupp", ["hup", "local"])
    "Did you mean 'hup'?"
    >>> did_you_mean("zzz", ["hup", "local"])
    'Known: hup, local.'
    """
    known = sorted(known)
    close = get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else f"Known: {', '.join(known)}."
