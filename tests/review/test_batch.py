"""A batch: goes on after a failure, keeps what is there, resumes after a kill."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from patients_to_run import METHOD, a_spec, plain_files

from epilens.core.errors import DataError, StorageError
from epilens.io.atomic import write_atomically
from epilens.review.batch import PatientBatch
from epilens.review.jobs import RunProcesses
from epilens.review.responses import batch_to_json
from epilens.review.runs import PatientRuns

PATIENTS = ("sub-A", "sub-B", "sub-C")


class Counting(RunProcesses):
    """Counts what is begun; runs are made here and now."""

    def __init__(self):
        super().__init__()
        self.begun = []

    def start(self, runs, order):
        from epilens.review.worker import work

        run = runs.begin(order.inputs)
        self.begun.append(runs.patient)
        work(run, order)
        return run


def make_batch(folder, jobs, broken=()):
    def order(code, choice):
        if code in broken:
            raise DataError(f"{code}: expected a recording, found none. Mark one.")
        return a_spec(ranker=choice)

    return PatientBatch(
        folder / "batch.json", lambda c: PatientRuns(folder / c / "runs", c), order, jobs
    )


def go(batch, patients=PATIENTS):
    batch.start(patients, METHOD)
    batch.join(600)
    assert not batch.is_running
    return [(row.patient, row.kind) for row in batch.rows]


def test_a_failed_patient_is_a_row_and_the_batch_goes_on(tmp_path):
    jobs = Counting()
    batch = make_batch(tmp_path, jobs, broken=("sub-B",))
    assert go(batch) == [("sub-A", "done"), ("sub-B", "failed"), ("sub-C", "done")]
    assert batch.rows[1].problem == "sub-B: expected a recording, found none. Mark one."
    assert jobs.begun == ["sub-A", "sub-C"]


def test_a_defect_of_one_patient_is_its_row(tmp_path):
    batch = make_batch(tmp_path, Counting())
    make_spec = batch.make_spec
    batch.make_spec = lambda code, choice: make_spec(code, choice) if code == "sub-B" else {}[code]
    assert go(batch, PATIENTS[:2]) == [("sub-A", "failed"), ("sub-B", "done")]
    assert "KeyError" in batch.rows[0].problem


def test_what_is_done_with_the_same_inputs_is_kept(tmp_path):
    go(make_batch(tmp_path, Counting()), PATIENTS[:2])
    jobs = Counting()
    again = make_batch(tmp_path, jobs)
    assert [row.kind for row in again.rows] == ["done", "done"]  # as it was left
    assert go(again) == [("sub-A", "kept"), ("sub-B", "kept"), ("sub-C", "done")]
    assert jobs.begun == ["sub-C"]


def test_a_run_that_fails_has_its_reason_in_the_row(tmp_path):
    def order(code, choice):
        return a_spec(onset_s=500.0)

    batch = PatientBatch(
        tmp_path / "batch.json", lambda c: PatientRuns(tmp_path / c, c), order, Counting()
    )
    assert go(batch, ["sub-A"]) == [("sub-A", "failed")]
    assert "500" in batch.rows[0].problem


def test_a_batch_that_cannot_be_stored_ends_and_says_why(tmp_path, monkeypatch):
    jobs = Counting()
    batch = make_batch(tmp_path, jobs)

    def full(path, text):
        if jobs.begun:
            raise StorageError(f"{path.name}: expected room for it, found a full disk. Make room.")
        return write_atomically(path, text)

    monkeypatch.setattr("epilens.review.batch.write_atomically", full)
    go(batch)
    assert jobs.begun == ["sub-A"]
    assert "found a full disk" in batch_to_json(batch)["problem"]
    monkeypatch.undo()
    assert go(batch, PATIENTS[:1]) == [("sub-A", "kept")]
    assert batch.problem == ""


def test_a_damaged_batch_is_none(tmp_path):
    (tmp_path / "batch.json").write_text('{"rows": [{"x": 1}]}')
    assert make_batch(tmp_path, Counting()).rows == ()


def test_one_batch_at_a_time(tmp_path):
    batch = make_batch(tmp_path, RunProcesses(max_processes=1))
    batch.start(PATIENTS, METHOD)
    with pytest.raises(DataError, match="expected no batch in progress"):
        batch.start(PATIENTS, METHOD)
    batch.stop()
    batch.join(600)
    assert [row.kind for row in batch.rows][1:] == ["waiting", "waiting"]


def test_a_killed_batch_resumes(tmp_path, monkeypatch):
    """The server is killed while a patient is on its way: the first is kept, the rest is made."""
    # A minute without a sign of life is long for a test; the killed process gives none any more.
    monkeypatch.setattr("epilens.review.runs.STALE_S", 5.0)
    code = (
        "import sys\nfrom pathlib import Path\nsys.path[:0] = sys.argv[2:]\n"
        "import patients_to_run\n"
        "patients_to_run.plain_files.cache_clear()\n"
        f"patients_to_run.plain_files = lambda: Path({str(plain_files())!r})\n"
        "from epilens.review.jobs import RunProcesses\n"
        "from test_batch import PATIENTS, METHOD, make_batch\n"
        "batch = make_batch(Path(sys.argv[1]), RunProcesses())\n"
        "batch.start(PATIENTS, METHOD)\nbatch.join()\n"
    )
    server = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), *sys.path])
    until = time.time() + 600
    while time.time() < until and _kinds(tmp_path)[:2] != ["done", "running"]:
        time.sleep(0.05)
    server.kill()
    server.wait()
    assert _kinds(tmp_path) == ["done", "running", "waiting"]
    jobs = Counting()
    again = make_batch(tmp_path, jobs)
    assert [row.kind for row in again.rows] == ["done", "waiting", "waiting"]
    assert [kind for _, kind in go(again)] == ["kept", "done", "done"]
    assert jobs.begun == ["sub-B", "sub-C"]
    assert go(make_batch(tmp_path, Counting())) == [(c, "kept") for c in PATIENTS]


def _kinds(folder):
    try:
        return [row["kind"] for row in json.loads((folder / "batch.json").read_text())["rows"]]
    except (OSError, ValueError):
        return []
