"""Minimal real files of each format, written byte by byte where no package writes them.

Each function takes a folder, samples in µV (channel, time), and the second of an annotation; it
returns the file to open. The layouts follow what the readers (MNE, neo) expect.
"""

from __future__ import annotations

import struct

import numpy as np
from scipy.io import savemat

NAMES = ("LA1", "LA2", "LA3", "LB1")
FS = 200
TEXT = "sz onset"


def write_bdf(folder, uv, at_s):
    import edfio

    signals = [
        edfio.BdfSignal(x, FS, label=n, physical_dimension="mV", physical_range=(-1, 1))
        for x, n in zip(uv * 1e-3, NAMES, strict=True)
    ]
    edfio.Bdf(signals, annotations=[edfio.EdfAnnotation(at_s, 0, TEXT)]).write(folder / "x.bdf")
    return folder / "x.bdf"


def write_edf(folder, uv, at_s):
    import edfio

    signals = [
        edfio.EdfSignal(x, FS, label=n, physical_dimension="mV", physical_range=(-1, 1))
        for x, n in zip(uv * 1e-3, NAMES, strict=True)
    ]
    edfio.Edf(signals, annotations=[edfio.EdfAnnotation(at_s, 0, TEXT)]).write(folder / "x.edf")
    return folder / "x.edf"


def write_gdf(folder, uv, at_s, unit="uV"):
    """GDF 1.25: int16 in records of one second, one event of code 0x0101."""
    n, samples = uv.shape
    records = samples // FS
    head = b"GDF 1.25" + b"X X".ljust(80) + b"".ljust(80) + b"2026111808000000"
    head += struct.pack("<q", 256 * (n + 1)) + bytes(24) + bytes(20)
    head += struct.pack("<qIII", records, 1, 1, n)
    head += b"".join(name.encode().ljust(16, b"\0") for name in NAMES) + bytes(80 * n)
    head += unit.encode().ljust(8, b"\0") * n
    head += struct.pack(f"<{2 * n}d", *[-3276.8] * n, *[3276.7] * n)
    head += struct.pack(f"<{2 * n}q", *[-32768] * n, *[32767] * n)
    head += bytes(80 * n) + struct.pack(f"<{2 * n}i", *[FS] * n, *[3] * n) + bytes(32 * n)
    steps = np.round(uv * 10).astype("<i2").reshape(n, records, FS).transpose(1, 0, 2)
    events = struct.pack("<BBBBIIH", 1, FS, 0, 0, 1, round(at_s * FS) + 1, 0x0101)
    (folder / "x.gdf").write_bytes(head + steps.tobytes() + events)
    return folder / "x.gdf"


def write_brainvision(folder, uv, at_s):
    import pybv

    pybv.write_brainvision(
        data=uv * 1e-6,
        sfreq=FS,
        ch_names=list(NAMES),
        fname_base="x",
        folder_out=folder,
        resolution=0.1,
        unit="mV",
        events=[{"onset": round(at_s * FS), "duration": 1, "description": TEXT, "type": "Comment"}],
    )
    return folder / "x.vhdr"


def write_fif(folder, uv, at_s):
    import mne

    raw = mne.io.RawArray(uv * 1e-6, mne.create_info(list(NAMES), FS, "seeg"), verbose="ERROR")
    raw.set_annotations(mne.Annotations([at_s], [0], [TEXT]))
    raw.save(folder / "x_raw.fif", verbose="ERROR")
    return folder / "x_raw.fif"


def write_eeglab(folder, uv, at_s):
    places = {key: [] for key in ("X", "Y", "Z", "theta", "radius")}
    tree = {
        "setname": "x",
        "nbchan": float(len(NAMES)),
        "trials": 1.0,
        "pnts": float(uv.shape[1]),
        "srate": float(FS),
        "xmin": 0.0,
        "xmax": (uv.shape[1] - 1) / FS,
        "data": uv.astype(np.float32),
        "chanlocs": [{"labels": name, "type": "SEEG"} | places for name in NAMES],
        "event": [{"type": TEXT, "latency": at_s * FS + 1, "duration": 0.0}] * 2,
    }
    savemat(folder / "x.set", {"EEG": tree}, appendmat=False)
    return folder / "x.set"


