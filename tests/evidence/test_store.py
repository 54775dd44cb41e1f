"""A folder of cubes: resume, change, kill, and what is told about it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from zarr.storage import ZipStore

from epilens.compute.jobs import JobResult
from epilens.compute.local import use_executor
from epilens.core.errors import DataError, WorkerError
from epilens.data.bids import read_bids
from epilens.evidence import store
from epilens.evidence.contact_features import features_shown
from epilens.evidence.files import SUFFIX, key_of, open_cohort, open_patient
from epilens.evidence.store import describe_cohort
from epilens.io.outputs import MARKER
from epilens.plan import Plan

CENTERS = ("north", "east", "south", "west")


@pytest.fixture(scope="module")
def parts(tiny):
    return [read_bids(tiny / center, "simulated") for center in CENTERS]


@pytest.fixture(scope="module")
def cubes(parts, tmp_path_factory):
    out = tmp_path_factory.mktemp("described") / "cubes"
    describe_cohort(parts, out, Plan(), stores=["traces"])
    return out


def stamps(folder: Path) -> dict[str, int]:
    return {p.name.removesuffix(SUFFIX): p.stat().st_mtime_ns for p in folder.glob(f"*{SUFFIX}")}


@pytest.mark.parametrize(("jobs", "is_cluster"), [(2, False), (1, True)])
def test_processes_and_cluster_tasks_use_one_thread(parts, tmp_path, monkeypatch, jobs, is_cluster):
    threads = []

    def run_jobs(work, *_, **__):
        threads.extend(job.threads for job in work)
        return [(job, JobResult(job.failed(WorkerError("lost")), "failed")) for job in work]

    monkeypatch.setattr(store, "run_jobs", run_jobs)
    with use_executor(lambda *_: iter(())) if is_cluster else nullcontext():
        describe_cohort(parts[:1], tmp_path / "cubes", Plan(), jobs=jobs)
    assert set(threads) == {1}


def test_every_patient_has_a_cube_and_its_counts(cubes, parts):
    cohort = open_cohort(cubes)
    assert len(cohort) == 8
    for part in parts:
        for patient in part.patients:
            cube = cohort[patient.name]
            assert set(cube["channel"].values.tolist()) == set(patient.channels)
            repeated = patient.name == "sub-W01"  # one of its recordings is there twice
            assert cube.sizes["seizure"] == len(patient.runs) - repeated
            assert int(cube["is_ez"].sum()) == len(patient.ez)
            assert cube.attrs["center"] == patient.center
            assert cube.attrs["plan_digest"] == Plan().digest
            assert all(len(digest) == 64 for digest in cube.attrs["sources"].values())


def test_a_channel_that_one_run_lacks_is_masked_there(cubes, parts):
    cohort, differing = open_cohort(cubes), 0
    for known in (p for part in parts for p in part.patients):
        cube = cohort[known.name]
        runs = [run for run in known.runs if run.run in cube["seizure"]]
        for run in runs:
            shown = cube["valid"].sel(seizure=run.run).any("window").values
            assert set(cube["channel"].values[shown]) == set(run.channels)
        differing += len({run.channels for run in runs}) > 1
    assert differing


def test_the_audit_has_sidecar_rows_and_signal_rows(cubes):
    with (cubes / "audit.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    whys = [row["why"] for row in rows]
    assert any("expected one event that means a seizure onset" in why for why in whys)
    assert any("high gamma (80-150 Hz) is covered to 64%" in why for why in whys)
    assert {row["dataset"] for row in rows} == {f"{c.title()} (simulated)" for c in CENTERS}


def test_the_summary_counts_everyone(cubes):
    summary = json.loads((cubes / "cohort.json").read_text(encoding="utf-8"))
    assert len(summary["patients"]) == 8
    assert sum(row["ez_channels"] for row in summary["patients"]) == 25
    assert summary["left_out"] == []


def test_running_it_again_keeps_every_cube(cubes, parts):
    before = stamps(cubes)
    audit = (cubes / "audit.tsv").read_bytes()
    summary = describe_cohort(parts, cubes, Plan(), stores=["traces"])
    assert summary["kept"] == 8
    assert stamps(cubes) == before
    assert (cubes / "audit.tsv").read_bytes() == audit


def test_another_plan_makes_every_cube_again_and_another_name_none(tiny, tmp_path):
    parts = [read_bids(tiny / "west", "simulated")]
    describe_cohort(parts, tmp_path, Plan())
    assert describe_cohort(parts, tmp_path, Plan(name="other"))["kept"] == 2
    assert (
        describe_cohort(parts, tmp_path, Plan().override(filter={"low_hz": 2.0}))["described"] == 2
    )


def test_only_the_patient_whose_source_changed_is_made_again(tiny, tmp_path):
    root = tmp_path / "west"
    shutil.copytree(tiny / "west", root)
    describe_cohort([read_bids(root)], tmp_path / "cubes", Plan())
    before = stamps(tmp_path / "cubes")
    signal = next(root.rglob("sub-W01*_ieeg.eeg"))
    content = bytearray(signal.read_bytes())
    content[len(content) // 2] ^= 1
    times = signal.stat()
    signal.write_bytes(bytes(content))
    os.utime(signal, ns=(times.st_atime_ns, times.st_mtime_ns))  # the clock does not give it away
    summary = describe_cohort([read_bids(root)], tmp_path / "cubes", Plan())
    assert (summary["described"], summary["kept"]) == (1, 1)
    after = stamps(tmp_path / "cubes")
    assert after["sub-W01"] != before["sub-W01"]
    assert after["sub-W02"] == before["sub-W02"]


def test_a_changed_label_makes_the_cube_again(tiny, tmp_path):
    root = tmp_path / "south"
    shutil.copytree(tiny / "south", root)
    describe_cohort([read_bids(root)], tmp_path / "cubes", Plan())
    for table in root.rglob("sub-S01*_channels.tsv"):
        table.write_text(table.read_text("utf-8").replace("\tyes", "\tno", 1), encoding="utf-8")
    summary = describe_cohort([read_bids(root)], tmp_path / "cubes", Plan())
    assert (summary["described"], summary["kept"]) == (1, 1)


def test_processes_make_the_same_cubes(cubes, parts, tmp_path):
    describe_cohort(parts, tmp_path, Plan(), jobs=2)
    one, other = open_cohort(cubes), open_cohort(tmp_path)
    for patient in one:
        xr.testing.assert_equal(one[patient], other[patient])


@pytest.mark.parametrize("moment", range(1, 9, 3))
def test_a_kill_leaves_old_new_or_no_cubes_and_the_next_run_finishes(tiny, tmp_path, cubes, moment):
    """Kill in the middle of writing the pieces of a store."""
    code = f"""
