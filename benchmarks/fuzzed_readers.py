"""Every reader of files that others write: valid inputs to be damaged, and how one is read."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import edfio
import numpy as np
import openpyxl
import pandas as pd
import pybv
import torch

from epilens.data.channels.bids_channels import good_channels
from epilens.data.channels.contacts import expand_contacts, match_list, shaft_names
from epilens.data.channels.non_contacts import not_contacts
from epilens.data.datasets import recognise
from epilens.data.electrodes.positions import read_positions
from epilens.data.labels.sources import LabelTable
from epilens.data.onsets.annotated import find_onset
from epilens.data.onsets.bids_events import events_of
from epilens.data.onsets.onset import Event
from epilens.data.onsets.onset_table import read_onsets
from epilens.data.readers import open_reader
from epilens.data.readers.mne_reader import open_mne
from epilens.data.user_files import read_json, read_sheet, read_table
from epilens.evaluation.certainty import Certainty
from epilens.evaluation.ledger import read_ledger, write_ledger
from epilens.evaluation.splits import read_split
from epilens.evidence.contact_table import PLACES, TERMS
from epilens.evidence.files import open_cube, save
from epilens.evidence.zip_store import attributes_of
from epilens.networks.card import card
from epilens.networks.lens import Lens
from epilens.networks.model import Member, Model, open_model, read_model_json, save_model, sign
from epilens.networks.released import import_released
from epilens.plan import PAPER_NINE, Plan
from epilens.testing import make_cube


@dataclass(frozen=True)
class Reader:
    """A reader: the name of the file that it is given, how it reads, and how much it is fuzzed."""

    name: str
    file: str
    valid: list[bytes] | Callable[[Path], list[bytes]]
    """Valid inputs; a function makes them in a folder for whatever it needs."""
    read: Callable[[Path], object]
    share: float = 1.0


TSV = [
    b"name\ttype\tunits\tstatus\tstatus_description\tsoz\nA1\tSEEG\tuV\tgood\tsoz\t1\n"
    b"A2\tECOG\tmV\tbad\tn/a\t0\nECG\tECG\tuV\tgood\tn/a\tn/a\n"
]
EVENTS = [
    b"onset\tduration\ttrial_type\n40.0\t0.0\tsz onset\n60\t0\tsz offset\n",
    b"onset\tduration\tevent\n1\t0\tZ ELECTROGRAPHIC ONS\n2\t0\tAD1-3 onset\n3\t0\t?onset ?TT1\n",
]
ONSETS = [b"patient\trun\tonset_s\n01\t01\t40.0\nsub-02\tses-a_task-ictal_run-02\t33\n"]
LABELS = [b"patient,channel,is_ez\n01,A1,1\n01,A2,no\nsub-02,B1,yes\n"]
SPLIT = [
    b"patient,fold,partition\nsub-1,0,fit\nsub-2,0,validation\nsub-3,0,test\nsub-2,1,fit\n"
    b"sub-3,1,validation\nsub-1,1,test\nsub-3,2,fit\nsub-1,2,validation\nsub-2,2,test\n"
]
CENTERS = {f"sub-{i}": "c" for i in (1, 2, 3)}
JSON = [b'{"Name": "x", "SamplingFrequency": 200, "GeneratedBy": [{"Name": "y"}], "a": [1, {}]}']
TEXTS = [b"eeg onset", b"definite sz onset L temporal", b"Sz 2P", b"1st change TT1-6", b"no onset"]
LISTS = [b"TT1-6; PST1-4: AST1-2", "A’1–4, B1 to 3 and 5".encode(), b"LF 01-Ref, EEG G12", b"a1 A1"]
PLANS = [Plan().to_toml().encode(), b'name = "x"\nseeds = [1]\n[windows]\nlength_s = 2.0\n']


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def _table(path: Path) -> object:
    table = read_table(path)
    return good_channels(table, "sub-1", "run") if {"name", "type"} <= set(table) else None


def _contacts(path: Path) -> object:
    names = _text(path).split(",")
    not_contacts(names)
    return match_list(expand_contacts(_text(path), shaft_names(names)), names)


def _json(path: Path) -> object:
    tree = read_json(path)
    table = pd.DataFrame({"name": ["A1"], "x": ["1"], "y": ["1"], "z": ["900"]})
    return recognise(tree), read_positions(table, tree, "sub-1")


def _sheets(folder: Path) -> list[bytes]:
    book = openpyxl.Workbook()
    for cells in (("dataset_id", "soz_contacts"), ("pt1", "TT1-6"), ("pt2", 3)):
        book.active.append(cells)
    packed, stored = io.BytesIO(), io.BytesIO()
    book.save(packed)
    # Stored, so that damage reaches the XML and not only the packing.
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(stored, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return [packed.getvalue(), stored.getvalue()]


def _recording(path: Path) -> object:
    for opened in (open_reader, open_mne):  # of an excerpt, and of the whole
        reader = opened(path)
        reader.annotations()
        if len(reader.names) * reader.samples < 10**7:
            reader.read(0, min(reader.samples, 100), reader.names[:4])
    return reader.unit_notes(reader.names[:4])


def _edfs(folder: Path) -> list[bytes]:
    rng, file = np.random.default_rng(0), folder / "valid.edf"
    signals = [
        edfio.EdfSignal(rng.normal(size=400), 100, label=n, physical_dimension="uV")
        for n in ("A1", "A2", "EEG B 01-Ref")
    ]
    edfio.Edf(signals, annotations=[edfio.EdfAnnotation(1, 0, "sz onset")]).write(file)
    return [file.read_bytes()]


def _headers(folder: Path) -> list[bytes]:
    about = {"sfreq": 100, "ch_names": ["A1", "A2", "B1"], "fname_base": "x"}
    pybv.write_brainvision(data=np.zeros((3, 400)), folder_out=folder, **about)
    return [(folder / "x.vhdr").read_bytes()]


def _model(path: Path) -> object:
    """Signed again, so that what is behind the signature is reached."""
    try:
        tree = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        tree = None
    if isinstance(tree, dict):
        path.write_bytes(sign(tree))
    card(read_model_json(path.parent))
    model = open_model(path.parent)
    return Certainty.from_json(model.assurance) if model.assurance else None


def _models(folder: Path) -> list[bytes]:
    shape = (len(PLACES), len(TERMS), len(PAPER_NINE))
    about = {"source": "x", "cohort": {"patients": 3}, "notes": ["n"]}
    assurance = {
        "patients": 3,
        "calibration": {"slope": 1.0, "intercept": 0.0, "brier_raw": 0.2, "brier": 0.1},
        "sets": [{"coverage": 0.8, "cut": 0.5, "reached": 0.8, "share": 0.5}],
    }
    member = Member(0, "0", {"lens": Lens(np.zeros(shape), np.ones(shape), 0.5)})
    save_model(Model((member,), 0.5, 0.2, about, assurance), folder / "m")
    for file in (folder / "m").iterdir():
        file.rename(folder / file.name)
    return [(folder / "model.json").read_bytes()]


def _checkpoints(folder: Path) -> list[bytes]:
    file = io.BytesIO()
    fields = {"branch": "prq", "seed": 1, "outer_fold": 0, "quantile": 0.1}
    numbers = {f"standardizer_{w}": np.ones(36, np.float32) for w in ("mean", "scale")}
    torch.save(fields | numbers | {"model": {"a": torch.zeros(2)}}, file)
    return [file.getvalue()]


def _ledgers(folder: Path) -> list[bytes]:
    rows = {"method": "m", "seed": 1, "fold": "0", "partition": "test", "center": "c"}
    frame = pd.DataFrame({"patient": ["a", "a", "b"], "channel": ["1", "2", "1"]}).assign(**rows)
    frame = frame.assign(is_ez=[True, False, True], p_nez=[0.1, 0.2, 0.3], threshold=0.5)
    return [write_ledger(frame, folder / "valid.parquet").read_bytes()]


def _cubes(folder: Path) -> list[bytes]:
    cube = make_cube(seizures=1, channels=3, fs=128.0)
    return [save(cube, folder / "valid.zarr.zip").read_bytes()]


READERS = (
    Reader("channels.tsv", "x.tsv", TSV, _table, 3),
    Reader("events.tsv", "x.tsv", EVENTS, lambda p: find_onset(events_of(read_table(p))), 3),
    Reader("onset texts", "x.txt", TEXTS, lambda p: find_onset([Event(1.0, _text(p))]), 8),
    Reader("contact lists", "x.txt", LISTS, _contacts, 8),
    Reader("sidecars (JSON)", "x.json", JSON, _json, 3),
    Reader("labels (CSV)", "x.csv", LABELS, lambda p: LabelTable(p).patients(), 3),
    Reader("onsets (TSV)", "x.tsv", ONSETS, read_onsets, 3),
    Reader("splits (CSV)", "x.csv", SPLIT, lambda p: read_split(p, CENTERS), 1),
    Reader("clinical sheets (xlsx)", "x.xlsx", _sheets, lambda p: read_sheet(p, "sheet"), 0.3),
    Reader("EDF", "x.edf", _edfs, _recording, 0.3),
    Reader("BrainVision headers", "x.vhdr", _headers, _recording, 0.3),
    Reader("plans (TOML)", "x.toml", PLANS, lambda p: Plan.load(p).digest, 1.5),
    Reader("model.json, signed", "model.json", _models, _model, 1.5),
    Reader("checkpoints", "x.pt", _checkpoints, lambda p: import_released([p]), 0.5),
    Reader("ledgers (parquet)", "x.parquet", _ledgers, read_ledger, 0.3),
    Reader("cubes (zip)", "x.zarr.zip", _cubes, lambda p: (attributes_of(p), open_cube(p)), 0.1),
)


def prepared(reader: Reader) -> tuple[list[bytes], Path]:
    """Valid inputs, and the file to put damaged ones into."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    return reader.valid(folder) if callable(reader.valid) else reader.valid, folder / reader.file
