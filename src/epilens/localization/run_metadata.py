"""Metadata of an analysis: each seizure with the source of its onset, settings, versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

import epilens
from epilens.data.audit import AuditRow
from epilens.data.load_patient import LoadedPatient
from epilens.data.onsets.onset import GIVEN
from epilens.data.onsets.texts import RULES
from epilens.evidence.contact_features import (
    BAND_HZ,
    FEATURES,
    FEWER_WINDOWS,
    NO_AVERAGE,
    NO_NOTCH,
    STARTS_S,
    WINDOW_S,
    features_shown,
    is_band_passed,
    is_bipolar,
)
from epilens.evidence.cube import is_ictal, is_reference
from epilens.plan import FilterPlan, Plan

PACKAGES = ("numpy", "scipy", "mne", "torch")
"""Packages whose version can change the last digits of a number."""
MONTAGES = {
    "as-recorded": "as recorded",
    "bipolar": "bipolar along electrodes",
    "shaft-average": "against the average of each electrode",
    "common-average": "against the common average",
}
NOTCHES = {
    "none": "no notch",
    "auto": "notch at mains and harmonics",
    "fundamental": "notch at mains",
}


@dataclass(frozen=True)
class SeizureFacts:
    """A seizure that was used."""

    name: str
    file: int | None
    """Which of the files that were given; None where runs have BIDS names, or there was no file."""
    onset_s: float | None
    """From the start of the file; None where a cube was given, which does not contain it."""
    onset: str
    """Where the onset comes from; never a text of the file."""
    rule: str
    """The rule by which it was annotated (`texts.RULES`), or how it was given; empty: unknown."""
    interval_s: tuple[float, float]
    """First and last second from onset that was described."""
    rate_hz: float | None
    contacts: int
    reference_windows: int
    """In the median contact."""
    ictal_windows: int
    """In the median contact."""
    uncertainty_s: float | None = None
    """The onset is at most this far from `onset_s`, as marked; None: not stated."""


def analysis_settings(cube: xr.Dataset, plan: Plan) -> dict[str, Any]:
    """Today's date (UTC, as 2026-11-17), settings by which a cube was described, and versions."""
    windows = plan.windows
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "montage": MONTAGES[plan.montage.scheme],
        "filter": _filter(plan.filter, str(cube.attrs.get("band", plan.filter.band))),
        "windows": f"{windows.length_s:g} s every {windows.stride_s:g} s, from "
        f"{windows.start_s:+g} to {windows.stop_s:+g} s around onset",
        "versions": {
            "EpiLENS": epilens.__version__,
            "Python": platform.python_version(),
            **{name: version(name) for name in PACKAGES if find_spec(name)},
        },
    }


def feature_settings(patient: xr.Dataset, rows: Sequence[AuditRow] | None = None) -> str:
    """What contact features are computed from, over the seizures that have them.

    Parameters
    ----------
    patient : Dataset
        The cube with its contact features.
    rows : sequence of AuditRow, optional
        The audit of the recordings; None where a cube was given.
    """
    used = np.flatnonzero(features_shown(patient).any(axis=1))
    runs = [str(run) for run in patient["seizure"].values[used]]
    whys = [{row.why for row in rows or () if row.run == run} for run in runs]
    fewer = any(why.startswith(FEWER_WINDOWS) for of_run in whys for why in of_run)
    first_s, last_s = STARTS_S[0], STARTS_S[-1] + WINDOW_S
    text = (
        f"{len(FEATURES)} contact features in {'up to ' if fewer else ''}{len(STARTS_S)} windows "
        f"of {WINDOW_S:g} s from {first_s:+g} to {last_s:+g} s around onset"
    )
    known = [str(NO_NOTCH) not in of_run for of_run in whys]
    notch = _where("notch at mains and harmonics", known, "no notch because mains are unknown")
    average = [str(NO_AVERAGE) not in of_run for of_run in whys]
    if rows is None:
        notch = "notch at mains and harmonics where mains were known"
        average = [not is_bipolar([str(name) for name in patient["channel"].values])]
    band = f"band-pass {BAND_HZ[0]:g}-{BAND_HZ[1]:g} Hz"
    if "sampling_rate_hz" in patient.coords:
        rates = patient["sampling_rate_hz"].values[used]
        band = _where(band, [is_band_passed(fs) for fs in rates], f"high-pass {BAND_HZ[0]:g} Hz")
    return f"{text}; {notch}, {_where('common average', average)}, {band}"


