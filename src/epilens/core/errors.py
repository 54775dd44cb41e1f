"""One exception family for bad input, with a code for programs and a sentence for people.

Every message has the same grammar: subject: what was expected, what was found. What to do.
Programs read the fields of an error. The sentence is rendered from them and is never parsed.
The command line prints the sentence and exits with code 2; any other exception is a defect.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import ClassVar


@dataclass(frozen=True)
class Reason:
    """Why something cannot be used, as fields; `str()` renders the sentence.

    Examples
    --------
    >>> str(Reason("expected a file", "not-a-file", "x.edf", found="a pipe", hint="Remove it."))
    'x.edf: expected a file, found a pipe. Remove it.'
    >>> str(Reason("signal is {found}", "channel-quality", found="flat"))
    'signal is flat'
    """

    text: str
    """What was expected, or the whole sentence; `{found}` stands for what was found."""
    code: str = ""
    """The reason in one word, for programs."""
    subject: str = ""
    """The object that the sentence is about: a file, a patient, an option."""
    found: str = ""
    hint: str = ""
    """What to do, as a sentence."""

    def __str__(self) -> str:
        text = self.text
        if self.found:
            text = text if "{found}" in text else f"{text}, found {{found}}."
            text = text.replace("{found}", self.found)
        text = f"{self.subject}: {text}" if self.subject else text
        return f"{text} {self.hint}" if self.hint else text


class EpilensError(ValueError):
    """Bad input; the message says who, what was expected, what was found, and what to do.

    Parameters
    ----------
    text : str
        What was expected, or the whole sentence.
    code, subject, found, hint : str
        Fields of `Reason`. Without a code, the class's own.
    """

    default_code: ClassVar[str] = ""

    def __init_subclass__(cls, *, code: str = "") -> None:
        super().__init_subclass__()
        cls.default_code = code or cls.default_code

    def __init__(
        self, text: str = "", *, code: str = "", subject: str = "", found: str = "", hint: str = ""
    ):
        self.reason = Reason(text, code or self.default_code, subject, found, hint)
        self.code, self.subject = self.reason.code, subject
        self.found, self.hint = found, hint
        super().__init__(str(self.reason))

    def about(self, subject: str) -> EpilensError:
        """The same error, about `subject` if it names no subject yet."""
        return self if self.subject else type(self).of(replace(self.reason, subject=subject))

    @classmethod
    def of(cls, reason: Reason) -> EpilensError:
        """An error of this class with these fields."""
        return cls(**vars(reason))


class PlanError(EpilensError, code="plan"):
    """A plan has an unknown key or a value that is not allowed."""


class DataError(EpilensError, code="data"):
    """A dataset, a sidecar or a recording cannot be used."""


class StorageError(DataError, code="storage"):
    """A place cannot be written: full, closed, gone, or in use; or what is there is damaged."""


class OnsetError(DataError, code="onset"):
    """No seizure onset, or more than one, can be read from the events of a run."""


class CubeError(EpilensError, code="cube"):
    """A cube breaks its rules, or cannot be read."""


class DamagedError(CubeError, code="damaged"):
    """A store lacks a piece, or has one that is not as it was written."""


class SplitError(EpilensError, code="split"):
    """A split overlaps, leaves patients out, or names unknown ones."""


class LedgerError(EpilensError, code="ledger"):
    """A ledger is incomplete, has a channel twice, or cannot be read."""


class MethodError(EpilensError, code="method"):
    """A method cannot be fitted: too few patients, one class, packages or weights missing."""


class WorkerError(EpilensError, code="worker"):
    """A process that did a piece of the work was killed, twice."""


class PackageError(EpilensError, code="package"):
    """A package that is not in the base installation is missing."""


class ModelError(EpilensError, code="model"):
    """A model or checkpoint cannot be used."""


class ReadingError(EpilensError, code="reading"):
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
