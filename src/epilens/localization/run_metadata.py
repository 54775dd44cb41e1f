"""Metadata of an analysis: each seizure with the source of its onset, settings, versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import numpy as np
import xarray as xr

import epilens
from epilens.data.load_patient import LoadedPatient
from epilens.data.onset import GIVEN, TABLED
from epilens.data.onset_texts import RULES
from epilens.evidence.cube import is_ictal, is_reference
from epilens.plan import FilterPlan, Plan, WindowPlan

PACKAGES = ("numpy", "scipy", "mne", "torch")
"""Packages whose version can change the last digits of a number."""
MONTAGES = {
    "as-recorded": "as recorded",
    "bipolar": "bipolar along electrodes",
    "shaft-average": "against the average of each electrode",
    "common-average": "against the common average",
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
    interval_s: tuple[float, float]
    """First and last second from onset that was described."""
    rate_hz: float | None
    contacts: int
    reference_windows: int
    """In the median contact."""
    ictal_windows: int
    """In the median contact."""


@dataclass(frozen=True)
class AnalysisSettings:
    """Settings, date and software versions of an analysis."""

    date: str
    """In UTC, as 2026-11-17."""
    montage: str
    filter: str
    windows: str
    versions: tuple[tuple[str, str], ...]


def analysis_settings(cube: xr.Dataset, plan: Plan) -> AnalysisSettings:
    """The settings by which a cube was described, with today's date."""
    return AnalysisSettings(
        date=datetime.now(UTC).date().isoformat(),
        montage=MONTAGES[plan.montage.scheme],
        filter=_filter(plan.filter, str(cube.attrs.get("band", plan.filter.band))),
        windows=_windows(plan.windows),
        versions=tuple(_versions()),
    )


def _filter(plan: FilterPlan, band: str) -> str:
    words = "no band limits"
    if band != "none":
        words = f"{plan.low_hz:g}-{plan.high_hz:g} Hz (zero-phase Butterworth, order {plan.order})"
    notch = {
        "none": "no notch",
        "auto": "notch at mains and harmonics",
        "fundamental": "notch at mains",
    }
    return f"{words}, {notch[plan.notch]}"


def _windows(plan: WindowPlan) -> str:
    return (
        f"{plan.length_s:g} s every {plan.stride_s:g} s, from {plan.start_s:+g} to "
        f"{plan.stop_s:+g} s around onset"
    )


def _versions() -> list[tuple[str, str]]:
    versions = [("EpiLENS", epilens.__version__), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            versions.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return versions


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
                interval_s=_interval(part),
                rate_hz=None if rates is None else float(rates[s]),
                contacts=int(contacts.sum()),
                reference_windows=_median_windows(part, is_reference(part)),
                ictal_windows=_median_windows(part, is_ictal(part)),
            )
        )
    return tuple(facts)


def _onset_text(rule: str, onset_source: str) -> str:
    """Given, from a table, or annotated."""
    words: Mapping[str, str] = {GIVEN: onset_source.strip()[:120] or GIVEN, TABLED: TABLED}
    return words.get(rule, f"annotated ({rule})" if rule in RULES else rule)


def _interval(seizure: xr.Dataset) -> tuple[float, float]:
    used = seizure["valid"].any("channel").values
    start_s, stop_s = seizure["start_s"].values[used], seizure["stop_s"].values[used]
    return (round(float(start_s.min()), 2), round(float(stop_s.max()), 2))


def _median_windows(seizure: xr.Dataset, which: xr.DataArray) -> int:
    """Valid windows of a kind, in the median contact that is shown."""
    valid = seizure["valid"]
    count = (valid & which).sum("window").values[valid.any("window").values]
    return int(np.median(count)) if len(count) else 0
