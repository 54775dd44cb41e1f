"""What a recording does not allow a model on contact features, as cautions for the page."""

from __future__ import annotations

import numpy as np
import xarray as xr

from epilens.data.contacts import along_shafts
from epilens.evidence.contact_features import NEEDS, features_shown, is_bipolar

FEW = 10
"""Contacts below which comparisons between contacts mean little."""


def feature_cautions(patient: xr.Dataset) -> list[str]:
    """Sentences, the gravest first; none where the recording allows everything."""
    channels = [str(name) for name in patient["channel"].values]
    return [
        *_lacking(patient),
        *_bands(patient),
        *_bipolar(channels),
        *_context(channels),
        *([_FEW.format(len(channels))] if len(channels) < FEW else []),
    ]


_FEW = "The model compares contacts with each other, and this patient has only {}."


def _lacking(patient: xr.Dataset) -> list[str]:
    shown = features_shown(patient).any(axis=1)
    if shown.all():
        return []
    count = f"{int((~shown).sum())} of {patient.sizes['seizure']} seizures"
    return [f"The model does not use {count}: it needs {NEEDS}."]


def _bands(patient: xr.Dataset) -> list[str]:
    fast = patient["features_valid"].sel(feature="hfo_std").any("channel").values
    lacking = features_shown(patient).any(axis=1) & ~fast
    if not lacking.any():
        return []
    return [
        f"Power at 80-150 Hz is left out in {int(lacking.sum())} of {len(fast)} seizures, because "
        "their sampling rate is below 300 Hz. Scores are then less exact."
    ]


def _bipolar(channels: list[str]) -> list[str]:
    if not is_bipolar(channels):
        return []
    return [
        "The recording is bipolar; the model was trained on recordings with a common average "
        "reference, and was not evaluated on bipolar ones."
    ]


def _context(channels: list[str]) -> list[str]:
    """Electrodes on which no two contacts are within two places of each other."""
    for _, numbers in along_shafts(channels):
        apart = np.abs(np.subtract.outer(numbers, numbers))
        if ((apart > 0) & (apart <= 2)).any():
            return []
    return ["No contact has a neighbour on its electrode, by its name: the model has less to use."]
