"""Keys see settings and code: what is changed is made anew, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import epilens
from epilens.core import provenance
from epilens.data import read_seizures
from epilens.data.bids import read_bids
from epilens.evidence import keys
from epilens.evidence.files import SUFFIX, key_of, open_patient
from epilens.evidence.store import STORES, describe_cohort
from epilens.evidence.zip_store import attributes_of, open_store
from epilens.plan import PAPER_NINE, Plan

PACKAGE = Path(epilens.__file__).parent
ALL = ("cube", "traces", "signals")
CACHED = (
    provenance.code_digest,
    provenance.modules_behind,
    provenance._tree,
    provenance._code,
)


def store_keys(root):
    """Keys of the cube and of the stores beside it, of the first patient of a dataset."""
    patient, plan = read_bids(root).patients[0], Plan()
    recordings = keys.recordings_key(patient, plan, {})
    return {name: keys.store_key(store, recordings, plan) for name, store in STORES.items()}


def with_code(folder, root, monkeypatch):
    """The same keys, if the modules of the package were the files of another folder."""
    real = provenance._source

    def source(name):
        path = real(name)
        if path is None or not path.is_relative_to(PACKAGE):
            return path
        return folder / path.relative_to(PACKAGE.parent)

    with monkeypatch.context() as patch:
        patch.setattr(provenance, "_source", source)
        for function in (real, *CACHED):
            function.cache_clear()
        changed = store_keys(root)
    for function in (real, *CACHED):
        function.cache_clear()
    return changed


@pytest.mark.parametrize(
    ("edits", "changed"),
    [
        ({"evidence/kernels.py": ("columns].sum(axis=1)", "columns].sum(axis=1) + 0")}, {"cube"}),
        ({"evidence/traces.py": ("0.25, 0.5, 0.75", "0.2, 0.5, 0.8")}, {"traces"}),
        ({"evidence/signals.py": ("- 1e-6", "- 1e-5")}, {"signals"}),
        ({"data/montage.py": ("import numpy", "x = 1\nimport numpy")}, set(ALL)),
        (
            {
                "evidence/kernels.py": ('"""Hot loops', '# A comment\n"""Loops'),
                "evidence/zarr_store.py": ("if piece is None", "if piece is None and True"),
                "report/run/tables.py": ("annotations\n", "annotations\n\nx = 1\n"),
            },
            set(),
        ),
    ],
)
def test_a_changed_line_changes_the_keys_of_what_it_computes(
    tmp_path, tiny, monkeypatch, edits, changed
):
    shutil.copytree(PACKAGE, tmp_path / "epilens", ignore=shutil.ignore_patterns("__pycache__"))
    assert with_code(tmp_path, tiny / "west", monkeypatch) == store_keys(tiny / "west")
    for file, (old, new) in edits.items():
        path = tmp_path / "epilens" / file
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
    before, after = store_keys(tiny / "west"), with_code(tmp_path, tiny / "west", monkeypatch)
    assert {name for name in ALL if after[name] != before[name]} == changed


@pytest.fixture
def cubes(tiny, tmp_path):
    out = tmp_path / "cubes"
    describe_cohort([read_bids(tiny / "west")], out, Plan(), stores=ALL[1:])
    return out


def stamps(cubes):
    places = {"cube": cubes, "traces": cubes / "traces", "signals": cubes / "signals"}
    return {
        name: {p.name: p.stat().st_mtime_ns for p in sorted(place.glob(f"*{SUFFIX}"))}
        for name, place in places.items()
    }


def written(cubes, tiny, plan=None):
    """Which stores of all patients another `describe` writes."""
    before = stamps(cubes)
    describe_cohort([read_bids(tiny / "west")], cubes, plan or Plan(), stores=ALL[1:])
    after = stamps(cubes)
    for name in ALL:
        changed = [after[name][p] != before[name][p] for p in after[name]]
        assert len(changed) == 2
        assert all(changed) or not any(changed)
    return {name for name in ALL if after[name] != before[name]}


