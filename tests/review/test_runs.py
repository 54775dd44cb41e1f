"""Runs: numbered once, kept with what they were made of, made in a process of their own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import zipfile
from dataclasses import replace

import pytest
from new_patients import write_edf
from patients_to_run import METHOD, a_spec, case, plain_files

from epilens.core.errors import DataError, StorageError
from epilens.data.discovery import cases_of
from epilens.data.onsets.onset import Onset
from epilens.localization.run_spec import (
    RecordingOnsets,
    RunInputs,
    RunSpec,
    find_ranker,
    list_rankers,
    make_run_spec,
)
from epilens.review.jobs import RunProcesses
from epilens.review.marks import PatientMarks
from epilens.review.runs import PatientRuns, RunState, describe_differences
from epilens.review.worker import work


def inputs(onsets_s, **others):
    recordings = [
        RecordingOnsets(file=name, onsets=tuple(map(Onset.given, times_s)))
        for name, times_s in onsets_s.items()
    ]
    return RunInputs(patient="sub-P1", recordings=tuple(recordings), **others)


INPUTS = inputs({"file-a": (40.0,)}, exclude=("A1",), choice="m", title="M", key="key")


@pytest.fixture
def runs(tmp_path):
    return PatientRuns(tmp_path / "runs", "sub-P1")


def test_what_was_asked_is_kept(runs):
    begun = runs.begin(INPUTS)
    assert runs[1] == begun
    assert list(runs) == [begun]
    assert begun.inputs == INPUTS
    assert begun.state.kind == "running"
    with pytest.raises(DataError, match="expected one of its runs, found number 2"):
        runs[2]


def test_no_two_runs_have_one_number(runs):
    taken, together = [], threading.Barrier(12)

    def begin():
        together.wait()
        taken.append(PatientRuns(runs.folder, "sub-P1").begin(INPUTS).number)

    threads = [threading.Thread(target=begin) for _ in range(12)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sorted(taken) == list(range(1, 13))


def test_processes_share_no_number_either(runs):
    code = (
        "import sys\nfrom epilens.localization.run_spec import RunInputs\n"
        "from epilens.review.runs import PatientRuns\n"
        "runs = PatientRuns(sys.argv[1], 'sub-P1')\n"
        "print([runs.begin(RunInputs(patient='sub-P1', recordings=())).number for _ in range(20)])"
    )
    command = [sys.executable, "-c", code, str(runs.folder)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    numbers = [n for one in both for n in json.loads(one.communicate()[0])]
    assert sorted(numbers) == list(range(1, 41))


def test_states_come_from_the_files(runs):
    run = runs.begin(INPUTS)
    run.report_progress(RunState(note="scoring", done=2, total=5))
    assert (run.state.kind, run.state.note, run.state.done, run.state.total) == (
        *("running", "scoring"),
        *(2, 5),
    )
    long_ago = time.time() - 600
    os.utime(run.folder / "progress.json", (long_ago, long_ago))
    assert run.state.kind == "interrupted"
    far_ahead = time.time() + 1e7  # the clock of another computer was wrong
    os.utime(run.folder / "progress.json", (far_ahead, far_ahead))
    assert run.state.kind == "interrupted"
    run.fail("No onset.")
    run.fail("Another reason.")
    assert (run.state.kind, run.state.problem) == ("failed", "No onset.")
    assert runs.find_same("key") is None


def test_a_number_that_was_taken_and_never_used_is_no_run(runs):
    (runs.folder / "0007").mkdir(parents=True)
    assert list(runs) == []
    assert runs.begin(INPUTS).number == 8


def test_a_damaged_run_is_named(runs):
    run = runs.begin(INPUTS)
    (run.folder / "run.json").write_text("{}")
    with pytest.raises(DataError, match=r"run\.json: expected a value for number"):
        runs[1]


def parts(path):
    """The bytes of a file; of a workbook, those of its compressed parts."""
    if not zipfile.is_zipfile(path):
        return [path.read_bytes()]
    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in archive.namelist()]


def test_a_run_is_outdated_by_its_own_files_only(tmp_path):
    write_edf(tmp_path / "a.edf")

    def key() -> str:
        return make_run_spec(cases_of([tmp_path / "a.edf"], "P1")[0], METHOD).inputs.key

    before = key()
    (tmp_path / "ab.edf").write_bytes(b"another patient")
    assert key() == before
    os.utime(tmp_path / "a.edf", (0, 0))
    assert key() != before


def test_a_run_has_a_page_and_a_ranking_and_no_file_name(runs):
    wanted = a_spec(exclude=("B5",))
    run = runs.begin(wanted.inputs)
    work(run, wanted)
    assert run.state.kind == "done"
    assert "B5" not in run.ranking.names
    assert len(run.ranking.names) == 9
    assert run.ranking.contacts[0].rank == 1
    assert run.page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert runs.find_same(wanted.inputs.key) == run
    assert len(run.ranking.digest) == 64
    every = b"".join(content for p in run.folder.rglob("*") if p.is_file() for content in parts(p))
    assert b"Mustermann" not in every
    assert str(plain_files()).encode() not in every


def test_a_run_that_cannot_be_says_why_without_a_file_name(runs):
    wanted = a_spec(onset_s=500.0)
    run = runs.begin(wanted.inputs)
    work(run, wanted)
    assert run.state.kind == "failed"
    assert "500" in run.state.problem
    assert "Mustermann" not in run.state.problem


def test_a_defect_is_a_failed_run(runs, monkeypatch):
    def broken(*args):
        raise KeyError("Mustermann-1.edf")

    monkeypatch.setattr("epilens.review.worker._localize", broken)
    run = runs.begin(INPUTS)
    work(run, a_spec())
    assert run.state.problem.startswith("The run failed unexpectedly (KeyError in test_runs.py,")
    assert "Mustermann" not in run.state.problem


def test_a_run_in_a_process_of_its_own(runs):
    jobs = RunProcesses()
    run = jobs.start(runs, a_spec())
    jobs.wait(run, 120)
    assert run.state.kind == "done"
    assert not jobs.is_full


def test_a_slow_run_of_this_server_is_not_taken_for_a_dead_one(runs):
    jobs = RunProcesses()
    run = jobs.start(runs, a_spec())
    (run.folder / "progress.json").write_text("{}")
    os.utime(run.folder / "progress.json", (0, 0))
    assert jobs.state(run).kind == "running"
    jobs.close()
    jobs.wait(run, 60)
    os.utime(run.folder / "progress.json", (0, 0))
    assert jobs.state(run).kind == "interrupted"


def test_a_run_can_be_stopped_and_others_wait_for_their_turn(runs):
    jobs = RunProcesses(max_processes=1)
    run = jobs.start(runs, a_spec())
    with pytest.raises(DataError, match="expected at most 1 runs at a time"):
        jobs.start(runs, a_spec())
    assert len(list(runs)) == 1
    jobs.stop(run)
    jobs.wait(run, 30)
    assert run.state.problem == "It was stopped by the user."
    with pytest.raises(DataError, match="expected a run in progress"):
        jobs.stop(run)


def test_a_process_that_dies_is_a_failed_run_and_not_an_endless_one(runs, monkeypatch):
    monkeypatch.setattr(
        "epilens.review.jobs._start_worker",
        lambda folder: subprocess.Popen(
            [sys.executable, "-c", "raise SystemExit(3)"], stdin=subprocess.PIPE, text=True
        ),
    )
    jobs = RunProcesses()
    run = jobs.start(runs, a_spec())
    jobs.wait(run, 30)
    assert run.state.kind == "failed"
    assert "(code 3)" in run.state.problem


def test_a_failure_that_cannot_be_stored_is_reported_and_makes_room(runs, monkeypatch):
    def fail(run, problem):
        raise StorageError("failed.json: expected room for it, found a full disk. Make room.")

    monkeypatch.setattr("epilens.review.runs.ReviewRun.fail", fail)
    monkeypatch.setattr(
        "epilens.review.jobs._start_worker",
        lambda folder: subprocess.Popen(
            [sys.executable, "-c", "raise SystemExit(3)"], stdin=subprocess.PIPE, text=True
        ),
    )
    jobs = RunProcesses(max_processes=1)
    run = jobs.start(runs, a_spec())
    jobs.wait(run, 10)
    assert not jobs.is_full
    assert (jobs.state(run).kind, "a full disk" in jobs.state(run).problem) == ("failed", True)


def test_a_run_is_stopped_even_if_that_cannot_be_stored(runs, monkeypatch):
    def fail(run, problem):
        raise StorageError("failed.json: expected room for it, found a full disk. Make room.")

    jobs = RunProcesses()
    run = jobs.start(runs, a_spec())
    monkeypatch.setattr("epilens.review.runs.ReviewRun.fail", fail)
    with pytest.raises(StorageError, match="a full disk"):
        jobs.stop(run)
    jobs.wait(run, 10)
    assert not jobs.is_full
    assert jobs.state(run).kind == "failed"


def test_a_run_ends_with_its_server(runs):
    """The server is killed: the child sees its pipe close, and goes."""
    code = (
        "import os, sys, time\n"
        "from epilens.review.jobs import RunProcesses\n"
        "from epilens.localization.run_spec import RunSpec\n"
        "from epilens.review.runs import PatientRuns\n"
        "jobs = RunProcesses()\n"
        "spec = RunSpec.model_validate_json(sys.stdin.readline())\n"
        "jobs.start(PatientRuns(sys.argv[1], 'sub-P1'), spec)\n"
        "print(next(iter(jobs._children.values())).pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", code, str(runs.folder)],
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True},
    )
    server.stdin.write(json.dumps(a_spec().to_json()) + "\n")
    server.stdin.flush()
    child = int(server.stdout.readline())
    assert _lives(child)
    server.kill()
    server.communicate()
    until = time.time() + 600
    while _lives(child) and time.time() < until:
        time.sleep(0.05)
    assert not _lives(child)


def _lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("name", ["Mustermann.edf", "M\udcfcller.edf"])
def test_a_specification_survives_its_way_to_the_process(name):
    """Also with the name of a file that is not UTF-8."""
    names = ((f"/data/{name}", "file-1"),)
    spec = a_spec().model_copy(
        update={"onsets": ((f"/data/{name}", Onset.given(40.0)),), "names": names}
    )
    assert RunSpec.model_validate(json.loads(json.dumps(spec.to_json()))) == spec
    assert spec.hide_files(f"{name}: expected") == "file-1: expected"


def test_recordings_without_a_mark_keep_their_own_onset():
    first, second = case().files
    tree = {"files": {first.name: {"onsets": [{"onset_s": 40.0}, {"onset_s": 60.0}]}}}
    onsets = Onset.given(40.0), Onset.given(60.0)
    wanted = make_run_spec(case(), METHOD, PatientMarks.model_validate(tree).onsets)
    assert wanted.onsets == (
        *((str(first.path), onset) for onset in onsets),
        (str(second.path), None),
    )
    assert wanted.inputs.recordings == (
        RecordingOnsets(file=first.name, onsets=onsets),
        RecordingOnsets(file=second.name),
    )
    assert wanted.inputs.to_json()["recordings"] == [
        {"file": first.name, "onsets_s": [40.0, 60.0]},
        {"file": second.name, "onsets_s": []},
    ]


def test_the_uncertainty_of_a_mark_reaches_the_request_and_is_stored():
    first, second = case().files
    tree = {
        "files": {
            first.name: {"onsets": [{"onset_s": 40.0, "uncertainty_s": 2.0}, {"onset_s": 60.0}]},
            second.name: {"onsets": [{"onset_s": 50.0, "uncertainty_s": 0.0}]},
        }
    }
    spec = make_run_spec(case(), METHOD, PatientMarks.model_validate(tree).onsets)
    stored = json.loads(json.dumps(spec.to_json()))
    assert stored["inputs"]["recordings"][0]["onsets_s"] == [
        {"onset_s": 40.0, "uncertainty_s": 2.0},
        60.0,
    ]
    assert RunSpec.model_validate(stored) == spec
    assert [onset.uncertainty_s for _, onset in spec.request().patient] == [2.0, None, 0.0]


def test_the_comparison_of_runs_states_another_uncertainty():
    file = RecordingOnsets(file="a", onsets=(Onset.given(40.0),))
    unsure = RecordingOnsets(file="a", onsets=(Onset.given(40.0, uncertainty_s=2.5),))
    old, new = (RunInputs(patient="sub-P1", recordings=(one,)) for one in (file, unsure))
    assert describe_differences(old, new, {}) == ["a: onset 40.000 s ± 2.5 s, before 40.000 s"]


def test_the_key_changes_with_the_marks_the_method_and_the_files():
    key = a_spec().inputs.key
    assert a_spec().inputs.key == key
    other = list_rankers()[0]
    changed = [a_spec(41.0), a_spec(exclude=("A1",)), a_spec(ranker=other)]
    path = plain_files() / "Mustermann-1.edf"
    before = path.stat().st_mtime_ns
    os.utime(path, ns=(before + 10**9, before + 10**9))
    changed.append(a_spec())
    os.utime(path, ns=(before, before))
    assert len({key, *(one.inputs.key for one in changed)}) == 5
    assert a_spec().inputs.key == key


def test_nothing_to_run():
    empty = replace(case(), files=())
    with pytest.raises(DataError, match="expected a recording with an onset, found none"):
        make_run_spec(empty, METHOD)


def test_what_was_asked_otherwise_in_words():
    old = inputs({"a": (40.0,), "b": ()}, exclude=("A1",), choice="m", title="M")
    new = inputs({"a": (41.5,), "c": ()}, exclude=("A2",), choice="n", title="N")
    assert describe_differences(old, new, {"a": "seizure.edf"}) == [
        "ranked by N, before by M",
        "seizure.edf: onset 41.500 s, before 40.000 s",
        "b: onset not used, before not marked",
        "c: onset not marked, before not used",
        "A2 is excluded",
        "A1 is no longer excluded",
    ]
    assert describe_differences(old, old, {"a": "seizure.edf"}) == []


def test_contacts_that_are_left_out_have_the_names_of_the_page():
    old, new = inputs({}), inputs({}, exclude=("EEG LA 03-Ref",))
    assert describe_differences(old, new, {}) == ["LA03 is excluded"]
    assert describe_differences(new, old, {}) == ["LA03 is no longer excluded"]


def test_methods_without_training_can_be_chosen_and_chance_cannot():
    known = list_rankers()
    ids = [one.id for one in known]
    assert ids[:2] == ["recorded", "line-length-spread/shaft"]
    assert [one.id for one in known if one.default] == ["recorded"]
    assert "epileptogenicity-index" in ids
    assert "random" not in ids
    assert "cdel" not in ids


def test_models_are_found_in_folders_and_broken_ones_say_so(tmp_path, the_saved_model):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "model.json").write_text("{}")
    (tmp_path / "good").symlink_to(the_saved_model)
    known = [
        one for one in list_rankers([tmp_path, tmp_path / "good"]) if one.id.startswith("model-")
    ]
    assert len(known) == 2
    broken, good = sorted(known, key=lambda one: not one.problem)
    assert broken.problem == "its model.json cannot be used"
    assert "simulated" in good.title
    assert find_ranker(known, good.id) is good
    for identity in (broken.id, str(the_saved_model), None, ["x"]):
        with pytest.raises(DataError, match="expected one of the methods and models"):
            find_ranker(known, identity)


@pytest.fixture(scope="module")
def the_saved_model(tmp_path_factory):
    from new_patients import cohort_cubes, make_model

    from epilens.networks.model import save_model

    return save_model(make_model(cohort_cubes(4)), tmp_path_factory.mktemp("models") / "m1")


def test_a_run_with_a_model(runs, the_saved_model):
    (model,) = [one for one in list_rankers([the_saved_model]) if one.id.startswith("model-")]
    wanted = a_spec(ranker=model)
    run = runs.begin(wanted.inputs)
    work(run, wanted)
    assert run.state.kind == "done", run.state.problem
    assert {contact.decision for contact in run.ranking.contacts} <= {"EZ", "NEZ", "abstained"}
    assert str(the_saved_model) not in (run.folder / "run.json").read_text()
