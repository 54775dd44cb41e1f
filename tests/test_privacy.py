"""Nobody's name leaves: names are planted wherever people write them, and every output is searched.

The names stand in annotations, states, headers, labels of channels that are no contacts, free text
of events, extra columns, cells of a sheet, folders above the dataset, and in the paths of errors.
"""

from __future__ import annotations

import datetime
import io
import re
import warnings
import zipfile
import zlib
from pathlib import Path

import edfio
import pytest
from trees import (
    NAMES,
    ONSET_S,
    channel_rows,
    noise,
    run_file,
    write_dataset,
    write_electrodes,
    write_json,
    write_run,
    write_sheet,
    write_tsv,
)

from epilens.cli import main
from epilens.plan import Plan

SECRETS = (
    *("Zwetschkenbaum", "Quirinale", "Oberhuber", "Wolpertinger", "Xanthippe", "Yggdrasil"),
    *("Vitzliputzli", "Kunigunde", "Brambilla", "Ostrogorski", "Tscherkassow", "Umberufen"),
)
(STATUS, EVENT, HEADER, LABEL, COLUMN, CELL, FOLDER, FILE, SPACE, OUTCOME, TYPE, TABLE) = SECRETS
PATIENTS = ("01", "02", "03", "04")


def plant(root: Path) -> Path:
    """Four patients; names everywhere."""
    write_dataset(root, PATIENTS)
    people = [
        {"participant_id": f"sub-{p}", "age": 30, "sex": f"F, Mrs {COLUMN}", "surname": COLUMN}
        | {"outcome": f"S ({OUTCOME})", "therapy": f"by Dr {COLUMN}", "engel": "1A"}
        for p in PATIENTS
    ]
    write_tsv(root / "participants.tsv", people)
    for i, patient in enumerate(PATIENTS):
        rows = channel_rows(
            (*NAMES, f"{LABEL} Anna", "B3"),
            status={**dict.fromkeys(NAMES, "good"), "B3": f"bad, ask {STATUS}"},
            status_description={"A1": f"soz (Dr {STATUS})", "A2": "soz", "B3": STATUS},
            type={**dict.fromkeys((*NAMES, "B3"), "SEEG"), f"{LABEL} Anna": f"note {TYPE}"},
            units=dict.fromkeys((*NAMES, "B3"), "uV"),
        )
        events = [(ONSET_S, "sz onset"), (50.0, f"{EVENT} speaks")]
        names = (*NAMES, f"{LABEL} x", "B3")
        data = noise(len(names), seed=i)
        write_run(root, patient, "01", names=names, data=data, channels=rows, events=events)
        # A second run that cannot be read, and one whose events mean no onset.
        write_run(root, patient, "02", channels=rows, events=events)
        run_file(root, "ieeg.edf", patient, "02").write_bytes(EVENT.encode() * 200)
        write_run(root, patient, "03", kind=None, events=[(10.0, f"{EVENT} fell")])
        write_electrodes(root, {n: (i, 1, 900) for i, n in enumerate(NAMES)}, patient=patient)
        for file in root.rglob("*coordsystem.json"):
            system = {"iEEGCoordinateSystem": f"scan of {SPACE}", "iEEGCoordinateUnits": SPACE}
            write_json(file, system)
    write_sheet(root, [("01", f"A1, {CELL} 2021, {CELL}")], ("dataset_id", "soz_contacts"))
    return root


def plain_edf(path: Path) -> Path:
    """A recording without sidecars, with a person in its header, labels and annotations."""
    names = (*NAMES, f"{LABEL[:8]} Anna", f"{STATUS[:14]}")
    signals = [
        edfio.EdfSignal(x, 200, label=n, physical_dimension="uV", physical_range=(-400, 400))
        for x, n in zip(noise(len(names)), names, strict=True)
    ]
    person = edfio.Patient(name=HEADER, code=HEADER, birthdate=datetime.date(1980, 1, 2))
    notes = [edfio.EdfAnnotation(ONSET_S, 0, "sz onset"), edfio.EdfAnnotation(9, 0, EVENT)]
    edfio.Edf(signals, patient=person, annotations=notes).write(path)
    return path


def texts(path: Path) -> list[tuple[str, bytes]]:
    """The name and the bytes of a file; of what is packed, those of all its parts too."""
    content = path.read_bytes()
    found = [(str(path.name), content)]
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(path) as file:
            found += [(f"{path.name}/{name}", file.read(name)) for name in file.namelist()]
    for packed in re.findall(rb"stream\r?\n(.*?)endstream", content, re.DOTALL):
        try:
            found.append((f"{path.name} stream", zlib.decompress(packed)))
        except zlib.error:
            continue
    return found