def write_persyst(folder, uv, at_s):
    lines = ["[FileInfo]", "File=x.dat", "FileType=Interleaved", f"SamplingRate={FS}"]
    lines += ["Calibration=0.1", f"WaveformCount={len(NAMES)}", "DataType=0"]
    lines += [
        "[Patient]",
        "BirthDate=-",
        "TestDate=11/18/2026",
        "TestTime=08:00:00",
        "Sex=",
        "Hand=",
    ]
    lines += ["[ChannelMap]", *(f"{name}-Ref={i}" for i, name in enumerate(NAMES, start=1))]
    lines += ["[Comments]", f"{at_s},0,0,100,{TEXT}"]
    (folder / "x.lay").write_text("\n".join(lines) + "\n")
    (folder / "x.dat").write_bytes(np.round(uv * 10).astype("<i2").T.tobytes())
    return folder / "x.lay"


def write_nihon_kohden(folder, uv, at_s):
    """EEG-1100C: one control block, one data block; names in .21E, annotations in .LOG."""
    version, n, samples = b"EEG-1100C V01.00", *uv.shape
    control, block = 0x1800, 0x1900
    content = bytearray(block + 0x27 + 10 * n)
    content[0:16] = content[0x81:0x91] = version
    content[0x91] = 1
    content[0x92:0x96] = struct.pack("<I", control)
    content[0x17FE] = 1
    content[control + 17] = 1
    content[control + 18 : control + 22] = struct.pack("<I", block)
    content[block + 0x1A : block + 0x1C] = struct.pack("<H", FS)
    content[block + 0x1C : block + 0x20] = struct.pack("<I", samples * 10 // FS)
    content[block + 0x26] = n
    for i in range(n):
        content[block + 0x27 + 10 * i] = i
    step = (3199.902 + 3200) / 65535
    steps = np.round((uv + 3200) / step).astype("<u2")
    marks = np.zeros((1, samples), "<u2")
    (folder / "x.EEG").write_bytes(bytes(content) + np.concatenate([steps, marks]).T.tobytes())
    names = "\n".join(f"{i:04d}={name}" for i, name in enumerate(NAMES))
    (folder / "x.21E").write_text(f"[ELECTRODE]\n{names}\n")
    log = bytearray(0x300)
    log[0:16] = version
    log[0x91] = 1
    log[0x92:0x96] = struct.pack("<I", 0x280)
    log[0x281:0x291] = version
    log[0x292] = 1
    clock = f"{int(at_s) // 3600:02d}{int(at_s) // 60 % 60:02d}{int(at_s) % 60:02d}"
    log[0x294 : 0x294 + 45] = TEXT.encode().ljust(20, b"\0") + clock.encode().ljust(25, b"\0")
    (folder / "x.LOG").write_bytes(bytes(log))
    patient = bytearray(0x80)
    patient[0:16], patient[0x40:0x4E] = version, b"20261118080000"
    (folder / "x.PNT").write_bytes(bytes(patient))
    return folder / "x.EEG"


def write_nicolet(folder, uv, at_s):
    lines = ["start_ts=2026-11-18 08:00:00.000", f"num_samples={uv.shape[1]}", f"sample_freq={FS}"]
    lines += ["conversion_factor=0.1", f"num_channels={len(NAMES)}"]
    lines += [f"elec_names=[{','.join(NAMES)}]", "pat_id=1", "adm_id=1", "rec_id=1"]
    (folder / "x.head").write_text("\n".join(lines) + "\n")
    (folder / "x.data").write_bytes(np.round(uv * 10).astype("<i2").T.tobytes())
    return folder / "x.data"


def write_neuroscan(folder, uv, at_s):
    n, samples = uv.shape
    setup = bytearray(900 + 75 * n)
    setup[225:247] = b"11/18/26  08:00:00    "
    setup[370:372], setup[376:378] = struct.pack("<H", n), struct.pack("<H", FS)
    setup[864:868] = struct.pack("<i", samples)
    setup[886:890] = struct.pack("<i", len(setup) + 4 * n * samples)
    for i, name in enumerate(NAMES):
        first = 900 + 75 * i
        setup[first : first + 10] = name.encode().ljust(10, b"\0")
        setup[first + 19 : first + 27] = struct.pack("<ff", np.cos(i), np.sin(i))
        setup[first + 59 : first + 63] = struct.pack("<f", 204.8)
        setup[first + 71 : first + 75] = struct.pack("<f", 0.01)
    steps = np.round(uv * 100).astype("<i4").T.tobytes()
    where = len(setup) + 4 * n * (round(at_s * FS) + 1)
    events = struct.pack("<Bll", 1, 8, 0) + struct.pack("<HBcl", 7, 0, b"\0", where)
    (folder / "x.cnt").write_bytes(bytes(setup) + steps + events)
    return folder / "x.cnt"


def write_blackrock(folder, uv, at_s):
    n, samples = uv.shape
    head = b"NEURALCD" + struct.pack("<BBI", 2, 3, 314 + 66 * n) + b"2 kS/s".ljust(16, b"\0")
    head += bytes(256) + struct.pack("<II", 30000 // FS, 30000)
    head += struct.pack("<8H", 2026, 11, 3, 18, 8, 0, 0, 0) + struct.pack("<I", n)
    for i, name in enumerate(NAMES):
        head += b"CC" + struct.pack("<H", i + 1) + name.encode().ljust(16, b"\0") + bytes(2)
        head += struct.pack("<4h", -8000, 8000, -2000, 2000) + b"uV".ljust(16, b"\0") + bytes(20)
    data = struct.pack("<BII", 1, 0, samples) + np.round(uv * 4).astype("<i2").T.tobytes()
    (folder / "x.ns3").write_bytes(head + data)
    return folder / "x.ns3"


def write_curry(folder, uv, at_s):
    n, samples = uv.shape
    values = {"FileVersion": 804, "NumSamples": samples, "NumChannels": n, "NumTrials": 1}
    values |= {"SampleFreqHz": FS, "TriggerOffsetUsec": 0, "DataFormat": "FLOAT"}
    values |= {"DataSampOrder": "SAMP", "SampleTimeUsec": 1e6 / FS, "DataByteOrder": "INTEL"}
    values |= {"AmplifierInfo": "none", "StartYear": 2026, "StartMonth": 11, "StartDay": 18}
    values |= {"StartHour": 8, "StartMin": 0, "StartSec": 0, "StartMillisec": 0}
    lines = ["DATA_PARAMETERS START", *(f"{k} = {v}" for k, v in values.items())]
    lines += ["DATA_PARAMETERS END", "DEVICE_PARAMETERS START", "DataUnit = uV"]
    lines += [f"NumChanThisGroup = {n}", "DEVICE_PARAMETERS END"]
    places = [f"{i} {i + 1} {i + 2}" for i in range(n)]
    for title, rows in (("LABELS", NAMES), ("SENSORS", places)):
        lines += [f"{title} START", f"ListDescription = {title}", f"{title} END"]
        lines += [f"{title} START_LIST", *rows, f"{title} END_LIST"]
    (folder / "x.cdt.dpa").write_text("\n" + "\n".join(lines) + "\n")
    (folder / "x.cdt").write_bytes(uv.astype("<f4").T.tobytes())
    where = round(at_s * FS)
    event = f"{where} 0 1 0 {where} {where} 0 0 0 0 0"
    text = ["NUMBER_LIST START_LIST", event, "NUMBER_LIST END_LIST"]
    text += ["REMARK_LIST START_LIST", TEXT, "REMARK_LIST END_LIST"]
    (folder / "x.cdt.cef").write_text("\n".join(text) + "\n")
    return folder / "x.cdt"


_MEF_TEXTS = ("channel_description", "session_description", "reference_description")
_MEF_NUMBERS = (
    *("recording_duration", "acquisition_channel_number", "start_sample", "number_of_blocks"),
    *("maximum_block_bytes", "maximum_block_samples", "maximum_difference_bytes"),
    *("block_interval", "maximum_contiguous_blocks", "maximum_contiguous_block_bytes"),
    *("maximum_contiguous_samples", "number_of_samples", "notch_filter_frequency_setting"),
    *("low_frequency_filter_setting", "high_frequency_filter_setting", "AC_line_frequency"),
    *("maximum_native_sample_value", "minimum_native_sample_value"),
)


def write_mef3(folder, uv, at_s):
    from pymef.mef_session import MefSession

    start = 1_700_000_000_000_000
    stop = start + round(1e6 * uv.shape[1] / FS)
    session = MefSession(f"{folder / 'x.mefd'}/", None, False, True)
    about = dict.fromkeys(_MEF_NUMBERS, 0) | dict.fromkeys(_MEF_TEXTS, b"")
    about |= {"sampling_frequency": float(FS), "units_conversion_factor": 1e-4}
    about |= {"units_description": b"mV", "number_of_discontinuities": 1}
    zone = {"GMT_offset": 0, "recording_time_offset": 0, "DST_start_time": 0, "DST_end_time": 0}
    zone |= dict.fromkeys(("subject_name_1", "subject_name_2", "subject_ID"), b"")
    zone |= {"recording_location": b""}
    for name, x in zip(NAMES, uv, strict=True):
        session.write_mef_ts_segment_metadata(name, 0, None, None, start, stop, about, zone)
        session.write_mef_ts_segment_data(name, 0, None, None, FS, np.round(x * 10).astype("<i4"))
    note = {"type": "Note", "time": start + round(at_s * 1e6), "text": TEXT}
    session.write_mef_records(None, None, start, stop, 0, [note])
    session.close()
    return folder / "x.mefd"


ZONES = "ORDER LABCOD NOTE FLAGS TRONCA IMPED_B IMPED_E MONTAGE COMPRESS AVERAGE HISTORY DVIDEO"


def write_micromed(folder, uv, at_s):
    """Header version 4: zones, then unsigned samples around a ground level."""
    n = len(uv)
    sizes = {"ORDER": 2 * n, "LABCOD": 128 * n, "NOTE": 44, "TRONCA": 8, "TRIGGER": 6}
    head, table, first = bytearray(640), b"", 640
    zones = bytearray()
    for name in (*ZONES.split(), "EVENT A", "EVENT B", "TRIGGER"):
        size = sizes.get(name, 12)
        table += name.encode().ljust(8) + struct.pack("<II", first + len(zones), size)
        zone = bytearray(size)
        if name == "ORDER":
            zone[:] = struct.pack(f"<{n}H", *range(n))
        elif name == "NOTE":
            zone[:] = struct.pack("<I40s", round(at_s * FS), TEXT.encode())
        elif name == "LABCOD":
            for i, label in enumerate(NAMES):
                code = struct.pack("<6s6s5ih", label.encode(), b"G2", 0, 65535, 32768, -2, 2, 1)
                code += bytes(8) + struct.pack("<H", 1)
                zone[128 * i + 2 : 128 * i + 2 + len(code)] = code
        zones += zone
    head[128:134] = struct.pack("6b", 18, 11, 126, 8, 0, 0)
    head[138:150] = struct.pack("<IHHHH", first + len(zones), n, n, FS, 2)
    head[175] = 4
    head[176 : 176 + len(table)] = table
    # ±2 mV over 65536 steps.
    steps = np.round(uv * 1e-3 * 65536 / 4 + 32768).astype("<u2").T.tobytes()
    (folder / "x.TRC").write_bytes(bytes(head + zones) + steps)
    return folder / "x.TRC"


def write_neuralynx(folder, uv, at_s):
    """One file per channel: records of 512 samples with their times in µs."""
    for i, (name, x) in enumerate(zip(NAMES, uv, strict=True)):
        lines = ["######## Neuralynx Data File Header", "-FileType CSC", "-FileVersion 3.4"]
        lines += ["-TimeCreated 2026/11/18 08:00:00", "-TimeClosed 2026/11/18 09:00:00"]
        lines += ["-RecordSize 1044", '-ApplicationName Cheetah "6.3.2 "']
        lines += ["-AcquisitionSystem AcqSystem1 ATLAS", f"-SamplingFrequency {FS}"]
        lines += ["-ADMaxValue 32767", "-ADBitVolts 0.0000001", f"-AcqEntName {name}"]
        lines += [f"-ADChannel {i}", "-InputRange 3276", "-InputInverted False"]
        lines += ["-DSPLowCutFilterEnabled False", "-DSPHighCutFilterEnabled False"]
        content = "\r\n".join(lines).encode("latin-1").ljust(16384, b"\0")
        steps = np.round(x * 10).astype("<i2")
        for first in range(0, len(steps) // 512 * 512, 512):
            time_us = 1_000_000 + round(first * 1e6 / FS)
            content += struct.pack("<QIII", time_us, i, FS, 512)
            content += steps[first : first + 512].tobytes()
        (folder / f"{name}.ncs").write_bytes(content)
    return folder / f"{NAMES[0]}.ncs"
