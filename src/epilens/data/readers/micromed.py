"""Read Micromed TRC files with neo, as an `mne.io.Raw` that reads excerpts."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import mne
import numpy as np
from mne.io import BaseRaw

from epilens.data.readers.protocol import UV_PER_UNIT, plain_unit

_NOTES = 1
"""Index of the notes among neo's channels of events."""


class MicromedRaw(BaseRaw):
    """An open TRC file with one uninterrupted recording."""

    def __init__(self, path: Path):
        # By its name, because the package is optional.
        file: Any = import_module("neo.rawio").MicromedRawIO(filename=str(path))
        file.parse_header()
        header = file.header
        if header["nb_segment"] != [1]:
            raise NotImplementedError("interrupted recordings")
        channels = header["signal_channels"]
        # neo has the number 1 where the unit is volt.
        units = ["V" if unit == "1" else str(unit) for unit in channels["units"]]
        names = [str(name).strip() for name in channels["name"]]
        kinds = ["eeg" if plain_unit(unit) in UV_PER_UNIT else "misc" for unit in units]
        volts = np.array([UV_PER_UNIT.get(plain_unit(unit), 1e6) * 1e-6 for unit in units])
        fs = file.get_signal_sampling_rate(stream_index=0)
        samples = file.get_signal_size(0, 0, stream_index=0)
        super().__init__(
            mne.create_info(names, fs, kinds, verbose="ERROR"),
            last_samps=[samples - 1],
            filenames=[path],
            raw_extras=[{"file": file, "volts": volts}],
            orig_units=dict(zip(names, units, strict=True)),
            verbose="ERROR",
        )
        self.set_annotations(_notes(file))

    def _read_segment_file(self, data, idx, fi, start, stop, cals, mult) -> None:
        """Fill `data` with samples in volts; called by MNE."""
        file, volts = (self._raw_extras[fi][key] for key in ("file", "volts"))
        part = file.get_analogsignal_chunk(0, 0, int(start), int(stop), stream_index=0)
        values = file.rescale_signal_raw_to_float(part, "float64", stream_index=0)
        data[:] = (values * volts).T[idx]


def _notes(file: Any) -> mne.Annotations:
    samples, _, texts = file.get_event_timestamps(0, 0, _NOTES)
    onsets_s = file.rescale_event_timestamp(samples, "float64", _NOTES)
    texts = [str(text).partition("\0")[0].strip() for text in texts]
    start_s = file.segment_t_start(0, 0)
    return mne.Annotations(onsets_s - start_s, np.zeros(len(texts)), texts)
