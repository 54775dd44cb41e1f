"""A patient in any form → its cube with signals, and what was excluded of its recordings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import xarray as xr

from epilens.core.errors import DataError
from epilens.core.progress import Progress
from epilens.core.types import Bools
from epilens.data.audit import AuditRow
from epilens.data.discovery import patient_code
from epilens.data.load_patient import LoadedPatient, load_patient
from epilens.data.onsets.finder import OnsetCandidate
from epilens.data.recording import Recording
from epilens.evidence.contact_features import features_shown, has_features
from epilens.evidence.cube import check, is_ictal, joined
from epilens.evidence.describe import audit_of
from epilens.evidence.seizures import fill
from epilens.evidence.signals import has_signals, without_signals
from epilens.evidence.store import STORES
from epilens.localization import Request
from epilens.localization.data_cautions import data_cautions
from epilens.localization.onset_search import proposed_onsets
from epilens.localization.run_metadata import (
    SeizureFacts,
    analysis_settings,
    feature_settings,
    seizure_facts,
)
from epilens.localization.sources import Source, check_cube
from epilens.plan import Plan

LEAST_COMMON = 0.5
"""Fraction of the contacts that two seizures of one implantation should share."""


@dataclass(frozen=True)
class Evidence:
    """The cube of a patient, and what was excluded of its recordings."""

    patient: str
    """Its code, `sub-…`."""
    cube: xr.Dataset
    signals: xr.Dataset | None
    """The cube with band-limited signals around onset; None where there are none."""
    seizures: tuple[SeizureFacts, ...]
    analysed: Mapping[str, Any]
    """Settings, date and software versions of the analysis, for page and sidecar."""
    left_out: tuple[tuple[str, str], ...]
    """Seizures that were not used, and why."""
    dropped: tuple[AuditRow, ...]
    """Channels that were not used, each with its first reason."""
    quality: dict[str, tuple[str, ...]]
    """Flags of a channel, over its seizures."""
    problems: tuple[str, ...]
    """Why seizures were excluded, in full: for the user who has the files, never for the page."""
    proposed: Mapping[str, tuple[OnsetCandidate, ...]] = field(default_factory=dict, kw_only=True)
    """Onsets that the signal of each seizure proposes; without an entry: not looked for."""
    data_cautions: tuple[str, ...] = field(default=(), kw_only=True)
    """Why recordings or contacts cannot be trusted in full."""

    @property
    def channels(self) -> tuple[str, ...]:
        """Contacts that are ranked; arrays follow them."""
        return tuple(str(name) for name in self.cube["channel"].values)

    @property
    def shown(self) -> Bools:
        """Which seizures show a channel (S, C)."""
        return self.cube["valid"].any("window").values

    @property
    def positions_mm(self) -> list[tuple[float, ...] | None]:
        """Where each channel is; None where that is unknown."""
        if "position_mm" not in self.cube:
            return [None] * len(self.channels)
        mm, placed = self.cube["position_mm"].values.tolist(), self.cube["has_position"].values
        return [tuple(at) if p else None for at, p in zip(mm, placed, strict=True)]

    @property
    def is_simulated(self) -> bool:
        """Whether the patient is simulated."""
        return bool(self.cube.attrs.get("simulated"))

    @property
    def space(self) -> str:
        """Coordinate system of the positions; empty if it is not stated."""
        return str(self.cube.attrs.get("space", ""))

    @property
    def method_input(self) -> xr.Dataset:
        """The cube, with signals where there are some: what a method or model reads."""
        return self.cube if self.signals is None else self.signals


def prepare_evidence(
    request: Request, source: Source, stores: Collection[str], tick: Progress
) -> Evidence:
    """Read and describe a patient; `stores` are read in addition to the cube."""
    tick.expect(2)
    if isinstance(request.patient, xr.Dataset):
        cube = check(request.patient)
        check_cube(cube, source)
        _check_stores(cube, stores, request.model is None)
        tick("reading", 2)
        return _evidence(_tidy(cube), LoadedPatient(), request, source, tick)
    tick("reading", 0)
    loaded = load_patient(request, source.plan, tick)
    tick("describing", 1)
    _check_common(loaded.recordings)
    described, rows = _describe(loaded.recordings, source.plan, stores)
    tick("described", 1)
    loaded = replace(loaded, rows=[*loaded.rows, *rows])
    return _evidence(_tidy(described), loaded, request, source, tick)


def _check_stores(cube: xr.Dataset, stores: Collection[str], by_default: bool) -> None:
    """Refuse a cube without what is read; a model that nobody asked for need not be used."""
    present = {"features": has_features(cube) or by_default}
    for name in sorted(set(stores) - {"cube"}):
        if not present.get(name, has_signals(cube)):
            raise DataError(
                f"{cube.attrs['patient']}: expected recordings, because the method reads {name}, "
                "found a cube without them. Give the files."
            )


def _check_common(recordings: Sequence[Recording]) -> None:
    """Seizures of one implantation share most contacts; others are not one patient's."""
    first = recordings[0]
    for other in recordings[1:]:
        common = set(first.channels) & set(other.channels)
        fewer = min(len(first.channels), len(other.channels))
        if len(common) < LEAST_COMMON * fewer:
            names = "; ".join(f"{r.run}: {', '.join(r.channels[:3])}, …" for r in (first, other))
            raise DataError(
                f"{first.patient}: expected the same contacts in all seizures, found {len(common)} "
                f"of {fewer} in {other.run} ({names}). Are the recordings of one patient and one "
                "implantation? Rename the channels, or leave a recording out."
            )