def _where(step: str, applies: Sequence[bool], otherwise: str = "") -> str:
    """A step of preparation, and in how many seizures it applies where not in all."""
    otherwise = otherwise or f"no {step}"
    if all(applies):
        return step
    if not any(applies):
        return otherwise
    return f"{step} ({otherwise} in {applies.count(False)} of {len(applies)} seizures)"


def _filter(plan: FilterPlan, band: str) -> str:
    words = "no band limits"
    if band != "none":
        words = f"{plan.low_hz:g}-{plan.high_hz:g} Hz (zero-phase Butterworth, order {plan.order})"
    return f"{words}, {NOTCHES[plan.notch]}"


def seizure_facts(
    cube: xr.Dataset, loaded: LoadedPatient, onset_source: str = ""
) -> tuple[SeizureFacts, ...]:
    """Every seizure of a cube; `onset_source` says who gave onsets that the user gave."""
    rates = cube["sampling_rate_hz"].values if "sampling_rate_hz" in cube.coords else None
    onsets = {r.run: r.onset for r in loaded.recordings}
    files = dict(loaded.files)
    facts = []
    for s, name in enumerate(cube["seizure"].values.tolist()):
        part, onset = cube.isel(seizure=s), onsets.get(str(name))
        contacts = part["valid"].any("window").values
        facts.append(
            SeizureFacts(
                name=str(name),
                file=files.get(str(name)),
                onset_s=None if onset is None else float(onset.onset_s),
                onset="as described" if onset is None else _onset_text(onset.rule, onset_source),
                rule="" if onset is None else onset.rule,
                interval_s=_interval(part),
                rate_hz=None if rates is None else float(rates[s]),
                contacts=int(contacts.sum()),
                reference_windows=_median_windows(part, is_reference(part)),
                ictal_windows=_median_windows(part, is_ictal(part)),
                uncertainty_s=None if onset is None else onset.uncertainty_s,
            )
        )
    return tuple(facts)


def overlapping(seizures: Sequence[SeizureFacts]) -> list[tuple[int, int]]:
    """Indices of two seizures of one recording whose described intervals overlap."""
    return [
        (a, b)
        for (a, first), (b, second) in combinations(enumerate(seizures), 2)
        if _is_same_file(first, second) and _overlap(first, second)
    ]


def _is_same_file(first: SeizureFacts, second: SeizureFacts) -> bool:
    """Whether both are in one file; the name of a run's second seizure ends in `+2`."""
    if first.file is not None or second.file is not None:
        return first.file == second.file
    return first.name.partition("+")[0] == second.name.partition("+")[0]


def _overlap(first: SeizureFacts, second: SeizureFacts) -> bool:
    if first.onset_s is None or second.onset_s is None:
        return False
    later_s = second.onset_s - first.onset_s
    return (
        first.interval_s[0] < second.interval_s[1] + later_s
        and second.interval_s[0] + later_s < first.interval_s[1]
    )


def _onset_text(rule: str, onset_source: str) -> str:
    """Given, from a table, or annotated."""
    if rule == GIVEN:
        return onset_source.strip()[:120] or GIVEN
    return f"annotated ({rule})" if rule in RULES else rule


def _interval(seizure: xr.Dataset) -> tuple[float, float]:
    used = seizure["valid"].any("channel").values
    start_s, stop_s = seizure["start_s"].values[used], seizure["stop_s"].values[used]
    return (round(float(start_s.min()), 2), round(float(stop_s.max()), 2))


def _median_windows(seizure: xr.Dataset, which: xr.DataArray) -> int:
    """Valid windows of a kind, in the median contact that is shown."""
    valid = seizure["valid"]
    count = (valid & which).sum("window").values[valid.any("window").values]
    return int(np.median(count)) if len(count) else 0
