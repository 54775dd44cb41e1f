"""The cube: one `xarray.Dataset` per patient, and its rules. How it lies on disk: `files`.

| variable | axes | |
|---|---|---|
| `x` | seizure, window, channel, descriptor | float32, 0 where not valid |
| `valid` | seizure, window, channel | the window lies inside the recording, the channel is there |
| `is_ez` | channel | absent when unknown |
| `is_soz`, `is_resected` | channel | onset zone and resection, each absent when unknown |
| `is_onset_contact` | seizure, channel | contacts in which events say the seizure began |
| `onset_contacts_stated` | seizure | whether its event names them; both absent when none does |
| `seizure_duration_s`, `seizure_type` | seizure | by the events; 0 and empty: not stated |
| `position_mm`, `has_position` | channel, axis; channel | absent when no contact has a position |
| `start_s`, `stop_s` | seizure, window | seconds from onset |
| `unit`, `words` | descriptor | as its row says |
| `sampling_rate_hz`, `high_gamma_covered` | seizure | share of 80-150 Hz below Nyquist |

Its attribute `plan` has the fields of the plan that it was described with.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from epilens.core.errors import CubeError

AXES = ("seizure", "window", "channel", "descriptor")
_REQUIRED = {
    "x": AXES,
    "valid": AXES[:3],
    "start_s": AXES[:2],
    "stop_s": AXES[:2],
}
_TARGET = "is_ez"
# Labels other than the target: no method is given them, neither to fit nor to predict.
_OTHER_LABELS = (
    *("is_soz", "is_resected", "is_onset_contact", "onset_contacts_stated"),
    *("seizure_duration_s", "seizure_type"),
)
_LABELS = (_TARGET, *_OTHER_LABELS)
# Attributes that a method may read; a list of what is allowed cannot forget a leak.
_NEUTRAL = ("patient", "montage", "band", "reference", "reference_gap_s", "plan_digest", "key")


def is_reference(cube: xr.Dataset) -> xr.DataArray:
    """Which windows are the pre-onset reference (seizure, window): decided here and nowhere else.

    By default they end at or before onset, so no ictal sample is in them; with a gap, so long
    before it.
    """
    end_s = -float(cube.attrs.get("reference_gap_s", 0.0))
    if cube.attrs.get("reference", "ends-before") == "starts-before":
        return cube["start_s"] < end_s
    return cube["stop_s"] <= end_s


# Windows follow each other in whole samples, so one that starts at onset may miss it by some.
_AT_ONSET_S = 0.1


def is_ictal(cube: xr.Dataset) -> xr.DataArray:
    """Which windows start at onset or after it (seizure, window)."""
    return cube["start_s"] >= -_AT_ONSET_S


def check(cube: xr.Dataset) -> xr.Dataset:
    """Return the cube if it keeps the rules; otherwise raise an error of one sentence."""
    who = cube.attrs.get("patient", "cube")
    for name, axes in _REQUIRED.items():
        if name not in cube.variables:
            raise CubeError(f"{who}: expected a variable {name!r}, found none. Describe it again.")
        if cube[name].dims != axes:
            raise CubeError(f"{who}: expected {name!r} over {axes}, found {cube[name].dims}.")
    for axis in ("seizure", "channel", "descriptor"):
        names = cube[axis].values.tolist()
        if len(set(names)) != len(names):
            raise CubeError(f"{who}: expected unique names of {axis}s, found a repetition.")
    x, valid = cube["x"].values, cube["valid"].values
    if not np.isfinite(x).all():
        raise CubeError(
            f"{who}: expected finite numbers, found others. Mark missing values in `valid`."
        )
    if x[~valid].any():
        raise CubeError(f"{who}: expected 0 wherever a window is not valid, found other numbers.")
    _check_reference(cube, who)
    return cube


def _check_reference(cube: xr.Dataset, who: str) -> None:
    """Every used seizure-channel needs a valid reference window (Eq. of the reference mean)."""
    valid = cube["valid"].values
    used = valid.any(axis=1)  # (seizure, channel)
    orphan = used & ~(valid & is_reference(cube).values[:, :, None]).any(axis=1)
    if not orphan.any():
        return
    seizure, channel = (int(i[0]) for i in np.nonzero(orphan))
    where = f"seizure {str(cube.seizure.values[seizure])!r} channel "
    where += repr(str(cube.channel.values[channel]))
    raise CubeError(
        f"{who}: {int(orphan.sum())} of {int(used.sum())} seizure-channels have no valid window "
        f"before onset, e.g. {where}. The views need a pre-onset reference: start windows earlier "
        "(plan: windows.start_s) or mark these channels invalid."
    )


def blind(cube: xr.Dataset) -> xr.Dataset:
    """The cube without label, outcome and center: what `predict` is given."""
    bare = cube.drop_vars([name for name in _LABELS if name in cube.variables])
    bare.attrs = {key: cube.attrs[key] for key in _NEUTRAL if key in cube.attrs}
    return bare


def target_only(cube: xr.Dataset) -> xr.Dataset:
    """The cube as a fit is given it: its EZ, and no other label."""
    return cube.drop_vars([name for name in _OTHER_LABELS if name in cube.variables])


def joined(cube: xr.Dataset, *stores: xr.Dataset) -> xr.Dataset:
    """The cube with the variables of other stores of the same seizures and channels."""
    for store in stores:
        cube = cube.assign_coords(store.coords).assign(store.data_vars)
    return cube