import os, sys, zipfile
from epilens.data.bids import read_bids
from epilens.evidence.store import describe_cohort
from epilens.plan import Plan
left = [{moment * 7}]
write = zipfile.ZipFile.writestr
def counted(self, name, content):
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    return write(self, name, content)
zipfile.ZipFile.writestr = counted
describe_cohort([read_bids(sys.argv[1], 'simulated')], sys.argv[2], Plan())
"""
    out = tmp_path / "cubes"
    command = [sys.executable, "-c", code, str(tiny / "north"), str(out)]
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode in (-9, 0)
    for path in out.glob(f"*{SUFFIX}"):
        open_cohort(out)[path.name.removesuffix(SUFFIX)]  # whatever is there is whole
    describe_cohort([read_bids(tiny / "north", "simulated")], out, Plan())
    finished, expected = open_cohort(out), open_cohort(cubes)
    assert list(finished) == ["sub-N01", "sub-N02"]
    for patient in finished:
        xr.testing.assert_equal(finished[patient], expected[patient])
    assert not [p for p in out.iterdir() if p.name.startswith(".") and p.name != MARKER]


def test_a_patient_whose_files_are_all_broken_is_left_out_with_the_reason(tiny, tmp_path):
    root = tmp_path / "west"
    shutil.copytree(tiny / "west", root)
    for file in root.rglob("sub-W01*_ieeg.vhdr"):
        file.write_bytes(b"not a header")
    summary = describe_cohort([read_bids(root)], tmp_path / "cubes", Plan())
    assert summary["left_out"] == ["sub-W01"]
    assert list(open_cohort(tmp_path / "cubes")) == ["sub-W02"]
    audit = (tmp_path / "cubes" / "audit.tsv").read_text(encoding="utf-8")
    assert "expected a recording that MNE can read" in audit


def test_two_datasets_with_the_same_patient_are_refused(tiny, tmp_path):
    parts = [read_bids(tiny / "west"), read_bids(tiny / "west")]
    with pytest.raises(
        DataError, match="sub-W01: expected names that are unique over all datasets"
    ):
        describe_cohort(parts, tmp_path, Plan())
    assert not list(tmp_path.iterdir())


def in_lower_case(dataset, copy):
    """A copy of a dataset whose names of patients are in lower case."""
    shutil.copytree(dataset, copy)
    for path in sorted(copy.rglob("*sub-*"), reverse=True):
        path.rename(path.with_name(path.name.replace("sub-W", "sub-w")))
    for path in [*copy.rglob("*.tsv"), *copy.rglob("*.v*")]:
        path.write_text(path.read_text(encoding="utf-8").replace("sub-W", "sub-w"))
    return copy


def test_patients_that_differ_in_case_alone_are_refused_before_anything_is_written(tiny, tmp_path):
    """On macOS and Windows, one cube would overwrite the other."""
    west, lower = tiny / "west", in_lower_case(tiny / "west", tmp_path / "lower")
    out = tmp_path / "cubes"
    with pytest.raises(DataError, match=r"sub-w01: expected a name .* found 'sub-W01'"):
        describe_cohort([read_bids(west), read_bids(lower)], out, Plan())
    assert not out.exists()
    describe_cohort([read_bids(west)], out, Plan())
    with pytest.raises(DataError, match=r"sub-w01: expected a name .* found 'sub-W01'"):
        describe_cohort([read_bids(lower)], out, Plan())


def test_a_second_dataset_joins_the_folder(tiny, tmp_path):
    describe_cohort([read_bids(tiny / "west")], tmp_path, Plan())
    summary = describe_cohort([read_bids(tiny / "south")], tmp_path, Plan())
    assert [row["patient"] for row in summary["patients"]] == [
        "sub-S01",
        "sub-S02",
        "sub-W01",
        "sub-W02",
    ]
    audit = (tmp_path / "audit.tsv").read_text(encoding="utf-8")
    assert "West (simulated)" in audit
    assert "South (simulated)" in audit


def test_traces_are_written_next_to_the_cube_on_request(cubes):
    place = ZipStore(cubes / "traces" / f"sub-E02{SUFFIX}", mode="r")
    with place, xr.open_zarr(place, chunks=None) as traces:
        assert traces["trace"].shape[1:] == (5, 11, 800)
        assert np.isfinite(traces["trace"]).all()


def test_channels_without_a_segment_are_in_the_audit_also_when_traces_are_kept(tiny, tmp_path):
    parts = [read_bids(tiny / "west", "simulated")]
    plan = Plan().override(traces={"length_s": 80.0})  # more than any recording has
    for kept in (0, 2):
        assert describe_cohort(parts, tmp_path, plan, stores=["traces"])["kept"] == kept
        with (tmp_path / "audit.tsv").open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t") if row["what"] == "channel"]
        never = {(r["patient"], r["channel"]) for r in rows if "has no whole segment" in r["why"]}
        assert never == {(p.name, name) for p in parts[0].patients for name in p.channels}


def test_every_cube_has_contact_features_next_to_it(cubes, parts):
    path = next(iter(sorted(cubes.glob(f"*{SUFFIX}"))))
    patient = open_patient(path, "features")
    assert patient["features"].dims == ("seizure", "channel", "feature")
    assert features_shown(patient).any()
    assert key_of(path, "features") != key_of(path)
    short = Plan().override(windows={"start_s": -12.0})
    folder = cubes.parent / "short"
    describe_cohort(parts[:1], folder, short)
    audit = (folder / "audit.tsv").read_text(encoding="utf-8")
    assert "has no contact features: a recording from 18 s before" in audit