@pytest.mark.parametrize(
    ("changes", "stores"),
    [
        ({}, set()),
        ({"name": "other"}, set()),
        ({"training": {"epochs": 7}}, set()),
        ({"descriptors": PAPER_NINE[:5]}, {"cube"}),
        ({"descriptors": PAPER_NINE[::-1]}, {"cube"}),
        ({"traces": {"clip": 7.0}}, {"traces"}),
        ({"windows": {"start_s": -25.0}}, set(ALL)),
    ],
)
def test_another_plan_makes_again_just_what_depends_on_it(cubes, tiny, changes, stores):
    assert written(cubes, tiny, Plan().override(**changes)) == stores


def test_a_kept_contact_changes_the_key_of_its_patient_only(tiny):
    first, other = read_bids(tiny / "west").patients[:2]
    kept = Plan().override(quality={"keep": [f"{first.name}:A1"]})
    changed = [
        keys.recordings_key(patient, kept, {}) != keys.recordings_key(patient, Plan(), {})
        for patient in (first, other)
    ]
    assert changed == [True, False]


def test_other_code_makes_again_just_what_it_computes(cubes, tiny, monkeypatch):
    real = keys.code_digest
    monkeypatch.setattr(
        keys, "code_digest", lambda *names: real(*names) + "edited" * ("traces" in names[0])
    )
    assert written(cubes, tiny) == {"traces"}


def test_the_code_of_a_plugin_s_row_counts(cubes, tiny, monkeypatch):
    from epilens.core.registry import Origin
    from epilens.evidence.descriptors import DESCRIPTORS, band_row

    row = band_row("broad_alpha", 8, 13)
    asked = []
    monkeypatch.setitem(DESCRIPTORS._rows, row.name, (row, Origin("some_plugin.rows", "plugin")))
    monkeypatch.setattr(keys, "code_digest", lambda *names: asked.append(names) or "")
    plan = Plan(descriptors=("rms", row.name))
    for store in STORES.values():
        keys.store_key(store, "", plan)
    assert asked == [
        ("epilens.evidence.describe", "some_plugin.rows"),
        ("epilens.evidence.contact_features",),
        ("epilens.evidence.traces",),
        ("epilens.evidence.signals",),
    ]


def test_every_recording_is_read_once(tiny, tmp_path, monkeypatch):
    runs, real = [], read_seizures.read_run

    def counted(run, *settings):
        runs.append((run.patient, run.run))
        return real(run, *settings)

    monkeypatch.setattr(read_seizures, "read_run", counted)
    part = read_bids(tiny / "west")
    describe_cohort([part], tmp_path / "cubes", Plan(), stores=ALL[1:])
    assert sorted(runs) == sorted((run.patient, run.run) for run in part.runs)


def test_one_pass_gives_what_each_store_alone_gives(cubes, tiny):
    from epilens.evidence.describe import describe
    from epilens.evidence.signals import make_signals
    from epilens.evidence.traces import make_traces

    part = read_bids(tiny / "west")
    recordings = list(part.read(part.patients[0]))
    alone = {"traces": make_traces(recordings, Plan()), "signals": make_signals(recordings, Plan())}
    path = cubes / f"{part.patients[0].name}{SUFFIX}"
    for name, wanted in alone.items():
        with open_store(cubes / name / path.name) as found:
            assert found.equals(wanted)
    assert open_patient(path).equals(describe(recordings))


def test_a_damaged_store_is_made_again(cubes, tiny):
    path = cubes / "traces" / f"sub-W01{SUFFIX}"
    content = path.read_bytes()
    path.write_bytes(content[:2000] + bytes([content[2000] ^ 1]) + content[2001:])
    summary = describe_cohort([read_bids(tiny / "west")], cubes, Plan(), stores=ALL[1:])
    assert (summary["described"], summary["kept"]) == (1, 1)
    assert path.read_bytes() == content, "the same inputs give the same bytes"


def test_a_method_s_key_covers_the_cube_and_what_is_next_to_it(cubes):
    path = cubes / f"sub-W01{SUFFIX}"
    cube, traces = (attributes_of(p)["key"] for p in (path, cubes / "traces" / path.name))
    assert key_of(path) == cube
    assert cube in key_of(path, "traces")
    assert traces in key_of(path, "traces")


@pytest.mark.parametrize("which", ["soz", "resected", "either", "both"])
def test_the_choice_of_a_zone_changes_every_key(tiny, which):
    patient, plan = read_bids(tiny / "north").patients[0], Plan()
    other = plan.override(cohort={"ez": which})
    assert keys.recordings_key(patient, plan, {}) != keys.recordings_key(patient, other, {})
