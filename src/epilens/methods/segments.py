"""The 4 s segments of patients, as the raw-iEEG baselines read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from epilens.core.decisions import with_neutral
from epilens.core.errors import MethodError
from epilens.core.types import Bools, Floats
from epilens.methods import seen_channels, seen_labels


def usable(patient: xr.Dataset) -> Bools:
    """Which segments (seizure, segment, channel) are whole and of a seizure that shows the channel.

    A seen channel can have none: it is not learned from, and its score is neutral.
    """
    if "trace" not in patient:
        raise MethodError(
            f"{patient.attrs['patient']}: expected traces next to the cube, found none. Write them "
            "with `epilens describe --plan PLAN`, where the plan has a method that reads traces."
        )
    shown = patient["valid"].any("window").values[:, None]
    return patient["trace_valid"].values & shown


def without_segments(patients: Sequence[xr.Dataset]) -> dict[str, list[str]]:
    """Seen channels without a usable segment, of the patients who have such; for the notes."""
    lost = {
        patient.attrs["patient"]: patient["channel"]
        .values[seen_channels(patient) & ~usable(patient).any((0, 1))]
        .tolist()
        for patient in patients
    }
    return {patient: channels for patient, channels in lost.items() if channels}


def with_segments(
    patients: Sequence[xr.Dataset], whose: str = "fit", least: int = 1
) -> list[xr.Dataset]:
    """Patients who have a usable segment; with fewer than `least` nothing can be learned."""
    some = [patient for patient in patients if usable(patient).any()]
    if len(some) < least:
        raise MethodError(
            f"{whose} patients: expected {least} or more with a whole segment around onset, found "
            f"{len(some)} of {len(patients)}. Give recordings that reach further around onset, or "
            "leave the raw-iEEG methods out of the plan."
        )
    return some


@dataclass(frozen=True)
class PatientSegments:
    """The usable segments of some patients as one array, and whose they are."""

    x: NDArray[np.float32]  # (segment, time)
    channel: NDArray[np.intp]  # (segment,), counts the seen channels through all patients
    sizes: tuple[int, ...]  # seen channels of each patient
    is_ez: Bools | None  # (channel,), None for blind patients

    @classmethod
    def of(cls, patients: Sequence[xr.Dataset]) -> PatientSegments:
        """Gather the segments; each patient's traces are read once and written to their rows."""
        masks = [usable(patient) for patient in patients]
        sizes = [int(seen_channels(patient).sum()) for patient in patients]
        bounds = np.cumsum([0, *(int(mask.sum()) for mask in masks)])
        x = np.empty((bounds[-1], patients[0].sizes["time"]), np.float32)
        for i, patient in enumerate(patients):
            rows, target = np.flatnonzero(masks[i]), x[bounds[i] : bounds[i + 1]]
            flat = patient["trace"].values.reshape(-1, x.shape[1])
            np.take(flat, rows, axis=0, out=target, mode="clip")  # `raise` would copy once more
        first = np.cumsum([0, *sizes[:-1]])
        channel = [
            offset + (np.cumsum(seen_channels(patient)) - 1)[np.nonzero(mask)[2]]
            for patient, mask, offset in zip(patients, masks, first, strict=True)
        ]
        labelled = all("is_ez" in patient for patient in patients)
        is_ez = np.concatenate([seen_labels(patient) for patient in patients]) if labelled else None
        return cls(x, np.concatenate(channel), tuple(sizes), is_ez)

    def by_patient(self, of_channels: NDArray) -> list[NDArray]:
        """Values of all channels, patient by patient."""
        return np.split(of_channels, np.cumsum(self.sizes)[:-1])

    def channel_means(self, p_nez: Floats) -> list[Floats]:
        """Arithmetic mean over each channel's segments, patient by patient; neutral without any."""
        n = np.bincount(self.channel, minlength=sum(self.sizes))
        mean = np.bincount(self.channel, p_nez, minlength=len(n)) / np.maximum(n, 1)
        of_patients = zip(self.by_patient(mean), self.by_patient(n > 0), strict=True)
        return [with_neutral(p, scored) for p, scored in of_patients]

    def labels(self) -> list[Bools]:
        """The labels of the channels, patient by patient."""
        assert self.is_ez is not None
        return self.by_patient(self.is_ez)

    def ez_of_segments(self) -> Bools:
        """The label of each segment's channel."""
        assert self.is_ez is not None
        return self.is_ez[self.channel]