def _describe(
    recordings: Sequence[Recording], plan: Plan, stores: Collection[str]
) -> tuple[xr.Dataset, list[AuditRow]]:
    """The cube with the signals and the stores that are read, from one pass over the recordings."""
    names = dict.fromkeys(("cube", "signals", *sorted(stores)))
    try:
        made = fill([STORES[name] for name in names], recordings, plan)
    except DataError as error:
        raise error.about(recordings[0].patient) from None
    cube, *others = made.values()
    rows = [row for store in made.values() if "audit" in store.attrs for row in audit_of(store)]
    return joined(cube, *others), rows


def _tidy(patient: xr.Dataset) -> xr.Dataset:
    """Without seizures and channels in which nothing is valid."""
    valid = patient["valid"]
    used = np.flatnonzero(valid.any(["window", "channel"]).values)
    if len(used) < patient.sizes["seizure"]:
        patient = patient.isel(seizure=used)
    contacts = np.flatnonzero(patient["valid"].any(["seizure", "window"]).values)
    if len(contacts) < 2:
        raise DataError(
            f"{patient.attrs['patient']}: expected two or more contacts, found {len(contacts)}. "
            "Scores are relative to the patient's other contacts: name recordings of all of them."
        )
    return patient.isel(channel=contacts)


def _check_ictal(cube: xr.Dataset, source: Source, by_default: bool) -> None:
    """A model was trained on seizures: its scores of a recording without one mean nothing."""
    ictal = (cube["valid"] & is_ictal(cube)).any(["window", "channel"]).values
    if source.is_model and not by_default and not ictal.all():
        without = [str(name) for name in cube["seizure"].values[~ictal]]
        raise DataError(
            f"{cube.attrs['patient']}: expected windows after onset in every seizure, found none "
            f"in {', '.join(without[:3])}. {source.name} was trained on seizures: leave these "
            "recordings out, or check their onsets."
        )


def _evidence(
    described: xr.Dataset,
    loaded: LoadedPatient,
    request: Request,
    source: Source,
    tick: Progress,
) -> Evidence:
    cube = without_signals(described)
    _check_ictal(cube, source, request.model is None)
    channels, seizures = (cube[axis].values.tolist() for axis in ("channel", "seizure"))
    analysed = analysis_settings(cube, source.plan)
    if source.store == "features" and has_features(described) and features_shown(described).any():
        rows = loaded.rows if loaded.recordings else None
        analysed |= {"scores_from": feature_settings(described, rows)}
    dropped, quality = _channels_left_out(loaded.rows, channels)
    shown = cube["valid"].any("window").values
    return Evidence(
        patient=patient_code(str(cube.attrs["patient"])),
        cube=cube,
        signals=described if has_signals(described) else None,
        seizures=seizure_facts(cube, loaded, request.onset_source),
        analysed=analysed,
        left_out=_seizures_left_out(loaded, seizures),
        dropped=dropped,
        quality=quality,
        problems=tuple(loaded.problems),
        proposed=proposed_onsets(loaded.recordings, loaded.rows, tick),
        data_cautions=data_cautions(loaded.rows, channels, seizures, shown),
    )


def _seizures_left_out(loaded: LoadedPatient, used: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Seizures that were not read, and those whose reference is too short."""
    unread = dict(loaded.left_out)
    unused = [r for r in loaded.rows if r.what == "seizure" and r.run not in {*used, *unread}]
    return (*unread.items(), *{row.run: row.why for row in unused}.items())


def _channels_left_out(
    rows: Sequence[AuditRow], used: Collection[str]
) -> tuple[tuple[AuditRow, ...], dict[str, tuple[str, ...]]]:
    """Channels that no seizure could use; quality flags of those that are used."""
    dropped, flags = {}, {}
    for row in (row for row in rows if row.what == "channel"):
        if row.channel not in used:
            dropped.setdefault(row.channel, row)
        elif row.code == "channel-quality":
            flags.setdefault(row.channel, {})[row.found] = None
    return tuple(dropped.values()), {name: tuple(of_name) for name, of_name in flags.items()}
