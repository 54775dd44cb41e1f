"""The seizures of one patient: read once, kept in several stores, channels matched by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.errors import DataError
from epilens.core.types import Bools
from epilens.data.audit import AuditRow, Effect, Note
from epilens.data.recording import Recording, align
from epilens.plan import Plan

Array = NDArray[Any]
READING = ("montage", "quality", "filter", "windows")
"""Sections of the plan by which recordings are read."""


@dataclass(frozen=True)
class Seizures:
    """What is known about a patient's recordings, without their samples."""

    about: tuple[Recording, ...]
    channels: tuple[str, ...]
    """Names of the channels of all recordings."""
    present: Bools
    """Which recordings have a channel (seizure, channel)."""

    @classmethod
    def of(cls, about: Sequence[Recording]) -> Seizures:
        """Return the seizures of one patient; a run that is given twice is refused."""
        if not about:
            raise DataError("describe: expected recordings of one patient, found none.")
        patients = sorted({r.patient for r in about})
        if len(patients) > 1:
            raise DataError(
                f"describe: expected recordings of one patient, found {', '.join(patients[:5])}. "
                "Describe each patient on its own."
            )
        if len({r.run for r in about}) < len(about):
            raise DataError("expected every run once, found one twice.", subject=patients[0])
        return cls(tuple(about), *align(about))

    def row(self, note: Note, s: int, c: int | None = None, effect: Effect = "noted") -> AuditRow:
        """The audit row of a seizure, or of one channel of it."""
        who = (self.about[s].patient, self.about[s].run)
        if c is None:
            return AuditRow.of("run", note, who, effect)
        return AuditRow.of("channel", note, (*who, self.channels[c]), effect)

    @property
    def coords(self) -> dict[str, list[str]]:
        """Names of the seizures and channels, as every store has them."""
        return {"seizure": [r.run for r in self.about], "channel": list(self.channels)}

    def stack(self, parts: Sequence[Array]) -> Array:
        """Stack arrays (a, channel, …) as (seizure, a, channel, …); 0 where a channel is absent."""
        first = parts[0]
        shape = (len(parts), first.shape[0], len(self.channels), *first.shape[2:])
        out = np.zeros(shape, first.dtype)
        self._copy_to(np.moveaxis(out, 2, 1), [np.moveaxis(part, 1, 0) for part in parts])
        return out

    def concatenate(self, parts: Sequence[Array]) -> Array:
        """Concatenate arrays (channel, sample) of unequal length as (channel, sample)."""
        stops = np.cumsum([part.shape[1] for part in parts])
        out = np.zeros((len(self.channels), stops[-1]), parts[0].dtype)
        self._copy_to(np.split(out, stops[:-1], axis=1), parts)
        return out

    def _copy_to(self, targets: Iterable[Array], parts: Sequence[Array]) -> None:
        """Copy every seizure to its part of the output; channels come first in both."""
        row = {name: i for i, name in enumerate(self.channels)}
        for target, part, recording in zip(targets, parts, self.about, strict=True):
            target[[row[name] for name in recording.channels]] = part


@dataclass(frozen=True)
class Store:
    """Something that is kept of a patient: of each seizure, then of all of them together."""

    name: str
    of_seizure: Callable[[Recording, Plan, int | None], Any]
    """Recording, plan and threads → what `of_patient` needs of it."""
    of_patient: Callable[[Seizures, Sequence[Any], Plan], xr.Dataset]
    sections: frozenset[str] = frozenset()
    """Fields of the plan that change it, in addition to those by which the recordings are read."""

    @property
    def module(self) -> str:
        """Module that computes its numbers."""
        return self.of_patient.__module__


def fill(
    stores: Sequence[Store],
    recordings: Iterable[Recording],
    plan: Plan,
    threads: int | None = None,
) -> dict[str, xr.Dataset]:
    """Several stores from one pass; the samples of one recording at a time lie in memory."""
    about, parts = [], {store.name: [] for store in stores}
    for recording in recordings:
        for store in stores:
            parts[store.name].append(store.of_seizure(recording, plan, threads))
        about.append(replace(recording, signal=recording.signal[:, :0], missing=None))
    seizures = Seizures.of(about)
    # Free each part once it is joined.
    filled = {s.name: s.of_patient(seizures, parts.pop(s.name), plan) for s in stores}
    for store in stores:
        filled[store.name].attrs["plan"] = described_by(plan, store.sections)
    return filled


def described_by(plan: Plan, sections: Iterable[str]) -> dict[str, Any]:
    """Fields of the plan that change a store whose `Store.sections` these are.

    Not which contacts are kept: a choice for single patients, like their labels and onsets, which
    changes no other contact.
    """
    fields = plan.fields((*READING, *sections))
    del fields["quality.keep"], fields["quality.note_broken"]
    cohort = {"cohort.duplicates": plan.cohort.duplicates, "cohort.ez": plan.cohort.ez}
    return fields | cohort