def search(folder: Path) -> list[str]:
    """Where a planted name, or its beginning, is in the outputs; names of files count."""
    found = []
    for path in sorted(folder.rglob("*")):
        parts = texts(path) if path.is_file() else []
        for name, content in [(str(path.relative_to(folder)), b""), *parts]:
            shown = name.encode() + b" " + content.lower()
            # UTF-16 and UTF-32, as arrays of names are kept, without the null bytes.
            shown += content.replace(b"\0", b"").lower()
            found += [f"{name}: {s}" for s in SECRETS if s[:8].lower().encode() in shown]
    return found


def ok(*arguments: object) -> None:
    try:
        main([str(argument) for argument in arguments])
    except SystemExit as ended:
        assert ended.code == 0  # noqa: PT017


@pytest.fixture(scope="module")
def outputs(tmp_path_factory, request):
    """All verbs on the planted dataset, each into its own folder."""
    base = tmp_path_factory.mktemp("p")
    root = plant(base / f"{FOLDER} family" / "bids")
    out = base / "out"
    out.mkdir()
    labels = base / f"{FOLDER} family" / f"labels of {FILE}.csv"
    rows = [f"{p},{c},{int(c in ('A1', 'A2'))}" for p in (*PATIENTS, TABLE) for c in NAMES]
    labels.write_text("\n".join(["patient,channel,is_ez", *rows]) + "\n", encoding="utf-8")
    plan = Plan(name="small", seeds=(1,), methods=("line-length-change", "random")).override(
        splits={"folds": 2}, training={"epochs": 1, "least_epochs": 1}
    )
    (base / "plan.toml").write_text(plan.to_toml())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ok("cohort", root, "--audit", out / "audit.tsv")
        ok("describe", root, "--labels", labels, "--out", out / "cubes")
        ok("run", base / "plan.toml", "--cubes", out / "cubes", "--out", out / "runs")
        ok("reproduce", out / "runs" / "small", "--out", out / "paper")
        ok("train", base / "plan.toml", "--cubes", out / "cubes", "--out", out / "model")
        ok("localize", root / "sub-01", "--out", out / "bids")
        edf = plain_edf(base / f"{FOLDER} family" / f"{FILE}.edf")
        broken = edf.with_name(f"{FILE} 2.edf")
        broken.write_bytes(FILE.encode() * 300)
        ok("localize", edf, broken, "--onset", 40, "--onset", 40, "--out", out / "plain")
    return out


def test_no_name_is_in_any_output(outputs):
    assert search(outputs) == []


def test_the_outputs_are_all_there(outputs):
    """Otherwise nothing would have been searched."""
    names = {str(path.relative_to(outputs)) for path in outputs.rglob("*")}
    assert {"audit.tsv", "cubes/audit.tsv", "cubes/sub-01.zarr.zip", "bids/sub-01.html"} <= names
    assert {"plain/sub-patient.html", "paper/index.html", "model/model.json"} <= names
    assert "runs/small/ledger.parquet" in names


def test_the_search_finds_what_is_planted(tmp_path):
    (tmp_path / "a.txt").write_text(f"x {EVENT.upper()} y")
    with zipfile.ZipFile(tmp_path / "b.zip", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("c", STATUS.encode("utf-32"))
    assert search(tmp_path) == [f"a.txt: {EVENT}", f"b.zip/c: {STATUS}"]


def test_no_folder_of_this_computer_is_in_a_table_or_page(outputs):
    own = str(outputs.parents[1]).encode()
    for path in outputs.rglob("*"):
        if path.suffix in (".tsv", ".html", ".csv", ".md", ".tex") or path.name == "model.json":
            assert own not in path.read_bytes(), path


def test_every_reason_has_a_code(outputs):
    for path in (outputs / "audit.tsv", outputs / "cubes" / "audit.tsv"):
        header, *rows = [line.split("\t") for line in path.read_text().splitlines()]
        codes = {row[header.index("code")] for row in rows}
        assert rows
        assert "other" not in codes, [row for row in rows if "other" in row]


def test_the_json_of_a_cohort_holds_no_name(tmp_path, capsys):
    root = plant(tmp_path / FOLDER / "bids")
    capsys.readouterr()
    ok("cohort", root, "--json")
    shown = capsys.readouterr().out
    assert '"patients"' in shown
    assert [s for s in SECRETS if s[:8].lower() in shown.lower()] == []
